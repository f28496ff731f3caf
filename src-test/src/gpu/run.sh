#!/usr/bin/env bash
# Runs the GPU tests, or the comparison with C, out of a folder that gpu-bundle.sh made.
#
#   run.sh [--dir DIR] [--udev] tests [CLASS…]     JUnit; by default all that want a GPU
#   run.sh [--dir DIR] [--udev] compare [ROUNDS]   batches from Java and from C in turn: medians and their ratio
#   run.sh [--dir DIR] [--udev] engine [ROUNDS]    transfers of the engine and batches from C in turn, likewise
#   run.sh [--dir DIR] [--udev] facts              what the library does where its documentation is silent
#   run.sh [--dir DIR] [--udev] doctor [--json]    what the machine can do (when the command line was packaged)
#   run.sh [--dir DIR] [--udev] bench [OPTION…]    'kvtier bench transfer', by default --rows gds (likewise packaged)
#   run.sh [--dir DIR] [--udev] bench gds [OPTION…] 'kvtier bench gds', by default --rows gpu; MC_TENT_CONF as it needs it
#
# DIR is where the files are written (default: a new folder in the current one). --udev writes the entry of udev's
# database that cuFile wants for DIR's file system, where the machine has none (root only). CUDA_LIB and CUDA_INCLUDE
# name the folders of libcufile and its header when they are not under /usr/local/cuda*.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
java=("$here/runtime/bin/java" --enable-native-access=ALL-UNNAMED --add-exports java.base/jdk.internal.misc=ALL-UNNAMED
    -XX:+IgnoreUnrecognizedVMOptions --sun-misc-unsafe-memory-access=allow -Xmx4g)
classes="$(printf '%s:' "$here"/lib/*.jar)"
directory="$PWD/gds-files"
udev=false

while [ $# -gt 0 ]; do
    case "$1" in
        --dir) directory="$2"; shift ;;
        --udev) udev=true ;;
        -h | --help) sed -n '2,/^set /{/^#/!d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
        *) break ;;
    esac
    shift
done

if [ -z "${CUDA_LIB:-}" ]; then
    CUDA_LIB="$(dirname "$(ls -d /usr/local/cuda*/targets/*/lib/libcufile.so.0 2>/dev/null | tail -n 1)")"
fi
CUDA_INCLUDE="${CUDA_INCLUDE:-$CUDA_LIB/../include}"
export LD_LIBRARY_PATH="$CUDA_LIB${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
mkdir -p "$directory"

if $udev; then
    device="$(stat -c '%d' "$directory")"
    entry="/run/udev/data/b$((device >> 8 & 0xfff)):$((device & 0xff | device >> 12 & 0xfff00))"
    if [ ! -e "$entry" ]; then
        mkdir -p /run/udev/data
        printf 'E:ID_FS_USAGE=filesystem\nE:ID_FS_TYPE=%s\n' "$(stat -f -c '%T' "$directory" | sed 's|^ext2/ext3$|ext4|')" \
            >"$entry"
        echo "wrote $entry: $(tr '\n' ' ' <"$entry")"
    fi
fi

build_c() {
    gcc -O2 -o "$directory/batch" "$here/batch.c" "-I$CUDA_INCLUDE" "-L$CUDA_LIB" -l:libcufile.so.0 -l:libcuda.so.1 \
        -L/usr/lib -L/usr/lib/x86_64-linux-gnu
}

# Lines 'NAME ENTRIES x KIB write|read GB/s' to medians, each with its ratio to that of C.
medians() {
    sort -k2,2n -k4,4n -k5,5 -k1,1 -k6,6n "$1" | awk '
        function flush() {
            if (n > 0) { m = n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2; if (name == "c") base = m
                printf "%-6s %4d x %4d KiB %-5s %.3f GB/s (%.3f to %.3f, %d rounds) of C: %.3f\n",
                    name, e, k, d, m, v[1], v[n], n, m / base }
            n = 0
        }
        { key = $1 " " $2 " " $4 " " $5; if (key != last) flush(); last = key; name = $1; e = $2; k = $4; d = $5
          v[++n] = $6 }
        END { flush() }'
}

compare() {
    local rounds="${1:-5}" turn
    build_c
    for turn in 1 2 3; do
        "$directory/batch" "$directory/compare.bin" "$rounds"
        "${java[@]}" -cp "$classes" io.kvtier.bindings.cufile.GdsThroughput "$directory/compare.bin" "$rounds" 0
        "${java[@]}" -cp "$classes" io.kvtier.bindings.cufile.GdsThroughput "$directory/compare.bin" "$rounds" 3
    done | tee "$directory/compare.txt" >/dev/null
    rm "$directory/compare.bin"
    medians "$directory/compare.txt"
}

engine() {
    local rounds="${1:-5}" turn
    build_c
    for turn in 1 2 3 4; do
        "$directory/batch" "$directory/engine.bin" "$rounds"
        "${java[@]}" -cp "$classes" io.kvtier.transport.gds.GdsEngineThroughput "$directory/engine.bin" "$rounds"
    done >"$directory/engine.txt"
    rm "$directory/engine.bin"
    medians "$directory/engine.txt"
}

command_line() {
    [ -f "$here/kvtier-cli.jar" ] || { echo "run.sh: the bundle has no command line: run mvn -B -ntp -q -DskipTests" \
        "package before gpu-bundle.sh" >&2; exit 2; }
    exec "${java[@]}" -jar "$here/kvtier-cli.jar" "$@"
}

case "${1:-}" in
    tests)
        shift
        [ $# -gt 0 ] || set -- io.kvtier.bindings.cuda.CudaDeviceTest io.kvtier.bindings.cufile.GdsSmokeTest \
            io.kvtier.bindings.cufile.CloseInUseTest \
            io.kvtier.transport.gds.GdsDeviceTest io.kvtier.transport.gds.GdsDeviceBatchTest \
            io.kvtier.transport.gds.GdsHostDeviceBatchTest io.kvtier.transport.gds.GdsHostDeviceSyncTest \
            io.kvtier.transport.gds.GdsPinnedDeviceTest \
            io.kvtier.transport.gds.GdsDeviceSyncTest io.kvtier.transport.memory.CudaHostAndDeviceTest \
            io.kvtier.transport.memory.CudaDeviceAndHostTest io.kvtier.transport.memory.CudaDeviceAndDeviceTest \
            io.kvtier.transport.tcp.CudaTcpTransportTest io.kvtier.store.client.CudaStoreTest \
            io.kvtier.store.client.GdsGpuStoreTest
        export MOONCAKE_RUN_GDS_TEST=1 MOONCAKE_GDS_TEST_PATH="$directory"
        # The class path of the JVM, not of the console: tests start further JVMs on it.
        exec "${java[@]}" -Dtest.require="${TEST_REQUIRE-cuda,gds}" -Djava.awt.headless=true \
            -cp "$classes" org.junit.platform.console.ConsoleLauncher execute --disable-banner --disable-ansi-colors \
            --details="${DETAILS:-tree}" $(printf -- '--select-class %s ' "$@")
        ;;
    compare) shift; compare "$@" ;;
    engine) shift; engine "$@" ;;
    doctor) shift; command_line doctor --dir "$directory" "$@" ;;
    bench)
        shift
        name=transfer
        rows=gds
        if [ "${1-}" = gds ]; then
            shift
            name=gds
            rows=gpu
            gds='{"transports": {"gds": {"enable": true, "io_batch_depth": 128}, "io_uring": {"enable": false}}}'
            export MC_TENT_CONF="${MC_TENT_CONF-$gds}"
        fi
        case " $* " in *" --rows "*) ;; *) set -- --rows "$rows" "$@" ;; esac
        command_line bench "$name" --dir "$directory" "$@"
        ;;
    facts)
        for order in nothing version count pool pool-level pool-properties; do
            "${java[@]}" -cp "$classes" io.kvtier.bindings.cufile.GdsFacts "$directory/facts.bin" "$order" \
                $([ "$order" != nothing ] || echo all) || echo "fact: $order: the process ended with $?"
        done
        for level in 0 3; do
            for context in keep release; do
                code=0
                "${java[@]}" -XX:ErrorFile=/dev/null -cp "$classes" io.kvtier.bindings.cufile.GdsFacts \
                    "$directory/facts.bin" exit "$level" "$context" 2>/dev/null || code=$?
                echo "fact: ends with the driver open, statistics level $level, context $context: exit status $code"
            done
        done
        # Each in a process in which nothing was called before; some end it, or never return.
        for edge in $("${java[@]}" -cp "$classes" io.kvtier.bindings.cufile.GdsEdges); do
            code=0
            timeout 30 "${java[@]}" -XX:ErrorFile=/dev/null -cp "$classes" io.kvtier.bindings.cufile.GdsEdges \
                "$directory/facts.bin" "$edge" >"$directory/edge.txt" 2>/dev/null || code=$?
            grep '^fact: ' "$directory/edge.txt" || true
            [ "$code" = 0 ] || echo "fact: $edge: the process ended with $code"
        done
        for file in /etc/cufile.json /usr/local/cuda*/gds/cufile.json; do
            [ ! -f "$file" ] || echo "fact: $file: $(grep -E '"(max_direct_io_size_kb|io_batchsize|posix_pool_slab[a-z_]*|use_pci_p2pdma)"' "$file" | tr -s ' \n' ' ')"
        done
        rm -rf "$directory/facts.bin" "$directory/named.log" "$directory/edge.txt" "$directory/edge-logs"
        ;;
    *) sed -n '2,/^set /{/^#/!d;s/^# \{0,1\}//;p}' "$0"; exit 2 ;;
esac
