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
if [ "$("$LOCUS" topo --json | jq '[.nodes[] | select(.kind == "DRAM")] | length')" = 1 ]; then
    one_node
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
[ \$LOCUS_GUEST = n2 ] || exit 0
part suite $build/locus advise -W churn-touch -d futex -r 1 -c home-steered,unsteered,interleave --json
part invalid $build/locus advise $few -r 1 -c home-steered,home-steered@misplace
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
