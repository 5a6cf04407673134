#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# counted.sh: runs locus-lap in QEMU's user-mode emulation, with the plugin that counts (plugin/counts.c). `locus run` calls it.
#
#   counted.sh --check LAP              is it all here? The emulator's version; or one line that says what is missing, status 77
#   counted.sh [LD_PRELOAD=FILE] LAP [WORD...]
#                                       becomes the process, with that malloc; the plugin's line comes last on stderr
#
# The plugin, locus-counts.so, lies beside locus-lap. The emulator is what fetch-user.sh fetched: in build/ of the clone that this
# script lies in, or in ~/.cache/locus, or below XDG_CACHE_HOME. -cpu and -seed are given so that the program sees the same CPU, and
# the same random bytes from the kernel at its start, at each run. LD_BIND_NOW is set because the linker, where it binds a function
# at its first call, locks; and at which lap that is may hang on who runs when, as with sched_yield() in a thread that waits.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-${HOME-}/.cache}/locus
if [ -f "$here/../../Makefile" ]; then folder=$here/../../build/guest-user; else folder=$cache/guest-user; fi
emulator=$folder/qemu-user

cannot() {
    echo "$1"
    exit 77
}

check() { # LAP
    [ -x "$emulator" ] || cannot "there is no qemu-x86_64 that loads plugins: sh $here/fetch-user.sh $folder"
    version=$("$emulator" --version 2>/dev/null | head -n 1) || version=
    [ -n "$version" ] || cannot "the qemu-x86_64 in $folder does not start: sh $here/fetch-user.sh --again $folder"
    [ -r "$(dirname "$1")/locus-counts.so" ] || cannot "there is no locus-counts.so beside $1: make all, without SAN"
    echo "$version"
}

if [ "$1" = --check ]; then
    check "$2"
    exit
fi
preload=
case $1 in LD_PRELOAD=*) preload=$1; shift ;; esac
exec "$emulator" -cpu max -seed 1 -E LD_BIND_NOW=1 ${preload:+-E "$preload"} -plugin "$(dirname "$1")/locus-counts.so" "$@"
