package io.kvtier.store.storage;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import net.openhft.hashing.LongHashFunction;

/**
 * How many values are in a {@link ValueFile}, what it is called, and where it is.
 *
 * <p><b>Threading:</b> stateless.
 */
enum FileLayout {
    /** "KVTIERBF": those that were stored together, in one directory. */
    BUCKET(FileHeader.Kind.BUCKETS, 0x464252454954564BL, "kv_buckets.header", 500, 256L << 20,
        "([0-9a-f]{16})\\.bucket", 1),
    /** "KVTIERKF": one, in directories by hash of its key. */
    FILE_PER_KEY(FileHeader.Kind.FILES, 0x464B52454954564BL, "kv_files.header", 1, 0,
        "[0-9a-f]{16}-([0-9a-f]{16})\\.kv", 3),
    /** The same files in a directory that another header tells from the others: not each host may open it. */
    DISTRIBUTED(FileHeader.Kind.NODE_FILES, FILE_PER_KEY.magic, "kv_node.header", FILE_PER_KEY.mostValues,
        FILE_PER_KEY.mostBytes, FILE_PER_KEY.name.pattern(), FILE_PER_KEY.depth);

    /** As upstream calls it. */
    private static final String FILES_DIRECTORY = "file_per_key_dir";
    private static final int NIBBLE = 4;
    private static final int NIBBLE_MASK = 15;
    private static final int HEX = 16;

    private final FileHeader.Kind kind;
    private final long magic;
    private final String headerName;
    private final int mostValues;
    private final long mostBytes;
    private final Pattern name;
    private final int depth;

    FileLayout(final FileHeader.Kind kind, final long magic, final String headerName,
        final int mostValues, final long mostBytes, final String name, final int depth) {
        this.kind = kind;
        this.magic = magic;
        this.headerName = headerName;
        this.mostValues = mostValues;
        this.mostBytes = mostBytes;
        this.name = Pattern.compile(name);
        this.depth = depth;
    }

    /** Of the header of the directory. */
    FileHeader.Kind kind() {
        return kind;
    }

    /** The first eight bytes of a value file. */
    long magic() {
        return magic;
    }

    /** The file that says that a directory has this layout. */
    String headerName() {
        return headerName;
    }

    /** Whether another value may be in a file of so many, which would then have so many bytes. */
    boolean hasRoom(final int values, final long bytes) {
        return values < mostValues && bytes <= mostBytes;
    }

    /** Where the file of an address is; the key is that of its first value. */
    Path path(final Path directory, final long address, final ObjectKey key) {
        if (this == BUCKET) {
            return directory.resolve(hex(address) + ".bucket");
        }
        final long hash = LongHashFunction.xx().hashBytes(
            (key.tenant() + '\0' + key.key()).getBytes(StandardCharsets.UTF_8));
        return directory.resolve(FILES_DIRECTORY).resolve(letter(hash)).resolve(letter(hash >>> NIBBLE))
            .resolve(hex(hash) + '-' + hex(address) + ".kv");
    }

    /** The address in the name of a file, or -1 when it is not the name of a value file. */
    long address(final Path file) {
        final Matcher matcher = name.matcher(file.getFileName().toString());
        return matcher.matches() ? Long.parseUnsignedLong(matcher.group(1), HEX) : -1;
    }

    /** All files where value files are, others included. */
    List<Path> files(final Path directory) {
        return walk(directory, Files::isRegularFile);
    }

    /** All directories that may have a value file, or a directory of one, in them. */
    List<Path> directories(final Path directory) {
        return this == BUCKET ? List.of(directory) : Stream.concat(Stream.of(directory),
            walk(directory, Files::isDirectory).stream()).distinct().toList();
    }

    private List<Path> walk(final Path directory, final Predicate<Path> wanted) {
        final Path root = this == BUCKET ? directory : directory.resolve(FILES_DIRECTORY);
        if (!Files.exists(root)) {
            return List.of();
        }
        try (Stream<Path> all = Files.walk(root, depth)) {
            return all.filter(wanted).sorted().toList();
        } catch (final IOException | UncheckedIOException e) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "cannot list the files in " + root
                + "; allow this user to read it, or name another directory", e);
        }
    }

    private static String letter(final long hash) {
        return String.valueOf((char) ('a' + (hash & NIBBLE_MASK)));
    }

    private static String hex(final long number) {
        return String.format("%016x", number);
    }
}
