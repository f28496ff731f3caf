#!/usr/bin/env bash
# Regenerates the packages io.kvtier.bindings.cuda.gen and io.kvtier.bindings.cufile.gen (bindings/src/gen/java) from the
# vendor's headers, with the lists of symbols in bindings/symbols. The result is committed: a build needs neither the
# headers nor jextract.
#
#   CUDA_HOME=/usr/local/cuda ./jextract.sh          write the sources, versions.txt and checksums.txt
#   ./jextract.sh --include DIR [--include DIR]      the folders that hold cuda.h and cufile.h
#   ./jextract.sh --check …                          write nothing; exit 1 when the result would differ
#
# jextract is taken from JEXTRACT_HOME/bin or the PATH. Each library is generated in two runs, because a header class
# with a library in it cannot even be initialised where the library is missing: one run for the functions, one for the
# structs and constants, which every machine can use.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
symbols="$root/bindings/symbols"
generated="$root/bindings/src/gen/java"
check=false
includes=()

fail() {
    echo "jextract.sh: $*" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case "$1" in
        --check) check=true ;;
        --include) [ $# -gt 1 ] || fail "--include needs a folder"; includes+=("$2"); shift ;;
        -h | --help) sed -n '2,/^set /{/^#/!d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
        *) fail "unknown option $1 (--check, --include DIR)" ;;
    esac
    shift
done

if [ ${#includes[@]} -eq 0 ] && [ -n "${CUDA_HOME:-}" ]; then
    includes=("$CUDA_HOME/include" "$CUDA_HOME"/targets/*/include)
fi
[ ${#includes[@]} -gt 0 ] || fail "where are cuda.h and cufile.h? Set CUDA_HOME or pass --include DIR"

header() {
    local directory
    for directory in "${includes[@]}"; do
        if [ -f "$directory/$1" ]; then
            echo "$directory/$1"
            return
        fi
    done
    fail "no $1 in ${includes[*]}; it comes with the CUDA toolkit (cufile.h with its GPUDirect Storage package)"
}

if [ -n "${JEXTRACT_HOME:-}" ]; then
    jextract="$JEXTRACT_HOME/bin/jextract"
    [ -x "$jextract" ] || fail "JEXTRACT_HOME is $JEXTRACT_HOME, but there is no bin/jextract in it"
else
    jextract="$(command -v jextract)" || fail "no jextract: take release 22 from https://jdk.java.net/jextract or build \
it from https://github.com/openjdk/jextract, then set JEXTRACT_HOME or put its bin folder on the PATH"
fi

cuda_header="$(header cuda.h)"
cufile_header="$(header cufile.h)"
options=()
for directory in "${includes[@]}"; do
    options+=(-I "$directory")
done

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# listed FILE KIND: the names of one kind on a list.
listed() {
    sed -n "s/^--include-$2 //p" "$symbols/$1.txt"
}

# generate NAME PREFIX HEADER LIBRARY
generate() {
    local name=$1 prefix=$2 header=$3 library=$4 common struct
    common=(--output "$work/out" -t "io.kvtier.bindings.$name.gen" "${options[@]}")
    # The structs that functions return by value belong to the second run; the first needs them to be complete.
    grep -E '^--include-(function|struct) ' "$symbols/$name.txt" >"$work/functions"
    grep -E '^--include-(constant|struct) ' "$symbols/$name.txt" >"$work/types"
    "$jextract" "${common[@]}" --header-class-name "${prefix}Functions" -l ":$library" "@$work/functions" "$header"
    for struct in $(listed "$name" struct); do
        rm "$work/out/io/kvtier/bindings/$name/gen/$struct.java"
    done
    "$jextract" "${common[@]}" --header-class-name "${prefix}Types" "@$work/types" "$header"
    verify "$name" "$prefix"
}

# verify NAME PREFIX: what is on the list is there, and nothing else.
verify() {
    local name=$1 prefix=$2 folder="$work/out/io/kvtier/bindings/$1/gen"
    { listed "$name" struct; printf '%s\n' "${prefix}Functions" "${prefix}Types"; } | sort >"$work/expected"
    (cd "$folder" && ls ./*.java | sed 's|^\./||; s|\.java$||') | sort >"$work/found"
    diff "$work/expected" "$work/found" || fail "$name: the types generated (>) are not those of the list (<)"
    listed "$name" function | sort >"$work/expected"
    sed -n 's/^ *private static class \([A-Za-z0-9_]*\) {$/\1/p' "$folder/${prefix}Functions.java" | sort >"$work/found"
    diff "$work/expected" "$work/found" || fail "$name: the functions generated (>) are not those of the list (<)"
    listed "$name" constant | sort >"$work/expected"
    sed -n 's/^ *public static [a-z]* \([A-Z][A-Za-z0-9_]*\)() {$/\1/p' "$folder/${prefix}Types.java" | sort >"$work/found"
    diff "$work/expected" "$work/found" || fail "$name: the constants generated (>) are not those of the list (<)"
    if grep -q 'SYMBOL_LOOKUP\.findOrThrow' "$folder"/*.java; then
        fail "this jextract generates code for JDK 23 and newer; kvtier runs on 22: use jextract 22"
    fi
}

generate cuda Cuda "$cuda_header" libcuda.so.1
generate cufile CuFile "$cufile_header" libcufile.so.0

{
    echo "# Written by jextract.sh: what the generated sources were made with and from."
    "$jextract" --version 2>&1 | sed -n 's/^\(jextract\|LibClang version\) /\1: /p'
    echo "CUDA_VERSION: $(sed -n 's/^#define CUDA_VERSION \([0-9]*\).*/\1/p' "$cuda_header" | head -n 1)"
    for file in "$cuda_header" "$cufile_header"; do
        echo "${file##*/} sha256: $(sha256sum <"$file" | cut -d' ' -f1)"
    done
} >"$work/versions.txt"

if $check; then
    diff -r "$work/out" "$generated" && diff "$work/versions.txt" "$symbols/versions.txt" \
        || { echo "jextract.sh: the committed sources differ from what this run would write" >&2; exit 1; }
    (cd "$root/bindings" && sha256sum --quiet -c symbols/checksums.txt)
    echo "jextract.sh: the committed sources are what this run would write"
else
    rm -rf "$generated"
    mkdir -p "$(dirname "$generated")"
    cp -r "$work/out" "$generated"
    cp "$work/versions.txt" "$symbols/versions.txt"
    (cd "$root/bindings" && find src/gen/java symbols -type f ! -name checksums.txt | LC_ALL=C sort \
        | xargs sha256sum >"$work/checksums.txt" && cp "$work/checksums.txt" symbols/checksums.txt)
    echo "jextract.sh: wrote $(find "$generated" -name '*.java' | wc -l) files under ${generated#"$root"/}"
fi
