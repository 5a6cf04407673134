#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What a user's trace may do to the commands that read one: ids of any size and sign, requests that are left out, and traces so
# short, so sparse or so much at once that figures have nothing to be made of. Each command then gives figures that are finite, or
# one line that says why not. The traces are made here. LOCUS=path/to/locus.
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1
export LOCUS_TRACES=$scratch
root=$PWD

csv() { # NAME AWK: a CSV trace of the lines "seconds prompt output" that the program prints
    { echo TIMESTAMP,ContextTokens,GeneratedTokens
      awk "BEGIN { $2 }" | while read -r seconds prompt output; do
          printf '%(%Y-%m-%d %H:%M:%S)T.%03d,%d,%d\n' "${seconds%.*}" "$((10#${seconds#*.}))" "$prompt" "$output"
      done; } >"$scratch/$1.csv"
}
ids() { # NAME AWK: a JSON Lines trace of "ms prompt output id,id,..."
    awk "BEGIN { $2 }" | while read -r ms prompt output ids; do
        printf '{"timestamp": %s, "input_length": %d, "output_length": %d, "hash_ids": [%s]}\n' "$ms" "$prompt" "$output" "$ids"
    done >"$scratch/$1.jsonl"
}
TZ=UTC
export TZ
at='function at(s, prompt, output) { printf "%.3f %d %d\n", 1700000000 + s, prompt, output } BEGIN {'
many() { csv "$1" "} $at for (i = 0; i < $2; i++) at(i * $3, $4, $5)"; }

# --- how many tokens an id stands for --------------------------------------------------------------------------------------------

# 100 requests of 320 tokens with 20 ids, of which only the first is common: 16 of 320 tokens can be found.
ids sixteen 'for (i = 0; i < 100; i++) { l = "1"; for (j = 1; j < 20; j++) l = l "," (100 * i + 1000 + j)
    print i * 200, 320, 8, l }'
check "no more is found than ids of 16 tokens have in common" \
    locus 0 serve "$scratch/sixteen.jsonl" --load all --pool 4000t -c paged-shared -q --json="$scratch/json"
says "as a count" '.cells[0].strategies[0].served.cached_tokens | . > 0 and . <= 99 * 16' "$scratch/json"
says "the size is in the cell" '.cells[0].serving | [.id_tokens, .id_tokens_least, .id_tokens_most] == [16, 16, 16]' "$scratch/json"
worded() { holds "$1" "$(cat "$out")" eval "tr -s ' \n' ' ' <'$out' | grep -q '$2'"; } # name, words, which may be on two lines
worded "and in words" 'An id of a prompt stands for 16 tokens: no other size fits'
check "a cache has blocks of that size" \
    locus 0 serve "$scratch/sixteen.jsonl" --policies=lru --far 40 --pool 1600t -q --json="$scratch/json"
says "and their price" '.cells[0].serving | .id_tokens == 16 and .blocks == 100 and .tiers.block_bytes == 16 * 32768' \
    "$scratch/json"
holds "and says so" "$(cat "$out")" grep -q '2000 blocks of 16 tokens' "$out"
check "an arena's turns have it as well" locus 0 serve "$scratch/sixteen.jsonl" --pages=lru -q --json="$scratch/json"
says "in each cell" '[.cells[].serving.id_tokens] | unique == [16]' "$scratch/json"

ids open 'for (i = 0; i < 3; i++) print i, 1200, 4, "1,2," 3 + i'
sized() { # NAME TOKENS ARGUMENT...
    check "$1" locus 0 serve "${@:3}" --policies=lru -q --json="$scratch/json"
    says "$1, as a figure" ".cells[0].serving.id_tokens == $2" "$scratch/json"
}
sized "of several sizes it is the power of two" 512 "$scratch/open.jsonl"
worded "and the others are named" 'sizes from 400 to 599 fit the requests (--id-tokens)'
sized "or what the user says" 401 "$scratch/open.jsonl" --id-tokens 401
ids single 'print 0, 512, 8, 7; print 1, 300, 8, 7'
sized "an id for each whole prompt may have any size" 512 "$scratch/single.jsonl"
ids none 'print 0, 40, 4, "1,2,3,4"; print 1, 12, 4, "9"'
sized "a size that is no power of two is taken when it is said" 13 "$scratch/none.jsonl" --id-tokens 13
wrong() { refuses "$1" 2 "$2" "${@:3}"; } # name, word, argument...
wrong "where none is a power of two, the user is asked" 'none.jsonl: an id may stand for 12 to 13 tokens.*--id-tokens' \
    serve "$scratch/none.jsonl" --policies
wrong "a size that does not fit is refused" 'open.jsonl:1: by these hash_ids an id stands for at most 599 tokens, not 600' \
    serve "$scratch/open.jsonl" --policies --id-tokens 600
wrong "a trace without ids has no size" 'sample: no request has hash_ids\|sample.csv: no request has hash_ids' \
    serve sample --id-tokens 16
wrong "a made scenario has its own" 'few-shot: an id stands for 16 tokens, not 8' serve few-shot --policies --id-tokens 8
wrong "no tokens are no size" "--id-tokens: '0' is not a number of tokens from 1" serve few-shot --policies --id-tokens 0
wrong "tokens whose bytes nobody counts are none" "--id-tokens: '4294967295' is not a number of tokens from 1 to 16777216" \
    serve few-shot --policies --id-tokens 4294967295

ids few 'print 0, 1200, 4, "1,2,3"; print 1, 1200, 4, "1,2"'
ids much 'print 0, 1200, 4, "1,2,3"; print 1, 3, 4, "1,2,3,4"'
ids noprompt 'print 0, 1200, 4, "1,2,3"; print 1, 0, 4, "5"'
for command in 'serve' 'serve --policies' 'serve --batchers' 'replay'; do
    wrong "too few ids: $command" 'few.jsonl:2: 2 hash_ids for 1200 tokens: an id has at least 600, and by line 1 at most 599' \
        $command "$scratch/few.jsonl"
    wrong "more ids than tokens: $command" 'much.jsonl:2: 4 hash_ids for a prompt of 3 tokens' $command "$scratch/much.jsonl"
    wrong "an id of no prompt: $command" 'noprompt.jsonl:2: 1 hash_ids for a prompt of 0 tokens' $command "$scratch/noprompt.jsonl"
done

ids wide 'print 0, 512, 8, "18446744073709551615"; print 1, 512, 8, "18446744073709551615"; print 2, 512, 8, "9223372036854775808"
    print 3, 512, 8, "-9223372036854775807"; print 4, 512, 8, "9223372036854775808"'
check "ids of 64 bits are read" locus 0 serve "$scratch/wide.jsonl" --policies=lru -q --json
says "and are what they are" '.policies[0].hit_ratio["1000"] == 0.4'
check "by replay as well" locus 0 replay "$scratch/wide.jsonl" -q -r 1 -c locus -d inline

# --- who is left out -------------------------------------------------------------------------------------------------------------

csv holes "} $at at(0, 0, 5); for (i = 1; i < 9; i++) at(i, 300, 9); at(9, 7, 0); at(10, 0, 3)"
words='3 requests are left out: 2 without a prompt, 1 without an output'
for command in 'serve --load all -c paged' 'serve --batchers=fifo' 'serve --pages=lru' 'replay -r 1 -c locus -d inline'; do
    check "who is left out is said: $command" locus 0 $command "$scratch/holes.csv" -q --json="$scratch/json"
    worded "in the same words: $command" "$words"
    says "also for programs: $command" ".about | contains(\"$words\")" "$scratch/json"
    says "and the others are counted: $command" \
        '[.cells[] | .serving.requests // .requests_per_lap // .requests] | unique == [8]' "$scratch/json"
done
csv nobody "} $at at(0, 0, 5); at(1, 9, 0)"

# --- figures that are none -------------------------------------------------------------------------------------------------------

csv zero ""
many one 1 0 320 16
many two 2 0 320 16
many three 3 20 320 16
many twenty 20 0.2 700 40
many once 20 0 700 40
csv year "} $at for (i = 0; i < 3; i++) at(i * 31536000, 320, 16)"
# As the first rows of a service's.
csv head "} $at for (i = 0; i < 50; i++) at(i * 0.37 + (i % 7) * 0.01, 374 + (i * 733) % 3700, 12 + (i * 97) % 400)"
ids chain 'for (i = 0; i < 3; i++) print 20000 * i, 1024, 8, "1," 5 + i'
ids same 'for (i = 0; i < 20; i++) print 0, 1024, 8, "1," 5 + i % 4'

# What may be null: settings of another view, a verdict that is not there, and what testbed/report/README.md names.
null_ok='["invalid", "hot", "warm", "rank", "rate_per_s", "batch", "load_percent", "adapter_pages", "kv_pages", "scratch_per_s",
    "high_permille", "low_permille", "far", "file", "far_even_ns", "file_even_ns", "kv_hit_ratio", "adapter_hit_ratio",
    "byte_hit_ratio", "used_full_mean", "used_full_least", "above_95_ratio", "stretch_mean", "stretch_least",
    "stretch_good_ratio", "evict_p50_ns", "evict_p99_ns", "evict_range_ns", "pin_p50_ns", "pin_p99_ns", "lost_mean_ns", "y"]'
# finite NAME ALSO ARGUMENT...: figures, which are finite, or one line on bad input. ALSO: more keys that may be null, as JSON.
finite() {
    local name=$1 also=$2 status
    shift 2
    "$LOCUS" "$@" -q --json="$scratch/json" >"$out" 2>"$err" </dev/null
    status=$?
    if [ $status -eq 2 ]; then
        why="bad input must be one line that names the trace: $(head -n 2 "$err")"
        check "$name" eval "[ \$(wc -l <'$err') -eq 1 ] && [ ! -s '$out' ] && grep -q '^locus: [^ ]*${trace%.*}' '$err'"
    elif [ $status -ne 0 ]; then
        fail "$name" "exit $status: $(head -n 1 "$err")"
    elif grep -wiE -- 'nan|inf|null' "$out" >"$scratch/found"; then
        fail "$name" "it says: $(head -n 1 "$scratch/found")"
    else
        says "$name" "($null_ok + $also) as \$ok |
            [del(.head) | paths(. == null) | map(strings) | last | select(IN(\$ok[]) | not)] == [] and
            ([.. | objects | .end_ns?, .back_p99_ns? | numbers | select(. > 1e15)] == [])" "$scratch/json"
    fi
}
unloaded='["capacity_per_s", "speedup"]'
for trace in zero.csv one.csv two.csv three.csv twenty.csv once.csv year.csv head.csv nobody.csv chain.jsonl same.jsonl; do
    file=$scratch/$trace
    finite "$trace under load" '[]' serve "$file" -c paged,first-fit,static-4096
    finite "$trace in a pool for two" '[]' serve "$file" -c paged,static-4096 --pool 672t
    finite "$trace under ten times what it can do" '[]' serve "$file" -c paged,paged-prompt --pool 5000t --load 1000
    finite "$trace all at the start" "$unloaded" serve "$file" -c paged,first-fit,static-4096 --load all
    finite "$trace at random" "$unloaded" serve "$file" -c paged,first-fit,static-4096 --random
    finite "$trace swapped" "$unloaded" serve "$file" -c paged-prompt --load all --swap --pool 5000t
    finite "$trace in a cache" '[]' serve "$file" --policies=lru,chain
    finite "$trace in tiers" '[]' serve "$file" --policies=lru,chain --pool 3000t --far 3 --file 10
    finite "$trace in batches" '[]' serve "$file" --batchers=fifo,robin
    finite "$trace with adapters in memory" '[]' serve "$file" --residency=lru
    finite "$trace in pages" '[]' serve "$file" --pages=lru
    finite "$trace advised" '["emulated"]' advise --trace "$file"
done
wrong "a load that cannot be measured has a remedy" 'three.csv: no request is done while another one waits.*--load all' \
    serve "$scratch/three.csv"
wrong "nor is it in a pool in which the last one waits" 'three.csv: no request is done while another one waits' \
    serve "$scratch/three.csv" --pool 672t
check "where somebody waits, it is a figure" locus 0 serve "$scratch/twenty.csv" -c paged --pool 2048t -q --json
says "and the arrivals follow from it" '.cells[0] | .serving.capacity_per_s > 0 and .serving.speedup > 0 and
    .strategies[0].served.requests == 20 and .strategies[0].served.end_ns < 1e12'
cd "$scratch" || exit 1 # a cell has no folders
wrong "a clock has an end" 'year.csv: the requests 200 times last longer than 292 years: at most 97 times' \
    serve year.csv/adapters/times200
wrong "scratch of a year is more than can be tried" 'year.csv/pages/rate1 or year.csv/pages/noscratch' \
    serve "$scratch/year.csv" --pages
check "and the remedy is one" locus 0 serve year.csv/pages/rate1 -q
cd "$root" || exit 1
check "who refuses everybody is no fault" locus 0 serve "$scratch/twenty.csv" -c static-4096 --load all --pool 2048t -q --json
says "and made no call" '.cells[0].strategies[0].served | .refused == 20 and .calls == 0 and .call_ns == 0'

# A lap is timed, and its figures are the same in every command that has laps.
for trace in zero.csv one.csv two.csv three.csv twenty.csv year.csv nobody.csv chain.jsonl; do
    cp "$scratch/$trace" "$scratch/AzureLLMInferenceTrace_conv.csv"
    for run in "replay $scratch/$trace" "replay $scratch/$trace --speedup all --pool-blocks 50" 'eval azure-conv/byte/inline'; do
        [[ $run == eval* && $trace == *.jsonl ]] && continue
        "$LOCUS" $run -r 1 -c locus -d inline -q --json="$scratch/json" >"$out" 2>"$err"
        status=$?
        if [ $status -eq 0 ]; then
            says "$trace, ${run%% *}: laps have a time" '[.cells[].arms[] | .median_ns, .min_ns] | length > 0 and all(. > 0)' \
                "$scratch/json"
            holds "$trace, ${run%% *}: in text too" "$(cat "$out")" eval "! grep -qwiE 'nan|inf|null' '$out'"
        else
            holds "$trace, ${run%% *}: one line says why not" "exit $status: $(head -n 2 "$err")" \
                eval "[ \$(wc -l <'$err') -eq 1 ] && [ ! -s '$out' ] && [ $status -ne 137 ]"
        fi
    done
done

done_testing
