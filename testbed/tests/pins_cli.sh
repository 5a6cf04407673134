#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Touch `pins` from outside: a postulate whose arms are ways to hold a range, its run, what the log says of it, and bad input.
# LOCUS=path/to/locus.
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1
python=python3
$python -c 'import yaml' 2>/dev/null || python=/usr/bin/python3 # one before Debian's in PATH may lack Debian's packages
repository=$PWD
export LOCUS_HOST=test-host

mkdir -p "$scratch/tree/postulates" && git -C "$scratch/tree" init -q
postulate() { # number, arms, cells
    sed "s/\"NNNN\"/\"$1\"/; s/^title:.*/title: Pins/; s/^requires:.*/requires: []/; s/^arms:.*/arms: $2/
         s|^cells:.*|cells: $3|
         s/rounds: \[30, 600\]/rounds: 8/; s/laps: 100/laps: 4/; s/dispatch: spin/dispatch: inline/; s/^prior:.*/prior: nothing/
         s/^gates:.*/gates: [touched == expected]/; s/^pilot:.*/pilot: none/
         s|^  - {id: P1.*|  - {id: P1, metric: time_ns, cell: \"*\", stat: hl_ratio(A/B), op: within, value: [0.01, 99], unit: x}\n\
  - {id: P2, metric: pairs_per_s, cell: \"*\", stat: hl_ratio(A/D), op: within, value: [0.01, 99], unit: x}\n\
  - {id: P3, metric: pair_ns, cell: \"*\", stat: max, arm: C, op: \"<\", value: 1e9, unit: ns}\n\
  - {id: P4, metric: pins_refused, cell: \"*\", stat: max, arm: A, op: \"==\", value: 0, unit: count}\n\
  - {id: P5, metric: unpin_p99_ns, cell: \"*\", stat: max, arm: D, op: \"<\", value: 1e9, unit: ns}|" \
        testbed/postulate/TEMPLATE.md >"$scratch/tree/postulates/$1-pins.md"
}
tried() { (cd "$scratch/tree" && "$LOCUS" "$@" >"$out" 2>"$err"); }
not_checked() { # name, words, postulate
    tried postulate check "$3"
    holds "$1" "$(cat "$err")" grep -qF "$2" "$err"
    rm "$scratch/tree/postulates/$3-pins.md"
}
ways='{A: pages, B: count, C: spin, D: rwlock, E: pages}'

postulate 9501 "$ways" '[zipf/pins/2t/128r, even/pins/3t/1r]'
check "a postulate of ways can be checked" tried postulate check 9501
check "a smoke run has every way in every cell" tried run 9501 --smoke -q
holds "and says nothing" "$(cat "$out")" grep -q '^verdict none (smoke)' "$out"
tried run 9501 -q
holds "what is counted, and the slowest, get verdicts" "$(cat "$err" "$out")" test "$(grep -c '^P[345] .*survived$' "$out")" = 3
holds "ways have ratios in each cell, of times and rates" "$(cat "$out")" test "$(grep -c ' A/[BD]  observed [0-9]' "$out")" = 4
log=$scratch/tree/$(sed -n 's/^log //p' "$out")
"$LOCUS" record show --samples "$log" >"$scratch/samples"
says "the log says what a cell was" '.cells | map(.serving | [.popularity, .threads, .ranges, .seed]) ==
    [["zipf", 2, 128, 1], ["even", 3, 1, 1]]' <(head -n 1 "$scratch/samples")
says "each process did the same work and gave all back" '[inputs | select(.t == "s")] | length >= 80 and
    all(.valid and .touched_bytes == .touched_bytes_expected and .touched_bytes > 0 and .serving.pins_refused == 0) and
    (group_by(.cell) | all(map(.touched_bytes) | unique | length == 1))' "$scratch/samples"
says "and has its times" '[inputs | select(.t == "s").serving] | all(.pairs_per_s > 0 and .pair_ns > 0 and
    .pin_p50_ns <= .pin_p99_ns and .unpin_p50_ns <= .unpin_p99_ns and .unpin_p99_ns != null)' "$scratch/samples"
check "the record is what was written" tried verify --logs build/logs
cd "$scratch/tree" || exit 1
$python -B "$repository/testbed/tests/recompute" "$log" >"$out" 2>"$err" # its controls are for a log of equal rounds
holds "a second implementation judges it in the same way" "$(cat "$out" "$err")" grep -q "^ok - $log" "$out"
"$LOCUS" report "$log" >"$out" 2>"$err"
holds "its page says of a rate how much" "$(cat "$out" "$err")" grep -q 'times as much pairs_per_s as rwlock' "$(tail -n 1 "$out")"
cd "$repository" || exit 1

postulate 9502 "$ways" '[zipf/pins/100r]'
tried run 9502 --smoke -q
holds "zipf takes more ranges than a hundred" "$(cat "$err")" grep -q "cell 'zipf/pins/100r': '100r' are too few for zipf" "$err"
rm "$scratch/tree/postulates/9502-pins.md"
postulate 9503 '{A: pages, B: locus, C: spin, D: rwlock}' '[zipf/pins]'
not_checked "a contender is no way" "unknown way to hold ranges 'locus'" 9503
postulate 9504 "$ways" '[zipf/pins/4w]'
not_checked "workers are no threads" "cell 'zipf/pins/4w' is not WORKLOAD/TOUCH" 9504
postulate 9505 "$ways" '[steady-decode/pins]'
not_checked "a workload is no popularity" "cell 'steady-decode/pins' is not WORKLOAD/TOUCH" 9505
postulate 9506 "$ways" '[zipf/pins, turns/pages/1024p]'
tried run 9506 --smoke -q
holds "scores and ways are not mixed" "$(cat "$err")" grep -q "or ways to hold ranges and 'pins'" "$err"
refuses "eval has no ways" 2 "which only a postulate names" eval zipf/pins
check "the help names them and fits 79 columns" eval "locus 0 postulate --help && ! grep -q '.\{80\}' '$out' &&
    grep -q 'zipf/pins' '$out' && grep -q 'rwlock' '$out'"
done_testing
