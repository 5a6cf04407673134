#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: test alone
#
# A run of the engine is a lap like any other: a postulate of touch `engine` gives rounds, a sealed log, figures and a verdict, and
# what is wrong with it is said in words. LOCUS=path/to/locus BUILD=path/of/the/build.
set -u
: "${LOCUS:?LOCUS must name the program}" "${BUILD:?BUILD must name the folder of the build}"
. "$(dirname "$0")/../../tests/cases.bash"
cd "$(dirname "$0")/../../.." || exit 1
needs_guest 'runs of the engine' ../engine/fetch.sh
[ -x "$BUILD/locus-llama" ] || { fail 'locus-llama was built' 'the engine came after the build: make'; exit 1; }
repository=$PWD
export LOCUS_HOST=test-host GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
tree=$scratch/tree
mkdir -p "$tree/postulates" "$tree/build" && cd "$tree" && git init -q . && git config user.email test@localhost &&
    git config user.name test && echo build/ >.gitignore || exit 1

postulate() { # cells, arms, needs, more predictions
    cat >postulates/0001-engine.md <<END
---
id: "0001"
title: a real engine
rules: 2
requires: [${3-engine}]
arms: {$2}
cells: [$1]
design: {unit: process, rounds: 2, order: random, dispatch: inline, workers: 2, block_bytes: 4096, laps: 6, seed: 1}
predictions:
  - {id: P1, metric: time_ns, cell: "*", stat: hl_ratio(B/A), op: ">=", value: 0.000001, unit: x}
  - {id: P6, metric: kv_remote_ratio, cell: "*", arm: B, stat: max, op: "==", value: 0, unit: ratio}
${4-}gates: [allocated == freed]
pilot: none
prior: none
---

A test's.
END
}
runs() { timeout 120 "$LOCUS" run 0001 -q >"$out" 2>"$err"; }
refused() { # words that the one line must have
    runs && { why='it ran'; return 1; }
    why="$(cat "$out" "$err" | paste -sd ' ')"
    grep -q -- "$1" "$out" "$err"
}
samples() { "$LOCUS" record show --samples "$(sed -n 's/^log *//p' "$out")" | jq -s "[.[] | select(.t == \"s\")] | $1"; }

arms='A: stock, B: tensor, C: layer, D: tensor-generic, E: tensor-static, F: kv-interleave, G: distribute, H: numactl-each'
postulate 'tiny/engine/20p, tiny/engine/2b/600p/bf16/1024c' "$arms" engine \
    "  - {id: P2, metric: kv_resident_bytes, cell: tiny/engine/20p, arm: B, stat: max, op: '<=', value: 524288, unit: bytes}
  - {id: P3, metric: engine_tokens_per_s, cell: '*', stat: hl_ratio(B/A), op: '>=', value: 0.000001, unit: x}
  - {id: P4, metric: exchanges, cell: '*', arm: B, stat: min, op: '==', value: 48, unit: count}
  - {id: P5, metric: exchanged_bytes, cell: tiny/engine/20p, arm: B, stat: min, op: '==', value: 98304, unit: bytes}
"
runs
status=$?
holds 'a run of eight arms in two cells ends well' "exit $status: $(tail -n 3 "$err" | paste -sd ' ')" test $status -eq 0
holds 'all of its samples are valid' "$(samples 'map(.invalid) | unique' | paste -sd ' ')" \
    test "$(samples 'map(.valid) | all')" = true
for id in P2 P4 P5 P6; do holds "$id survives" "$(grep "^$id" "$out")" grep -q "^$id .*survived" "$out"; done
holds 'each lap is a step' "$(samples 'map(.time_ns > 0) | unique | tostring')" test "$(samples 'map(.time_ns > 0) | all')" = true
holds 'the engine says its version' "$(samples 'map(.version) | unique | tostring')" \
    test "$(samples 'map(.version | startswith("llama.cpp ")) | all')" = true
holds 'on demand the cache has less in memory than static' "$(samples 'map([.arm, .cell, .engine.kv_resident_bytes]) | tostring')" \
    test "$(samples '[.[] | select(.cell == 0)] | (map(select(.arm == "B") | .engine.kv_resident_bytes) | max) <=
        (map(select(.arm == "E") | .engine.kv_resident_bytes) | min)')" = true
holds 'once cleared it has nothing, and static all' "$(samples 'map([.arm, .engine.kv_cleared_bytes]) | unique | tostring')" \
    test "$(samples '(map(select(.arm == "B") | .engine.kv_cleared_bytes) | max == 0) and
        (map(select(.arm == "E") | .engine.kv_cleared_bytes == .engine.kv_bytes) | all)')" = true
holds 'only ours exchanges' "$(samples 'map([.arm, .engine.exchanges]) | unique | tostring')" \
    test "$(samples 'map((.engine.exchanges > 0) == (.arm == "B" or .arm == "E")) | all')" = true
holds 'cells in use are written' "$(samples 'map([.cell, .engine.kv_written_bytes]) | unique | tostring')" \
    test "$(samples 'map(select(.arm != "H") | .engine.kv_written_bytes) | unique | tostring' | tr -d '"')" = \
        "[$(((20 + 9) * 4 * 512)),$(((600 + 9) * 2 * 4 * 512))]"
holds 'a process on each node has a cache in each' "$(samples 'map([.arm, .cell, .engine.kv_bytes]) | unique | tostring')" \
    test "$(samples '[.[] | select(.cell == 0)] | (map(select(.arm == "H") | .engine.kv_bytes) | max) >=
        (map(select(.arm == "A") | .engine.kv_bytes) | max) * 2')" = true
holds 'and its steps have the pace of all' \
    "$(samples 'map(select(.arm == "H") | [.cell, .time_ns, .engine.engine_tokens_per_s]) | tostring')" \
    test "$(samples 'map(select(.arm == "H" and .cell == 0) | .time_ns * .engine.engine_tokens_per_s / 1e9) |
        length > 0 and all(. > 0.7 and . < 1.4)')" = true
check 'the log is whole' "$LOCUS" verify --logs build/logs
check 'and judged again in the same way' python3 -B "$repository/testbed/tests/recompute" build/logs/*/*/*.jsonl
model=$("$LOCUS" record show --samples "$(sed -n 's/^log *//p' "$out")" |
    jq -rs 'map(select(.cells)) | .[0].cells[0].engine.model_sha256')
holds 'the model is in the log' "$model" test "$model" = "$(sha256sum build/engine/models/*.gguf | cut -d ' ' -f 1)"

postulate 'tiny/engine/1p, tiny/engine/1990p' 'A: stock-plain, B: stock-billed' engine \
    "  - {id: P2, metric: step_kv_read_ratio, cell: tiny/engine/1990p, arm: B, stat: median, op: '>=', value: 0.001, unit: ratio}
"
runs
status=$?
billed='map(select(.arm == "B") | [.cell, (.engine | .step_weights_ratio, .step_kv_read_ratio, .step_kv_written_ratio,
    .step_rest_ratio, .step_engine_ratio)])'
said=$(samples "$billed | tostring")
holds 'a billed run ends well' "exit $status: $(tail -n 3 "$err" | paste -sd ' ')" test $status -eq 0
holds 'each part takes some of a step' "$said" test "$(samples "$billed | map(.[1:] | min > 0) | all")" = true
holds 'and together they are all of it' "$said" \
    test "$(samples "$billed | map(.[1:] | add | . > 0.999 and . < 1.001) | all")" = true
# In time, not in parts of a step: of a step that another process held up every part is mostly that.
read_ns='map(select(.arm == "B") | [.cell, .time_ns * .engine.step_kv_read_ratio])'
holds 'with more cells the cache takes longer' "$(samples "$read_ns | tostring")" \
    test "$(samples "$read_ns | (map(select(.[0] == 0)[1]) | min) < (map(select(.[0] == 1)[1]) | max)")" = true
holds 'who is not billed has none' "$(samples 'map(.engine.step_bill_ratio) | tostring')" \
    test "$(samples 'map((.engine.step_bill_ratio > 0) == (.arm == "B")) | all')" = true
check 'a bill is judged again in the same way' python3 -B "$repository/testbed/tests/recompute" "$(sed -n 's/^log *//p' "$out")"

"$BUILD/locus-llama" --quiet --model build/engine/models/*.gguf --steps 1 --bill >"$out" 2>"$err"
why="exit $?: $(cat "$err" "$out" | paste -sd ' ')"
check 'locus-llama says a bill of even one step' \
    jq -e '(."step ns" | length) == 1 and (.bill | ."weights ns" > 0 and ."engine ns" > 0 and ."over steps" > 0)' "$out"

both='A: hf-locus, B: hf-dynamic'
turns="  - {id: P2, metric: step_beside_p50_ratio, cell: '*', arm: A, stat: median, op: '<=', value: 100, unit: ratio}
"
postulate tiny/engine/20p/2b/f32 "$both" engine "$turns"
LOCUS_PYTHON=/usr/bin/python3 runs
why="$(cat "$out" "$err" | paste -sd ' ')"
check 'a Python that lacks what the arms of transformers need is named, and what to do' \
    grep -q '/usr/bin/python3 has no [a-z]*: make hf, or set LOCUS_PYTHON' "$out"
title='transformers: the caches agree to the bit, and take turns'
if "$repository/build/hf/bin/python" -c 'import locus.hf' 2>/dev/null; then
    LOCUS_PYTHON=$repository/build/hf/bin/python runs
    log=$(sed -n 's/^log *//p' "$out")
    holds "$title" "$(samples 'map(.invalid, .engine.step_beside_p50_ratio) | tostring')" test "$(samples \
        'map(.valid and .engine.step_beside_p50_ratio > 0 and .engine.kv_written_bytes == 4 * 1024 * 2 * 29) | all')" = true
    check 'and such a run is judged again in the same way' python3 -B "$repository/testbed/tests/recompute" "$log"
else
    skip "$title" 'make hf has made no build/hf'
fi

chats="  - {id: P2, metric: computed_tokens, cell: '*', stat: hl_ratio(B/A), op: '<=', value: 1, unit: x}
"
postulate 4x4x2x64/engine/2048p/f32 'A: vllm-none, B: vllm-row' engine "$chats"
LOCUS_PYTHON=/usr/bin/python3 runs
why="$(cat "$out" "$err" | paste -sd ' ')"
check 'a Python that lacks what the arms of vLLM need is named, and what to do' \
    grep -q '/usr/bin/python3 has no [a-z_]*: make vllm, or set LOCUS_PYTHON' "$out"
title='vLLM: with tiers it says the same, and computes less'
traces=${LOCUS_TRACES:-$repository/../shared/traces}
if ! "$repository/build/vllm/bin/python" -c 'import locus.vllm' 2>/dev/null; then
    skip "$title" 'make vllm has made no build/vllm'
elif [ ! -e "$traces/conversation_trace.jsonl" ]; then
    skip "$title" 'there is no conversation_trace.jsonl (LOCUS_TRACES)'
else
    LOCUS_PYTHON=$repository/build/vllm/bin/python LOCUS_TRACES=$traces runs
    log=$(sed -n 's/^log *//p' "$out")
    holds "$title" "$(samples 'map(.invalid, .version, .engine.computed_tokens) | tostring')" test "$(samples \
        '(map(.valid and .engine.ttft_p99_ns >= .engine.ttft_p50_ns) | all) and (map(.version) | unique | length) == 1')" = true
    check 'and it is judged again in the same way' python3 -B "$repository/testbed/tests/recompute" "$log"
fi

postulate tiny/engine/20p 'A: stok, B: tensor'
check 'an unknown way to run it is named, with the nearest' refused "'stok'.*stock"
postulate tiny/engine/20p 'A: stock, B: numactl-each'
mkdir "$scratch/fake"
printf '#!/bin/sh\nmkdir "$0.first" 2>/dev/null || exit 7\nshift 2\nexec "$@"\n' >"$scratch/fake/numactl"
chmod +x "$scratch/fake/numactl"
began=$SECONDS
(PATH=$scratch/fake:$PATH && runs)
why="after $((SECONDS - began)) s: $(cat "$out" "$err" | paste -sd ' ')"
check 'of processes at once one ends badly: the sample is invalid, and the others do not wait' \
    eval "grep -q 'the engine ended with status 7' '$out' && [ $((SECONDS - began)) -lt 120 ]"

postulate gpt5/engine 'A: stock, B: tensor'
check 'an unknown model is refused' refused 'gpt5'
postulate tiny/engine/20p/30p 'A: stock, B: tensor'
check 'a setting is made once' refused '30p'
postulate tiny/engine/4096p/100c 'A: stock, B: tensor'
runs
why=$(tail -n 3 "$out" "$err" | paste -sd ' ')
check 'a context that is too short is invalid, in the words of the program' grep -q 'do not fit into --context 100' "$out"

done_testing
