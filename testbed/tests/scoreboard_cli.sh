#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# locus report standings from outside: LOCUS=path/to/locus; record_scenario beside it in the build makes the runs. The last cases
# use the repository's own record.
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
case_() { prints "$1" "$2" "$3" "$LOCUS" report standings "${@:4}"; }

json() { # NAME EXPRESSION: is it true of what was printed?
    if command -v jq >/dev/null; then says "$@"; else skip "$1" "needs jq"; fi
}

has() { grep -qF -- "$1" "${2:-$out}"; }
lacks() { ! grep -q -- "$1" "$out"; }

# --- nothing yet ---------------------------------------------------------------------------------------------------------------

case_ nothing_to_show 1 'Nothing to show: no official run has a figure here'
check names_a_workload_to_measure has steady-decode/full
check names_a_contender_to_measure has locus-published
case_ no_such_folder 2 'there is no such folder' --logs nowhere
case_ another_word 2 "unexpected argument 'bm1'" bm1
case_ two_forms_at_once 2 'only one of --json, --csv and --markdown' --json --csv
case_ help 0 'locus report standings --cell' --help

# --- runs whose truth is known -------------------------------------------------------------------------------------------------

"$scenario" official bm1 0002-20261121T101500Z-aaaaaa 1 '' no 20 1 mimalloc >/dev/null
"$scenario" official bm2 0002-20261121T111500Z-bbbbbb 1 '' no 20 2 mimalloc >/dev/null
"$scenario" official bm1 0002-20261121T121500Z-cccccc 1 '' no 20 3 mimalloc unsealed >/dev/null
"$scenario" official guest-n2 0002-20261121T131500Z-dddddd 1 '' no 20 3 mimalloc guest >/dev/null
"$scenario" trial bm1 0002-20261121T141500Z-eeeeee >/dev/null

case_ a_table_for_each_host 0 '^bm2$'
check the_answer_is_a_sentence_a_host \
    grep -q '^On bm1 locus is 1\.[34].* times as fast as mimalloc, unbeaten on 1 of 1 cells\.$' "$out"
check no_cell_is_shown lacks 'spin/1w'
check quiet_in_a_pipe lacks $'\033'
case_ one_host 0 '^bm2$' --host bm2
check one_host_alone lacks '^bm1'
case_ an_unknown_host 2 "no such host below logs (there: bm1, bm2, guest-n2)" --host bm3
case_ one_cell_in_full 0 '^bm1 churn-touch/byte/spin/1w/4KiB$' --cell '*/byte'
holds figures_of_locus "$(grep -m 1 '^> locus' "$out")" \
    grep -Eq '^> locus +1 .* 1\.(39|40|41) \[1\.[34][0-9], 1\.4[0-9]\] ' "$out"
check one_touch_alone lacks 'churn-touch/full/spin'
case_ a_cell_that_nobody_has 1 'Nothing to show' --cell 'no-such/*'
case_ trials_are_no_record 1 '0002-20261121T141500Z-eeeeee  bm1, trial: ' --logs build/logs
case_ everything 0 '^bm1 churn-touch/full/spin/1w/4KiB$' --all
check says_what_is_unsealed has 'cccccc  bm1, unsealed: the log has no seal'
check says_what_is_emulated has 'dddddd  guest-n2, emulated: n2'
check says_what_is_missing grep -q '^ *long-tail/full  *locus ' "$out"

case_ as_json 0 '"tables"' --json
json json_has_the_truth '.tables[0].contenders[0] | .name == "locus" and .rank == 1
    and .times_faster.low < 1.41 and 1.39 < .times_faster.high'
json json_names_the_ledger_line '[.tables[] | .ledger.line] == [3, 3, 3, 3]'
json json_names_what_is_missing '[.not_measured.cells[].cell] | index("long-tail/full") != null'
json json_has_the_reasons '[.left_out[].what] == ["unsealed", "emulated"]'
case_ as_csv 0 '^bm1,churn-touch/full/spin/1w/4KiB,churn-touch,full,spin,1,4096,' --csv
check csv_has_a_line_for_each test "$(wc -l <"$out")" -eq 13
case_ as_markdown 0 '^# Standings: all' --all --markdown
# every row of a table has as many cells as its head
check markdown_tables_are_whole awk -F'|' '/^\|---/ { n = NF } /^\|/ && before && NF != n { bad = 1 }
    { before = /^\|/ && (before || /^\|---/) } END { exit bad }' "$out"
case_ to_files 0 'On bm1' --markdown=board.md --json=board.json --csv=board.csv
check writes_markdown has '# Standings: all' board.md
check writes_json has '"tables"' board.json
check writes_csv test "$(wc -l <board.csv)" -eq 13
case_ to_no_folder 1 'there is no such folder' --json=none/board.json
case_ a_plot 0 'On bm1' --cell '*/full' --plot board.svg
check plot_names_the_contenders has mimalloc board.svg
check plot_names_the_cells has 'bm1 churn-touch/full/spin/1w/4KiB' board.svg
case_ nothing_to_draw 1 '' --cell 'no-such/*' --plot none.svg
"$LOCUS" report -o page.html >/dev/null
check report_has_a_section has '<section id="scoreboard">' page.html
check report_leads_to_the_run has '<a href="page/0002-20261121T101500Z-aaaaaa.html">' page.html
check report_has_every_contender has '<tr data-contender="locus"' page/scoreboard.html
if [ -w /dev/full ]; then
    for form in "" --json --csv --markdown; do
        "$LOCUS" report standings ${form:+"$form"} >/dev/full 2>"$err"
        holds "full_disk$form" "exit $?: $(cat "$err")" grep -qx 'locus: standard output: No space left on device' "$err"
    done
else
    skip full_disk "there is no /dev/full"
fi

# a newer run takes the place; a damaged one does not
"$scenario" official bm1 0002-20261121T151500Z-ffffff 1 '' no 20 4 mimalloc >/dev/null
case_ as_json_anew 0 tables --host bm1 --json
json the_newer_counts '[.tables[].run] | unique == ["0002-20261121T151500Z-ffffff"]'
json the_older_is_named '[.tables[].older[]] | unique == ["0002-20261121T101500Z-aaaaaa"]'
sed -i '5s/"allocated":1000/"allocated":1001/' logs/bm1/*/*-ffffff.jsonl
case_ a_damaged_log_gives_nothing 0 'ffffff  bm1, log broken: line 5: ' --host bm1 --all
check the_older_stands_again has 'run  0002-20261121T101500Z-aaaaaa'
sed -i '3s/survived/falsified/' logs/bm1/ledger.jsonl
case_ a_damaged_ledger_closes_nothing 1 'ledger.jsonl:3: ' --host bm1
check and_says_so has 'ledger broken'

# a host where nobody was measured beside mimalloc has a sentence, and no table of dashes
"$scenario" official bm4 0002-20261121T161500Z-abcdef 1 '' no 20 5 tcmalloc >/dev/null
case_ without_the_baseline 0 '^On bm4 locus was not measured beside mimalloc\.$'
check no_table_of_dashes lacks '^bm4'
case_ unless_all_is_asked_for 0 '^bm4$' --all

# --- the repository's own record -----------------------------------------------------------------------------------------------

cd "$repository" || exit 1
if [ -d logs/zen5-vm ]; then
    case_ the_record_is_one_screen 0 '^On zen5-vm locus is '
    holds at_most_48_lines "$(wc -l <"$out")" test "$(wc -l <"$out")" -le 48
    case_ the_record_has_figures 0 '^zen5-vm steady-decode/full/spin' --host zen5-vm --cell '*/full/spin/*'
    case_ the_record_as_json 0 tables --json
    # by its own tables, or by those of a newer run with at least its contenders
    own='[.tables[] | select([.run, .older[]] | index("0001-20261121T104758Z-5a69dc"))]'
    json all_arms_of_0001 "$own | length == 8 and all(.contenders | length >= 8)"
    json compared_with_mimalloc "$own | all(.baseline == \"mimalloc\")"
    json no_figure_of_a_guest '[.tables[].host] | index("guest-n2") == null'
    json a_ledger_entry_behind_each '.tables | all(.ledger.line > 0 and (.ledger.hash | length) == 64)'
    host=$(jq -r '.tables[0].host' "$out" 2>/dev/null)
    line=$(jq -r '.tables[0].ledger.line' "$out" 2>/dev/null)
    hash=$(jq -r '.tables[0].ledger.hash' "$out" 2>/dev/null)
    sed -n "${line:-1}p" "logs/$host/ledger.jsonl" >"$scratch/line"
    check the_entry_is_that_line has "\"h\":\"$hash\"" "$scratch/line"
else
    skip the_record "logs/zen5-vm is not here"
fi

done_testing
