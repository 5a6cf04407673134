#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# locus serve --batchers and --residency from outside: who starves and who is found hot, cells, bad input, a log that says the same
# again, and postulates that name them. LOCUS=path/to/locus.
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1

# In filters `b(NAME)` is a batcher's row, and `r(NAME)` a policy's.
rows='def b(name): .batchers[] | select(.batcher == name); def r(name): .residents[] | select(.policy == name); '
shown() { # NAME FILTER ARGUMENT...: the JSON passes jq -e FILTER
    local name=$1
    if "$LOCUS" serve -q --json "${@:3}" >"$out" 2>"$err"; then says "$name" "$rows$2"; else fail "$name" "$(head -n 1 "$err")"; fi
}
refused() { refuses "$1" 2 "$2" serve "${@:3}"; } # name, word, argument...

# Batchers.
shown "each batcher has a row, and all serve equally many" '([.batchers[].batcher] | sort) == ["fifo", "oldest", "robin", "seed"]
    and ([.batchers[] | [.batched, .unserved, .batch_fill]] | unique | length) == 1 and .cells[0].serving.load_percent == 130' \
    poisson/adapters/2000a/batch64/load130
says "under the seed's rule rare adapters starve, by turns none" "$rows"'(b("seed") | .starved > 0 and .starved_rest_ratio > 0.1)
    and
    (b("robin") | .starved == 0 and .passed_over_max <= .starved_beyond) and b("robin").starved_beyond == 31'
says "the answer says so" '.answer | startswith("Use robin: nobody starves") and test("Under (seed|oldest) [0-9]+ requests starve")'
starved=$(jq '.batchers[] | select(.batcher == "seed").starved' "$out")
shown "the same cell has the same counts" "b(\"seed\").starved == $starved" poisson/adapters/2000a/batch64/load130 --batchers=seed
shown "and other draws have others" "b(\"seed\").starved != $starved" poisson/adapters/2000a/batch64/load130/seed2 --batchers=seed
shown "below what batches can take nobody starves" '[.batchers[].starved] | unique == [0]' poisson/adapters/load50
shown "without a cell there is one for each load" '[.cells[].serving.load_percent] == [80, 100, 110, 150] and
    (.batchers | length) == 8 and .cells[0].serving.times == 500 and (.wait_rest_max | length) == 2' sample --batchers=robin,seed

# Policies of residency.
shown "each policy of residency has a row, and the one that knows the future is the last" '([.residents[].policy] | sort) ==
    ["clairvoyant", "cost", "fixed", "frequency", "lru", "ranked", "seed"] and .residents[-1].policy == "clairvoyant" and
    ([.residents[].hot_ratio] | max) == r("clairvoyant").hot_ratio' poisson/residency/rate20
says "a use finds its adapter in one of three places" '.residents | all(.hot_ratio + .warm_ratio + .cold_ratio - 1 | fabs < 1e-9)'
says "of uses that are independent the known popularity is the best that there is" \
    '.answer | startswith("Use fixed if you know") and test("Otherwise (frequency|ranked): nowhere")'
shown "a rank has its bytes" 'r("lru") | .f16_bytes == 8 * 13631488 * (.uses - (.uses * .hot_ratio | round))' \
    poisson/residency/rank64 --residency=lru
shown "of uses that come again lru finds more" 'r("lru").hot_ratio > r("fixed").hot_ratio' poisson/residency/again80 \
    --residency=lru,fixed
shown "the seed's rule has nothing hot where uses are rare" 'r("seed") | .hot_ratio == 0 and .hot_most == 0' \
    poisson/residency/rate0.1 --residency=seed
shown "without a cell there is one for each rate" '[.cells[].serving.rate_per_s] == [0.1, 1, 10, 100]' sample \
    --residency=frequency
shown "a cell without a rate has the scenario's" '.cells[0].serving.rate_per_s | . > 0.97 and . < 1.03' poisson/residency \
    --residency=frequency

# What is shown.
for view in batchers residency; do
    "$LOCUS" serve sample "--$view" -q --requests 100 --log "$scratch/$view.jsonl" >"$scratch/first" 2>"$err"
    "$LOCUS" report "$scratch/$view.jsonl" >"$scratch/second" 2>"$err"
    holds "a kept log of $view is shown again to the byte" "they differ" cmp "$scratch/first" "$scratch/second"
    holds "its tables fit 79 columns" "$(cat "$scratch/first")" narrow "$scratch/first"
    "$LOCUS" report "$scratch/$view.jsonl" --plot "$scratch/$view.svg" >"$out" 2>"$err"
    holds "and it is drawn" "$(cat "$err")" grep -q '<svg' "$scratch/$view.svg"
done
"$LOCUS" serve poisson/adapters -q --csv >"$out" 2>"$err"
holds "they are a table for programs" "$(head -n 1 "$out")" grep -q '^batcher,load,starved_ratio,passed_over_max,' "$out"

refused "an unknown batcher is named" "unknown batcher 'robbin', did you mean 'robin'" poisson --batchers=robbin
refused "an unknown policy of residency is named" "unknown policy of residency 'lruu', did you mean 'lru'" poisson --residency=lruu
refused "a batcher is no strategy" "unknown strategy 'robin'" poisson --strategies robin
refused "two kinds are not compared" "batchers and policies of residency are not compared with each other" poisson --batchers \
    --residency
refused "nor with strategies" "strategies and batchers are not compared with each other" poisson --batchers --strategies paged
refused "a cell of batchers has no policies of residency" "a cell of touch 'adapters' has batchers" poisson/adapters --residency
refused "a word of the other kind is none" "'rank8' is no touch mode or setting" poisson/adapters/rank8
refused "a setting twice is named" "'batch32' is no touch mode or setting, or one that was made before" \
    poisson/adapters/batch64/batch32
refused "settings are words of a cell" "--load: batchers have only --requests; a cell says the rest" poisson --batchers --load 80
refused "they have no clock" "--here: of strategies alone: batchers have no clock" poisson --batchers --here
refused "there is a 101st adapter" "100 adapters have no 101st" poisson/adapters/100a
refused "and a cold one" "leave no adapter cold" poisson/residency/1100a
refused "requests that come at once have no batches" "all requests arrive at once" poisson/adapters/first1
check "the help fits 79 columns and lists them" eval "locus 0 serve --help && ! grep -q '.\{80\}' '$out' &&
    grep -q '^  robin ' '$out' && grep -q '^  frequency ' '$out' && grep -q '^  poisson ' '$out'"

# A postulate with batchers as its arms.
mkdir -p "$scratch/tree/postulates" && git -C "$scratch/tree" init -q
postulate() { # cells, arms, the predictions
    sed "s/\"NNNN\"/\"9402\"/; s/^title:.*/title: Adapters/; s/^requires:.*/requires: []/
         s/^arms:.*/arms: {$2}/; s|^cells:.*|cells: [$1]|
         s/rounds: \[30, 600\]/rounds: 6/; s/laps: 100/laps: 1/; s/dispatch: spin/dispatch: inline/; s/^gates:.*/gates: []/
         s/^prior:.*/prior: nothing/
         s/^pilot:.*/pilot: none/
         s|^  - {id: P1.*|$3|" testbed/postulate/TEMPLATE.md >"$scratch/tree/postulates/9402-adapters.md"
}
tried() { (cd "$scratch/tree" && LOCUS_HOST=test-host "$LOCUS" "$@" >"$out" 2>"$err"); }
survives() { # how many
    check "$1" tried postulate check 9402
    tried run 9402 -q
    holds "and its claims get verdicts" "$(cat "$err" "$out")" test "$(grep -c '^P[12] .*survived$' "$out")" = 2
}
cell=poisson/adapters/2000a/batch64/load130
postulate "$cell" 'A: robin, B: seed' "  - {id: P1, metric: starved, cell: $cell, stat: max, arm: A, op: \"==\", \
value: 0, unit: count}\n\
  - {id: P2, metric: starved_rest_ratio, cell: $cell, stat: min, arm: B, op: \">\", value: 0.1, unit: ratio}"
survives "a postulate of batchers can be checked"
log=$scratch/tree/$(sed -n 's/^log //p' "$out")
says "the log has each round the same, and what each wait was" \
    '[inputs | select(.t == "s") | select(.arm == "B").serving] | length == 6 and (unique | length) == 1 and
     (.[0] | has("wait_rest_p99") and has("unserved") and (has("hit_ratio") | not))' \
    <("$LOCUS" record show --samples "$log")
cell=poisson/residency/rate0.1
postulate "$cell" 'A: seed, B: lru, C: clairvoyant' "  - {id: P1, metric: hot_ratio, cell: $cell, stat: max, arm: A, \
op: \"<\", value: 0.01, unit: ratio}\n\
  - {id: P2, metric: thrash, cell: $cell, stat: max, arm: B, op: \"<\", value: 50, unit: count}"
survives "a postulate of policies of residency can be checked"
sed -i "s|cells: .*|cells: [$cell, poisson/adapters]|" "$scratch/tree/postulates/9402-adapters.md"
tried run 9402 -q
holds "they are not in one experiment" "$(cat "$err")" grep -q "'poisson/adapters': an experiment has strategies as its arms" "$err"
done_testing
