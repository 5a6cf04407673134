#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all alone
#
# What `make run` does (testbed/run/make_run.sh): its steps with their seconds, its warning on a busy machine, its answer, and what
# happens if a step fails. It is kept short: the measurements have one lap, and other steps are stubs. LOCUS=path/to/locus names
# the program.
set -u
: "${LOCUS:?LOCUS must name the program}"
cd "$(dirname "$0")/../.." || exit 1
. testbed/tests/cases.bash
kept=$scratch/kept

# A quick stand-in for locus. FAILS names a command that fails; BUSY makes the doctor find other processes.
cat >"$scratch/locus" <<'S'
#!/bin/bash
echo "$*" >>"$CALLS"
[ "$1" != "${FAILS-}" ] || { echo "this went wrong"; exit 3; }
case $1 in
topo) echo "2 nodes, 2 CPUs" ;;
doctor)
    [ -z "${BUSY-}" ] || { printf 'UNFIT    load  others keep 2.0 of 2 CPUs busy\n\n1 thing can spoil a figure: load.\n'; exit 1; }
    echo "Fit to measure." ;;
eval | replay | bench) exec "$REAL" "$@" --laps 1 -d inline --quiet 2>/dev/null ;;
advise) exec "$REAL" "$@" ;;
*) echo "nothing was done" ;;
esac
S
chmod +x "$scratch/locus"

run() { # ASSIGNMENT...
    rm -f "$scratch/calls"
    env REAL="$LOCUS" LOCUS="$scratch/locus" CALLS="$scratch/calls" OUT="$kept" ROUNDS=2 "$@" \
        sh testbed/run/make_run.sh >"$out" 2>"$err"
    status=$?
}
text() { holds "$1" "not in the text: $2" grep -qE -- "$2" "$out"; }
no_text() { holds "$1" "in the text: $(grep -m 1 -E -- "$2" "$out")" eval "! grep -qE -- '$2' '$out'"; }

run
holds all-is-well "exit $status: $(tail -n 1 "$err")" [ $status = 0 ]
sed '1,/^$/d; /^$/,$d' "$out" >"$scratch/steps"
holds steps-and-their-seconds "$(grep -m 1 -vE '^  [a-z-]+ +[0-9]+ s$' "$scratch/steps")" \
    eval "[ \$(wc -l <'$scratch/steps') = 13 ] && ! grep -vqE '^  [a-z-]+ +[0-9]+ s\$' '$scratch/steps'"
holds what-a-step-said-is-kept "no bench.txt" [ -s "$kept/bench.txt" ]
holds samples-are-kept "$(ls "$kept")" [ -s "$kept/eval.csv" -a -s "$kept/eval-byte.json" ]
text minutes-are-said-beforehand '^This machine, .* minutes'
no_text an-idle-machine-is-not-called-busy '^Other processes are running'
text the-answer-begins-with-fitness '^Fit\? +Fit to measure'
# Without the unit where no floor is known: a busy machine's are noisy.
text the-table-is-of-full-touch '^workload( +us)? +over floor +over locus +best malloc$'
no_text one-byte-is-left-to-its-file '^One byte touched'
text few-rounds-claim-nothing 'Full touch: too few rounds to tell'
text the-replay-has-its-answer '^Replay of testbed/workload/sample.csv'
text placement-is-answered '^(This machine has one node|Use |It makes |This )'
text the-page-to-open '^Open +.*/report\.html'
no_text nothing-failed 'FAILED'
holds in-this-order "$(grep -nE '^(Fit|Scoreboard|Replay|Placement|Open)' "$out")" eval \
    "[ \"\$(grep -oE '^(Fit|Scoreboard|Replay|Placement|Open)' '$out' | tr '\n' ' ')\" = 'Fit Scoreboard Replay Placement Open ' ]"
holds on-two-nodes-here "$(grep 0005 "$scratch/calls")" grep -q '^run 0005 ' "$scratch/calls"

run BUSY=1 ROUNDS=1
text a-busy-machine-is-said-beforehand '^Other processes are running: .* as long'
holds and-by-what "$(head -n 6 "$out")" eval "sed -n '1,6p' '$out' | grep -q '^UNFIT .*2.0 of 2 CPUs'"

run FAILS=replay ROUNDS=1
holds a-failed-step-fails-it "exit $status" [ $status = 1 ]
text a-failed-step-is-named 'FAILED, exit 3: locus replay'
text with-its-last-lines '^ +this went wrong$'
text the-end-says-so '^FAILED '
holds the-others-are-done "$(cat "$scratch/calls")" grep -q '^report ' "$scratch/calls"
holds an-old-answer-is-not-shown-again "$(grep -A 1 '^Replay' "$out")" eval "grep -A 1 '^Replay' '$out' | grep -q '^no answer'"

run FAILS=advise ROUNDS=1
holds placement-that-is-not-known-is-said "$(grep -A 2 '^Placement' "$out")" eval \
    "grep -A 1 '^Placement' '$out' | grep -q '^no answer: this step failed'"

# What cannot be read is not guessed: neither nodes nor a load.
run FAILS=topo ROUNDS=1
text nodes-that-are-not-known-are-not-guessed '^  flagship +not run: the number of nodes .* unknown'
holds and-nothing-is-fetched-for-them "$(grep -E '^  guest|^guest|run 0005' "$out" "$scratch/calls")" \
    eval "! grep -qE '^  guest' '$out' && ! grep -q 0005 '$scratch/calls'"
run FAILS=doctor ROUNDS=1
no_text a-doctor-who-cannot-look-finds-nobody '^Other processes are running'

done_testing
