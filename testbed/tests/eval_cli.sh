#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: test free
#
# locus eval, replay and bench from outside. LOCUS names the program, LOCUS_ASAN the one with AddressSanitizer (it also gets the
# bad input), LOCUS_TRACES the folder with the public traces.
#
# Nothing here checks times. Results are compared with figures that were computed without the program: by awk from the trace, or
# published with it.
set -u
: "${LOCUS:?LOCUS must name the program}"
here=$(cd "$(dirname "$0")" && pwd)
fixtures=$here/fixtures sample=$here/../workload/sample.csv
traces=${LOCUS_TRACES:-$here/../../../shared/traces}
. "$(dirname "$0")/cases.bash"

# --- bad input -----------------------------------------------------------------------------------------------------------------

refuses unknown-command 2 "'evil'" evil
refuses unknown-flag 2 '--frobnicate' eval --frobnicate
refuses flag-without-value 2 '--rounds' eval --rounds
refuses rounds-of-no-number 2 "--rounds: 'x'" eval --rounds x
refuses no-rounds 2 "--rounds: '0'" eval --rounds 0
refuses too-many-workers 2 '--workers' eval --workers 65
refuses unknown-workload 2 'warp' eval --workload warp
refuses unknown-touch 2 '--touch' eval --touch twice
refuses unknown-dispatch 2 '--dispatch' eval --dispatch mail
refuses unknown-contender 2 "nosuch" eval -c nosuch
refuses unknown-fault 2 "nosuch" eval -c locus@nosuch
refuses malloc-without-a-path 2 "needs a library's path" eval -c malloc
refuses missing-library 2 '/nonexistent/lib.so' eval -c malloc:/nonexistent/lib.so
refuses library-that-is-none 2 'small.csv' eval -c "malloc:$fixtures/small.csv"
refuses block-bytes-of-no-size 2 '--block-bytes' eval --block-bytes 12q
refuses superfluous-word 2 "'steady'" eval steady
refuses cell-without-a-workload 2 "'warp'" eval warp/full
refuses cell-of-strategies 2 'locus serve beam/serve' eval beam/serve
refuses cell-of-many-nodes 2 "'line'" eval churn-touch/line
refuses touch-beside-a-whole-cell 2 '--touch' eval -t byte churn-touch/full
refuses tokens-of-a-workload-without-any 2 'churn-touch.*batch-SEQUENCESxCONTEXT' eval churn-touch/decode
refuses shape-that-is-none 2 "'Lama'.*Llama-3-8B" eval batch-2x64/decode/Lama
refuses block-that-is-no-multiple-of-a-tile 2 "'100t'.*multiple of 16" eval batch-2x64/decode/100t
refuses touch-with-a-shape-that-is-none 2 "'2x2x2x8'.*multiple of 16" eval -W batch-2x64 -t decode/2x2x2x8
refuses batch-that-is-too-large 2 '1 to 64 sequences' eval -W batch-65x64
refuses batch-without-a-prompt 2 'batch-2x16x16' eval batch-2x16/decode
refuses bill-without-a-step 2 'bill.*decode' eval -W churn-touch -c bill
refuses no-drain-of-a-malloc 2 "'glibc@no-drain': glibc frees where a request ends" eval batch-2x64/decode -c glibc@no-drain
refuses first-touch-of-a-malloc 2 "'glibc@first-touch': only a pool" eval batch-2x64/decode -c glibc@first-touch
refuses no-drain-of-a-short-way 2 'is full after 64 blocks' eval batch-2x64/decode -c locus-chunk-pool@no-drain
refuses bill-of-nobody 2 "'nosuch'" eval batch-2x64/decode -c bill:nosuch
refuses pool-that-memory-does-not-have 2 'needs [0-9.]* TiB (batch-64x131072/decode/80x64x8x128, arm .*GiB: name smaller blocks' \
    eval batch-64x131072/decode/80x64x8x128
refuses blocks-that-memory-does-not-have 2 'needs 16 TiB (churn-touch.*, arm locus), .*GiB: name smaller blocks' \
    eval -W churn-touch -c glibc,locus --block-bytes 1GiB
refuses json-and-csv-to-stdout 2 'standard output' eval --json --csv
refuses replay-of-nothing 2 'TRACE' replay
refuses replay-of-a-missing-file 2 'nosuch.csv' replay "$scratch/nosuch.csv"
refuses replay-of-a-folder 2 "$scratch" replay "$scratch"
refuses replay-of-an-empty-file 2 'empty.csv' replay "$fixtures/empty.csv"
refuses csv-broken-in-line-7 2 'broken-line-7.csv:7:' replay "$fixtures/broken-line-7.csv"
refuses jsonl-broken-in-line-7 2 'broken-line-7.jsonl:7:' replay "$fixtures/broken-line-7.jsonl"
refuses request-larger-than-the-pool 1 'small.csv:2:.*10 blocks.*pool has only 4' replay --pool-blocks 4 "$fixtures/small.csv"
refuses pool-of-nothing 2 '--pool-blocks' replay --pool-blocks 0 "$fixtures/small.csv"
refuses blocks-without-tokens 2 '--tokens-per-block' replay -b 0 "$fixtures/small.csv"
refuses speedup-of-nothing 2 '--speedup' replay --speedup 0 "$fixtures/small.csv"

# cannot_write NAME WORD FILE: the result has nowhere to go.
cannot_write() {
    "$LOCUS" replay -c locus -r 1 -d inline --json="$3" "$fixtures/small.csv" >"$out" 2>"$err"
    why="exit $?: $(cat "$err")"
    check "$1" eval "[ '${why%%:*}' = 'exit 1' ] && [ \$(wc -l <'$err') = 1 ] && grep -q '^locus: $3: $2' '$err'"
}
cannot_write output-in-a-missing-folder 'there is no such folder' "$scratch/no/out.json"
[ ! -c /dev/full ] || cannot_write output-on-a-full-disk 'No space left' /dev/full
[ ! -c /dev/full ] || { "$LOCUS" eval --help >/dev/full 2>"$err"; why="exit $?"
    check help-on-a-full-disk eval "[ '$why' = 'exit 1' ] && grep -q '^locus: .*No space left' '$err'"; }

# --- help, and silence in a pipe -----------------------------------------------------------------------------------------------

for command in eval replay bench; do
    why=
    check "help-of-$command" eval "locus 0 $command --help && [ ! -s '$err' ] && [ \$(grep -c '^Examples:' '$out') = 1 ]"
    why="a line of more than 80 columns"
    check "help-of-$command-fits-80-columns" eval "! grep -q '.\{81\}' '$out'"
done
locus 0 eval --help
why="a contender is missing"
for contender in locus locus-cap-105 locus-spsc oracle-coloured locus-lfstack dpdk-ring glibc-tuned malloc:/path/lib.so; do
    check "help-lists-$contender" grep -Eq "^  $contender +[^ ]" "$out"
done
locus 0 eval -W steady-decode -c null,locus -r 2 -d inline --laps 2
check quiet-in-a-pipe [ ! -s "$err" ]
why="a line of more than 80 columns"
check table-fits-80-columns eval "! grep -q '.\{81\}' '$out'"

# --- the forms of a result -----------------------------------------------------------------------------------------------------

few=(-r 5 -d inline --laps 3)
pools=locus,locus,oracle,null,locus-backpressure,locus-published,locus-shared
if locus 0 eval -t all -c $pools,glibc-tuned "${few[@]}" -s 7 --json; then
    says json-has-every-cell '.cells | length == 12'
    says json-has-every-arm '[.cells[].arms | length] | unique == [8]'
    says json-names-its-seed '.seed == 7 and .rounds == 5 and .dispatch == "inline"'
    says every-arm-is-valid '[.cells[].arms[].valid] | all'
    says equal-bytes-were-touched '[.cells[] | .arms | map(.touched_bytes) | unique | length == 1] | all'
    says equal-blocks-were-taken '[.cells[] | .arms | map(.allocated) | unique | length == 1] | all'
    says every-lap-took-its-blocks '[.cells[] | .blocks_per_lap as $b | .arms[] | .allocated % $b == 0] | all'
    says the-suite-has-its-shapes \
        '[.cells[] | [.workload, .blocks_per_lap, .requests_per_lap, .blocks_peak]] | unique ==
        [["burst-storm",2688,64,1537],["churn-touch",1024,64,4096],["long-tail",6016,64,4168],["steady-decode",2688,64,1344]]'
    says the-twin-is-the-noise '[.cells[] | .arms[] | select(.name == "locus#2").vs_twin != null] | all'
else
    fail eval-of-all-pools "$why"
fi
# The sums of batch-4x64x8 by hand: prompts of 60 tokens; 60 to 67 tokens are 4 or 5 blocks of 16.
if locus 0 eval batch-4x64x8/full/4w batch-4x64x8/full churn-touch/byte/64KiB -c locus,null "${few[@]}" --json; then
    says whole-cells-are-what-is-run '[.cells[] | [.workload, .touch, .blocks_per_lap, .requests_per_lap]] ==
        [["batch-4x64x8","full",20,4],["batch-4x64x8","full",20,4],["churn-touch","byte",1024,64]]'
    says whole-cells-are-valid '[.cells[].arms[].valid] | all'
else
    fail whole-cells-are-what-is-run "$why"
fi
kept=$scratch/decode.jsonl
if locus 0 eval batch-4x64x8/decode/1x2x2x16/columns/2c -W batch-4x64x8 -t decode/2x4x2x16 -c locus -r 1 -d inline \
    --log "$kept"; then
    head -n 1 "$kept" >"$scratch/header"
    why="$(jq -c '.cells[] | [.name, .decode]' "$scratch/header")"
    check a-log-says-what-is-decoded jq -e '[.cells[] | [.name, .decode.layout, .decode.steps_per_lap, .decode.tokens_per_lap,
        .decode.attended_per_lap, .decode.threads]] == [["batch-4x64x8/decode/2x4x2x16","runs",8,268,2032,1],
        ["batch-4x64x8/decode/1x2x2x16/columns/2c","columns",8,268,2032,2]]' "$scratch/header"
else
    fail a-log-says-what-is-decoded "$why"
fi
kept=$scratch/tails.jsonl
if locus 0 eval -W steady-decode -t none -c locus,glibc-tuned -d inline -r 2 --laps 3 --tails --log "$kept"; then
    grep -A 5 ': one ' "$out" >"$scratch/tails"
    why="$(cat "$scratch/tails")"
    check tails-of-each-call [ "$(grep -cE '^steady-decode, no touch: one (take|push|drain)' "$scratch/tails")" = 3 ]
    check tails-of-each-arm [ "$(grep -cE '^[> ] (locus|glibc-tuned)( +[0-9.]+){4}$' "$scratch/tails")" = 6 ]
    locus 0 report "$kept" && grep -A 5 ': one ' "$out" >"$scratch/again"
    check tails-are-in-the-log cmp -s "$scratch/tails" "$scratch/again"
else
    fail tails-of-each-call "$why"
fi
# A model so small that the figures say nothing: only that each part has one, and the arms are there once.
if locus 0 eval batch-4x64x8/decode/1x2x2x16 -c locus,bill,locus@blocks -r 6 --laps 8 -d inline --json; then
    says a-bill-is-of-nine-arms '[.cells[0].arms[].name] | sort == ["locus","locus-4k","locus@blocks","locus@first-touch",
        "locus@no-append","locus@no-attend","locus@no-drain","locus@no-free","locus@nothing","oracle@nothing"]'
    says a-bill-has-all-its-lines '.cells[0].decode.bills | length == 1 and (.[0] | .arm == "locus" and
        ([.attention, .append, .allocator, .allocate, .free, .drain, .harness, .sum, .step, .small_pages, .first_touch |
        .ns.estimate] | map(type) | unique == ["number"]))'
    says a-bill-is-of-steps '.cells[0] as $c | $c.decode.bills[0].step.ns as $step | ($c.arms[] | select(.name == "locus")) as $a |
        $step.low * 8 <= ($a.samples_ns | max) and $step.high * 8 >= ($a.samples_ns | min)'
    says tokens-a-second-are-those-of-a-lap '.cells[0].arms[] | select(.name == "locus") |
        (.tokens_per_s * .median_ns / 1e9 - 32 | fabs) < 1e-6 and .floor == "locus@blocks" and .of_floor.estimate > 0'
    # A pool that gave its pages back meets each anew, and the parts of the allocator meet none.
    if "$LOCUS" counters --json | jq -e '.counters[] | select(.name == "page_faults") | .why == null' >/dev/null; then
        counts=yes
        says a-bill-has-page-faults '.cells[0].decode.bills[0] | .first_touch.page_faults.low >= 1 / 8 and
            .drain.page_faults.estimate == 0 and .allocate.page_faults.estimate == 0'
    else
        skip a-bill-has-page-faults "no page faults are counted here"
    fi
    says who-computed-is-said '.cells[0].decode | .threads == 1 and (.kernel | length > 0)'
else
    fail a-bill-is-of-nine-arms "$why"
fi
if [ -z "${counts:-}" ]; then
    skip a-bill-of-a-trace-counts-too "no page faults are counted here"
elif locus 0 replay "$sample" --requests 2 -t decode/1x2x2x16 -c bill -r 1 -d inline --json; then
    says a-bill-of-a-trace-counts-too '.cells[0].decode.bills[0].step.page_faults.estimate | type == "number"'
else
    fail a-bill-of-a-trace-counts-too "$why"
fi
# A malloc frees where a request ends: its bill has no drains and no pool whose pages are given back.
if locus 0 eval batch-4x64x8/decode/1x2x2x16 -c bill:glibc -r 6 -d inline --json; then
    says a-bill-of-a-malloc-has-no-drains '.cells[0].decode.bills[0] | .drain == null and .first_touch == null and
        ([.allocator, .allocate, .free | .ns.estimate] | map(type) | unique == ["number"])'
    says a-bill-of-a-malloc-is-of-six-arms '[.cells[0].arms[].name] | sort == ["glibc","glibc@no-append","glibc@no-attend",
        "glibc@no-free","glibc@nothing","oracle@nothing"]'
else
    fail a-bill-of-a-malloc-has-no-drains "$why"
fi
why=
for contender in {jemalloc,mimalloc,tcmalloc,glibc}{,-tuned} tbbmalloc dpdk-ring dpdk-stack; do
    if locus 0 eval -W churn-touch -t full -c $contender -r 1 -d futex -w 2 --laps 2 --json; then
        says "$contender-passes-its-gates" '.cells[0].arms[0] | .valid and .touched_bytes == 4096 * .allocated'
    elif grep -qE "^locus: contender $contender: .* is not installed|$contender.*not built in|unknown contender 'dpdk-" "$err"; then
        skip "$contender-passes-its-gates" "$(head -n 1 "$err")"
    else
        fail "$contender-passes-its-gates" "$why"
    fi
done
csv_lines() { locus 0 eval -W churn-touch -c locus,null "${few[@]}" --csv && [ "$(wc -l <"$out")" = 11 ]; }
why="not a header and 2 x 5 samples"
check csv-has-every-sample csv_lines
check csv-has-equal-columns eval "[ \$(awk -F, '{ print NF }' '$out' | sort -u | wc -l) = 1 ]"
locus 0 eval -W churn-touch -c locus,null "${few[@]}" --plot "$scratch/plot.svg"
why="no whole SVG"
check plot-is-svg eval "head -n 3 '$scratch/plot.svg' | grep -q '<svg' && grep -q '^</svg>' '$scratch/plot.svg'"
if locus 0 bench -c locus,glibc-tuned -r 3 --json; then
    says bench-has-four-operations '[.cells[0].arms[0].bench | .[] | . != null] | length >= 4'
else
    fail bench "$why"
fi

# --- gates: what is broken on purpose is INVALID, with the reason, and ranked nowhere --------------------------------------------

# invalid NAME REASON CONTENDER ARGUMENT...
invalid() {
    local name=$1 reason=$2 contender=$3
    shift 3
    if ! locus 1 eval -W burst-storm -c "locus,$contender" -r 2 --laps 3 "$@" --json; then
        fail "$name" "$why"
    else
        says "$name" ".cells[0].arms | .[0].valid and
            (.[1] | .valid == false and (.invalid | test(\"$reason\")) and .median_ns == null)"
    fi
}
for dispatch in inline spin futex; do
    invalid "gate-skip-touch-$dispatch" 'touched 0 bytes of' locus@skip-touch -d $dispatch
    invalid "gate-drop-chunk-$dispatch" 'pushed [0-9]+, drained [0-9]+' locus@drop-chunk -d $dispatch
    invalid "gate-double-free-$dispatch" '[0-9]+ frees? w(as|ere) refused' locus@double-free -d $dispatch
done
for dispatch in inline futex; do
    invalid "gate-double-free-generations-$dispatch" '[0-9]+ frees? w(as|ere) refused' locus-generations@double-free -d $dispatch
    invalid "gate-drop-chunk-bare-$dispatch" 'pushed [0-9]+, drained [0-9]+' locus-bare@drop-chunk -d $dispatch
done
invalid gate-skip-touch-malloc 'touched 0 bytes of' glibc@skip-touch -d inline
invalid gate-drop-chunk-malloc 'pushed [0-9]+, drained [0-9]+' glibc@drop-chunk -d inline
invalid gate-drop-chunk-published 'pushed [0-9]+, drained [0-9]+' locus-published@drop-chunk -d spin
invalid gate-double-free-published '.' locus-published@double-free -d spin
locus 1 eval -W burst-storm -c locus,locus@drop-chunk -r 2 --laps 3 -d inline
why="the table does not say so"
check invalid-is-in-the-table grep -Eq 'locus@drop-chunk is INVALID: pushed [0-9]+, drained [0-9]+' "$out"

# --- a log that is kept --------------------------------------------------------------------------------------------------------

kept=$scratch/kept.jsonl
mkdir -p "$scratch/tmp"
locus 0 eval -W burst-storm,cycle-256 -c locus,locus,mimalloc,null -r 3 --laps 2 -d inline --log "$kept" --json="$scratch/then.json"
why="$(head -c 300 "$err")"
check a-log-holds-each-sample [ "$("$LOCUS" record show --samples "$kept" | grep -c '^{"t":"s"')" = 24 ]
locus 0 report "$kept" --json="$scratch/now.json"
why="it shows other figures than eval did"
check a-log-is-shown-once-more cmp "$scratch/then.json" "$scratch/now.json"
head -n 25 "$kept" >"$scratch/crashed.jsonl"
locus 0 report "$scratch/crashed.jsonl" --json="$scratch/part.json"
why="$(cat "$err")"
check a-log-of-a-crash-has-its-whole-rounds eval \
    "jq -e '.rounds == 2' '$scratch/part.json' && grep -q 'crashed.jsonl: .* no seal' '$err'"
sed '0,/^\[0,0,1,/s//[0,0,2,/' "$kept" >"$scratch/changed.jsonl"
locus 1 report "$scratch/changed.jsonl"
why="$(cat "$err")"
round=$(awk '/"t":"round"|"t":"cols"/ { first = NR + 1 } /^\[0,0,1,/ { print first; exit }' "$kept") # a change is located to it
check a-changed-log-is-not-shown grep -q "changed.jsonl:$round: " "$err"
mkdir "$scratch/left" "$scratch/nothing" "$scratch/record"
cp -r "$REPO/logs/guest-n2" "$scratch/record" # the whole record takes ten times as long
cp "$kept" "$scratch/left/eval.jsonl"
printf 'Looked.\n\nFit, it seems.\n' >"$scratch/left/doctor.txt"
locus 0 report --logs "$scratch/record" --measured "$scratch/left" -o -
why="of what make run left it shows: $(grep -o '<h[23]>[^<]*' "$out" | head -n 8 | tr '\n' ' ')"
check what-make-run-left-is-on-the-page eval "grep -q '<h2>Measured here' '$out' &&
    grep -q 'Fit to measure? Fit, it seems.' '$out' && grep -q '<h3>Scoreboard, blocks written in full' '$out'"
locus 0 report --logs "$scratch/record" --measured "$scratch/nothing" -o -
check where-it-left-nothing-nothing-is-said eval "! grep -q 'Measured here' '$out'"
rm -f "$scratch"/tmp/*
TMPDIR=$scratch/tmp locus 0 eval -W cycle-256 -c locus -r 1 --laps 1 -d inline
why="$(ls "$scratch/tmp" 2>&1)"
check a-log-that-nobody-keeps-is-gone eval "[ -z \"\$(ls '$scratch/tmp')\" ]"
why="delayed on purpose, but invalid"
check a-delay-alone-is-valid locus 0 eval -W burst-storm -c locus,locus@delay:3 -r 2 --laps 3 -d inline

# --- back-pressure: the footprint is the theoretical peak, in every round ------------------------------------------------------

for dispatch in "inline 1" "spin 1" "futex 4"; do
    set -- $dispatch
    if locus 0 eval -t full -t none -c locus-backpressure -r 8 --laps 5 -d "$1" -w "$2" --csv; then
        why="another footprint than 1.000: $(awk -F, '{ print $8, $26, $27 }' "$out" | sort -u | tr '\n' ';')"
        check "backpressure-footprint-$1" awk -F, '
            NR == 1 { bad = $8 != "blocks_peak" || $26 != "outstanding_high" || $27 != "distinct" }
            NR > 1 { n++; bad += $26 != $8 || $27 != $8 } END { exit bad || n != 64 }' "$out"
    else
        fail "backpressure-footprint-$1" "$why"
    fi
done

# --- replay --------------------------------------------------------------------------------------------------------------------

lengths() { # file: prompt and output of each request
    case $1 in
    *.csv) tail -n +2 "$1" | tr -d '\r' | cut -d, -f2,3 | tr ',' ' ' ;;
    *) jq -r '"\(.input_length) \(.output_length)"' "$1" ;;
    esac
}

# replays NAME FILE TOKENS: on a pool twice as large as the largest request, everything waiting at the start.
replays() {
    local sum max requests
    read -r sum max requests < <(lengths "$2" | awk -v t="$3" '{ b = int(($1 + $2 + t - 1) / t); sum += b; if (b > max) max = b }
        END { print sum, max, NR }')
    if ! locus 0 replay "$2" -b "$3" --pool-blocks $((2 * max)) --speedup all -c locus -r 1 -d inline --block-bytes 64 --json; then
        fail "$1" "$why"
        return
    fi
    says "$1" ".cells[0] as \$c | \$c.arms[0] as \$a | \$a.valid and \$c.requests_queued > 0 and \$c.blocks_per_lap == $sum and
        \$c.requests_per_lap == $requests and (\$a.pushed / $requests) as \$laps | \$laps >= 2 and \$laps == (\$laps | floor) and
        \$a.allocated == \$laps * $sum and \$a.freed == \$a.allocated and \$a.drained == \$a.pushed and
        \$a.touched_bytes == 64 * \$a.allocated"
}

for tokens in 8 16 32 64 128; do replays "replay-sample-$tokens" "$sample" $tokens; done
for name in AzureLLMInferenceTrace_code.csv AzureLLMInferenceTrace_conv.csv conversation_trace.jsonl; do
    if [ -r "$traces/$name" ]; then
        for tokens in 8 16 32 64 128; do replays "replay-$name-$tokens" "$traces/$name" $tokens; done
    else
        skip "replay-$name" "the public trace is not in $traces (LOCUS_TRACES names the folder)"
    fi
done
conv=$traces/AzureLLMInferenceTrace_conv.csv
if [ ! -r "$conv" ]; then
    skip replay-model "the public trace is not in $traces (LOCUS_TRACES names the folder)"
elif locus 0 replay "$conv" --requests 6000 --speedup all --pool-blocks 8192 -b 16 -d inline -t none -c $pools -r 1 --json; then
    says replay-model '.cells[0] | .ticks == 17038 and .decoded_tokens == 1515140 and .live_max == 127'
    says replay-model-for-every-contender '[.cells[0].arms[] | .valid] | all'
else
    fail replay-model "$why"
fi

# Inline dispatch leaves nothing to chance: every count of two runs agrees.
twice() {
    locus 0 replay "$sample" -d inline -c locus,glibc -r 2 --csv -s 3 && cp "$out" "$scratch/first" &&
        locus 0 replay "$sample" -d inline -c locus,glibc -r 2 --csv -s 3 &&
        diff <(cut -d, -f1-17,20-27 "$scratch/first") <(cut -d, -f1-17,20-27 "$out") >/dev/null
}
why="two inline replays differ in more than their times"
check replay-is-deterministic twice

done_testing
