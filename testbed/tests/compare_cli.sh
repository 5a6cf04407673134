#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# locus report compare over all hosts, from outside: LOCUS=path/to/locus; record_scenario beside it in the build makes the runs.
# record_cli.sh tests two runs side by side. The last cases use the repository's own record.
set -u
: "${LOCUS:?LOCUS must name the program}"
LOCUS=$(realpath "$LOCUS")
scenario=$(dirname "$LOCUS")/testbed/judge/tests/record_scenario
repository=$(realpath "$(dirname "$0")/../..")
. "$(dirname "$0")/cases.bash"
mkdir "$scratch/tree" && cd "$scratch/tree" || exit 1

[ -x "$scenario" ] || {
    fail record_scenario "$scenario is not built (make tests)"
    exit 1
}

# case_ NAME STATUS PATTERN ARGUMENT...
case_() { prints "$1" "$2" "$3" "$LOCUS" report compare "${@:4}"; }

json() { # NAME EXPRESSION: is it true of what was printed?
    if command -v jq >/dev/null; then says "$@"; else skip "$1" "needs jq"; fi
}

last() { tail -n "$1" "$out" | tr -s '\n ' ' ' | grep -q -- "$2"; } # LINES PATTERN: the answer is at the end
answers() { awk -v RS= 'END { $1 = $1; print }' "$out" | grep -q -- "$1"; } # PATTERN: the last paragraph is the answer
lacks() { ! grep -q -- "$1" "$out"; }

case_ nothing_to_show 1 'there is no official run below logs. Make one: locus run 0001 --official'

# --- hosts whose truth is known ------------------------------------------------------------------------------------------------

# glibc takes 1.4 times as long on bm1, 1.12 times on bm2; 0002 claims 1.25 at least
"$scenario" official bm1 0002-20261121T101500Z-aaaaaa >/dev/null
"$scenario" official bm2 0002-20261121T111500Z-bbbbbb 0.8 '' no 20 2 >/dev/null
"$scenario" official bm3 0002-20261121T121500Z-cccccc 1 '' no 20 3 glibc unsealed >/dev/null
"$scenario" official guest-n2 0002-20261121T131500Z-dddddd 1 '' no 20 4 glibc guest >/dev/null
"$scenario" trial bm9 0002-20261121T141500Z-eeeeee >/dev/null

check all_hosts page "$LOCUS" report compare
check words_for_each grep -Eq '^0002 glibc-churn +survived +falsified +crashed +unmeasurable$' "$out"
check no_trials lacks bm9
check answers_for_all last 5 'disagree about 1, .* 0002 P1 survives on 1 of 2 machines .*Survived on bm1\. Falsified on bm2\.'
check quiet_in_a_pipe lacks $'\033'
check one_postulate page "$LOCUS" report compare 2
check has_each_prediction grep -q '^P3  hl_ratio(B/A) >= 1.1; time_ns, every cell' "$out"
check on_which_machines_does_P1_survive page "$LOCUS" report compare 0002/P1
check answers_at_the_end last 3 'P1 survives on 1 of 2 .*Unmeasurable on guest-n2 (emulated)\. No valid run on bm3 (crashed)\. $'
check shows_what_was_observed grep -Eq '^P1 +bm2 +falsified +1\.12 \[1\.1., 1\.13\] +bbbbbb$' "$out"
check shows_no_time_of_a_guest grep -Eq '^P1 +guest-n2 +unmeasurable +dddddd$' "$out"
check two_postulates page "$LOCUS" report compare 0002/P1 0002/P2
check judges_counts_of_a_guest last 2 '0002 P2 survives on 3 of 3 .*Survived on bm1, bm2, guest-n2 (emulated)\.'
case_ some_hosts 0 'survives on 1 of 1 machine that could measure it\. Survived on bm1\.$' --host 'bm1' 0002/P1
case_ trials 1 'no official run below build/logs' --logs build/logs
case_ as_json 0 '"postulates"' --json 0002/P1
json json_has_the_truth '.postulates[0].predictions[0] | .survived == 1 and .falsified == 1 and .measured == 2'
json json_has_a_result_of_each_host '[.postulates[0].predictions[].results[].host] == [.hosts[].host]'
json json_has_no_time_of_a_guest '.postulates[0].predictions[0].results[] | select(.host == "guest-n2") | .estimate == null'

# --- what is refused -----------------------------------------------------------------------------------------------------------

case_ no_such_prediction 2 '0002 has no such prediction; it has P1 to P3' 0002/P7
case_ never_run 1 '0007: there is no official run of it below logs' 7
case_ a_run_and_a_postulate 2 'either two runs, or postulates' 0002 aaaaaa
case_ one_run 2 "'aaaaaa' is no postulate: which run" aaaaaa
case_ no_such_folder 2 'there is no such folder' --logs nowhere
case_ runs_of_some_hosts 2 'not for two runs' --host bm1 aaaaaa bbbbbb
case_ help 0 'locus report compare 0005/P2' --help

# --- a broken ledger is named, and the others are shown ------------------------------------------------------------------------

sed -i '2s/official/Official/' logs/bm2/ledger.jsonl
case_ a_broken_ledger 1 '^locus: logs/bm2/ledger.jsonl:2: ' 0002/P1
check others_are_shown last 3 '0002 P1 survives on 1 of 1 machine .*Survived on bm1\..*bm2 (ledger broken)'
case_ it_stands_in_the_list 1 '^ *bm2: its ledger is broken, line 2: '

# --- the repository's own record -----------------------------------------------------------------------------------------------

cd "$repository" || exit 1
if [ -d logs/guest-n2 ] && [ -d logs/zen5-vm ]; then
    check the_record_in_80_columns page "$LOCUS" report compare
    check the_record_of_one page "$LOCUS" report compare 0005/P2
    check was_counted_in_a_guest answers '^0005 P2 survives on [0-9]* of [0-9]* machines* .*guest-n2 (emulated)'
else
    skip the_record "logs/guest-n2 and logs/zen5-vm are not here"
fi

done_testing
