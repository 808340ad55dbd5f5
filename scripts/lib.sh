# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Functions that the scripts share. Source it first: it turns on strict mode and the clean-up.
#
# Invariant: a script registers each change outside the build folders with `undo`, right before or
# right after the change. However the script ends, all these changes are undone, the last one first.

set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
# shellcheck disable=SC2034
PYTHON=/usr/bin/python3 # Debian's, which has the packages that scripts/setup installs
HUGE_DIR=/sys/kernel/mm/hugepages/hugepages-2048kB

say() {
    printf '%s\n' "$*" >&2
}

# die WORDS...: prints one line with cause and cure, and exits with status 1.
die() {
    say "${0##*/}: $*"
    exit 1
}

# usage: prints the comment at the head of the script, which begins in line 4.
usage() {
    sed -n '4,/^[^#]/s/^# \{0,1\}//p' "$0"
}

# ---- clean-up ---------------------------------------------------------------------------------

UNDO=()
UNDO_SHELL=$BASHPID

# undo WORDS...: runs this command when the script ends.
undo() {
    local words
    printf -v words '%q ' "$@"
    UNDO+=("$words")
}

undo_all() {
    local status=$? i
    # A subshell inherits the list, but must not run it.
    [ "$BASHPID" = "$UNDO_SHELL" ] || exit "$status"
    trap '' INT TERM HUP
    trap - EXIT
    set +e
    for ((i = ${#UNDO[@]} - 1; i >= 0; i--)); do
        eval "${UNDO[i]}"
    done
    exit "$status"
}
trap undo_all EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# Sets SCRATCH to a new directory, which is removed when the script ends.
scratch_make() {
    SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/sluice-${0##*/}.XXXXXX")
    undo rm -rf -- "$SCRATCH"
}

# ---- this machine -----------------------------------------------------------------------------

is_root() {
    [ "$(id -u)" = 0 ]
}

can_netns() {
    is_root && command -v ip >/dev/null && unshare -n true 2>/dev/null
}

hugepages_free_mb() {
    local pages
    pages=$(cat "$HUGE_DIR/free_hugepages" 2>/dev/null || echo 0)
    echo $((pages * 2))
}

hugepages_put_back() {
    echo "$1" >"$HUGE_DIR/nr_hugepages" 2>/dev/null
}

# hugepages_want MB: makes at least MB of 2 MB pages free until the script ends. Prints the reason
# and fails if this machine does not have them.
hugepages_want() {
    local need_mb=$1 free_mb before
    free_mb=$(hugepages_free_mb)
    [ "$free_mb" -ge "$need_mb" ] && return 0
    if [ ! -w "$HUGE_DIR/nr_hugepages" ] || ! is_root; then
        say "no hugepages: ${free_mb} MB are free of the ${need_mb} MB needed, and only root can reserve more"
        return 1
    fi
    before=$(cat "$HUGE_DIR/nr_hugepages")
    undo hugepages_put_back "$before"
    echo $((before + (need_mb - free_mb + 1) / 2)) >"$HUGE_DIR/nr_hugepages"
    free_mb=$(hugepages_free_mb)
    if [ "$free_mb" -lt "$need_mb" ]; then
        # Memory may be free, but in pieces.
        echo 1 2>/dev/null >/proc/sys/vm/compact_memory || true
        echo $((before + (need_mb - free_mb + 1) / 2)) >"$HUGE_DIR/nr_hugepages"
        free_mb=$(hugepages_free_mb)
    fi
    if [ "$free_mb" -lt "$need_mb" ]; then
        say "no hugepages: the kernel gave ${free_mb} MB of ${need_mb} MB; free some memory"
        hugepages_put_back "$before"
        return 1
    fi
}

# ---- another Debian -----------------------------------------------------------------------------

# root_run ROOT COMMAND [DIR]: runs it in another root, such as scripts/stages/root makes. Its mounts
# and processes end with it. There, DIR of this machine has the same name.
root_run() {
    # shellcheck disable=SC2016
    unshare --mount --pid --fork --kill-child bash -c '
        mount -t proc proc "$1/proc" && mount -t sysfs -o ro sys "$1/sys" &&
            mount -t tmpfs shm "$1/dev/shm" || exit
        [ -z "$3" ] || { mkdir -p "$1$3" && mount --bind "$3" "$1$3"; } || exit
        exec chroot "$1" /usr/bin/env -i HOME=/ TERM=dumb LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
            PATH=/usr/sbin:/usr/bin:/sbin:/bin bash -c "$2"' - "$1" "$2" "${3:-}" </dev/null
}

# ---- building ---------------------------------------------------------------------------------

# build_dir NAME OPTIONS...: configures ROOT/NAME with meson, unless that is done, and builds
# BUILD_TARGETS (default: all). Prints the output only if it fails.
BUILD_TARGETS=()
build_dir() {
    local dir=$ROOT/$1 log
    shift
    mkdir -p "$dir"
    log=$dir/build.log
    if [ ! -f "$dir/build.ninja" ]; then
        if ! meson setup "$dir" "$ROOT" "$@" >"$log" 2>&1; then
            cat "$log" >&2
            return 1
        fi
    fi
    if ! ninja -C "$dir" "${BUILD_TARGETS[@]}" >"$log" 2>&1; then
        grep -vE '^\[[0-9]+/[0-9]+\]' "$log" | tail -n 60 >&2
        return 1
    fi
}

# build_variant NAME: configures one of the builds that tests use, and builds BUILD_TARGETS of it.
build_variant() {
    case $1 in
    # With the prefix of the packages, which the stage package makes of it.
    build) build_dir "$1" --prefix=/usr ;;
    # With clang, which has other warnings and libFuzzer, and takes half of gcc's time here.
    build-asan)
        CC=clang CXX=clang++ build_dir "$1" -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=2 \
            -Ddebug=false -Dc_args=-g1
        ;;
    # In its C11 memory model, DPDK's rings use atomics that ThreadSanitizer understands.
    build-tsan)
        build_dir "$1" -Db_sanitize=thread -Db_lundef=false -Doptimization=1 -Ddebug=false \
            -Dc_args='-g1 -DRTE_USE_C11_MEM_MODEL -Wno-tsan' -Dcpp_args=-Wno-tsan -Dwerror=false
        ;;
    # As build-asan, but the libraries, too, tell libFuzzer which branches an input takes.
    build-fuzz)
        CC=clang CXX=clang++ build_dir "$1" -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=2 \
            -Ddebug=false -Dc_args='-g1 -fsanitize=fuzzer-no-link'
        ;;
    # In a root that scripts/stages/cross makes.
    build-arm64) build_dir "$1" --cross-file "$ROOT/config/cross/arm64.ini" ;;
    *) die "there is no build $1; choose build, build-asan, build-tsan, build-fuzz or build-arm64" ;;
    esac
}

# variant_targets NAME: sets BUILD_TARGETS to the targets that the tests of this build need.
variant_targets() {
    case $1 in
    build-tsan) BUILD_TARGETS=(app/sluiced/sluiced app/sluice/sluice thread_tests) ;;
    *) BUILD_TARGETS=() ;;
    esac
}

# ---- time -------------------------------------------------------------------------------------

now_s() {
    date +%s
}
