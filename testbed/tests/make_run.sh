#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all alone
#
# What `make run` does (testbed/run/make_run.sh): first what is exact, then, on a machine that is fit or with TIMED=yes, what is
# timed; what its end says, on one screen, and that this can be typed as it is; and what happens if a step fails. It is kept short:
# the measurements have one lap, and other steps are stubs. LOCUS=path/to/locus names the program.
set -u
: "${LOCUS:?LOCUS must name the program}"
LOCUS=$(realpath "$LOCUS")
cd "$(dirname "$0")/../.." || exit 1
. testbed/tests/cases.bash
kept=$scratch/kept

# A quick stand-in for locus. FAILS names a command that fails; UNFIT makes the doctor find other processes.
cat >"$scratch/locus" <<'S'
#!/bin/bash
echo "$*" >>"$CALLS"
[ "$1" != "${FAILS-}" ] || { echo "this went wrong"; exit 3; }
case $1 in
doctor)
    [ -z "${UNFIT-}" ] || { printf 'UNFIT    load  others\n\n1 thing can spoil a figure: load.\n'; [ "${2-}" != --check ]; exit; }
    printf 'fit: load\n\nFit to measure.\n' ;;
eval | replay) exec "$REAL" "$@" --laps 1 -d inline --quiet 2>/dev/null ;;
matrix) echo "nothing was done" ;;
*) exec "$REAL" "$@" ;;
esac
S
chmod +x "$scratch/locus"

run() { # ASSIGNMENT...
    rm -f "$scratch/calls"
    env REAL="$LOCUS" LOCUS="$scratch/locus" CALLS="$scratch/calls" OUT="$kept" ROUNDS=2 "$@" \
        sh testbed/run/make_run.sh >"$out" 2>"$err"
    status=$?
    sed -n '/^== After/,$p' "$out" >"$scratch/end"
}
text() { holds "$1" "not in the text: $2" grep -qE -- "$2" "$out"; }
no_text() { holds "$1" "in the text: $(grep -m 1 -E -- "$2" "$out")" eval "! grep -qE -- '$2' '$out'"; }
heads() { grep -oE '^== [A-Z][a-z]+( the memory)?' "$out" | cut -c 4- | paste -sd ' '; }
one_screen() { # of 24 lines, beside which the prompt has one
    holds "$1" "$(wc -l <"$scratch/end") lines: $(awk 'length > 80' "$scratch/end" | head -n 1)" \
        eval "[ \$(wc -l <'$scratch/end') -le 23 ] && [ -s '$scratch/end' ] && narrow '$scratch/end'"
}

run
holds all-is-well "exit $status: $(tail -n 1 "$err")" [ $status = 0 ]
holds what-is-exact-comes-first "$(heads)" [ "$(heads)" = 'This Where the memory Which Is Timed After' ]
text the-machine '^[0-9]+ nodes?, '
text where-memory-lies '^sh \([0-9]+\): '
text which-layout '^(Use |No |.*(level|tie|difference))'
text fitness '^Fit to measure\.$'
text each-timed-step-has-its-seconds '^  (matrix|eval|replay) +[0-9]+ s$'
holds what-a-step-said-is-kept "$(ls "$kept")" [ -s "$kept/serve.txt" -a -s "$kept/eval.csv" -a -s "$kept/replay.json" ]
text the-table-is-of-full-touch '^workload( +us)? +over floor +over locus +best malloc$'
text few-rounds-claim-nothing '^Full touch: too few rounds to tell'
text the-replay-has-its-answer '^Replay of the trace:$'
no_text nothing-failed 'FAILED'
one_screen its-end-is-one-screen
cp "$scratch/end" "$scratch/fit"

run UNFIT=1
holds an-unfit-machine-is-no-failure "exit $status: $(tail -n 1 "$err")" [ $status = 0 ]
holds there-nothing-is-timed "$(paste -sd ';' "$scratch/calls")" \
    eval "! grep -qE '^(matrix|eval|replay|advise --trace)' '$scratch/calls'"
text but-what-is-exact-is-there '^sh \([0-9]+\): '
text it-says-how-to-get-the-rest '^    make run TIMED=yes$'
holds no-old-figures-stay "$(ls "$kept")" [ ! -e "$kept/eval.csv" ]
one_screen its-end-is-one-screen-too

# The commands that both ends show: each begins one that there is, and the files that it names are there.
typed() {
    local line words status=0
    while read -r line; do
        case $line in
        "make run"*) make -n ${line#make } DEPS=skip >/dev/null || status=1 ;;
        *) for words in $line; do [[ $words != testbed/* || -e $words ]] || status=1; done
            line=${line##*&& }
            [[ $line == "$scratch/locus "* ]] && "$LOCUS" ${line#"$scratch/locus"} --help >/dev/null || status=1 ;;
        esac
        [ $status = 0 ] || { echo "$line"; return 1; }
    done < <(sed -nE '/^    (make|sh|\/)/s/^    //p' "$scratch/fit" "$scratch/end")
}
sed -i 's/ guest -- advise$/ guest/' "$scratch/fit" "$scratch/end" # whose --help is the command's in the guest
check what-the-end-says-can-be-typed typed

run UNFIT=1 TIMED=yes
holds it-is-timed-all-the-same-when-asked "$(paste -sd ';' "$scratch/calls")" grep -q '^eval ' "$scratch/calls"

run FAILS=replay
holds a-failed-step-fails-it "exit $status" [ $status = 1 ]
text a-failed-step-is-named '^FAILED, exit 3: .*locus replay'
text with-its-last-lines '^ +this went wrong$'
text the-end-says-so '^FAILED: '
holds the-others-are-done "$(cat "$scratch/calls")" grep -q '^eval ' "$scratch/calls"
holds an-old-answer-is-not-shown-again "$(grep -A 1 '^Replay' "$out")" eval "grep -A 1 '^Replay' '$out' | grep -q '^  no answer'"
one_screen with-a-failure-too

done_testing
