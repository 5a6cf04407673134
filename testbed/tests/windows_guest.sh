#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all guest
#
# The witness of reads and writes: does the emulator's plugin count what windows_scenario loads and stores in the windows that it
# names, to the byte, for each pair of nodes, and nothing else: not by the kernel, not while counting is off, not beside a window?
# BUILD=folder of the build.
set -u
: "${BUILD:?BUILD must name the folder of the build}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1

needs_guest windows

scenario=$BUILD/testbed/counters/tests/windows_scenario
for machine in n2 n4; do
    sh testbed/guest/boot.sh --machine $machine --no-record --timeout 120 \
        --accesses "$BUILD/testbed/guest/plugin,out=$scratch/counted" -- "$scenario" >"$scratch/known" 2>"$scratch/err"
    status=$?
    holds "$machine: the program ends well" "exit $status: $(tail -n 3 "$scratch/err" | tr '\n' ';')" test $status -eq 0

    # Numbers that the program does not know are "-" in both.
    awk 'NR == FNR { for (i = 4; i <= NF; i++) unknown[$1, $2, $3, i] = $i == "-"; next }
         { for (i = 4; i <= NF; i++) if (unknown[$1, $2, $3, i]) $i = "-"; print }' \
        "$scratch/known" "$scratch/counted" >"$scratch/as-known"
    diff "$scratch/known" "$scratch/as-known" >"$scratch/difference" 2>&1
    holds "$machine: what is counted is what the program did, $(wc -l <"$scratch/known") pairs of nodes in windows" \
        "known <, counted >: $(head -n 8 "$scratch/difference" | tr '\n' ';')" \
        test "$(wc -l <"$scratch/known")" -gt 600 -a ! -s "$scratch/difference"

    # libc's memcpy of 1003 bytes: it stores what it loads, and of the ends some more than once.
    copied=$(awk 'NR == FNR { if ($5 == "-") libc[$1, $2, $3]; next } ($1, $2, $3) in libc { loads += $5; stores += $7 }
                  END { print (loads == stores && loads >= 4 * 1003 && loads < 4 * 1003 + 1024), loads, stores }' \
        "$scratch/known" "$scratch/counted")
    holds "$machine: libc copies each byte, some twice" "loaded and stored: ${copied#* }" test "${copied%% *}" = 1
done

echo stale >"$scratch/garbled" # as a machine that failed would leave it
sh testbed/guest/boot.sh --machine n2 --no-record --timeout 120 --accesses "$BUILD/testbed/guest/plugin,out=$scratch/garbled" -- \
    "$scenario" garbled >"$scratch/known" 2>"$scratch/err"
status=$?
holds "windows that are not spelled well give no counts" "exit $status: $(head -n 2 "$scratch/garbled" 2>&1 | tr '\n' ';')" \
    test $status -eq 0 -a -s "$scratch/known" -a ! -e "$scratch/garbled"
done_testing
