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
holds "and what is swapped out comes back from the tier" "$(jq -c '.cells[0].strategies[0].served' "$out")" \
    jq -e '.cells[0].strategies[0].served | .tier_stored_bytes > 0 and .tier_loaded_bytes == .tier_stored_bytes and
        .tier_left == 0 and .tier_stored_bytes + .tier_loaded_bytes == .swapped_tokens * 32768' "$out"
served "who is thrown out can be chosen" 's("paged-prompt").preempted > 0' sample --pool 16384t --load 130 --victim largest \
    --strategies paged-prompt
served "at random nobody waits, and equal blocks are not scattered" \
    '.cells[0].serving.random and s("first-fit").scattered_max > 0.9 and (s("paged") | .scattered_max == 0 and .blocked == 0)' \
    random-sizes --random --pool 163840t --block 2 --strategies first-fit,paged
random_says() { "$LOCUS" serve random-sizes/serve/2t/163840t/random -q --strategies first-fit,buddy | tail -n 1 | grep -q "$1"; }
holds "and the last line says who refused least" "another line" random_says '^Use first-fit: 226 requests found no room. With buddy'

# The clock of a step: by default, as words of a cell, and as options.
per_s() { jq '.cells[0].strategies[0].served.tokens_per_s' "$out"; }
served "tokens a second are those of the time from the first arrival, here 0, to the last finish" \
    's("paged") | (.tokens_per_s * .end_ns / 1e9 - .tokens | fabs) < 1e-6' sample --load all --strategies paged
usual=$(per_s)
served "a clock that states the usual figures gives the same" "s(\"paged\").tokens_per_s == $usual" \
    sample/serve/read10ps/step24800us --strategies paged
served "one that is half as fast gives half, in as many steps" "s(\"paged\") | .steps == 1039 and
    (.tokens_per_s * 2 / $usual - 1 | fabs) < 1e-6" sample/serve/step49600us/read20ps --strategies paged
served "as options it gives the name of the cell" '(.cells[0].name | endswith("/watermark5/read12.5ps/step30000us")) and
    (.cells[0].serving | .read_ps == 12.5 and .step_ns == 30000000)' \
    sample --load all --read-ps 12.5 --step-us 30000 --strategies paged
served "a pool that reads slowly finishes fewer requests a second" '.cells[0].serving.capacity_per_s < 0.5' \
    sample --read-ps 100 --strategies paged
refused "a clock is stated once" "'read12ps' is no touch mode or setting, or one that was made" sample/serve/read11ps/read12ps
refused "and by options once, too" "--step-us is given twice: leave one out" sample --step-us 5 --step-us 6
refused "at random there is none" "'step5us' is no touch mode or setting" sample/serve/random/step5us
refused "a clock has its unit" "'read12' is no touch mode or setting" sample/serve/read12
refused "policies have no clock" "--read-ps: of strategies alone" turns --policies --read-ps 12
check "the help fits 79 columns, and what is broken is indented" eval "locus 0 serve --help &&
    ! grep -q '.\{80\}' '$out' && grep -qx ' \{23\}by 20 MiB' '$out' && grep -qx ' \{23\}trap)' '$out'"

"$LOCUS" serve sample -q --strategies paged,first-fit,static --log "$scratch/serve.jsonl" >"$scratch/first" 2>"$err"
"$LOCUS" report "$scratch/serve.jsonl" >"$scratch/second" 2>"$err"
holds "a kept log is shown again to the byte" "they differ" cmp "$scratch/first" "$scratch/second"
holds "the last line says that two are level" "$(tail -n 1 "$scratch/first")" \
    grep -q '^No difference between first-fit and paged: ' "$scratch/first"
holds "and how many tokens a second it decodes" "$(tail -n 1 "$scratch/first")" \
    eval "tr '\n' ' ' <'$scratch/first' | tr -s ' ' | grep -qE 'first-fit decodes [0-9.]+ tokens a second, static [0-9.]+[.]'"

"$LOCUS" serve beam/serve/16t/98304t/first100 -q --strategies seed-refcount,paged --log "$scratch/trap.jsonl" \
    >"$scratch/first" 2>"$err"
holds "a trap's fault is in its log, and nothing else of what it did" "another line" jq -es '[.[] | select(.t == "s" and .invalid)]
    | length == 1 and (.[0] | .valid and .time_ns == null and (.serving | .faults == 1 and (del(.faults) | all(. == null))))' \
    <("$LOCUS" record show --samples "$scratch/trap.jsonl")
refused "a request beyond the pool has its file and line" \
    'sample.csv:[0-9]*: the request needs [0-9]* tokens, and the pool has 1024' sample --pool 1024t
refused "an unknown word in a cell is named" "'watermrk5' is no touch mode or setting" azure-conv/serve/16t/watermrk5
refused "a setting twice is named" "'load80' is no touch mode or setting, or one that was made before" sample/serve/load90/load80
refused "who comes at random has no load" "'random' is no touch mode or setting, or one that was made" sample/serve/load90/random
refused "at random nobody is thrown out" "'swap' is no touch mode or setting" sample/serve/random/swap
refused "an option that another excludes is named" "--random does not go with --load: leave one out" sample \
    --load 80 --random
refused "an unknown strategy is named" "unknown strategy 'first-fitt', did you mean 'first-fit'" sample --strategies first-fitt
refused "a broken line is named" 'broken-line-7.csv:7: ' testbed/tests/fixtures/broken-line-7.csv
refused "a load is a number" "--load: 'much' is none of its values: a percentage from 1 to 1000, or all" sample --load much
refused "a victim is one of three" "--victim: 'first' is none of its values: last, largest or cheapest" sample --victim first
refused "a shape is one of those that are known" "--shape: 'GPT-9' is none of its values: .*GPT-2" sample --shape GPT-9
refused "an option does not go with what excludes it" "--swap does not go with --random: leave one out" sample --random --swap
refused "one trace at a time" "one too many" sample beam

# The clock of this machine: what is measured differs, and all that follows from it is exact.
measured() { timeout 300 "$LOCUS" serve sample --here=batch-2x256x8/1c --shape GPT-2 -q --strategies paged,static "$@"; }
for _ in 1 2 3 4 5; do # beside other tests its rounds may lie too far apart, and then it says so
    rm -f "$scratch/here.jsonl"
    measured --log "$scratch/here.jsonl" --json >"$out" 2>"$err"
    grep -q '^locus: --here: the rounds lie so far apart' "$err" || break
done
says "a measured clock is one of this shape, by the threads that were named" '.clock | .cell == "batch-2x256x8/decode/GPT-2" and
    .threads == 1 and .rounds == 10 and .step_bytes == 18837504 and .confidence > 0.95 and
    0 < .read_ps.low and .read_ps.low <= .read_ps.estimate and .read_ps.estimate <= .read_ps.high and .floor_ps.low > 0'
says "it is the clock of the cells, and their words have it" '. as $all | [.cells[].serving | [.read_ps, .step_ns]] == (
    .clock | [[.read_ps, .floor_ps, "estimate"], [.read_ps, .floor_ps, "low"], [.read_ps, .floor_ps, "high"],
              [.floor_ps, .floor_ps, "estimate"]] |
    map([(.[0][.[2]] * 1000 | round / 1000), (.[1][.[2]] * 248000000 / 1e6 | round * 1000)])) and
    (.cells | all(.name == "sample/serve/16t/131072t/watermark5/GPT-2/read\(.serving.read_ps)ps/step\(.serving.step_ns / 1000)us"))'
says "tokens a second are those of the cells" '. as $all | .tokens | length == 2 and all(.strategy as $name |
    [$all.cells[].strategies[] | select(.name == $name) | .served.tokens_per_s] as $at |
    [.tokens_per_s.estimate, .tokens_per_s.high, .tokens_per_s.low, .floor_tokens_per_s] == $at)'
cell=$(jq -r '.cells[0].name' "$out") once=$(jq '.cells[0].strategies[0].served.tokens_per_s' "$out")
"$LOCUS" report "$scratch/here.jsonl" >"$scratch/first" 2>"$err"
holds "a kept log with a clock is shown again" "$(cat "$scratch/first")" eval "
    grep -qE '^(Use|No difference|Too noisy) ' '$scratch/first' &&
    grep -q 'Measured before, in 10 rounds of batch-2x256x8/decode/GPT-2: attention' '$scratch/first' && narrow '$scratch/first'"
served "and its cell can be served again, without measuring" "s(\"paged\").tokens_per_s == $once" "$cell" --strategies paged,static
refused "a clock is measured or stated" "--here: the clock is either measured or stated" sample --here --read-ps 12
refused "in a cell, too" "--here: the clock is either measured or stated" sample/serve/read12ps --here
refused "at random no clock is measured" "--here: at random there is no clock" sample --here --random
refused "for policies neither" "--here: of strategies alone" turns --policies --here
refused "the shape is the served one" "--here: cell 'batch-2x64x4/decode/GPT-2/Llama-3-8B'.*given before" sample --shape GPT-2 \
    --here=batch-2x64x4/Llama-3-8B
refused "an unknown batch is named" "--here: .*batch-2x" sample --here=batch-2x
refused "what cannot be served is not measured" 'the request needs [0-9]* tokens, and the pool has 1024' sample --here --pool 1024t
mkdir -p "$scratch/there" && touch "$scratch/there/log"
holds "nor what cannot be written" "$(cat "$err")" eval "! measured --log '$scratch/there/log' 2>'$err' >'$out' &&
    grep -q 'there is such a file already' '$err'"

# Policies of retention: `p(NAME)` is what NAME finds, in percent, by the blocks of the cache.
kept() { # NAME FILTER ARGUMENT...
    local name=$1 filter='def p(name): .policies[] | select(.policy == name) | .hit_ratio | map(. * 10000 | round / 100); '$2
    if "$LOCUS" serve -q --json "${@:3}" >"$out" 2>"$err"; then says "$name" "$filter"; else fail "$name" "$(head -n 1 "$err")"; fi
}
turns=testbed/workload/turns.jsonl
request='"input_length": 1000, "output_length": 9, "hash_ids"'
printf '{"timestamp": 0, %s: [%s]}\n' "$request" 1,2 "$request" 3,2 >"$scratch/broken.jsonl"
if [ -r "$traces/conversation_trace.jsonl" ]; then
    kept "lru and chain find the published part of the recorded prompts, by size" \
        'p("lru") == [4.45, 6.50, 21.12, 32.57, 35.46, 36.37] and p("chain") == [8.20, 13.32, 22.73, 32.86, 35.61, 36.25] and
         p("clairvoyant")[0] == 19.06 and (.policies[-1].policy == "clairvoyant") and .cells[0].serving.ids == 288500' \
        mooncake --policies=lru,clairvoyant,chain
    says "the answer names a policy that an engine can have" '.answer | startswith("Use chain: ")'
    kept "with a far tier and a file below, every policy finds in some tier what an unbounded cache finds" \
        '(.policies | length == 7 and all(.hit_ratio["3000"] == 105710 / 288500)) and (.tiers | length == 7) and
         (.tiers | all(((.near_hit_ratio + .far_hit_ratio + .file_hit_ratio) * 288500 | round) == 105710 and .lost == 0)) and
         (.answer | startswith("Use chain: nobody finds more in all tiers together"))' \
        mooncake/keep/3000b/far7000b/file200000b
    kept "and LRU finds in two tiers what it finds in a cache of both sizes" 'p("lru") == [21.12]' \
        mooncake/keep/3000b/far7000b --policies=lru
else
    skip "with a far tier and a file below, every policy finds in some tier what an unbounded cache finds" "there is no $traces"
    skip "and LRU finds in two tiers what it finds in a cache of both sizes" "there is no $traces"
    skip "lru and chain find the published part of the recorded prompts, by size" "there is no $traces"
    skip "the answer names a policy that an engine can have" "there is no $traces"
fi
kept "each policy has a row, the same by a cell and by the bytes of a pool" \
    '([.policies[].policy] | sort) == ["arc", "chain", "clairvoyant", "fifo", "lfu", "lru", "s3fifo"] and
     (.policies[0].hit_ratio | keys) == ["3000"] and p("lru")[0] > 0 and p("lru")[0] < p("clairvoyant")[0] and
     .policies[-1].policy == "clairvoyant" and (.answer | test("^Use chain: .* 3.06 points ahead"))' turns/keep/3000b
jq -c .policies "$out" >"$scratch/cell"
kept "a pool of a shape has so many blocks" '.cells[0].serving.blocks == 3000' turns --policies --pool 1500MiB
holds "and they hold what the cell's do" "$(cat "$out")" cmp "$scratch/cell" <(jq -c .policies "$out")
kept "a file's prompts are found by its ids" 'p("lru") == [68.47]' $turns --policies=lru --pool 51200t
"$LOCUS" serve $turns --policies -q --pool 51200t --log "$scratch/kept.jsonl" >"$scratch/first" 2>"$err"
"$LOCUS" report "$scratch/kept.jsonl" >"$scratch/second" 2>"$err"
holds "a kept log of policies is shown again to the byte" "they differ" cmp "$scratch/first" "$scratch/second"
"$LOCUS" serve $turns --policies -q --pool 51200t --csv >"$out" 2>"$err"
holds "policies are a table for programs" "$(head -n 1 "$out")" grep -qx 'policy,hit_ratio.100' "$out"

# Tiers: near 100 and far 60 blocks; the sample has 369 different ones, of 1,199.
kept "options say what a cell's words say" '[.tiers[] | del(.moves_ns)] | length == 2' $turns --policies=lru,chain --pool 51200t \
    --far 60 --file 300 --far-gbs 20 --far-us 2 --file-gbs 2.5 --file-us 90 --token-us 30 --alike
says "in the cell's name" '.cells[0].name ==
    "turns.jsonl/keep/100b/far60b/file300b/alike/far20gbs/far2us/file2.5gbs/file90us/token30us"'
says "and its sum is that of an unbounded cache" '.policies | all((.hit_ratio["100"] * 1199 | round) == 1199 - 369)'
says "from the price at which a hit alone wins" '.prices | map(.tier) == ["far", "file"] and
    (.[1].even_ns - (90000 + 16777216 / 2.5) / 512 | fabs) < 0.001 and .[1].compute_ns == 30000 * 512'
"$LOCUS" serve $turns --policies=lru,chain -q --pool 51200t --far 60 --file 300 --log "$scratch/tiers.jsonl" \
    --plot "$scratch/tiers.svg" >"$scratch/first" 2>"$err"
"$LOCUS" report "$scratch/tiers.jsonl" >"$scratch/second" 2>"$err"
holds "a kept log of tiers is shown again to the byte" "they differ" cmp "$scratch/first" "$scratch/second"
holds "and drawn, by the price of a token" "$(head -n 1 "$err")" grep -q 'far tier wins' "$scratch/tiers.svg"
refused "a tier is a policy's" "--file: of policies of retention alone" $turns --file 100
refused "a tier has blocks" "--far: '0' is none of its values: a number of blocks from 1" $turns --policies --far 0
refused "a price needs its tier" "such as file200000b" $turns --policies --file-gbs 3
refused "a whole cell has its tiers" "--far: a whole cell has it as a word" turns/keep/100b --far 9

refused "policies need a trace with ids" "sample: its prompts have no ids" sample --policies
refused "in a cell, too" "beam: its prompts have no ids" beam/keep/1000b
refused "an unknown policy is named" "unknown policy 'lruu', did you mean 'lru'" turns --policies=lruu
refused "a policy is no strategy" "unknown policy 'paged'" turns/keep --policies=paged
refused "a size that is none is named" "'0b' is no touch mode or setting" turns/keep/0b
refused "a cache holds a block" '511 tokens are less than one block of turns.jsonl, 512' $turns --policies --pool 511t
refused "policies are not scheduled" "--load: of strategies alone" turns --policies --load 80
refused "policies and strategies are not mixed" "not compared with each other" turns --policies --strategies paged
refused "a cell of strategies has no policies" "a cell of touch 'serve' has strategies" turns/serve --policies
refused "ids that follow two ids have their line" 'broken.jsonl:2: ' "$scratch/broken.jsonl" --policies
refused "a cell is whole" "--load: a whole cell has it as a word" sample/serve/16t --load 80

# A postulate with policies as its arms.
mkdir -p "$scratch/tree/postulates" && git -C "$scratch/tree" init -q
most='id: P1, metric: hit_ratio, cell: turns/keep/3000b, stat: max'
postulate() { # cells, arms
    sed "s/\"NNNN\"/\"9401\"/; s/^title:.*/title: Kept/; s/^requires:.*/requires: []/
         s/^arms:.*/arms: {$2}/; s|^cells:.*|cells: [$1]|
         s/rounds: \[30, 600\]/rounds: 6/; s/laps: 100/laps: 1/; s/dispatch: spin/dispatch: inline/; s/^gates:.*/gates: []/
        s/^prior:.*/prior: nothing/
        s/^pilot:.*/pilot: none/
         s|^  - {id: P1.*|  - {$most, arm: A, op: \"<\", value: 0.9, unit: ratio}\n\
  - {id: P2, metric: hit_ratio, cell: \"*\", stat: hl_ratio(*/A), op: within, value: [1.05, 1.5], unit: x}|" \
        testbed/postulate/TEMPLATE.md >"$scratch/tree/postulates/9401-kept.md"
}
tried() { (cd "$scratch/tree" && LOCUS_HOST=test-host "$LOCUS" "$@" >"$out" 2>"$err"); }
postulate turns/keep/3000b 'A: fifo, B: lru, C: clairvoyant'
check "a postulate of policies can be checked" tried postulate check 9401
holds "and run" "$(cat "$err")" tried run 9401 -q
holds "its claims get verdicts; who knows the future is nobody's rival" "$(grep '^P' "$out")" \
    test "$(grep -c '^P[12] .*survived$' "$out")" = 2
log=$scratch/tree/$(sed -n 's/^log //p' "$out")
says "the log has exact hits, and nothing that was not counted" \
    '[inputs | select(.t == "s") | select(.arm == "A").serving] | length == 6 and (unique | length) == 1 and
     (.[0] | keys) == ["hit_ratio", "requests"]' <("$LOCUS" record show --samples "$log")
sed -i 's|^cells:.*|cells: [turns/keep/500b/far800b/file900000b]|; s|turns/keep/3000b|turns/keep/500b/far800b/file900000b|
    s|metric: hit_ratio, cell: "\*", stat: hl_ratio(\*/A), op: within, value: .1.05, 1.5., unit: x|\
metric: file_even_ns, cell: "*", stat: max, arm: B, op: ">=", value: 1, unit: virtual_ns|' \
    "$scratch/tree/postulates/9401-kept.md"
check "a claim may be about the price from which a file wins" tried postulate check 9401
holds "and is judged" "$(cat "$err")" tried run 9401 -q
holds "by counts that are exact" "$(grep '^P' "$out")" grep -q '^P2 .*survived$' "$out"
try() { # name, word
    tried run 9401 -q
    holds "$1" "$(cat "$err")" grep -q "$2" "$err"
}
postulate turns/keep/3000b,turns/serve 'A: fifo, B: lru, C: lru'
try "strategies and policies are not in one experiment" "cell 'turns/serve': an experiment has strategies as its arms"
sed -i 's|turns/keep/3000b|turns/keep|g; s|turns/serve|turns/keep/30b|' "$scratch/tree/postulates/9401-kept.md"
try "a cell of policies has a size" "turns: touch 'keep' needs the blocks of the cache"
done_testing
