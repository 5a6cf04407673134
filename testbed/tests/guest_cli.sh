#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# locus guest without a guest: how it calls its script, where it finds the script, and what it says if there is none. LOCUS names
# the program.
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/cases.bash"
repo=$(cd "$(dirname "$0")/../.." && pwd)

# A script that only prints how it was called.
mkdir -p "$scratch/share/guest" "$scratch/elsewhere" && cd "$scratch/elsewhere" || exit 1
echo 'echo called "$@"' >"$scratch/share/guest/boot.sh"
export LOCUS_SHARE=$scratch/share
called() { # with, argument...
    local with=$1
    shift
    locus 0 guest "$@" && why="called $(cat "$out")" && grep -qE "^called $with$" "$out"
}
check ten-minutes-unless-told-otherwise called '--machine n2 --timeout 600 -- /.*/locus topo' topo
check as-long-as-one-is-told called '--machine cxl --timeout 7 -- /.*/locus topo --json' --timeout 7 -m cxl -- topo --json
check help-says-how-long eval "locus 0 guest --help && grep -q 'may take (600)' '$out'"
check readme-s-own-command called '--machine n2 --timeout 600 -- /.*/locus run 0005' -- run 0005
check a-second-witness called '--machine n2 --timeout 600 --accesses /.*/testbed/guest/plugin,out=pairs -- /.*/locus topo' \
    --accesses pairs topo
refuses a-name-that-qemu-would-split 2 "'a,b' cannot be passed on to QEMU: take a name without a comma" guest --accesses a,b topo
check readme-has-it grep -q 'locus guest -- run 0005' "$repo/testbed/measure/nodes/README.md"

export LOCUS_SHARE=$scratch/nowhere
refuses a-share-that-is-not-there 2 "guest/boot.sh is not in $scratch/nowhere.*LOCUS_SHARE" guest topo
refuses no-sample-either 2 "workload/sample.csv is not in $scratch/nowhere" advise
unset LOCUS_SHARE
cp "$LOCUS" "$scratch/elsewhere/lonely"
lonely() { # word, argument...
    "$scratch/elsewhere/lonely" "${@:2}" >"$out" 2>"$err" </dev/null
    why="exit $?: $(cat "$err")"
    [ "${why%%:*}" = 'exit 2' ] && [ "$(wc -l <"$err")" -eq 1 ] && grep -q "$1.*LOCUS_SHARE" "$err"
}
check a-program-that-was-copied-alone-says-what-it-lacks lonely 'guest/boot.sh is missing' guest topo
check and-of-the-sample lonely 'workload/sample.csv is missing' advise

# A clone's program finds its files from anywhere; what QEMU needs lies in the user's cache, and the error has the command.
elsewhere() {
    XDG_CACHE_HOME=$scratch/cache "$LOCUS" guest topo >"$out" 2>"$err" </dev/null
    why="exit $?: $(cat "$err")"
    local parts=$scratch/cache/locus/guest
    [ "${why%%:*}" = 'exit 77' ] && grep -q "no $parts/qemu: run 'sh .*fetch.sh $parts'" "$err"
}
check without-qemu-it-says-where-it-goes elsewhere

done_testing
