#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: test alone
#
# `locus engine`: its table, its answer, its forms, its log, and what it refuses. LOCUS=path/to/locus BUILD=path/of/the/build.
set -u
: "${LOCUS:?LOCUS must name the program}" "${BUILD:?BUILD must name the folder of the build}"
. "$(dirname "$0")/../../tests/cases.bash"
cd "$(dirname "$0")/../../.." || exit 1
needs_guest 'locus engine' ../engine/fetch.sh
[ -x "$BUILD/locus-llama" ] || { fail 'locus-llama was built' 'the engine came after the build: make'; exit 1; }
repository=$PWD
mkdir -p "$scratch/tree/build" && cd "$scratch/tree" || exit 1

engine() { timeout 120 "$LOCUS" engine -q "$@" >"$out" 2>"$err"; }
says() { grep -q -- "$1" "$out"; }
refuses() { # words, arguments...
    local words=$1
    shift
    engine "$@"
    local status=$?
    why="exit $status: $(paste -sd ' ' "$err")"
    [ $status -eq 2 ] && [ "$(wc -l <"$err")" -le 2 ] && grep -q -- "$words" "$err"
}

engine tiny -r 2 --steps 5 --seed 7 -c stock-plain,tensor,layer --log kept.jsonl
status=$?
holds 'three ways side by side' "exit $status: $(tail -n 2 "$err" | paste -sd ' ')" test $status -eq 0
for arm in stock-plain tensor layer; do check "a row of $arm" says "$arm"; done
holds 'two rounds are not enough to tell, and it says so' "$(tail -n 3 "$out" | paste -sd ' ')" \
    grep -q 'cannot be told: it takes more rounds' <(paste -sd ' ' "$out" | tr -s ' ')
check 'a node alone is divided, and it says so' says 'This machine has one node\|reads .* %'
"$LOCUS" report kept.jsonl >"$scratch/again" 2>&1
check 'its log is shown again in the same way' cmp -s "$out" "$scratch/again"

engine 4x14x2x64 -r 1 --steps 4 -c stock-plain,tensor --json
holds 'as JSON: a row for each way' "$(head -c 300 "$out")" \
    test "$(jq -r '[.arms[].arm] | sort | join(" ")' "$out")" = 'stock-plain tensor'
holds 'and what does not divide evenly' "$(jq -c .division "$out")" \
    test "$(jq -r '.division | tostring | test("14 heads, 2 KV heads of 64")' "$out")" = true
engine tiny -r 1 --steps 4 -c stock-plain,tensor-static,tensor --context 65536 --json
resident() { jq ".arms[] | select(.arm == \"$1\") | .kv_resident_bytes" "$out"; }
holds 'a context of 65,536 has all of its memory, and on demand only what is in use' \
    "$(resident tensor-static) and $(resident tensor) of $(jq '.arms[0].kv_bytes' "$out")" \
    test "$(resident tensor-static)" = 134217728 -a "$(resident tensor)" -lt 33554433

engine tiny -r 1 --steps 4 -c stock-plain,stock-billed --json
holds 'the bill of a step is a table of its own' "$(jq -c .bill "$out")" \
    test "$(jq -r '[.bill[] | .arm, ([.step_weights_ratio, .step_kv_read_ratio, .step_kv_written_ratio, .step_rest_ratio,
        .step_engine_ratio] | add | . > 0.99 and . < 1.01)] | join(" ")' "$out")" = 'stock-billed true'

engine tiny -r 1 --steps 4 -c numactl-each
check 'what does other work is not recommended' grep -q 'none can be recommended' <(paste -sd ' ' "$out" | tr -s ' ')

check 'an unknown model' refuses 'gpt5' gpt5
check 'an unknown way' refuses "'tensr'.*tensor" -c tensr
check 'a type that it does not compare' refuses 'q8_0' --kv q8_0
check 'no steps' refuses '--steps' --steps 0
check 'a flag of others' refuses 'dispatch' --dispatch spin
engine nonsense=1
check 'nothing was made for what was refused' test "$(ls build/engine/models | wc -l)" = 2

# A packet takes along what is filed about a real engine on several nodes, if the engine is there.
cp -r "$repository/postulates" . && cat >postulates/9998-engine.md <<'END'
---
id: "9998"
title: a real engine on many nodes
rules: 2
requires: [engine, cpu_nodes >= 2]
arms: {A: stock, B: tensor}
cells: [tiny/engine/20p]
design: {unit: process, rounds: 2, order: random, dispatch: inline, workers: 2, block_bytes: 4096, laps: 6, seed: 1}
predictions:
  - {id: P1, metric: time_ns, cell: "*", stat: hl_ratio(B/A), op: "<=", value: 1, unit: x}
gates: [allocated == freed]
pilot: none
prior: none
---
END
"$LOCUS" packet --list --host bm1 >"$out" 2>"$err"
holds 'a packet has its experiments' "$(tail -n 1 "$err") $(grep 9998 "$out")" grep -q '^9998 engine .* engine$' "$out"
check 'and says nothing more of it' test ! -s "$err"
mkdir bin && cp "$LOCUS" "${LOCUS%/*}/locus-lap" bin/
bin/locus packet --list --host bm1 >"$out" 2>"$err"
holds 'without the engine it says what is left out' "$(tail -n 1 "$err") $(grep 9998 "$out")" \
    eval "grep -q 'a real engine is not measured: .*make engine' '$err' && ! grep -q 9998 '$out'"
bin/locus guest engine >"$out" 2>"$err"
why="exit $?: $(paste -sd ' ' "$err")"
check 'nor is there one to take into an emulated machine' grep -q 'make engine' "$err"

done_testing
