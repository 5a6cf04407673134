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

check 'an unknown model' refuses 'gpt5' gpt5
check 'an unknown way' refuses "'tensr'.*tensor" -c tensr
check 'a type that it does not compare' refuses 'q8_0' --kv q8_0
check 'no steps' refuses '--steps' --steps 0
check 'a flag of others' refuses 'dispatch' --dispatch spin
engine nonsense=1
check 'nothing was made for what was refused' test "$(ls build/engine/models | wc -l)" = 2

done_testing
