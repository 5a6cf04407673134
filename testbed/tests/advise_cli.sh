#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all guest
#
# locus advise from outside: bad input, a host with one node, and emulated machines, where every count is exact. LOCUS names the
# program, LOCUS_ASAN the one with AddressSanitizer (it also gets the bad input), BUILD the build folder.
# testbed/report/tests/advise_test.c tests the pages for hardware with several nodes.
set -u
: "${LOCUS:?LOCUS must name the program}" "${BUILD:?BUILD must name the folder of the build}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1
fixtures=testbed/tests/fixtures
flat() { tr -s '\n ' '  ' <"$1"; } # on one line: whether it says something does not depend on where it is broken

has() { holds "$1" "not said: $3" grep -qF -- "$3" <(flat "$2"); } # name, file, words
refused() { refuses "$1" "$2" "$3" advise "${@:4}"; }

# --- bad input -----------------------------------------------------------------------------------------------------------------

refused advise-of-a-missing-trace 2 'nosuch.csv' --trace "$scratch/nosuch.csv"
refused advise-of-a-broken-trace 2 'broken-line-7.csv:7:' --trace "$fixtures/broken-line-7.csv"
refused advise-of-a-trace-without-a-flag 2 '--trace trace.csv' trace.csv
refused advise-of-an-unknown-workload 2 'warp' --workload warp
refused advise-of-a-trace-and-a-workload 2 '--workload' --workload steady-decode --trace "$fixtures/small.csv"
refused advise-of-a-workload-with-a-pool 2 '--workload' --workload steady-decode --pool-blocks 100
refused advise-request-larger-than-the-pool 1 'small.csv:2:.*pool has only 4' --pool-blocks 4 --trace "$fixtures/small.csv"
refused advise-pool-of-nothing 2 '--pool-blocks' --pool-blocks 0
refused advise-blocks-without-tokens 2 '--tokens-per-block' --tokens-per-block 0
refused advise-blocks-of-no-size 2 '--block-bytes' --block-bytes 12q
refused advise-no-rounds 2 '--rounds' --rounds 0
refused advise-more-than-all-cross 2 '--cross.*101' --cross 101
refused advise-unknown-dispatch 2 '--dispatch' -d mail
refused advise-unknown-contender 2 'nosuch' -c nosuch
refused advise-contender-of-one-node 2 "'locus'.*locus eval" -c locus
refused advise-contender-with-a-share 2 '--cross' -c home-steered%50
refused advise-blocks-without-a-shape 2 '--blocks: only of a model: --shape' --blocks 16
refused advise-of-an-unknown-shape 2 "--shape: 'warp'.*Llama-3.2-1B" --shape warp
refused advise-of-a-shape-and-bytes 2 '--block-bytes: with --shape.*--blocks' --shape GPT-2 --block-bytes 4KiB
refused advise-of-a-shape-and-half-a-trace 2 '--trace: which trace' --shape GPT-2 --requests 3
refused advise-of-an-unknown-type 2 "--type: 'f8' is not f32" --shape GPT-2 --type f8
refused advise-of-no-threads 2 "--threads: '0'" --shape GPT-2 --threads 0
refused advise-of-a-described-machine 2 '--topology: .*add --plan' --topology pu:2
refused advise-plan-of-what-is-no-machine 2 'fixtures: it lacks sys/devices/system/cpu' --plan --root "$fixtures"
refused advise-plan-of-rounds 2 '--rounds: not with --plan' --plan --rounds 2
refused advise-plan-of-a-process 2 '--pid: .*leave out --plan' --pid $$ --plan
refused advise-process-of-another-machine 2 '--pid: .*leave out --topology' --pid $$ --topology pu:2
machine_root "$scratch/box"
check advise-plan-of-a-root locus 0 advise --plan --root "$scratch/box" --json
says advise-plan-knows-its-nodes '.measured == false and .machine.homes == [1, 2] and .machine.not_for_this_process == []'
says advise-plan-has-lines-for-them '.plans | map({(.name): .numactl}) | add |
    .preferred == ["numactl --cpunodebind=1 --preferred=1 ENGINE", "numactl --cpunodebind=2 --preferred=2 ENGINE"] and
    .interleave == ["numactl --interleave=1,2 ENGINE"] and .repair == null'
check advise-plan-of-one-node page "$LOCUS" advise --plan --topology pu:2
has advise-plan-of-one-node-has-nothing-to-choose "$out" 'pu:2 has memory and CPUs on node 0, so between nodes there is nothing'
(cd "$scratch" && "$LOCUS" advise >out 2>err)
why="exit $?: $(cat "$err")"
check advise-elsewhere-has-the-sample-all-the-same [ "$why" = 'exit 0: ' ]
(cd "$scratch" && LOCUS_SHARE=nowhere "$LOCUS" advise >out 2>err)
why="exit $?: $(cat "$err")"
check advise-without-the-sample-asks-for-a-trace eval "[ '${why%%:*}' = 'exit 2' ] && grep -q 'which trace.*--trace' '$err'"

why=
check advise-help eval "locus 0 advise --help && [ ! -s '$err' ] && [ \$(grep -c '^Examples:' '$out') = 1 ]"
why="a line of more than 80 columns"
check advise-help-fits-80-columns eval "! grep -q '.\{81\}' '$out'"

# --- a host of one node --------------------------------------------------------------------------------------------------------

one_node() {
    locus 0 advise --trace="$fixtures/small.csv" --cross 20
    check one-node-is-no-failure [ -z "${why##exit 0*}" ]
    check one-node-is-quiet-in-a-pipe [ ! -s "$err" ]
    has one-node-has-nothing-to-choose "$out" \
        'This machine has one node: every placement is the same here, and there is nothing to choose.'
    has one-node-still-recycles "$out" 'locus_pool_open(&pool,'
    has one-node-offers-the-guest "$out" '`locus guest -- advise`'
    why="it speaks of speed: $(grep -wE 'faster|slower|times|ns' "$out")"
    check one-node-says-nothing-of-speed eval "! grep -qwE 'faster|slower|times|ns' '$out'"
    locus 0 advise --json
    says one-node-in-json '.measured == false and .machine.emulated == null and (.arms | not) and (.why_not | length > 0)' "$out"
    locus 0 advise --json="$scratch/file.json"
    says one-node-json-in-a-file '.command == "advise"' "$scratch/file.json"
    has one-node-page-beside-the-file "$out" 'nothing to choose'
    why="a full disk: exit 0"
    [ ! -c /dev/full ] || check advise-on-a-full-disk eval "! '$LOCUS' advise >/dev/full 2>'$err' && grep -q 'No space left' '$err'"
}

# Four cells of a small model. What is fast here is not asked: whether every figure is there, and the log says the same.
shape() {
    local tiny='--shape 2x8x2x64 -W batch-2x64x2' cells='.blocks + .layouts'
    refused shape-of-an-odd-block 2 "--blocks: '24'.*multiple of 16" --shape GPT-2 --blocks 16,24
    refused shape-of-a-block-twice 2 '--blocks, --layouts: 16 tokens in layout runs occur twice' --shape GPT-2 --blocks 16,16
    refused shape-of-an-unknown-layout 2 "--layouts: 'warp' is none of.*columns" --shape GPT-2 --layouts warp
    refused shape-of-a-layout-without-blocks 2 '--layouts: layout contiguous has no block size.*runs,contiguous' \
        --shape GPT-2 --layouts contiguous
    refused shape-of-a-workload-without-tokens 2 '--workload: steady-decode: no tokens' --shape GPT-2 -W steady-decode
    refused shape-of-a-batch-beyond-memory 2 'needs 3.1 TiB .batch-64x131072.* node 0 has' --shape Llama-3-70B -W batch-64x131072
    refused shape-of-a-placement 2 "--contenders: 'home-steered' is for several nodes" --shape GPT-2 -c home-steered
    refused shape-of-floors-alone 2 '--contenders: floors and faults' --shape GPT-2 -c locus@stream
    refused shape-of-a-missing-trace 2 'nosuch.csv' --shape GPT-2 --trace "$scratch/nosuch.csv"

    locus 0 advise $tiny --blocks 32,16 --layouts runs,columns,contiguous -r 6 -s 1 --log "$scratch/shape.jsonl" --json
    cp "$out" "$scratch/shape.json"
    says shape-in-json '.command == "advise" and .shape == "2x8x2x64" and .workload == "batch-2x64x2" and .rounds == 6' "$out"
    says shape-has-a-star-of-cells '[.blocks[].block_tokens] == [16, 32] and
        ([.layouts[] | [.layout, .block_tokens]] | .[:2] == [["runs", 32], ["columns", 32]] and .[2][0] == "contiguous")' "$out"
    says shape-has-the-other-questions '([.pages, .orders] | map(length) == [2, 2]) and (.allocators | length >= 1)' "$out"
    says shape-has-an-interval-of-tokens "$cells | all(.valid and .tokens_per_s.low > 0 and
        .tokens_per_s.low <= .tokens_per_s.estimate and .tokens_per_s.estimate <= .tokens_per_s.high)" "$out"
    says shape-says-one-word-of-each-choice '[.blocks, .layouts | .[] | .verdict] | length == 5 and all(. != null)' "$out"
    locus 0 report "$scratch/shape.jsonl" --json
    check shape-its-log-shows-the-same-once-more cmp -s "$out" "$scratch/shape.json"
    locus 0 report "$scratch/shape.jsonl"
    why="a line of more than 80 columns"
    check shape-page-fits-80-columns eval "! grep -q '.\{81\}' '$out'"
    has shape-page-says-what-was-run "$out" '2x8x2x64, batch-2x64x2: 4 tokens decoded in 2 steps'

    locus 0 advise $tiny --blocks 16 --layouts runs -r 1 -c locus,locus@stream
    has shape-of-one-round-has-no-interval "$out" \
        'Too few rounds to tell, 6 are the least (--rounds). By the medians alone, blocks of 16 tokens, layout runs'
    locus 1 advise $tiny --blocks 16 --layouts runs -r 1 -c locus,locus@one-head-more
    check shape-of-an-invalid-arm-fails [ -z "${why##exit 1*}" ]
    has shape-says-what-was-invalid "$out" 'INVALID and not ranked: locus@one-head-more'
    locus 0 advise --shape 2x8x2x64 --trace "$fixtures/small.csv" --blocks 16 --layouts runs -r 1 -c locus
    has shape-of-a-trace "$out" 'of small.csv: '
}
if [ "$("$LOCUS" topo --json | jq '[.nodes[] | select(.kind == "DRAM")] | length')" = 1 ]; then
    one_node
    shape
else
    skip one-node "this machine has several nodes"
fi

# --- emulated machines ---------------------------------------------------------------------------------------------------------

needs_guest advise-guest

# Everything of a machine in one boot; the parts of its output are told apart by their names.
build=${BUILD#"$PWD"/}
few='--requests 40 --pool-blocks 2048'
cat >"$scratch/cases.sh" <<END
#!/bin/sh
part() { # name, command
    name=\$1
    shift
    "\$@" >/tmp/out 2>/tmp/err </dev/null
    echo "\$name exit \$?"
    sed "s/^/\$name out /" /tmp/out
    sed "s/^/\$name err /" /tmp/err
}
part json $build/locus advise $few -s 3 --json --log /tmp/kept.jsonl
part again $build/locus report /tmp/kept.jsonl --json
part page $build/locus advise $few -r 1
part shape $build/locus advise --shape 2x8x2x64 -r 1 -c home-steered,interleave,cross-node --json --log /tmp/shape.jsonl
part reshaped $build/locus report /tmp/shape.jsonl --json
[ \$LOCUS_GUEST = n2 ] || exit 0
part suite $build/locus advise -W churn-touch -d futex -r 1 -c home-steered,unsteered,interleave --json
part invalid $build/locus advise $few -r 1 -c home-steered,home-steered@misplace
part spread $build/locus advise --shape 2x8x2x64 --blocks 16,32
part large $build/locus advise --block-bytes 64KiB
part crowd $build/locus advise --requests 40 -r 1 --pool-blocks 36000 -c home-steered,one-node
part pinned taskset 1 $build/locus advise $few
part unbound $build/testbed/host/tests/deny_scenario EPERM mbind -- $build/locus advise $few -r 1
part unseen $build/testbed/host/tests/deny_scenario ENOSYS move_pages -- $build/locus advise $few -r 1
part nameless env -u LOCUS_GUEST $build/locus advise $few -r 1 -c home-steered
END

machine() {
    "$LOCUS" guest --machine "$1" --timeout 200 --with "$BUILD/testbed/host/tests/deny_scenario" --program "$scratch/cases.sh" \
        >"$scratch/$1" 2>"$scratch/$1.err"
    echo $? >"$scratch/$1.status"
}
machine cxl &
machine n2
wait

# part MACHINE NAME: its output in MACHINE.NAME, its errors in MACHINE.NAME.err
part() {
    sed -n "s/^$2 out //p" "$scratch/$1" >"$scratch/$1.$2"
    sed -n "s/^$2 err //p" "$scratch/$1" >"$scratch/$1.$2.err"
}
ended() { # machine, name, status
    part "$1" "$2"
    why="$(grep "^$2 exit" "$scratch/$1"), not $3: $(tail -n 1 "$scratch/$1.$2.err" "$scratch/$1.err" | tr '\n' ' ')"
    check "$1: $2 ends with $3" grep -qx "$2 exit $3" "$scratch/$1"
}

for machine in n2 cxl; do
    ended $machine json 0
    ended $machine page 0
    json=$scratch/$machine.json page=$scratch/$machine.page
    ended $machine again 0
    why="$(diff "$json" "$scratch/$machine.again" | head -n 4)"
    check "$machine: its log shows the same once more" cmp -s "$json" "$scratch/$machine.again"
    why="on stderr: $(cat "$page.err")"
    check "$machine: quiet in a pipe" [ ! -s "$page.err" ]
    why="it begins: $(head -n 1 "$page")"
    check "$machine: the heading cannot be overlooked" \
        [ "$(head -n 1 "$page")" = "EMULATED MACHINE $machine: counts only; nothing here says how fast hardware is." ]
    why="it speaks of speed: $(grep -wE 'faster|slower|times|ns|us|ms' "$page")"
    check "$machine: nothing is said of speed" eval "! grep -qwE 'faster|slower|times|ns|us|ms|no difference' '$page'"
    why="it has a place for times"
    check "$machine: nor in JSON" eval "! grep -qE '_ns\"|\"cost\"|\"use\"|\"resolution\"' '$json'"
    why="a line of more than 80 columns"
    check "$machine: the page fits 80 columns" eval "! tail -n +2 '$page' | grep -q '.\{81\}'"
    remote='(.arms | map({(.name): .counts}) | add) as $c | def share: $c[.].touches_remote / $c[.].touches;'
    says "$machine: every arm is valid" '.arms | length >= 9 and all(.valid)' "$json"
    says "$machine: all pools were written alike" \
        '[.arms[] | select(.placed_after | length > 0).counts.touches] | unique | length == 1 and .[0] > 0' "$json"
    says "$machine: what is bound to its node has no remote touch" \
        "$remote [\"home-steered\", \"preferred\", \"first-touch\", \"preferred-many\"] | all(\$c[.].touches_remote == 0)" "$json"
    says "$machine: on one node half of them are, exactly" "$remote (\"one-node\" | share) == 0.5" "$json"
    says "$machine: on the wrong node all are" "$remote (\"cross-node\" | share) == 1" "$json"
    says "$machine: nothing that is pushed home is kept abroad" \
        '[.arms[] | select(.name == "home-steered" or .name == "cross-node").counts.frees_abroad] == [0, 0]' "$json"
    says "$machine: of mallocs nobody says it" '[.arms[] | select(.name == "glibc").counts.frees_abroad] == [null]' "$json"
    says "$machine: what was asked for was granted" '[.arms[].placed_after[] | .requested == .granted] | all' "$json"
    says "$machine: every page is where it was asked for" \
        '[.arms[] | (select(.name != "repair").placed_before[]), .placed_after[] | .pages_elsewhere == 0 and .verify_errno == null]
         | length > 30 and all' "$json"
    says "$machine: repair begins astray" \
        '[.arms[] | select(.name == "repair").placed_before[1].pages_elsewhere > 0] == [true]' "$json"
    says "$machine: both witnesses agree" '[.arms[] | .placed_before[], .placed_after[] | .numa_maps_agrees] | all' "$json"
    says "$machine: home-steered pools are whole on their nodes" \
        '[.arms[] | select(.name == "home-steered").placed_after[] | .station as $s | .on[] | select(.node == $s).pages] ==
         [.pool_blocks, .pool_blocks]' "$json"
    says "$machine: balancing is off, and so not here" '.not_here | any(.name == "bind-balancing" and (.why | length > 9))' "$json"
    ended $machine shape 0
    shaped=$scratch/$machine.shape
    says "$machine: of a model, bytes of K and V are counted by node" \
        '[.arms[] | [.name, .valid, .remote_read_ratio]] | .[0] == ["home-steered", true, 0] and .[2] == ["cross-node", true, 1] and
         .[1][2] > 0 and .[1][2] < 1' "$shaped"
    has "$machine: and the answer is of reads" "$shaped" 'Every read of K and V stays on its node (0 remote bytes): home-steered.'
    check "$machine: no tokens per second there" eval "! grep -qE 'tokens_per_s|_ns\"' '$shaped'"
    ended $machine reshaped 0
    check "$machine: its log shows the same of a model" cmp -s "$shaped" "$scratch/$machine.reshaped"
    has "$machine: the page names those that stay local" "$page" \
        'Every write stays on its node (0 remote touches): home-steered, first-touch, preferred, preferred-many'
done

says "n2: interleaved pages are half and half" \
    '[.arms[] | select(.name == "interleave").placed_after[].on[].pages] == [1024, 1024, 1024, 1024]' "$scratch/n2.json"
says "n2: and their touches nearly" \
    '[.arms[] | select(.name == "interleave").counts.touches_remote_percent | . > 48 and . < 52] == [true]' "$scratch/n2.json"
says "cxl: interleaved pages are a third each" \
    '[.arms[] | select(.name == "interleave").placed_after[] | [.on[].pages] | length == 3 and max - min <= 1] == [true, true]' \
    "$scratch/cxl.json"
has "cxl: its memory without CPUs was not tried alone" "$scratch/cxl.page" 'A pool on node 2 alone'
has "n2: it has no such memory" "$scratch/n2.page" 'this machine has none'

ended n2 suite 0
says "n2: a workload of the suite, and blocks that nobody steers wander" \
    '.schedule == "churn-touch" and
     (.arms | map({(.name): .counts.touches_remote}) | add | .["home-steered"] == 0 and .unsteered > 0)' "$scratch/n2.suite"
ended n2 invalid 1
has "n2: INVALID with its reason" "$scratch/n2.invalid" 'home-steered@misplace is INVALID: '
has "n2: and the other arm all the same" "$scratch/n2.invalid" '(0 remote touches): home-steered.'
ended n2 spread 2
has "n2: blocks are compared on one node" "$scratch/n2.spread.err" '--blocks: on several nodes placements are compared'
ended n2 large 1
has "n2: a pool that no node can hold is refused with the numbers" "$scratch/n2.large.err" \
    'its pool needs 512: use a smaller --block-bytes, or for a trace --pool-blocks'
ended n2 crowd 0
has "n2: nor can the first node hold those of all" "$scratch/n2.crowd" \
    'one-node it puts the pools of all nodes on node 0'
ended n2 pinned 0
has "n2: a process on one node has nothing to choose" "$scratch/n2.pinned" 'on one node only (node 0)'
has "n2: and is told why" "$scratch/n2.pinned" 'Not for this process (taskset, cpuset or container): node 1.'
ended n2 unbound 0
for arm in interleave weighted-interleave one-node repair bind-balancing cross-node; do
    has "n2: without mbind $arm is not here, with the reason" "$scratch/n2.unbound" " $arm memory policies are forbidden here"
done
has "n2: and what does not is" "$scratch/n2.unbound" '(0 remote touches): first-touch, mimalloc, glibc.'
ended n2 unseen 1
has "n2: without move_pages nothing is claimed" "$scratch/n2.unseen.err" 'because move_pages answers ENOSYS'
ended n2 nameless 0
has "n2: an emulator that does not say so is found out" "$scratch/n2.nameless" 'EMULATED MACHINE QEMU TCG: counts only'

done_testing
