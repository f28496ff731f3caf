package io.kvtier.store.storage;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.HostName;
import io.kvtier.transport.Printable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;

/**
 * What the file says by which a {@link FolderOwner} has a folder:
 *
 * <pre>
 *   kvtier folder owner 1       version of this format
 *   host node-1                 what the host is called, which names the folder
 *   machine node-1.example      what the system calls it, for people
 *   kernel 0f1e...              of the running kernel, one a boot
 *   mount 52                    number of the device that the folder is on, one a mount
 *   incarnation 5f1c...         made up by who opened it
 *   since 2026-01-31T12:00:00Z  when he did, by his clock, for people
 *   renewed 00000000000000007   how often he has written it since
 * </pre>
 *
 * @param self        whose it is.
 * @param incarnation tells openers apart.
 * @param since       when it was opened.
 * @param renewals    changed each time that it is written.
 */
record FolderMarker(Self self, UUID incarnation, String since, long renewals) {
    /** More than any of them has. */
    static final int MOST_BYTES = 4096;

    private static final String FIRST_LINE = "kvtier folder owner 1";
    private static final List<String> NAMES =
        List.of("host ", "machine ", "kernel ", "mount ", "incarnation ", "since ", "renewed ");
    private static final int MOST_NAME = 200;

    /**
     * An opener, as far as it is not made up.
     *
     * @param host    what the host is called.
     * @param machine what the system calls it.
     * @param kernel  the running kernel.
     * @param mount   the mount.
     */
    record Self(String host, String machine, String kernel, String mount) {
        /** Names are of one line. */
        Self {
            host = line(host);
            machine = line(machine);
        }

        /** This process, of a folder that is there. */
        static Self of(final String host, final Path folder) {
            try {
                return new Self(host, HostName.local(), runningKernel(),
                    String.valueOf(Files.getAttribute(folder, "unix:dev")));
            } catch (final IOException e) {
                throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "the system does not tell what " + folder
                    + " is on (" + e + "); look at the mount on this host", e);
            }
        }

        private static String runningKernel() {
            try {
                return Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip();
            } catch (final IOException e) {
                // Nobody's: then all wait.
                return UUID.randomUUID().toString();
            }
        }

        private static String line(final String name) {
            final String shown = Printable.of(name);
            return shown.substring(0, Math.min(shown.length(), MOST_NAME));
        }

        /** Whether a lock that one of both holds is seen by the other, whatever the file system does with locks. */
        boolean isOfOneLock(final Self other) {
            return kernel.equals(other.kernel) && mount.equals(other.mount);
        }
    }

    FolderMarker renewed() {
        return new FolderMarker(self, incarnation, since, renewals + 1);
    }

    String inWords() {
        return '\'' + self.host() + "' on machine '" + self.machine() + "' (since " + since + ')';
    }

    /** Of the same length whenever it is written. */
    String text() {
        final List<String> values = List.of(self.host(), self.machine(), self.kernel(), self.mount(),
            incarnation.toString(), since, String.format("%019d", renewals));
        final StringBuilder text = new StringBuilder(FIRST_LINE).append('\n');
        for (int i = 0; i < values.size(); i++) {
            text.append(NAMES.get(i)).append(values.get(i)).append('\n');
        }
        return text.toString();
    }

    /**
     * Null when it was not written to the end, as by who died meanwhile: a part of one, or zeros.
     *
     * @throws StoreException FILE_OPEN_FAIL when it is none that this release reads.
     */
    static FolderMarker parse(final Path path, final String text) {
        final boolean begun = FIRST_LINE.startsWith(text) || text.startsWith(FIRST_LINE + '\n');
        final List<String> lines = text.lines().toList();
        if (text.indexOf('\0') >= 0 || begun && (lines.size() <= NAMES.size() || !text.endsWith("\n"))) {
            return null;
        }
        if (!begun) {
            throw unknown(path, "begins with '" + Printable.of(lines.getFirst()) + "', not with '" + FIRST_LINE + '\'',
                null);
        }
        try {
            final Self self = new Self(value(lines, 0), value(lines, 1), value(lines, 2), value(lines, 3));
            return new FolderMarker(self, UUID.fromString(value(lines, 4)), value(lines, 5),
                Long.parseLong(value(lines, 6)));
        } catch (final IllegalArgumentException e) {
            throw unknown(path, e.getMessage(), e);
        }
    }

    private static String value(final List<String> lines, final int i) {
        final String line = lines.get(i + 1);
        if (!line.startsWith(NAMES.get(i))) {
            throw new IllegalArgumentException("has the line '" + Printable.of(line) + "' in place of "
                + NAMES.get(i).strip());
        }
        return line.substring(NAMES.get(i).length());
    }

    private static StoreException unknown(final Path path, final String what, final Exception cause) {
        return new StoreException(ErrorCode.FILE_OPEN_FAIL, path + ", which says who has the folder, " + what
            + ": it is of a later version, or damaged; remove it when no client uses the folder", cause);
    }
}
