#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# locus advise --pid from outside, on this host: processes with memory, without, of another user, of the kernel, dead and dying;
# bad input; what a seccomp filter forbids. LOCUS=path/to/locus, LOCUS_ASAN the one with AddressSanitizer (it also gets the bad
# input), BUILD=path/of/the/build.
set -u
: "${LOCUS:?LOCUS must name the program}" "${BUILD:?BUILD must name the folder of the build}"
LOCUS=$(realpath "$LOCUS") BUILD=$(realpath "$BUILD")
. "$(dirname "$0")/cases.bash"
trap 'exec {feed}>&- {other}>&-; wait; rm -rf "$scratch"' EXIT
exec {feed}>/dev/null {other}>/dev/null

refused() { refuses "$1" "$2" "$3" advise "${@:4}"; } # name, status, word, argument...
flat() { tr -s '\n ' '  ' <"$1"; }
has() { holds "$1" "not said: $2" grep -qF -- "$2" <(flat "$out"); } # name, words of the last output

# resident ARGUMENT...: starts one; $resident is its number.
resident() {
    mkfifo "$scratch/in" "$scratch/said"
    "$BUILD/testbed/host/tests/resident_scenario" "$@" <"$scratch/in" >"$scratch/said" &
    resident=$!
    exec {feed}>"$scratch/in"
    read -r _ <"$scratch/said"
    rm "$scratch/in" "$scratch/said"
}

# --- bad input -----------------------------------------------------------------------------------------------------------------

for word in 0 x -1 12q 4194305 99999999999999999999; do
    refused "no-number-$word" 2 "--pid: '$word' is not the number of a process, from 1 to" --pid "$word"
done
refused no-such-process 2 'there is no process 4194304: ps -e' --pid 4194304
for option in '--trace x' '--shape GPT-2' '--rounds 3' '--requests 4' '--blocks 16' '--log x' '--workload churn-touch' \
    '--contenders home-steered' '--cpus 1' '--cross 1' '--seed 1' '--block-bytes 4K' '--dispatch spin'; do
    # shellcheck disable=SC2086 # an option and its value
    refused "not-with${option%% *}" 2 'not with --pid, which looks at a process' --pid $$ $option
done
refused a-stray-word 2 "unexpected argument '4711'" --pid $$ 4711

if [ -e /proc/2/stat ] && grep -q '(kthreadd)' /proc/2/stat; then
    refused a-kernel-thread 2 '2 (kthreadd) is a thread of the kernel, which has no memory' --pid 2
else
    skip a-kernel-thread "the kernel's threads are not seen here"
fi
# A zombie: its parent became another program, which does not ask for it.
bash -c 'sleep 0.2 & echo $! >"$0"; exec sleep 600' "$scratch/zombie" &
parent=$!
for _ in {1..1200}; do grep -q '^State:.Z' "/proc/$(cat "$scratch/zombie" 2>/dev/null)/status" 2>/dev/null && break; sleep 0.1; done
refused a-zombie 2 'has ended and waits only for its parent' --pid "$(cat "$scratch/zombie")"
kill $parent
ended() { # whoever looks stops, ends it, and goes on: then it ended between the two looks at its threads
    local sleeper looker status
    sleep 600 &
    sleeper=$!
    "$LOCUS" advise --pid $sleeper >"$out" 2>"$err" &
    looker=$!
    sleep 0.05
    kill -STOP $looker
    kill -KILL $sleeper
    wait $sleeper 2>/dev/null
    kill -CONT $looker
    wait $looker
    status=$?
    why="exit $status: $(head -n 1 "$err") $(head -n 1 "$out")"
    # On a slow machine it looks for the first time after the end, on a fast one it was done before.
    [ $status = 1 ] && grep -q '^locus: process .*(sleep) ended while it was looked at$' "$err" && return
    [ $status = 2 ] && grep -q '^locus: there is no process' "$err" && return
    [ $status = 0 ] && [ -s "$out" ]
}
check a-process-that-ends ended

# --- a process with memory -----------------------------------------------------------------------------------------------------

resident 32 first-touch - 4k
check a-page eval "page '$LOCUS' advise --pid $resident"
has it-is-called-by-name "resident_scenar ($resident): "
check and-as-json eval "locus 0 advise --pid $resident --json && [ -s '$out' ] && [ ! -s '$err' ]"
says the-region-is-there '[.regions[] | select(.kind == "anonymous")] | length == 1 and .[0].present_bytes == 33554432 and
    .[0].size_bytes == 33554432 and .[0].name[0:3] == "at "'
says all-of-it-is-on-known-nodes '.regions[0] | .unplaced_bytes == 0 and ([.on[].bytes] | add) == .present_bytes and
    ([.on[].pages] | add) == 8192'
says the-second-witness-saw-a-sample-of-it '.regions[0].move_pages | .asked == 4096 and .present == 4096 and (.whole | not) and
    ([.on[].pages] | add) == 4096'
says both-witnesses-agree '.disagree == null and .not_seen == null'
says it-says-what-it-assumes '.assumption | test("equally often")'
says threads-are-counted '.threads == 1 and ([.threads_by_nodes[].threads] | add) == 1'
if [ "$(jq .nodes_count "$out")" = 1 ]; then
    says on-one-node-there-is-nothing-to-choose '(.answer | test("nothing to choose")) and .cures == []'
else
    skip on-one-node-there-is-nothing-to-choose "this machine has several nodes"
fi
before=$(awk '{ print $10, $12 }' /proc/$resident/stat) # faults
"$LOCUS" advise --pid $resident >/dev/null
holds it-faults-nothing-in "$before became $(awk '{ print $10, $12 }' /proc/$resident/stat)" \
    test "$before" = "$(awk '{ print $10, $12 }' /proc/$resident/stat)"
check json-in-a-file-and-the-page eval "locus 0 advise --pid $resident --json='$scratch/file.json' && [ -s '$out' ]"
says it-is-the-same '.pid == '"$resident"' and .head.schema == "locus-advise/1"' "$scratch/file.json"

# --- without rights ------------------------------------------------------------------------------------------------------------

denied() { # errno, call: exit status and output of a look at it under a filter
    "$BUILD/testbed/host/tests/deny_scenario" "$1" "$2" -- "$LOCUS" advise --pid $resident --json >"$out" 2>"$err"
    why="exit $?: $(head -n 1 "$err")"
    [ "${why%%:*}" = 'exit 0' ] && [ -s "$out" ]
}
if "$BUILD/testbed/host/tests/deny_scenario" EPERM move_pages -- true 2>/dev/null; then
    check without-move_pages denied EPERM move_pages
    says the-filter-is-named '.not_seen | tostring | test("move_pages: EPERM, forbidden by seccomp")'
    says regions-are-seen-all-the-same '.regions[0].present_bytes == 33554432 and .regions[0].move_pages == null'
else
    skip without-move_pages "no seccomp filter can be set here"
fi
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 755 "$scratch"
    cp "$LOCUS" "$scratch/locus"
    setpriv --reuid 65534 --regid 65534 --clear-groups "$scratch/locus" advise --pid $resident --json >"$out" 2>"$err"
    status=$?
    holds another-user-has-no-full-answer "exit $status: $(head -n 1 "$err")" test $status = 1 -a -s "$out" -a ! -s "$err"
    says what-he-could-not-see-is-said '.not_seen | tostring | test("Not seen: regions.*Permission denied")'
    says but-the-threads-are-there '.threads == 1 and .remote_read_ratio == null and .rss_bytes > 33554432'
    hidden() {
        unshare --mount bash -c 'mount -t proc -o hidepid='"$1"' proc /proc && exec setpriv --reuid 65534 --regid 65534 \
            --clear-groups "$0" advise --pid '$resident "$scratch/locus" >"$out" 2>"$err"
        why="exit $?: $(head -n 1 "$err")"
        [ "${why%%:*}" = 'exit 1' ] && grep -q "^locus: /proc hides process $resident from this user (hidepid)" "$err"
    }
    if unshare --mount mount -t proc -o hidepid=2 proc /proc 2>/dev/null; then
        check hidden-processes-are-told-from-missing-ones hidden 2
        check and-closed-folders-as-well hidden 1
    else
        skip hidden-processes-are-told-from-missing-ones "no mount of /proc is allowed here"
    fi
else
    skip another-user-has-no-full-answer "needs root, to be another one"
fi
done_testing
