#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# locus record and compare, and reproduce.sh, from outside: LOCUS=path/to/locus; record_scenario beside it in the build makes the
# runs.
#
# reproduce.sh is tested in a small repository of its own, whose Makefile "builds" a locus that calls record_scenario: everything
# from the clone to the verdict is real except the minutes.
set -u
: "${LOCUS:?LOCUS must name the program}"
LOCUS=$(realpath "$LOCUS")
readme=$(realpath "$(dirname "$0")/../record/README.md") reproduce=$(realpath "$(dirname "$0")/../run/reproduce.sh")
scenario=$(dirname "$LOCUS")/testbed/judge/tests/record_scenario
. "$(dirname "$0")/cases.bash"
export LOCUS_HOST=bm1 TMPDIR="$scratch/tmp"
mkdir "$TMPDIR" "$scratch/tree" && cd "$scratch/tree" && mkdir experiments postulates || exit 1

[ -x "$scenario" ] || {
    fail record_scenario "$scenario is not built (make tests)"
    exit 1
}

# case_ NAME STATUS WORD COMMAND...: exit status, and the word on stdout (status 0) or in the one line on stderr. Instead of a
# command of locus, `again` is reproduce.sh.
again() { sh "$reproduce" "$@"; }
case_() {
    name=$1 wanted=$2 word=$3
    shift 3
    [ "$1" = again ] || set -- "$LOCUS" "$@"
    "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    status=$?
    where=$scratch/out
    [ "$wanted" -eq 0 ] || [ ! -s "$scratch/err" ] || where=$scratch/err
    if [ "$status" -ne "$wanted" ]; then
        fail "$name" "exit $status, not $wanted: $(head -n 1 "$scratch/err")"
    elif [ "$(wc -l <"$scratch/err")" -gt 1 ] ||
        { [ -s "$scratch/err" ] && ! grep -Eq '^(locus|reproduce): ' "$scratch/err"; }; then
        fail "$name" "stderr says: $(head -n 3 "$scratch/err")"
    elif [ -n "$word" ] && ! grep -qe "$word" "$where"; then
        fail "$name" "'$word' is not in: $(head -n 3 "$where")"
    else
        pass "$name"
    fi
}

# --- of this repository's own record ---

# Its logs and postulates are filed, so what is said of them stays.
tree=$PWD
cd "$(dirname "$readme")/../.." || exit 1
LOCUS_HOST=emr-vm case_ what_a_design_can_tell_is_said 0 'after 20 rounds a ratio is known within +/- 6.1 %' postulate check 24
LOCUS_HOST=emr-vm case_ and_what_it_takes 0 'which takes about' postulate check 24
LOCUS_HOST=nobody case_ nothing_is_known_of_a_host_without_runs 0 'no run of nobody has two equal arms' postulate check 24
case_ rejudged_beside_what_was_sealed 0 'runs 2 were open' record rejudge 1bbabe
cd "$tree" || exit 1

# --- record --------------------------------------------------------------------------------------------------------------------

"$scenario" official bm1 0002-20261121T101500Z-aaaaaa >/dev/null
"$scenario" official bm1 0002-20261121T111500Z-bbbbbb 1 '' no 20 2 >/dev/null
"$scenario" trial bm1 0002-20261121T121500Z-cccccc 1.05 >/dev/null
draft=build/records/0002-glibc-churn-aaaaaa.md

fill() { # DRAFT: writes both sections
    sed -i 's/^<!-- What does.*/It pays./; s/^<!-- One sentence.*/And elsewhere?/' "$1"
}

case_ draft_is_written 0 "$draft" record draft 2 aaaaaa
case_ draft_keeps_what_a_person_wrote 2 'is there already' record draft 0002 aaaaaa
case_ rejudge_of_no_run 2 'no run dddddd' record rejudge dddddd
case_ rejudge_without_its_postulate 0 '1 runs were passed over' record rejudge aaaaaa
case_ draft_of_another_experiment 2 'of experiment 0002, not of 7' record draft 7 aaaaaa
case_ draft_of_no_run 2 'no run dddddd' record draft 0002 dddddd
case_ empty_sections_are_refused 2 'is empty' record file 0002 "$draft"
fill "$draft"
sed 's/^\*\*Verdict: survived/**Verdict: falsified/' "$draft" >changed.md
case_ a_changed_verdict_is_refused 2 'changed.md:[0-9]*: this is not what the log says' record file 0002 changed.md
case_ a_record_is_filed 0 'filed   experiments/0002-glibc-churn.md' record file 0002 "$draft"
if cmp -s "$draft" experiments/0002-glibc-churn.md; then pass filed_as_it_was; else fail filed_as_it_was "the bytes differ"; fi
case_ a_run_is_filed_once 2 'is filed already' record file 0002 "$draft"
"$LOCUS" record draft 0002 bbbbbb -o second.md >/dev/null
fill second.md
case_ a_later_one_is_an_addendum 0 'experiments/0002-glibc-churn.add1.md' record file 0002 second.md
if [ "$(grep -c '"t":"record"' logs/bm1/ledger.jsonl)" -eq 2 ]; then pass ledger_has_both
else fail ledger_has_both "$(tail -n 1 logs/bm1/ledger.jsonl)"; fi
case_ show_has_the_predictions 0 '^| P1 | .* | 1\.40* \[1\.[0-9]*, 1\.[0-9]*\] | survived | 20 |' record show aaaaaa
case_ show_has_the_arms 0 '^| B glibc | .* | 1\.40* \[1\..*, 1\..*\] | .* | 20 | 1\.30 | 1 | glibc 2\.36 |' \
    record show aaaaaa
case_ show_has_the_gates 0 '^| allocated == freed | proof | yes |' record show aaaaaa
case_ a_trial_can_be_shown 0 'This is a trial run. It proves nothing' record show cccccc
case_ and_makes_no_draft 2 'only an official one' record draft 0002 cccccc -o trial.md
sed '1s/T101500Z-aaaaaa/T121500Z-cccccc/' "$draft" >trial.md
case_ nor_a_record 2 'this is not what the log says' record file 0002 trial.md
case_ show_of_no_run 2 'no run dddddd' record show dddddd
case_ show_without_a_run 2 'which run' record show
case_ show_writes_no_file 2 '--output is for draft' record show aaaaaa -o x.md
case_ a_file_that_is_no_draft 2 'is not a draft' record file 0002 /etc/passwd
case_ a_binary_file 2 'not text' record file 0002 "$LOCUS"
case_ missing_draft 2 'No such file' record file 0002 nothing.md
case_ record_without_words 2 'which experiment' record
case_ record_with_another_word 2 "'write' is not draft, file, show or rejudge" record write 0002 aaaaaa
case_ record_help 0 'locus record draft 0002 a1b2c3' record --help
"$scenario" official bm1 0002-20261121T131500Z-eeeeee 1 '' no 20 1 glibc unsealed >/dev/null
case_ draft_of_a_crashed_run 2 'has no seal' record draft 0002 eeeeee
"$scenario" official bm1 0002-20261121T141500Z-ffffff 1 '' no 20 1 glibc no-samples >/dev/null
case_ draft_of_a_run_without_samples 0 records record draft 0002 ffffff
cp -r logs tampered
sed -i '5s/"allocated":1000/"allocated":1001/' logs/bm1/*/*-bbbbbb.jsonl
case_ draft_of_a_changed_log 2 'bbbbbb.jsonl:5: ' record draft 0002 bbbbbb -o third.md
rm -r logs && mv tampered logs

# --- compare -------------------------------------------------------------------------------------------------------------------

case_ compare_says_its_method 0 'rank-sum interval, unpaired' report compare aaaaaa cccccc
if grep -Eq '^glibc .* 1\.05 \[1\.0[45], 1\.0[56]\]' "$scratch/out"; then pass compare_finds_five_percent
else fail compare_finds_five_percent "$(grep glibc "$scratch/out")"; fi
case_ compare_as_json 0 '"method"' report compare --json aaaaaa cccccc
if command -v jq >/dev/null; then
    if jq -e '.cells[0].arms[1].ratio | .low < 1.05 and 1.05 < .high' "$scratch/out" >/dev/null
    then pass compare_json_holds_the_truth
    else fail compare_json_holds_the_truth "$(head -n 3 "$scratch/out")"; fi
else
    skip compare_json_holds_the_truth "needs jq"
fi
case_ compare_one_run 2 "'aaaaaa' is no postulate: which run" report compare aaaaaa

# The recipe of record/README.md, as it stands there.
if command -v jq >/dev/null; then
    sed -n '/^    locus record show --samples LOG/,/>run.json$/p' "$readme" |
        sed 's|LOG|logs/bm1/*/*-aaaaaa.jsonl|; s|^ *locus|"$LOCUS"|' >recipe.sh
    sh recipe.sh
    own=$("$LOCUS" report compare --json aaaaaa bbbbbb | jq '.cells[0].arms[1].medians_ns[0]')
    if jq -e --argjson own "$own" '.benchmarks | length == 6 and (.[1] | .metadata.name == "churn-touch/full B glibc" and
        (.runs | map(.values[0] * 1e9) | sort | (.[9] + .[10]) / 2 - $own | fabs < 0.01))' run.json >/dev/null
    then pass samples_for_other_tools
    else fail samples_for_other_tools "$(jq -c '.benchmarks[1]' run.json | head -c 200)"; fi
else
    skip samples_for_other_tools "needs jq"
fi
if ${PYTHON:-python3} -c 'import pyperf' 2>/dev/null; then
    median=$(${PYTHON:-python3} -c 'import pyperf, sys
print("%.6f" % (pyperf.BenchmarkSuite.load("run.json").get_benchmark("churn-touch/full B glibc").median() * 1e9))')
    if awk "BEGIN { exit !($median - $own < 0.01 && $own - $median < 0.01) }"; then pass pyperf_agrees
    else fail pyperf_agrees "pyperf $median, locus $own"; fi
else
    skip pyperf_agrees "needs pyperf (PYTHON=path/to/python that has it)"
fi

# --- reproduce -----------------------------------------------------------------------------------------------------------------

git init -q . && git config user.email a@example && git config user.name a || exit 1
# the factor of the "measured" runs lies in the repository, and so belongs to the commit
printf 'all:\n\tmkdir -p build/gcc && cp run.sh build/gcc/locus && chmod +x build/gcc/locus\n' >Makefile
printf '%s\n' '#!/bin/sh' "# run NNNN --seed S --rounds N" \
    "exec '$scenario' trial bm1 0002-20261121T151500Z-999999 \"\$(cat factor)\" '' no \"\$6\" 5" >run.sh
echo 1 >factor
printf '%s\n' 'logs' 'build' '*.md' '*.json' >.gitignore
git add -A && git commit -qm one && good=$(git rev-parse HEAD)
echo 1.1 >factor && git commit -qam two && slower=$(git rev-parse HEAD)
printf 'all:\n\tfalse\n' >Makefile && git commit -qam three && unbuildable=$(git rev-parse HEAD)

"$scenario" official bm1 0002-20261121T161500Z-100000 1 "$good" >/dev/null
"$scenario" official bm1 0002-20261121T161500Z-200000 1 "$slower" >/dev/null
"$scenario" official bm1 0002-20261121T161500Z-300000 1 "$unbuildable" >/dev/null
"$scenario" official bm1 0002-20261121T161500Z-400000 1 "$good" yes >/dev/null
"$scenario" official bm1 0002-20261121T161500Z-700000 1 "$good" no 20 7 glibc guest >/dev/null
"$scenario" official bm1 0002-20261121T161500Z-600000 1 '--upload-pack=touch-me' >/dev/null

command -v jq >/dev/null || {
    skip reproduce "needs jq"
    done_testing
    exit
}
case_ reproduces_what_is_so 0 '^Reproduced' again 100000
case_ other_rounds 0 ', 12 rounds' again 100000 12
case_ says_where_not 1 'NO: ' again 200000
case_ a_commit_that_does_not_build 1 'make failed' again 300000
case_ a_dirty_build 2 'changes that are in no commit' again 400000
case_ a_commit_that_is_none 2 'names no commit' again 600000
case_ a_commit_from_elsewhere 2 'commit 0123456789ab[0-9a-f]* is not in this repository' again aaaaaa
case_ of_a_guest_is_for_that_guest 2 'In its commit, built: locus guest -m n2 -- run 0002 --seed 7 --rounds 20' again 700000
case_ reproduce_no_run 2 'which run' again
case_ reproduce_odd_rounds 2 'is no number of rounds' again 100000 many
if [ -z "$(ls "$TMPDIR")" ]; then pass nothing_is_left_behind; else fail nothing_is_left_behind "$(ls "$TMPDIR")"; fi
if [ -z "$(git worktree list | sed 1d)" ] && [ -z "$(git status --porcelain)" ]; then pass repository_is_untouched
else fail repository_is_untouched "$(git status --porcelain)"; fi
export KEEP=1
case_ keeps_on_request 0 '^kept ' again 100000
if [ -x "$(sed -n 's/^kept *//p' "$scratch/out")/tree/build/gcc/locus" ]; then pass kept_folder_has_the_program
else fail kept_folder_has_the_program "$(tail -n 1 "$scratch/out")"; fi
cd "$scratch/tmp" || exit 1
log=$scratch/tree/logs/bm1/0002-glibc-churn/20261121T161500Z-100000.jsonl
case_ reproduce_outside_of_a_repository 2 'in no git repository' again "$log"

done_testing
