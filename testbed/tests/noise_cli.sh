#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all alone
#
# What `locus eval` reports on a busy machine: two endless loops share the CPU of the measured processes, so that each waits for
# it again and again; and what it reports for too few rounds. LOCUS=path/to/locus names the program.
#
# Nothing here checks times: the scheduler reports the waiting, and beside two loops no thread can have more than half a CPU.
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/cases.bash"

# --- what is run by default ----------------------------------------------------------------------------------------------------

# The base is a control of its own: it is there twice, unless it is not installed.
controls() { # NAME ARGUMENT...
    local name=$1
    shift
    if ! "$LOCUS" "$@" -r 1 --laps 1 -d inline --json >"$out" 2>"$err"; then
        fail "$name" "$(head -n 1 "$err")"
    elif grep -q 'left out: contender mimalloc:' "$err"; then
        skip "$name" "$(grep -m 1 'contender mimalloc:' "$err")"
    else
        says "$name" '[.cells[0].arms[].name] | contains(["locus", "locus#2", "mimalloc", "mimalloc#2", "jemalloc-tuned"])'
    fi
}
controls eval-has-both-controls eval -W cycle-256
controls replay-has-both-controls replay "$(dirname "$0")/../workload/sample.csv" --requests 20
controls bench-has-both-controls bench

# --- few rounds ----------------------------------------------------------------------------------------------------------------

"$LOCUS" eval -W cycle-256 -c locus,locus,oracle,glibc -r 5 --laps 3 -d inline >"$out" 2>"$err"
says_text() { holds "$1" "not in the text: $2" grep -q "$2" "$out"; }
omits_text() { holds "$1" "in the text: $(grep -m 1 "$2" "$out")" eval "! grep -q '$2' '$out'"; }
says_text five-rounds-are-too-few 'too few rounds to tell, 6 are the least'
omits_text five-rounds-are-no-equality 'no difference'
omits_text five-rounds-put-nobody-ahead 'is ahead'

# --- beside two endless loops --------------------------------------------------------------------------------------------------

if ! command -v taskset >/dev/null; then
    skip noise_cli "taskset is not installed (util-linux)"
    exit 0
fi
cpu=$(taskset -cp $$ | sed 's/.*: *//; s/[,-].*//')
loops=()
for i in 1 2; do
    taskset -c "$cpu" sh -c 'while :; do :; done' &
    loops+=($!)
done
trap 'kill "${loops[@]}" 2>/dev/null; rm -rf "$scratch"' EXIT

# beside ARGUMENT...: measures on that CPU. The laps take a quarter of a second in each process, some sixty time slices.
beside() {
    taskset -c "$cpu" "$LOCUS" "$@" -d inline --laps 400 >"$out" 2>"$err" </dev/null
    why="exit $?: $(head -n 1 "$err")"
    [ "${why%%:*}" = 'exit 0' ]
}

few=(-W churn-touch -c locus,locus,mimalloc,mimalloc,glibc -r 6)
if ! beside eval "${few[@]}" --json="$scratch/busy.json" --csv="$scratch/busy.csv"; then
    if grep -q 'is not installed' "$err"; then
        skip eval-beside-two-loops "$(head -n 1 "$err")"
        done_testing
        exit
    fi
    fail eval-beside-two-loops "$why"
    exit 1
fi
cp "$out" "$scratch/busy.txt"
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
    NR > 1 && "watched_ns" in at { print $at["watched_ns"], $at["waited_ns"] }' "$scratch/busy.csv" >"$scratch/waits"
if [ "$(cut -d ' ' -f 1 "$scratch/waits" | sort -u)" = 0 ]; then
    skip waits-are-counted "this kernel does not say how long a thread waited (schedstat)"
    exit 0
fi
holds waits-are-counted "a process beside two loops that waited for less than a twentieth of its time, or no figures at all" \
    awk '$2 < $1 / 20 { bad = 1 } END { exit bad || NR != 30 }' "$scratch/waits"

says nobody-is-known-who-waited '[.cells[0].arms[].noisy] | unique == ["waited"]' "$scratch/busy.json"
says no-malloc-is-the-best '.cells[0] | .best_malloc == null and ([.arms[].vs_best_malloc] | unique == [null])' "$scratch/busy.json"
cp "$scratch/busy.txt" "$out"
says_text the-rows-say-that-they-waited '> locus .* noisy: waited  '
says_text the-summary-says-nothing 'who is ahead cannot be told: too noisy'
says_text the-summary-says-why 'Others were at work: 30 of 30 processes waited for a CPU'
omits_text nobody-is-ahead '[a-z#] is ahead \(on\|\.\)\|locus is ahead'
omits_text nobody-is-faster '^> locus .*\['

# The doctor looks for a tenth of a second: what he says before and after, he said in between as well.
unfit() { "$LOCUS" doctor load | grep -q '^UNFIT'; }
if unfit && beside eval -W cycle-256 -c locus,glibc -r 1 --laps 1 && unfit; then
    holds the-doctor-stands-at-the-table-and-in-the-summary "$(grep -c '^ *UNFIT: .*load' "$out") times" \
        [ "$(grep -c '^ *UNFIT: .*load' "$out")" = 2 ]
else
    skip the-doctor-stands-at-the-table-and-in-the-summary "two loops are not much to so many CPUs"
fi

done_testing
