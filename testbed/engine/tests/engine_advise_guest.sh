#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all guest
#
# `locus advise --pid` looks at real llama.cpp on the emulated machine of two nodes, from outside and while it decodes. Is the share
# of remote reads that it tells the one that the emulator's plugin counts? LOCUS=path/to/locus BUILD=path/of/the/build.
set -u
: "${LOCUS:?LOCUS must name the program}" "${BUILD:?BUILD must name the folder of the build}"
. "$(dirname "$0")/../../tests/cases.bash"
cd "$(dirname "$0")/../../.." || exit 1
needs_guest 'advice to an engine on emulated nodes' ../engine/fetch.sh
needs_guest 'advice to an engine on emulated nodes'
build=${BUILD#"$PWD"/}
"$build/locus-gguf" --quiet -o "$scratch/tiny.gguf" >/dev/null || { fail 'a model' 'locus-gguf failed'; exit 1; }

BUILD=$build sh testbed/engine/guest.sh --machine n2 --no-record --timeout 300 \
    --accesses "$build/testbed/guest/plugin,out=$scratch/counted" \
    --with "$LOCUS" --with "$scratch/tiny.gguf" -- testbed/engine/tests/guest/advised.sh tiny.gguf >"$out" 2>"$err"
status=$?
holds 'the engine decodes while it is looked at' "exit $status: $(tail -n 2 "$err" | paste -sd ' ')" test $status -eq 0

# close ARM MOST: the advice of arm ARM and the witness, of cache and weights, are at most MOST apart.
close() {
    local advice counted
    advice=$(awk -v arm="$1" '$1 == "arm" && $2 == arm { print $3 }' "$out")
    counted=$(awk -v first=$(($1 * 10)) '$1 == first || $1 == first + 1 { all += $5; far += $2 == $3 ? 0 : $5 }
        END { if (all > 0) print far / all }' "$scratch/counted")
    why="advice $advice, counted $counted"
    awk -v advice="$advice" -v counted="$counted" -v most="$2" 'BEGIN {
        apart = advice - counted
        exit !(advice != "" && counted != "" && apart <= most && apart >= -most) }'
}
check 'stock, a thread on each node: what is said is what is counted' close 1 0.03
# The devices' own memory is exact. Libraries and what else is mapped are small here, and so is the model.
check 'a device on each node: what is said is what is counted' close 2 0.1
holds 'and it says that it is little' "$(cat "$out")" awk '$1 == "arm" && $2 == 2 { exit !($3 < 0.1) }' "$out"

done_testing
