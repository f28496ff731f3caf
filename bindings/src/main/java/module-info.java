/**
 * The only module that calls native code: Foreign Function and Memory bindings under small owners.
 *
 * <p>Grant native access to this module alone ({@code --enable-native-access=io.kvtier.bindings}) on the module path,
 * or to {@code ALL-UNNAMED} on the class path. Nothing above it sees a {@code Linker} or a raw descriptor.
 */
module io.kvtier.bindings {
    exports io.kvtier.bindings;
    exports io.kvtier.bindings.cuda;
    exports io.kvtier.bindings.cufile;
    exports io.kvtier.bindings.hf3fs;
    exports io.kvtier.bindings.posix;
    exports io.kvtier.bindings.uring;
}
