#!/usr/bin/env bash
# Puts everything that the GPU tests need into one folder of at most 64 MiB: a trimmed Java runtime, the classes, JUnit's
# console and a runner. A GPU machine then needs no JDK, no Maven and no network.
#
#   mvn -B -ntp -q test-compile && src-test/gpu-bundle.sh FOLDER
#   (on the GPU machine)  FOLDER/run.sh --help
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
repository="${MAVEN_REPOSITORY:-$HOME/.m2/repository}"
junit=1.14.4
# As in pom.xml; settings of the environment are read with it.
jackson=$(sed -n 's|.*<jackson.version>\(.*\)</jackson.version>.*|\1|p' "$root/pom.xml")
modules=java.base,java.logging,java.management,java.naming,java.xml,jdk.jfr,jdk.management,jdk.unsupported
limit_kb=$((64 * 1024))

fail() {
    echo "gpu-bundle.sh: $*" >&2
    exit 2
}

[ $# -eq 1 ] || fail "usage: gpu-bundle.sh FOLDER"
folder="$1"
[ ! -e "$folder" ] || fail "$folder exists; name a new folder"

# JAVA_HOME if it is new enough, else the first JDK that is.
new_enough() {
    [ -x "$1/bin/jlink" ] && [ "$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$1/release")" -ge 22 ]
}
for java_home in "${JAVA_HOME:-/nowhere}" /usr/lib/jvm/*; do
    ! new_enough "$java_home" || break
done
new_enough "$java_home" || fail "no JDK 22 or newer with jlink: set JAVA_HOME"
[ -d "$root/src-test/target/test-classes" ] || fail "nothing is compiled: run mvn -B -ntp -q test-compile first"

console="$repository/org/junit/platform/junit-platform-console-standalone/$junit/junit-platform-console-standalone-$junit.jar"
[ -f "$console" ] || mvn -B -ntp -q dependency:get \
    "-Dartifact=org.junit.platform:junit-platform-console-standalone:$junit"
[ -f "$console" ] || fail "no $console; set MAVEN_REPOSITORY"

mkdir -p "$folder/lib"
"$java_home/bin/jlink" --add-modules "$modules" --compress=zip-9 --strip-debug --no-header-files --no-man-pages \
    --output "$folder/runtime"
cp "$console" "$folder/lib/console.jar"
for module in bindings alloc transport store; do
    if [ -d "$root/$module/target/classes" ]; then
        # The class path, as in the tests: a module descriptor in front of it would only be ignored.
        "$java_home/bin/jar" --create --file "$folder/lib/kvtier-$module.jar" \
            -C "$root/$module/target/classes" .
    fi
done
"$java_home/bin/jar" --create --file "$folder/lib/kvtier-tests.jar" -C "$root/src-test/target/test-classes" .
for jar in "$repository"/org/agrona/agrona/*/agrona-*.jar \
    "$repository"/net/openhft/zero-allocation-hashing/*/zero-allocation-hashing-*.jar \
    "$repository"/org/msgpack/msgpack-core/*/msgpack-core-*.jar \
    "$repository/com/fasterxml/jackson/core/jackson-core/$jackson/jackson-core-$jackson.jar"; do
    case "$jar" in
        *-sources.jar | *-javadoc.jar) ;;
        *) [ ! -f "$jar" ] || cp "$jar" "$folder/lib/" ;;
    esac
done
# The command line, for its doctor and its bench, when it was packaged (mvn -B -ntp -q -DskipTests package).
for jar in "$root"/store/target/kvtier-store-*-cli.jar; do
    [ ! -f "$jar" ] || cp "$jar" "$folder/kvtier-cli.jar"
done
cp "$root/src-test/src/gpu/run.sh" "$root/src-test/src/gpu/batch.c" "$folder/"
chmod +x "$folder/run.sh"

size_kb="$(du -sk "$folder" | cut -f1)"
echo "gpu-bundle.sh: $folder, $((size_kb / 1024)) MiB"
[ "$size_kb" -le "$limit_kb" ] || fail "larger than 64 MiB"
