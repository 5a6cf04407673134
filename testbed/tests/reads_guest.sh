#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all guest
#
# An experiment that counts reads, on the emulated machine of two nodes: does its run tell the emulator's plugin of its pools, are
# the plugin's bytes those of the log's books, arm by arm and cell by cell (guest/agree.sh), and are counts judged and times not?
# And does the comparison notice a byte that only one of both has?
# LOCUS=path/to/locus BUILD=path/of/the/build.
set -u
: "${LOCUS:?LOCUS must name the program}" "${BUILD:?BUILD must name the folder of the build}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1
trap 'rm -rf "$scratch" build/logs/guest-reads' EXIT
few() { tr '\n' ';' | head -c 300; }

needs_guest reads

build=${BUILD#"$PWD"/}
cat >"$scratch/case.sh" <<END
#!/bin/sh
cat >postulates/9998-reads.md <<'POSTULATE'
---
id: "9998"
title: attention reads where the blocks are
rules: 2
requires: [cpu_nodes >= 2, mbind_ok, move_pages_ok]
arms: {A: home-steered%50, B: interleave, C: cross-node}
cells: [batch-2x40x8/decode/2x4x2x64, batch-2x40x8/decode/1x2x2x128/columns/f32]
design: {unit: process, rounds: 2, order: random, dispatch: futex, workers: 1, block_bytes: 4096, laps: 1, laps_counted: 2, seed: 1}
predictions:
  - {id: P1, metric: remote_read_ratio, cell: "*", arm: A, stat: max, op: "==", value: 0, unit: ratio}
  - {id: P2, metric: remote_read_ratio, cell: "*", arm: B, stat: max, op: within, value: [0.4, 0.6], unit: ratio}
  - {id: P3, metric: remote_read_ratio, cell: "*", arm: C, stat: min, op: "==", value: 1, unit: ratio}
  - {id: P4, metric: time_ns, cell: "*", stat: hl_ratio(C/A), op: ">=", value: 1.01, unit: x}
gates: [allocated == freed, pushed == drained]
pilot: none
prior: none
---

A test's.
POSTULATE
exec $build/locus run 9998 --host guest-reads -q
END
"$LOCUS" guest --timeout 300 --accesses "$scratch/counted" --program "$scratch/case.sh" >"$out" 2>"$err"
status=$?
holds "the run ends well" "exit $status: $(tail -n 3 "$err" | few)" test $status -eq 0
log=$(sed -n 's/^log *//p' "$out")
for id in P1 P2 P3; do holds "$id survives" "$(grep "^$id" "$out")" grep -q "^$id .*survived" "$out"; done
holds "a time is not judged" "$(grep '^P4' "$out")" grep -q '^P4 .*unmeasurable-on-host' "$out"

agree() { LOCUS=$LOCUS sh testbed/guest/agree.sh "$log" "$1" >"$scratch/said" 2>&1; }
agree "$scratch/counted"
status=$?
holds "the plugin's bytes are the books', $(wc -l <"$scratch/said") arms in cells" "exit $status: $(few <"$scratch/said")" \
    test $status -eq 0 -a "$(wc -l <"$scratch/said")" = 6
holds "by the plugin alone home-steered%50 reads nothing remote" "$(few <"$scratch/said")" \
    test "$(grep -c '^home-steered%50, .*read [1-9][0-9]* local, 0 remote' "$scratch/said")" = 2
holds "and cross-node nothing local" "$(few <"$scratch/said")" \
    test "$(grep -c '^cross-node, .*read 0 local, [1-9][0-9]* remote' "$scratch/said")" = 2
off=$(sed -n 's/^interleave, .*read \([0-9]*\) local, \([0-9]*\) remote;.*/\1 \2/p' "$scratch/said" |
    awk '{ share = $1 / ($1 + $2); bad += share < 0.4 || share > 0.6 } END { print NR - bad }')
holds "and interleave about half" "$(few <"$scratch/said")" test "$off" = 2

awk 'NR == 3 { $5 += 1 } { print }' "$scratch/counted" >"$scratch/more"
agree "$scratch/more"
status=$?
holds "one byte more is noticed" "exit $status" \
    test $status -eq 1 -a "$(grep -c '^    read from node . to .: books [0-9]*, plugin [0-9]*$' "$scratch/said")" = 1
sed '$d' "$scratch/counted" >"$scratch/less"
agree "$scratch/less"
status=$?
holds "and a pair that the plugin lacks" "exit $status: $(few <"$scratch/said")" \
    test $status -eq 1 -a "$(grep -c ', plugin 0$' "$scratch/said")" -ge 1
echo '40000 0 0 1 8 0 0' | cat "$scratch/counted" - >"$scratch/foreign"
agree "$scratch/foreign"
status=$?
holds "and windows of nobody" "exit $status: $(few <"$scratch/said")" \
    test $status -eq 1 -a "$(grep -c '^no arm of this log' "$scratch/said")" = 1
agree "$scratch/nothing"
status=$?
holds "a file that is not there is said" "exit $status: $(few <"$scratch/said")" test $status -eq 2
done_testing
