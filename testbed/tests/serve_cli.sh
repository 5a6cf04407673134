#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# locus serve from outside: the counts that were computed apart from the project, cells, bad input, and a log that says the same
# again. LOCUS=path/to/locus. Recorded traces are in LOCUS_TRACES (../shared/traces); without them those cases are skipped.
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1
traces=${LOCUS_TRACES:-../shared/traces}

served() { # NAME FILTER ARGUMENT...: the JSON passes jq -e FILTER; `s(NAME)` is what strategy NAME did
    local name=$1 filter='def s(name): .cells[0].strategies[] | select(.name == name) | .served; '$2
    if "$LOCUS" serve -q --json "${@:3}" >"$out" 2>"$err"; then says "$name" "$filter"; else fail "$name" "$(head -n 1 "$err")"; fi
}
refused() { refuses "$1" 2 "$2" serve "${@:3}"; } # name, word, argument...

if [ -r "$traces/AzureLLMInferenceTrace_conv.csv" ]; then
    export LOCUS_TRACES=$traces
    served "the fixed pool gives the published counts" \
        's("first-fit").steps == 20217 and s("first-fit").blocked == 19740 and s("static-4096").steps == 46698 and
         s("paged-prompt").steps == 14908 and s("paged-prompt").preempted == 1302 and s("paged-prompt").thrown_tokens == 1494188 and
         s("paged").steps == 15633 and (s("buddy").steps / 28154 | . > 0.99 and . < 1.01) and s("paged-full").steps == 17038' \
        azure-conv/serve/16t/131072t/first6000 --strategies first-fit,buddy,static-4096,paged-prompt,paged,paged-full
    served "under load the same arrivals for all" \
        '[.cells[0].strategies[].served.requests] == [19366, 19366]' azure-conv/serve/load90 --strategies paged,first-fit
else
    skip "the fixed pool gives the published counts" "there is no $traces"
    skip "under load the same arrivals for all" "there is no $traces"
fi

served "a file is a trace, too" '.cells[0].serving.requests == 400 and s("paged").requests == 400' testbed/workload/sample.csv \
    --strategies paged
served "bytes are tokens of the shape" '.cells[0].serving.pool_tokens == 8192 and .cells[0].serving.token_bytes == 131072' \
    sample --pool 1GiB --shape llama-3-8b --strategies paged
served "beams are the same for all" '[.cells[0].strategies[].served | select(.refused == 0) | .tokens] | unique | length == 1' \
    beam --requests 200 --strategies paged,slab-fifo,first-fit,buddy
served "what is thrown out is computed again" 's("paged-prompt") | .preempted > 0 and .swapped_tokens == 0' \
    sample --pool 16384t --load 130 --strategies paged-prompt
again=$(jq '.cells[0].strategies[0].served.prompt_tokens' "$out")
served "but not when it is swapped" "s(\"paged-prompt\") | .swapped_tokens > 0 and .prompt_tokens < $again" \
    sample --pool 16384t --load 130 --swap --strategies paged-prompt
served "who is thrown out can be chosen" 's("paged-prompt").preempted > 0' sample --pool 16384t --load 130 --victim largest \
    --strategies paged-prompt

"$LOCUS" serve sample -q --strategies paged,first-fit,static --log "$scratch/serve.jsonl" >"$scratch/first" 2>"$err"
"$LOCUS" report "$scratch/serve.jsonl" >"$scratch/second" 2>"$err"
holds "a kept log is shown again to the byte" "they differ" cmp "$scratch/first" "$scratch/second"
holds "the last line says which to use" "$(tail -n 1 "$scratch/first")" grep -q '^Use ' "$scratch/first"

refused "a request beyond the pool has its file and line" \
    'sample.csv:[0-9]*: the request needs [0-9]* tokens, and the pool has 1024' sample --pool 1024t
refused "an unknown word in a cell is named" "'watermrk5' is no touch mode or setting" azure-conv/serve/16t/watermrk5
refused "a setting twice is named" "'load80' is no touch mode or setting, or one that was made before" sample/serve/load90/load80
refused "an unknown strategy is named" "unknown strategy 'first-fitt', did you mean 'first-fit'" sample --strategies first-fitt
refused "a broken line is named" 'broken-line-7.csv:7: ' testbed/tests/fixtures/broken-line-7.csv
refused "a load is a number" "--load: 'much' is none of its values" sample --load much
refused "one trace at a time" "one too many" sample beam
done_testing
