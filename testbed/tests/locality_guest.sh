#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all guest
#
# Two witnesses of the same stores: in guests with several nodes locality_scenario counts its touches by its own page map, while
# QEMU's plugin counts the store instructions from outside. Both must agree exactly, per section of the window and pair of nodes,
# and with the scenario's design. BUILD=folder of the build.
set -u
: "${BUILD:?BUILD must name the folder of the build}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1

needs_guest two_witnesses

machine() {
    sh testbed/guest/boot.sh --machine "$1" --no-record \
        --accesses "$BUILD/testbed/guest/plugin,$window,out=$scratch/$1.accesses" -- \
        "$BUILD/testbed/measure/tests/locality_scenario" >"$scratch/$1" 2>"$scratch/$1.err"
    echo $? >"$scratch/$1.status"
    awk '$6 > 0 { print $1, $2, $3, $6 }' "$scratch/$1.accesses" >"$scratch/$1.stores"
}

window=window=200000000000-200001000000,section=2097152 # as in locality_scenario.c, with room for all its sections
{ machine n2; machine cxl; } &
machine n4
machine odd
machine hot
wait

# agree MACHINE TABLE: rows are sections of 32768 lines, "SECTION TO: WRITES of each writer", writers in the order FROM.
agree() {
    if [ "$(cat "$scratch/$1.status")" != 0 ]; then
        fail "$1: the program counts what it did" "exit $(cat "$scratch/$1.status"): $(tail -n 3 "$scratch/$1.err")"
        return
    fi
    pass "$1: the program counts what it did"
    grep -v malloc "$scratch/$1" >"$scratch/touches"
    if diff "$scratch/touches" "$scratch/$1.stores" >"$scratch/difference" 2>&1 && [ -s "$scratch/touches" ]; then
        pass "$1: stores equal touches to the unit"
    else
        fail "$1: stores equal touches to the unit" "touches <, stores >: $(tr '\n' ';' <"$scratch/difference")"
    fi
    echo "$2" | awk '{ for (i = 3; i <= NF; i++) if ($i) print $1, i - 3, $2 + 0, $i * 32768 }' >"$scratch/expected"
    if diff "$scratch/expected" "$scratch/$1.stores" >"$scratch/difference" 2>&1; then
        pass "$1: stores are what was written"
    else
        fail "$1: stores are what was written" "expected <, stores >: $(tr '\n' ';' <"$scratch/difference")"
    fi
    if [ "$(sed -n 's/^malloc 100 //p' "$scratch/$1")" -gt 0 ]; then
        pass "$1: blocks of a real malloc wander"
    else
        fail "$1: blocks of a real malloc wander" "$(tail -n 1 "$scratch/$1")"
    fi
}

# Sections: bound to the first node, to the second, to the second but said to be the first's, first touched by the last writer, and
# bound to each further node. In odd the last writer's node, 2, has no memory, and 1 is nearest.
agree n2 '0 0: 3 5
1 1: 1 4
2 1: 2 0
3 1: 0 7'
agree n4 '0 0: 3 5 1 2
1 1: 1 4 3 6
2 1: 2 0 5 4
3 3: 0 0 0 7
4 2: 2 1 4 3
5 3: 3 2 6 1'
agree cxl '0 0: 3 5
1 1: 1 4
2 1: 2 0
3 1: 0 7
4 2: 2 1'
agree odd '0 0: 3 5 1
1 1: 1 4 3
2 1: 2 0 5
3 1: 0 0 7
4 3: 2 1 4'
agree hot '0 0: 3 5
1 1: 1 4
2 1: 2 0
3 1: 0 7
4 2: 2 1'

done_testing
