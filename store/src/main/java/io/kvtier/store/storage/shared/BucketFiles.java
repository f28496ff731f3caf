package io.kvtier.store.storage.shared;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.replica.PageLayout;
import java.util.ArrayList;
import java.util.List;

/**
 * The files of a shared disk, made and grown to their size. Every client does that when it begins, at the same time as
 * others may: a file that is there is grown when it is too small and otherwise left as it is. None is ever cut.
 *
 * <p><b>Threading:</b> immutable.
 */
public final class BucketFiles {
    private final PageLayout layout;
    private final List<State> states;

    /**
     * A file.
     *
     * @param path     as all hosts name it.
     * @param before   bytes that it had; 0 when it was not there, too.
     * @param size     bytes that it has, at least those of the layout.
     * @param reserved whether the file system has put by room for all of it.
     */
    public record State(String path, long before, long size, boolean reserved) {
    }

    private BucketFiles(final PageLayout layout, final List<State> states) {
        this.layout = layout;
        this.states = List.copyOf(states);
    }

    /**
     * Makes and grows the files.
     *
     * @param layout of the disk; its folder is there.
     * @param files  the file system.
     * @return what is there now.
     * @throws StoreException FILE_OPEN_FAIL, when there is not enough room or a file cannot be made; those that were
     *                        made stay.
     */
    public static BucketFiles prepare(final PageLayout layout, final FileSystemAdapter files) {
        final String problem = room(layout, files);
        if (problem != null) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, problem);
        }
        final List<State> states = new ArrayList<>(layout.buckets());
        for (int i = 0; i < layout.buckets(); i++) {
            final FileSystemAdapter.Growth growth = files.grow(layout.path(i), layout.bucketBytes());
            states.add(new State(layout.path(i), growth.before(), growth.size(), growth.reserved()));
        }
        return new BucketFiles(layout, states);
    }

    /** What is wrong where there is not enough room for the files, and what to do; null where there is. */
    static String room(final PageLayout layout, final FileSystemAdapter files) {
        long missing = missingBytes(layout, files);
        while (missing > 0) {
            final long free = files.freeBytes(layout.rootDir());
            final long stillMissing = missingBytes(layout, files);
            // Else another host is making them just now, and what it took is not missing any more.
            if (free >= stillMissing || stillMissing == missing) {
                return free >= stillMissing ? null : noRoom(layout, stillMissing, free);
            }
            missing = stillMissing;
        }
        return null;
    }

    private static String noRoom(final PageLayout layout, final long missing, final long free) {
        return "the " + layout.buckets() + " files in " + layout.rootDir() + " are to have " + layout.bucketBytes()
            + " bytes each, for which " + missing + " more are needed; only " + free + " are free: make room, or "
            + "configure fewer or smaller files, the same for the master and all clients";
    }

    /** Bytes by which the files that there are, and those that there are not, are too small. */
    private static long missingBytes(final PageLayout layout, final FileSystemAdapter files) {
        long missing = 0;
        for (int i = 0; i < layout.buckets(); i++) {
            final FileSystemAdapter.Status status = files.status(layout.path(i));
            missing += Math.max(0, layout.bucketBytes() - (status == null ? 0 : status.size()));
        }
        return missing;
    }

    /**
     * How they are laid out.
     *
     * @return the layout.
     */
    public PageLayout layout() {
        return layout;
    }

    /**
     * The files.
     *
     * @return by number.
     */
    public List<State> states() {
        return states;
    }

    /**
     * Says what is to be known of them before they are used.
     *
     * @return one line for people.
     */
    public String summary() {
        final long made = states.stream().filter(state -> state.before() < layout.bucketBytes()).count();
        final long sparse = states.stream().filter(state -> !state.reserved()).count();
        return layout.buckets() + " files of " + layout.bucketBytes() + " bytes in " + layout.rootDir() + ", "
            + made + " of them made or grown just now" + (sparse == 0 ? ", all with their room reserved"
            : "; the file system has reserved no room for " + sparse + " of them: it may be full when a value is "
                + "written, though pages are free");
    }
}
