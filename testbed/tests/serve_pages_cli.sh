#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# locus serve --pages from outside: what scores find again, how full the pages are, cells, bad input, a log that says the same
# again, and a postulate that names them. LOCUS=path/to/locus.
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1

# In filters `s(NAME)` is a score's row.
rows='def s(name): .scores[] | select(.score == name); '
shown() { # NAME FILTER ARGUMENT...: the JSON passes jq -e FILTER
    local name=$1
    if "$LOCUS" serve -q --json "${@:3}" >"$out" 2>"$err"; then says "$name" "$rows$2"; else fail "$name" "$(head -n 1 "$err")"; fi
}
refused() { refuses "$1" 2 "$2" serve "${@:3}"; } # name, word, argument...

cell=turns/pages/1024p/Llama-3.2-1B/first1500
shown "each score has a row" '([.scores[].score] | sort) == ["cost", "lru", "lru-size", "weighted"] and
    .cells[0].serving.pages == 1024 and .cells[0].serving.high_permille == 900 and .cells[0].serving.split == "none"' "$cell"
says "each found something, and bytes found and reloaded are of the same turns" "$rows"'.scores | all(.kv_hit_ratio > 0.1 and
    .byte_hit_ratio < 1 and .both_reloaded_bytes == .kv_reloaded_bytes + .adapter_reloaded_bytes)'
says "the answer names one, and how full the pages are" \
    '.answer | test("^Use [a-z-]+: with eviction from 90 % .* From 90 % on 8[0-9.]+ %")'
found=$(jq "$rows s(\"cost\").kv_hit_ratio" "$out")
shown "the same cell has the same counts" "s(\"cost\").kv_hit_ratio == $found" "$cell" --pages=cost
shown "and other draws have others" "s(\"cost\").kv_hit_ratio != $found" "$cell/seed2" --pages=cost
shown "higher watermarks fill the pages further" 's("lru").used_full_mean > 0.85 and s("lru").used_peak > 0.95' \
    "$cell/mark980-950" --pages=lru
shown "without any, ranges leave for want of room alone" 's("lru").left_by_mark == 0 and s("lru").left_for_room > 100 and
    .cells[0].serving.high_permille == null' "$cell/nomark" --pages=lru
shown "zones are the kinds' own" '.cells[0].serving.kv_pages == 512 and .cells[0].serving.adapter_pages == 409' "$cell/zones50-40" \
    --pages=lru
shown "without ids only adapters stay" 's("lru") | .turns == 0 and .kv_hit_ratio == null and .adapter_hit_ratio > 0.1' \
    poisson/pages/600p/first2000 --pages=lru
shown "without a cell there is one for each watermark" '[.cells[].serving.high_permille] == [800, 900, 950, 990, null] and
    ([.cells[].serving.pages] | unique) == [1024] and [.scores[].high] == [80, 90, 95, 99, 100]' turns --requests 300 --pages=lru
says "where nobody has to leave, nothing is said of being full" '.scores | all(.used_full_mean == null or .used_full_mean > 0.5)'

# What is shown.
"$LOCUS" serve turns --pages -q --requests 500 --log "$scratch/pages.jsonl" >"$scratch/first" 2>"$err"
"$LOCUS" report "$scratch/pages.jsonl" >"$scratch/second" 2>"$err"
holds "a kept log is shown again to the byte" "they differ" cmp "$scratch/first" "$scratch/second"
holds "its tables fit 79 columns" "$(cat "$scratch/first")" narrow "$scratch/first"
"$LOCUS" report "$scratch/pages.jsonl" --plot "$scratch/pages.svg" >"$out" 2>"$err"
holds "and it is drawn" "$(cat "$err")" grep -q '<svg' "$scratch/pages.svg"
"$LOCUS" serve "$cell" --pages=lru -q --csv >"$out" 2>"$err"
holds "they are a table for programs" "$(head -n 1 "$out")" grep -q '^score,high,byte_hit_ratio,kv_hit_ratio,' "$out"

refused "an unknown score is named" "unknown score 'lruu', did you mean 'lru'" turns --pages=lruu
refused "two kinds are not compared" "scores and policies of residency are not compared with each other" turns --pages --residency
refused "a cell of scores has no batchers" "a cell of touch 'pages' has scores" turns/pages --batchers
refused "a word of another kind is none" "'50hot' is no touch mode or setting" turns/pages/50hot
refused "a setting twice is named" \
    "'nomark' is no touch mode or setting, or one that was made before" turns/pages/mark900-800/nomark
refused "settings are words of a cell" "--load: scores have only --requests; a cell says the rest" turns --pages --load 80
refused "requests that come at once keep nothing" "all requests arrive at once" turns/pages/first1
check "the help fits 79 columns and lists them" eval "locus 0 serve --help && ! grep -q '.\{80\}' '$out' &&
    grep -q '^  lru-size ' '$out' && grep -q '^  weighted ' '$out'"

# A postulate with scores as its arms.
mkdir -p "$scratch/tree/postulates" && git -C "$scratch/tree" init -q
sed "s/\"NNNN\"/\"9403\"/; s/^title:.*/title: Pages/; s/^requires:.*/requires: []/
     s/^arms:.*/arms: {A: lru, B: lru-size}/; s|^cells:.*|cells: [$cell]|
     s/rounds: \[30, 600\]/rounds: 8/; s/laps: 100/laps: 1/; s/dispatch: spin/dispatch: inline/; s/^gates:.*/gates: []/
     s/^prior:.*/prior: nothing/
     s/^pilot:.*/pilot: none/
     s|^  - {id: P1.*|  - {id: P1, metric: used_full_mean, cell: $cell, stat: max, arm: A, op: \"<\", value: 0.9, unit: ratio}\n\
  - {id: P2, metric: adapter_hit_ratio, cell: $cell, stat: min, arm: B, op: \">\", value: 0.3, unit: ratio}\n\
  - {id: P3, metric: room_p50_ns, cell: $cell, stat: hl_ratio(A/B), op: within, value: [0.01, 100], unit: x}\n\
  - {id: P4, metric: evict_range_ns, cell: $cell, stat: max, arm: A, op: \"<\", value: 1e12, unit: ns}|" \
    testbed/postulate/TEMPLATE.md >"$scratch/tree/postulates/9403-pages.md"
tried() { (cd "$scratch/tree" && LOCUS_HOST=test-host "$LOCUS" "$@" >"$out" 2>"$err"); }
check "a postulate of scores can be checked" tried postulate check 9403
tried run 9403 -q
holds "and its claims get verdicts" "$(cat "$err" "$out")" test "$(grep -c '^P[124] .*survived$' "$out")" = 3
holds "and scores have a ratio of times" "$(cat "$out")" grep -q '^P3 .* observed [0-9]' "$out"
log=$scratch/tree/$(sed -n 's/^log //p' "$out")
# A round in which the host took the CPU is repeated, because there are real times.
says "the log has each round the same but for real times, and what was found" \
    '[inputs | select(.t == "s") | select(.arm == "B").serving] | length >= 8 and
     (map(with_entries(select(.key | test("^(room|evict|evict_range|pin|unpin)_(p[0-9]+_)?ns$") | not))) | unique | length) == 1 and
     all(.room_p50_ns > 0 and .room_p999_ns >= .room_p50_ns and .evict_range_ns > 0 and .unpin_p99_ns >= .unpin_p50_ns) and
     (.[0] | has("byte_hit_ratio") and has("stretch_least") and (has("hit_ratio") | not))' \
    <("$LOCUS" record show --samples "$log")
done_testing
