#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# locus verify on a record damaged in every way that it must detect: LOCUS=path/to/locus BUILD=build/VARIANT. LOCUS_ASAN, if set,
# is the program under test.
#
# A good record is made once, with the real modules, in a git repository: a draft, two postulates, their filing, a sealed run and
# one that crashed, a record, another sealed run, each in its own commit. Every case damages a copy and checks exit status, file,
# line, witness and the number of findings: one for each damaged file.
set -u
: "${LOCUS:?LOCUS must name the program}" "${BUILD:?BUILD must name the folder of the build}"
forge=$BUILD/testbed/record/tests/record_forge_scenario
. "$(dirname "$0")/cases.bash"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 HOME=$scratch
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
unset GIT_DIR GIT_WORK_TREE

logs=logs/bm1
ledger=$logs/ledger.jsonl
one=$logs/0001-one/20260101T000001Z-aaaaaa.jsonl
crashed=$logs/0001-one/20260101T000002Z-cccccc.jsonl
two=$logs/0002-two/20260101T000003Z-bbbbbb.jsonl
three=$logs/0003-three/20260101T000004Z-ffffff.jsonl
postulate=postulates/0001-one.md
record=experiments/0001-one.md

seal="the log's own chain and seal"
book="the ledger"
chain="the ledger's chain"
kept="an older checkpoint"
history="git history"
tree="the file system"
key="the key"

commit() { git add -A && git commit -qm "$1"; }

make_good() {
    mkdir "$scratch/good" && cd "$scratch/good" && git init -q -b main || return 1
    mkdir postulates experiments && echo draft >$postulate && commit draft || return 1
    printf 'one\npredicts\n' >$postulate && printf 'two\n' >postulates/0002-two.md && commit postulates || return 1
    "$forge" file && commit file || return 1
    "$forge" first && commit first || return 1
    printf 'record\nof one\n' >$record && "$forge" record && commit record || return 1
    "$forge" second && commit second || return 1
    "$LOCUS" verify | tail -n 1 >"$scratch/checkpoint"
}

# finds NAME STATUS COUNT FINDING... -- ARGUMENT...: in a copy of the good record that the function damage_NAME has damaged. A
# FINDING is FILE:LINE|WITNESS. Without such a function the copy of the case before stays as it is.
finds() {
    local name=$1 status=$2 count=$3 wanted=() found got
    shift 3
    while [ $# -gt 0 ] && [ "$1" != -- ]; do wanted+=("$1"); shift; done
    shift
    if declare -F "damage_$name" >/dev/null; then
        cd "$scratch" && rm -rf work && cp -a good work && cd work && "damage_$name" >"$scratch/damage" 2>&1 ||
            { fail "$name" "the damage could not be done: $(tail -n 1 "$scratch/damage")"; return; }
    fi
    PATH=${only_path:-$PATH} "$LOCUS" verify "$@" >"$scratch/out" 2>"$scratch/err"
    got=$?
    if [ $got -ne "$status" ]; then
        fail "$name" "exit $got, not $status: $(cat "$scratch/out" "$scratch/err")"
        return
    fi
    found=$(grep -c '(witness: .*)$' "$scratch/out")
    [ "$found" -eq "$count" ] || { fail "$name" "$found findings, not $count: $(cat "$scratch/out")"; return; }
    for finding in "${wanted[@]}"; do
        awk -v place="${finding%|*}: " -v witness="(witness: ${finding#*|})" '
            index($0, place) == 1 && substr($0, length($0) - length(witness) + 1) == witness { found = 1 }
            END { exit !found }' "$scratch/out" || { fail "$name" "no finding $finding: $(cat "$scratch/out")"; return; }
    done
    if [ "$status" -ne 1 ] && [ $((status == 2)) -ne "$(wc -l <"$scratch/err")" ]; then
        fail "$name" "stderr says: $(cat "$scratch/err")"
    else
        pass "$name"
    fi
}

# refused NAME WORD ARGUMENT...: exit 2 and one line on stderr that has the word, nothing on stdout.
refused() {
    local name=$1 word=$2 cases=$cases_file
    shift 2
    cases_file=/dev/null
    finds "$name" 2 0 -- "$@" >"$scratch/verdict" # counts a failure itself
    cases_file=$cases
    if grep -q ^not "$scratch/verdict"; then
        tap 'not ok' "$(sed 's/^not ok - //' "$scratch/verdict")"
    elif [ -s "$scratch/out" ] || ! grep -q "^locus: .*$word" "$scratch/err"; then
        fail "$name" "stdout: $(cat "$scratch/out") stderr: $(cat "$scratch/err")"
    else
        pass "$name"
    fi
}

edit() { # FILE SCRIPT
    sed -i "$2" "$1"
}

swap_lines() { # FILE N: line N and the next one change places
    sed -i -n "$2{h;n;G};p" "$1"
}

LOCUS=${LOCUS_ASAN:-$LOCUS}
make_good || { fail good_record "cannot be made"; exit 1; }

# --- all is well ---------------------------------------------------------------------------------------------------------------

damage_undamaged() { :; }
finds undamaged 0 0 --
if tail -n 2 "$scratch/out" | head -n 1 |
    grep -q '^1 host, 3 runs (2 sealed, 1 crashed), 2 postulates, 1 record: all is well$'; then pass summary; else
    fail summary "$(cat "$scratch/out")"; fi
if tail -n 1 "$scratch/out" | grep -qx "bm1 $(wc -c <$ledger) $(tail -n 1 $ledger | sed 's/.*"h":"\(.*\)"}$/\1/')"; then
    pass checkpoint_is_size_and_last_hash; else fail checkpoint_is_size_and_last_hash "$(tail -n 1 "$scratch/out")"; fi
if grep -q "^$crashed:5: run 0001-20260101T000002Z-cccccc crashed .*half a line" "$scratch/out"; then
    pass crashed_run_is_listed; else fail crashed_run_is_listed "$(cat "$scratch/out")"; fi
finds undamaged_with_git 0 0 -- --git
finds undamaged_with_all 0 0 -- --git --host bm1 --logs ./logs/ --checkpoint "$scratch/checkpoint"
finds undamaged_json 0 0 -- --git --json
if jq -e '.findings == [] and .hosts[0].runs == 3 and (.hosts[0].crashed | length) == 1 and .hosts[0].sealed == 2 and
    .git.commits == 6 and .git.uncommitted == []' "$scratch/out" >/dev/null; then pass json; else
    fail json "$(cat "$scratch/out")"; fi
damage_fresh_clone() { git clone -q "file://$scratch/good" clone && cd clone; }
finds fresh_clone 0 0 -- --git
finds undamaged_says_what_was_a_draft 0 0 -- --git
draft="remark: committed as a draft, and changed 1 time(s) before it was filed"
if grep -q "^$postulate:1: $draft" "$scratch/out"; then pass draft_is_listed; else
    fail draft_is_listed "$(cat "$scratch/out")"; fi
damage_uncommitted_run() { git reset -q --soft HEAD~1 && git reset -q; }
finds uncommitted_run 0 0 -- --git
if grep -q "^$two:1: remark: not committed" "$scratch/out"; then pass uncommitted_is_listed; else
    fail uncommitted_is_listed "$(cat "$scratch/out")"; fi

# A trial files its postulate by itself, and may go on writing it.
damage_trial_of_a_draft() {
    echo draft >postulates/0003-three.md && "$forge" trial && echo again >>postulates/0003-three.md
}
finds trial_of_a_draft 0 0 --
damage_official_run_of_a_draft() {
    damage_trial_of_a_draft && edit $ledger '11s/"trial"/"official"/' && "$forge" chain $ledger
}
finds official_run_of_a_draft 1 2 "postulates/0003-three.md:1|$book" "$three:1|$book" --

# A process that died before it opened its run leaves an empty log, and no more.
damage_empty_log() { : >$logs/0001-one/20260101T000009Z-dddddd.jsonl; }
finds empty_log 0 0 --

# Records may be written on another machine than the one that ran.
damage_record_of_another_hosts_run() {
    mkdir logs/bm2 && sed -n '1s/bm1/bm2/p; 7p' $ledger >logs/bm2/ledger.jsonl && "$forge" chain logs/bm2/ledger.jsonl
}
finds record_of_another_hosts_run 0 0 --
finds record_of_another_hosts_run_alone 0 0 -- --host bm2
damage_record_of_a_run_of_nobody() { damage_record_of_another_hosts_run && edit logs/bm2/ledger.jsonl '2s/aaaaaa/eeeeee/' &&
    "$forge" chain logs/bm2/ledger.jsonl; }
finds record_of_a_run_of_nobody 1 1 "logs/bm2/ledger.jsonl:2|$book" --

# --- 1 to 4: a log's own chain and seal; done consistently, the ledger ---------------------------------------------------------

damage_01_bit_flip() { edit $one '3s/1001/1003/'; }
finds 01_bit_flip 1 1 "$one:3|$seal" --
damage_01_bit_flip_in_a_hash() { edit $one '3s/"h":"./"h":"x/'; }
finds 01_bit_flip_in_a_hash 1 1 "$one:3|$seal" --
damage_01_consistent() { edit $one '3s/1001/1003/' && "$forge" chain $one; }
finds 01_consistent 1 1 "$one:8|$book" --
damage_02_cut_tail() { truncate -s -100 $one; }
finds 02_cut_tail 1 1 "$one:8|$seal" --
damage_02_cut_at_a_line() { edit $one '7,$d'; }
finds 02_cut_at_a_line 1 1 "$one:7|$seal" --
damage_02_consistent() { edit $one '5d' && "$forge" seal $one; }
finds 02_consistent 1 1 "$one:7|$book" --
damage_03_deleted_line() { edit $one '4d'; }
finds 03_deleted_line 1 1 "$one:4|$seal" --
damage_03_rechained() { edit $one '4d' && "$forge" chain $one; }
finds 03_rechained 1 1 "$one:7|$seal" --
damage_03_line_behind_the_seal() { sed -n 2p $one >>$one && "$forge" chain $one; }
finds 03_line_behind_the_seal 1 1 "$one:9|$seal" --
damage_04_reordered_lines() { swap_lines $one 3; }
finds 04_reordered_lines 1 1 "$one:3|$seal" --
damage_04_consistent() { swap_lines $one 3 && "$forge" chain $one; }
finds 04_consistent 1 1 "$one:8|$book" --

# --- 5 to 11: the ledger -------------------------------------------------------------------------------------------------------

damage_05_deleted_log() { rm $one; }
finds 05_deleted_log 1 1 "$ledger:4|$book" --
damage_06_swapped_logs() { mv $one x && mv $two $one && mv x $two; }
finds 06_swapped_logs 1 2 "$one:1|$book" "$two:1|$book" --
damage_07_stray_log() { cp $one $logs/0001-one/20260101T000009Z-dddddd.jsonl; }
finds 07_stray_log 1 1 "$logs/0001-one/20260101T000009Z-dddddd.jsonl:1|$book" --
damage_07_stray_host() { mkdir -p logs/bm2/0001-one && cp $one logs/bm2/0001-one/x.jsonl; }
finds 07_stray_host 1 1 "logs/bm2/0001-one/x.jsonl:1|$book" --
damage_07_open_line_deleted() { edit $ledger '6d' && "$forge" chain $ledger; }
finds 07_open_line_deleted 1 1 "$crashed:1|$book" --
damage_08_log_of_another_run() { edit $one '1s/aaaaaa/eeeeee/' && "$forge" chain $one; }
finds 08_log_of_another_run 1 1 "$one:1|$book" --
damage_08_another_log_of_the_run() { edit $one '1s/"a0"/"a1"/' && "$forge" chain $one; }
finds 08_another_log_of_the_run 1 1 "$one:1|$book" --
damage_08_another_kind() { edit $one '1s/official/smoke/' && "$forge" chain $one; }
finds 08_another_kind 1 1 "$one:1|$book" --
damage_08_another_postulate() { edit $one '1s/"sha256":"./"sha256":"x/' && "$forge" chain $one; }
finds 08_another_postulate 1 1 "$one:1|$book" --
damage_09_edited_postulate() { edit $postulate '2s/s$/S/'; }
finds 09_edited_postulate 1 1 "$postulate:1|$book" --
finds 09_edited_postulate_with_git 1 3 "$postulate:1|$book" "$postulate:1|$history" -- --git
damage_09_edited_and_committed() { edit $postulate '2s/s$/S/' && commit edit; }
finds 09_edited_and_committed 1 1 "$postulate:1|$book" --
damage_09_deleted_postulate() { rm $postulate; }
finds 09_deleted_postulate 1 1 "$ledger:2|$book" --
damage_09_filed_twice() { sed -n 3p $ledger >>$ledger && edit $ledger '10s/"sha256":"./"sha256":"x/' && "$forge" chain $ledger; }
finds 09_filed_twice 1 1 "$ledger:10|$book" --
damage_09_edited_record() { echo more >>$record; }
finds 09_edited_record 1 1 "$record:1|$book" --
damage_09_deleted_record() { rm $record; }
finds 09_deleted_record 1 1 "$ledger:7|$book" --
damage_10_filed_after_opening() { swap_lines $ledger 3 && swap_lines $ledger 2 && swap_lines $ledger 3 && "$forge" chain $ledger; }
finds 10_filed_after_opening 1 1 "$ledger:2|$book" --
if grep -q 'opened before its postulate 0001 was filed at line 4' "$scratch/out"; then pass 10_says_where; else
    fail 10_says_where "$(cat "$scratch/out")"; fi
damage_10_never_filed() { edit $ledger '3d' && "$forge" chain $ledger; }
finds 10_never_filed 1 1 "$ledger:7|$book" --
damage_10_another_version() { edit $ledger '8s/"postulate_sha256":"./"postulate_sha256":"x/' && "$forge" chain $ledger; }
finds 10_another_version 1 2 "$ledger:8|$book" "$two:1|$book" --
damage_11_opened_and_dropped() { rm $crashed; }
finds 11_opened_and_dropped 1 1 "$ledger:6|$book" --
damage_11_close_dropped() { edit $ledger '5d' && "$forge" chain $ledger; }
finds 11_close_dropped 1 1 "$ledger:4|$book" --
damage_11_closed_unopened() { edit $ledger '4{h;d};5G' && "$forge" chain $ledger; }
finds 11_closed_unopened 1 2 "$ledger:4|$book" "$ledger:5|$book" --
damage_11_another_verdict() { edit $ledger '5s/survived/falsified/' && "$forge" chain $ledger; }
finds 11_another_verdict 1 1 "$one:8|$book" --
damage_11_another_number_of_lines() { edit $ledger '5s/"log_lines":8/"log_lines":9/' && "$forge" chain $ledger; }
finds 11_another_number_of_lines 1 1 "$one:8|$book" --
damage_11_record_of_no_run() { edit $ledger '7s/aaaaaa/eeeeee/' && "$forge" chain $ledger; }
finds 11_record_of_no_run 1 1 "$ledger:7|$book" --
damage_11_record_before_its_run() { swap_lines $ledger 6 && swap_lines $ledger 5 && swap_lines $ledger 4 && swap_lines $ledger 3 &&
    "$forge" chain $ledger; }
finds 11_record_before_its_run 1 1 "$ledger:3|$book" --
damage_11_another_host() { edit $ledger '1s/bm1/bm7/' && "$forge" chain $ledger; }
finds 11_another_host 1 1 "$ledger:1|$book" --
damage_11_unknown_line() { edit $ledger '7s/"record"/"recrod"/' && "$forge" chain $ledger; }
finds 11_unknown_line 1 2 "$ledger:7|$book" "$record:1|$book" --

# What a patient liar writes, or a program that is wrong: every hash is right, and no reader could use it.
forged() { "$forge" chain $one && "$forge" ledger; }
damage_forged_as_it_was() { forged && git diff --quiet; }
finds forged_as_it_was 0 0 -- --git
damage_a_summary_without_predictions() { edit $one '7s/"predictions":[^]]*],//' && forged; }
finds a_summary_without_predictions 1 1 "$one:7|$seal" --
damage_a_summary_with_none_of_them() { edit $one '7s/"predictions":[^]]*]/"predictions":[]/' && forged; }
finds a_summary_with_none_of_them 1 1 "$one:7|$seal" --
damage_a_summary_without_a_verdict() { edit $one '7s/"verdict"/"verdit"/' && forged; }
finds a_summary_without_a_verdict 1 1 "$one:7|$seal" --
damage_two_summaries() { edit $one '6s/"t":"after"/"t":"sum"/' && forged; }
finds two_summaries 1 1 "$one:7|$seal" --
damage_a_line_of_no_type() { edit $one '6s/"t":"after"/"t":"afterwards"/' && forged; }
finds a_line_of_no_type 1 1 "$one:6|$seal" --
damage_samples_behind_the_summary() { edit $one '5{h;d};7G' && forged; }
finds samples_behind_the_summary 1 1 "$one:7|$seal" --
damage_a_header_of_no_time() { edit $one '1s/"time":"[^"]*"/"time":"yesterday"/' && forged; }
finds a_header_of_no_time 1 1 "$one:1|$seal" --
damage_a_sample_of_no_cell() { edit $one '3s/"cell":0/"cell":1/' && forged; }
finds a_sample_of_no_cell 1 1 "$one:3|$seal" --
damage_a_sample_of_a_cell_below_0() { edit $one '3s/"cell":0/"cell":-1/' && forged; }
finds a_sample_of_a_cell_below_0 1 1 "$one:3|$seal" --
damage_a_sample_of_no_arm() { edit $one '3s/"arm":"A"/"arm":"B"/' && forged; }
finds a_sample_of_no_arm 1 1 "$one:3|$seal" --
damage_a_sample_of_no_round() { edit $one '3s/"round":1/"round":"one"/' && forged; }
finds a_sample_of_no_round 1 1 "$one:3|$seal" --
damage_a_sample_whose_time_is_none() { edit $one '3s/1001/"fast"/' && forged; }
finds a_sample_whose_time_is_none 1 1 "$one:3|$seal" --
damage_a_sample_whose_time_is_below_0() { edit $one '3s/1001/-1001/' && forged; }
finds a_sample_whose_time_is_below_0 1 1 "$one:3|$seal" --
damage_a_number_of_2_to_the_63() { edit $one '3s/1001/9223372036854775808/;3s/"h":".*/"h":"0"}/' && "$forge" ledger; }
finds a_number_of_2_to_the_63 1 1 "$one:3|$seal" --
damage_an_id_that_begins_with_a_dash() { edit $ledger 's/0002-20260101T000003Z-bbbbbb/-002-20260101T000003Z-bbbbbb/' &&
    "$forge" chain $ledger; }
finds an_id_that_begins_with_a_dash 1 3 "$ledger:8|$book" "$ledger:9|$book" "$two:1|$book" --
damage_a_log_that_leads_out() { edit $ledger '8s|"log":"0002-two|"log":"../bm1/0002-two|' && "$forge" chain $ledger; }
finds a_log_that_leads_out 1 3 "$ledger:8|$book" "$ledger:9|$book" "$two:1|$book" --
damage_a_postulate_of_no_number() { edit $ledger '3s/"id":"0002"/"id":"-02"/' && "$forge" chain $ledger; }
finds a_postulate_of_no_number 1 2 "$ledger:3|$book" "$ledger:8|$book" --
for time in yesterday 2026-02-30T00:00:00Z 2026-01-01 ''; do
    damage_a_time_that_is_none() { edit $ledger "5s/\"time\":\"[^\"]*\"/\"time\":\"$time\"/" && "$forge" chain $ledger; }
    finds a_time_that_is_none 1 1 "$ledger:5|$book" --
done

# Times are told by clocks, and a clock may be wrong: no damage, but it is said.
clock() { # LINE TIME...: rewrites the times of the ledger's lines
    while [ $# -gt 0 ]; do edit $ledger "$1s/\"time\":\"[^\"]*\"/\"time\":\"$2\"/" && shift 2; done && "$forge" chain $ledger
}
damage_clock_goes_back() {
    edit $ledger 's/"time":"[^"]*"/"time":"2026-01-02T00:00:00Z"/' && clock 5 2026-01-02T01:00:00Z 6 2026-01-01T23:59:00Z
}
finds clock_goes_back 0 0 --
remark="$ledger:6: remark: its time, 2026-01-01T23:59:00Z, is 3660 s before that of line 5, 2026-01-02T01:00:00Z: a clock was wrong"
holds clock_goes_back_and_it_is_said "$(cat "$scratch/out")" grep -qxF "$remark" "$scratch/out"
holds clock_goes_back_once "$(cat "$scratch/out")" test "$(grep -c 'a clock was wrong' "$scratch/out")" = 1
holds clock_goes_back_is_not_all_well "$(cat "$scratch/out")" grep -q '1 record: verified, with 1 remark$' "$scratch/out"
finds clock_goes_back_as_json 0 0 -- --json
says clock_goes_back_in_json '.remarks == [{"file": "logs/bm1/ledger.jsonl", "line": 6,
    "what": "its time, 2026-01-01T23:59:00Z, is 3660 s before that of line 5, 2026-01-02T01:00:00Z: a clock was wrong"}]'

# --- names of hosts ------------------------------------------------------------------------------------------------------------

# named FOLDER: the ledger with its logs once more, of a host that is called so.
named() {
    cp -a $logs "logs/$1" && edit "logs/$1/ledger.jsonl" "1s/\"bm1\"/\"$1\"/; 7d" && "$forge" chain "logs/$1/ledger.jsonl"
}
damage_a_host_that_begins_with_a_dash() { named -n; }
finds a_host_that_begins_with_a_dash 1 1 "logs/-n/ledger.jsonl:1|$tree" --
damage_a_host_of_other_characters() { named 'my host'; }
finds a_host_of_other_characters 1 1 "logs/my host/ledger.jsonl:1|$tree" --
damage_hosts_that_differ_in_case() { named BM1; }
finds hosts_that_differ_in_case 1 1 "$ledger:1|$tree" --
holds hosts_that_differ_in_case_are_both_named "$(cat "$scratch/out")" \
    grep -q 'host bm1 differs from host BM1 in case' "$scratch/out"
damage_hosts_that_differ() { named bm_1; }
finds hosts_that_differ 0 0 --

# --- files that nothing names --------------------------------------------------------------------------------------------------

damage_a_file_beside_the_ledger() { echo x >$logs/notes.txt; }
finds a_file_beside_the_ledger 1 1 "$logs/notes.txt:1|$book" --
damage_a_file_beside_a_log() { cp $one "${one%l}"; }
finds a_file_beside_a_log 1 1 "${one%l}:1|$book" --
damage_a_log_in_capitals() { cp $one "${one%.jsonl}.JSONL"; }
finds a_log_in_capitals 1 1 "${one%.jsonl}.JSONL:1|$book" --
damage_a_profile() {
    mkdir "${one%.jsonl}.perf" &&
        (cd "${one%.jsonl}.perf" && touch profile.txt A.0.record.txt A.12.c2c.data A.0.mem.txt)
}
finds a_profile 0 0 --
damage_a_file_in_a_profile() { damage_a_profile && cp $one "${one%.jsonl}.perf/A.0.txt" && mkdir "${one%.jsonl}.perf/x" &&
    echo x >"${one%.jsonl}.perf/x/profile.txt"; }
finds a_file_in_a_profile 1 2 "${one%.jsonl}.perf/A.0.txt:1|$book" "${one%.jsonl}.perf/x/profile.txt:1|$book" --
damage_a_profile_of_no_run() { mkdir "${one%-*}-dddddd.perf" && echo x >"${one%-*}-dddddd.perf/profile.txt"; }
finds a_profile_of_no_run 1 1 "${one%-*}-dddddd.perf/profile.txt:1|$book" --
damage_a_packet_of_no_ledger() { mkdir -p $logs/packet/x && echo '{}' >$logs/packet/x/topo.json; }
finds a_packet_of_no_ledger 0 0 --
holds a_packet_of_no_ledger_is_named "$(cat "$scratch/out")" \
    grep -q "^$logs/packet/x/topo.json:1: remark: a stray file: no packet of $ledger has it" "$scratch/out"
damage_a_file_in_a_folder_of_records() { mkdir experiments/x && cp $record experiments/x/ && echo x >experiments/x/notes; }
finds a_file_in_a_folder_of_records 1 2 "experiments/x/0001-one.md:1|$book" "experiments/x/notes:1|$book" --
damage_a_record_in_capitals() { cp $record experiments/0001-one.MD && cp $postulate postulates/0001-one.Md; }
finds a_record_in_capitals 1 2 "experiments/0001-one.MD:1|$book" "postulates/0001-one.Md:1|$book" --

# --- a ledger that cannot be read ----------------------------------------------------------------------------------------------

# No finding can be made of it, least of all that something is not in it.
damage_a_ledger_that_is_a_folder() { rm $ledger && mkdir $ledger; }
finds a_ledger_that_is_a_folder 1 0 --
holds a_ledger_that_is_a_folder_is_all_that_is_said "$(cat "$scratch/out" "$scratch/err")" eval \
    "[ ! -s '$scratch/out' ] && grep -qx 'locus: $ledger: Is a directory' '$scratch/err'"
# --- symbolic links, and records that nobody filed -----------------------------------------------------------------------------

# What lies behind a link is as it should be: it could be otherwise tomorrow, and nothing of the record would have changed.
damage_link_host() { mv $logs elsewhere && ln -s ../elsewhere $logs; }
finds link_host 1 1 "$logs:1|$tree" --
damage_link_host_to_nowhere() { ln -s nowhere logs/bm2; }
finds link_host_to_nowhere 1 1 "logs/bm2:1|$tree" --
damage_link_ledger() { mv $ledger x && ln -s ../../x $ledger; }
finds link_ledger 1 1 "$ledger:1|$tree" --
damage_link_log() { mv $one x && ln -s ../../../x $one; }
finds link_log 1 1 "$one:1|$tree" --
finds link_log_of_the_host 1 1 "$one:1|$tree" -- --host bm1
damage_link_log_and_broken_ledger() { damage_link_log && edit $ledger '5d'; }
finds link_log_and_broken_ledger 1 2 "$one:1|$tree" "$ledger:5|$chain" --
damage_link_folder() { mv $logs/0001-one x && ln -s ../../x $logs/0001-one; }
finds link_folder 1 1 "$logs/0001-one:1|$tree" --
damage_link_postulate() { mv $postulate x && ln -s ../x $postulate; }
finds link_postulate 1 1 "$postulate:1|$tree" --
damage_link_postulates() { mv postulates x && ln -s x postulates; }
finds link_postulates 1 1 "postulates:1|$tree" --
damage_link_record() { mv $record x && ln -s ../x $record; }
finds link_record 1 1 "$record:1|$tree" --
damage_link_is_committed() { damage_link_log && commit link; }
finds link_is_committed 1 2 "$one:1|$tree" "$one:1|$history" -- --git
damage_link_root() { mv logs x && ln -s x logs; }
refused link_root 'logs is a symbolic link' --git

damage_record_without_an_entry() { echo '# 0001' >experiments/0001-one.add1.md; }
finds record_without_an_entry 1 1 "experiments/0001-one.add1.md:1|$book" --
damage_record_without_an_entry_committed() { damage_record_without_an_entry && commit record; }
finds record_without_an_entry_committed 1 1 "experiments/0001-one.add1.md:1|$book" -- --git
finds record_without_an_entry_of_the_host 0 0 -- --host bm1
damage_record_of_another_postulate() { echo '# 0002' >experiments/0002-two.md; }
finds record_of_another_postulate 1 1 "experiments/0002-two.md:1|$book" --
damage_no_record() { echo '# about' >experiments/README.md && echo 'int a;' >experiments/0002-two.c; }
finds no_record 0 0 --
damage_record_and_broken_ledger() { damage_record_without_an_entry && edit $ledger '5d'; }
finds record_and_broken_ledger 1 1 "$ledger:5|$chain" --
damage_record_beside_trials() { damage_record_without_an_entry && mkdir build && cp -a logs build/; }
finds record_beside_trials 0 0 -- --logs build/logs

# --- 12 to 14: the ledger's chain ----------------------------------------------------------------------------------------------

damage_12_edited_ledger_line() { edit $ledger '5s/survived/falsified/'; }
finds 12_edited_ledger_line 1 1 "$ledger:5|$chain" --
damage_13_deleted_ledger_line() { edit $ledger '5d'; }
finds 13_deleted_ledger_line 1 1 "$ledger:5|$chain" --
damage_14_reordered_ledger_lines() { swap_lines $ledger 4; }
finds 14_reordered_ledger_lines 1 1 "$ledger:4|$chain" --
damage_12_cut_ledger_line() { truncate -s -10 $ledger; }
finds 12_cut_ledger_line 1 1 "$ledger:9|$chain" --

# --- 15, 16: an older checkpoint, or git history -------------------------------------------------------------------------------

damage_15_log_with_ledger_lines() { rm $two && edit $ledger '8,$d'; }
finds 15_log_with_ledger_lines 0 0 --
finds 15_with_checkpoint 1 1 "$ledger:8|$kept" -- --checkpoint "$scratch/checkpoint"
finds 15_with_git 1 2 "$ledger:8|$history" "$two:1|$history" -- --git
damage_15_committed() { damage_15_log_with_ledger_lines && commit cut; }
finds 15_committed 0 0 --
finds 15_committed_with_git 1 2 "$ledger:8|$history" "$two:1|$history" -- --git
damage_15_whole_host() { rm -r $logs; }
finds 15_whole_host 1 2 "$scratch/checkpoint:1|$kept" "$record:1|$book" -- --checkpoint "$scratch/checkpoint"
finds 15_whole_host_with_git 1 5 "$ledger:1|$history" "$one:1|$history" -- --git

damage_16_rewritten() { edit $one '3s/1001/1003/' && "$forge" chain $one && "$forge" ledger; }
finds 16_rewritten 0 0 --
finds 16_with_checkpoint 1 1 "$ledger:9|$kept" -- --checkpoint "$scratch/checkpoint"
finds 16_with_git 1 2 "$ledger:5|$history" "$one:3|$history" -- --git
damage_16_committed() { damage_16_rewritten && commit rewrite; }
finds 16_committed 0 0 --
finds 16_committed_with_git 1 2 "$ledger:5|$history" "$one:3|$history" -- --git
damage_16_postulate() { edit $postulate '2s/s$/S/' && edit $ledger "/$(basename $one .jsonl)/!b" && sha=$(sha256sum <$postulate) &&
    old=$(git show HEAD:$postulate | sha256sum) && sed -i "s/${old%% *}/${sha%% *}/" $ledger $one &&
    printf %s "$(head -n 5 $crashed | sed "s/${old%% *}/${sha%% *}/")" >x && echo >>x && mv x $crashed &&
    "$forge" chain $one $crashed && "$forge" ledger && commit rewrite; }
finds 16_postulate 0 0 --
finds 16_postulate_with_git 1 7 "$ledger:2|$history" "$one:1|$history" "$crashed:1|$history" -- --git

# --- history -------------------------------------------------------------------------------------------------------------------

damage_git_record_changed() { echo more >>$record && "$forge" ledger && commit more; }
finds git_record_changed 1 2 "$record:3|$history" "$ledger:7|$history" -- --git
damage_git_put_back() { mv $one x && commit gone && mv x $one && commit back; }
finds git_put_back 1 1 "$one:1|$history" -- --git
damage_git_ledger_cut_and_grown() { cp $ledger x && edit $ledger '8,$d' && commit cut && mv x $ledger && commit grown; }
finds git_ledger_cut_and_grown 1 1 "$ledger:1|$history" -- --git
damage_git_merge_hides() {
    git checkout -q -b side HEAD~1 && "$forge" second && edit $two '3s/1001/1003/' && "$forge" chain $two && "$forge" ledger &&
        GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' commit other && git merge -q -s ours main
}
finds git_merge_hides 1 2 "$ledger:8|$history" "$two:1|$history" -- --git
damage_git_log_with_its_postulate() {
    git reset -q --soft HEAD~5 && commit together
}
finds git_log_with_its_postulate 1 3 "$one:1|$history" "$two:1|$history" "$crashed:1|$history" -- --git
damage_git_postulate_not_committed() { git reset -q --soft HEAD~5 && git reset -q; }
finds git_postulate_not_committed 1 3 "$postulate:1|$history" "postulates/0002-two.md:1|$history" -- --git
damage_git_assume_unchanged() { git update-index --assume-unchanged $one && damage_16_rewritten; }
finds git_assume_unchanged 1 2 "$ledger:5|$history" "$one:3|$history" -- --git

# What would have git tell of another history, or of another repository.
damage_git_quoted_path() {
    cp -a $logs "$named" && edit "$named/ledger.jsonl" '1s/"bm1"/"a\\"b"/' &&
        "$forge" chain "$named/ledger.jsonl" && commit other &&
        edit "$named/ledger.jsonl" '1s/"nonce":"./"nonce":"x/' && "$forge" chain "$named/ledger.jsonl" && commit tamper
}
named='logs/a"b'
finds git_quoted_path 1 2 "$named/ledger.jsonl:1|$history" "$named/ledger.jsonl:1|$tree" -- --git
damage_git_path_with_a_newline() {
    mkdir "$lines" && head -n 2 $ledger | sed '1s/"bm1"/"a\\nb"/' >"$lines/ledger.jsonl" &&
        "$forge" chain "$lines/ledger.jsonl" && commit other && edit "$lines/ledger.jsonl" '1s/"nonce":"./"nonce":"x/' &&
        "$forge" chain "$lines/ledger.jsonl" && commit tamper
}
lines=$'logs/a\nb'
finds git_path_with_a_newline 1 2 "logs/a?b/ledger.jsonl:1|$history" "logs/a?b/ledger.jsonl:1|$tree" -- --git
damage_git_grafts() { damage_16_committed && echo "$(git rev-parse HEAD) $(git rev-parse HEAD~4)" >.git/info/grafts; }
finds git_grafts 1 2 "$ledger:5|$history" "$one:3|$history" -- --git
damage_git_grafts_elsewhere() { damage_git_grafts && mv .git/info/grafts "$scratch/grafts"; }
GIT_GRAFT_FILE=$scratch/grafts finds git_grafts_elsewhere 1 2 "$ledger:5|$history" "$one:3|$history" -- --git
damage_git_replaced() { damage_16_committed && git replace --graft HEAD HEAD~4; }
finds git_replaced 1 2 "$ledger:5|$history" "$one:3|$history" -- --git
damage_git_commit_graph() { damage_16_committed && git commit-graph write --reachable && another_parent HEAD HEAD~4; }
another_parent() { # COMMIT PARENT: the commit-graph, which git believes without looking at the commit, names that one
    python3 -S - .git/objects/info/commit-graph "$(git rev-parse "$1")" "$(git rev-parse "$2")" <<'PYTHON'
import hashlib, os, struct, sys
path, commit, parent = sys.argv[1], bytes.fromhex(sys.argv[2]), bytes.fromhex(sys.argv[3])
data = bytearray(open(path, 'rb').read())
chunks = {bytes(data[at:at + 4]): struct.unpack('>Q', data[at + 4:at + 12])[0] for at in range(8, 8 + 12 * data[6], 12)}
count = struct.unpack('>I', data[chunks[b'OIDF'] + 1020:chunks[b'OIDF'] + 1024])[0]
ids = [bytes(data[at:at + 20]) for at in range(chunks[b'OIDL'], chunks[b'OIDL'] + 20 * count, 20)]
at = chunks[b'CDAT'] + 36 * ids.index(commit) + 20
data[at:at + 4] = struct.pack('>I', ids.index(parent))
data[-20:] = hashlib.sha1(data[:-20]).digest()
os.chmod(path, 0o644)
open(path, 'wb').write(data)
PYTHON
}
finds git_commit_graph 1 2 "$ledger:5|$history" "$one:3|$history" -- --git
damage_git_merges_not_shown() { damage_git_merge_hides && git config log.diffMerges off; }
finds git_merges_not_shown 1 2 "$ledger:8|$history" "$two:1|$history" -- --git
damage_git_another_repository() { # in which what was written anew came in good order
    damage_16_rewritten && git init -q -b main "$scratch/liar" && cp -a postulates "$scratch/liar/" &&
        (cd "$scratch/liar" && commit postulates) && cp -a logs experiments "$scratch/liar/" && (cd "$scratch/liar" && commit all)
}
GIT_DIR=$scratch/liar/.git finds git_another_repository 1 2 "$ledger:5|$history" "$one:3|$history" -- --git
GIT_OBJECT_DIRECTORY=$scratch/liar/.git/objects finds git_other_objects 1 2 "$ledger:5|$history" "$one:3|$history" -- --git
damage_git_merge_is_fine() {
    git checkout -q -b side HEAD~1 && echo x >other && commit other && git checkout -q main && git merge -q -m merge side
}
finds git_merge_is_fine 0 0 -- --git
damage_git_shallow() { git clone -q --depth 1 "file://$scratch/good" clone && cd clone; }
refused git_shallow shallow --git
damage_git_none() { rm -rf .git; }
GIT_CEILING_DIRECTORIES=$scratch refused git_none 'no repository' --git
damage_git_empty() { rm -rf .git && git init -q; }
refused git_empty 'git log' --git

# --- what history proves, and what it cannot ----------------------------------------------------------------------------------

# row NAME HOST RUNS POSTULATE FILING COMMIT SOURCE: of so many official runs, those of which each is proven.
row() { holds "$1" "$(cat "$scratch/out")" grep -Eqx "$2 +$3 +$4 +$5 +$6 +$7" "$scratch/out"; }
summary() { holds "$1" "$(cat "$scratch/out")" grep -q "commits: $2\$" "$scratch/out"; }

damage_order_undamaged() { :; }
finds order_undamaged 0 0 -- --git
row order_is_proven bm1 3 3 3 3 3
summary order_is_proven_and_all_is_well 'all is well'
damage_order_committed_anew() { # as a record is that was saved without its repository
    rm -rf .git && git init -q -b main && git add postulates && git commit -qm postulates && commit rest
}
finds order_committed_anew 0 0 -- --git
row order_committed_anew_is_not_proven bm1 3 3 0 0 0
summary order_committed_anew_is_not_all_well 'verified; history proves the order for 0 of 1 hosts, not for bm1 (0 of 3 runs)'
lost=$(git -C "$scratch/good" log --format=%h --abbrev=12 -1 -- postulates)
for said in 'filing:3 of 3 logs did not come in a commit after the one with their filing' \
    "postulate:3 of 3 logs name no commit of their postulate that is in this history ($lost)" \
    'source:3 of 3 logs name no build commit that is in this history (2 commits): what was measured cannot be looked up'; do
    holds "order_says_what_is_missing_of_the_${said%%:*}" "$(cat "$scratch/out")" grep -q "^bm1: ${said#*:}" "$scratch/out"
done
alone="witnessed by the ledger's chain alone"
line() { holds "$1" "$(cat "$scratch/out")" grep -qxF -- "$2" "$scratch/out"; }
line order_says_which_runs "bm1: 3 runs are $alone: 0001 (aaaaaa, cccccc), 0002"
finds order_as_json 0 0 -- --git --json
says order_as_json_names_the_runs '.git.order[0].unproven | map([.run, .postulate, .of]) == [
    ["0001-20260101T000001Z-aaaaaa", "0001", 2], ["0001-20260101T000002Z-cccccc", "0001", 2],
    ["0002-20260101T000003Z-bbbbbb", "0002", 1]] and
    all(.[]; .chain_alone and .lacks == ["filing_before_log", "postulate_commit", "build_commit"])'
says order_as_json_counts '.git.order[0] | .host == "bm1" and .runs == 3 and .proven == 0 and .postulate_before_filing == 3 and
    .filing_before_log == 0 and .postulate_commit == 0 and .build_commit == 0 and (.postulate_commits_lost | length) == 1 and
    (.build_commits_lost | length) == 2'
damage_order_of_two_hosts() {
    cp -a $logs logs/bm2 && edit logs/bm2/ledger.jsonl '1s/bm1/bm2/; 7d' && "$forge" chain logs/bm2/ledger.jsonl && commit other
}
finds order_of_two_hosts 0 0 -- --git
row order_of_the_second_host bm2 3 3 0 3 3
summary order_of_one_host_only 'verified; history proves the order for 1 of 2 hosts, not for bm2 (0 of 3 runs)'
damage_order_built_from_a_lost_commit() { git reset -q --soft HEAD~3 && commit together; }
finds order_built_from_a_lost_commit 0 0 -- --git
row order_built_from_a_lost_commit_is_not_proven bm1 3 3 3 3 2
line order_built_from_a_lost_commit_names_the_run "bm1: 1 run is proven in part: 0002"
summary order_built_from_a_lost_commit_is_not_all_well \
    'verified; history proves the order for 0 of 1 hosts, not for bm1 (2 of 3 runs)'
damage_order_of_a_branch() { # for the merge the log is new, and the filing old
    git checkout -q -b side HEAD~4 && "$forge" file && "$forge" first && commit together && git checkout -q -b trunk HEAD~1 &&
        git merge -q --no-ff -m merge side
}
finds order_of_a_branch 0 0 -- --git
row order_of_a_branch_is_not_proven bm1 2 2 0 2 2
damage_order_filed_with_its_log() { git reset -q --hard HEAD~4 && "$forge" file && "$forge" first && commit together; }
finds order_filed_with_its_log 0 0 -- --git
row order_filed_with_its_log_is_not_proven bm1 2 2 0 2 2
line order_filed_with_its_log_names_the_runs 'bm1: 2 runs are proven in part: 0001 (aaaaaa, cccccc)'
summary order_filed_with_its_log_is_not_all_well \
    'verified; history proves the order for 0 of 1 hosts, not for bm1 (0 of 2 runs)'
damage_order_uncommitted() { git reset -q --soft HEAD~1 && git reset -q; }
finds order_uncommitted 0 0 -- --git
row order_uncommitted_is_not_proven bm1 3 3 2 3 3
# again TEXT TEXT: the first runs once more, but in their headers the one text stands for the other.
again() {
    git reset -q --hard HEAD~3 && "$forge" first && edit $one "1s/$1/$2/" && edit $crashed "1s/$1/$2/" && "$forge" chain $one &&
        printf %s "$(cat $crashed | head -n 5)" >x && echo >>x && mv x $crashed && "$forge" chain $crashed && "$forge" ledger &&
        commit first
}
damage_order_commit_of_a_draft() { again "\"commit\":\"$(git rev-parse HEAD~4)" "\"commit\":\"$(git rev-parse HEAD~5)"; }
finds order_commit_of_a_draft 1 2 "$one:1|$history" "$crashed:1|$history" -- --git
damage_order_built_from_a_draft() { again "$(git rev-parse HEAD~3)" "$(git rev-parse HEAD~5)"; }
finds order_built_from_a_draft 1 2 "$one:1|$history" "$crashed:1|$history" -- --git

# A commit that is nowhere; and one that has the postulate, but did not bring it.
nowhere=$(printf '%040d' 7)
damage_order_forged_commit() { again "\"commit\":\"$(git rev-parse HEAD~4)" "\"commit\":\"$nowhere"; }
finds order_forged_commit 0 0 -- --git
row order_forged_commit_is_not_proven bm1 2 2 2 0 2
line order_forged_commit_is_named "bm1: 2 of 2 logs name no commit of their postulate that is in this history (${nowhere:0:12})"
line order_forged_commit_names_the_runs 'bm1: 2 runs are proven in part: 0001 (aaaaaa, cccccc)'
damage_order_forged_build() { again "$(git rev-parse HEAD~3)" "$nowhere"; }
finds order_forged_build 0 0 -- --git
row order_forged_build_is_not_proven bm1 2 2 2 2 0
damage_order_commit_of_another_change() {
    again "\"commit\":\"$(git rev-parse HEAD~4)" "\"commit\":\"$(git rev-parse HEAD~3)"
}
finds order_commit_of_another_change 0 0 -- --git
row order_commit_of_another_change_proves bm1 2 2 2 2 2
line order_commit_of_another_change_is_named "$one:1: remark: it names commit $(git rev-parse --short=12 HEAD~1) for its \
postulate, and $postulate came in another one"
summary order_commit_of_another_change_is_not_all_well 'verified, with 2 remarks'
# In a log that was committed already such a header is a change like any other.
damage_order_forged_in_place() { edit $one "1s/\"commit\":\"./\"commit\":\"x/"; }
finds order_forged_in_place 1 2 "$one:1|$seal" "$one:1|$history" -- --git
damage_order_forged_consistently() { damage_order_forged_in_place && "$forge" chain $one && "$forge" ledger && commit forged; }
finds order_forged_consistently 1 2 "$one:1|$history" "$ledger:5|$history" -- --git

# --- how often a verdict was sought --------------------------------------------------------------------------------------------

finds sought_once 0 0 --
holds sought_once_is_not_said "$(cat "$scratch/out")" eval "! grep -q ': note: ' '$scratch/out'"
damage_sought_again() {
    edit $ledger '5{p;s/000001Z-aaaaaa/000002Z-cccccc/;s/survived/falsified/;h;d};$G' &&
        cp $one $crashed && edit $crashed '1s/000001Z-aaaaaa/000002Z-cccccc/; 1s/"a0"/"c0"/; s/survived/falsified/' &&
        "$forge" chain $crashed && "$forge" ledger
}
finds sought_again 0 0 --
line sought_again_is_noted "$ledger:6: note: postulate 0001 has 2 official runs on bm1, with these verdicts in their order: \
survived, falsified"
finds sought_again_as_json 0 0 -- --json
says sought_again_in_json '.sought == [{"host": "bm1", "postulate": "0001", "file": "logs/bm1/ledger.jsonl",
    "line": 6, "runs": 2, "verdicts": ["survived", "falsified"]}]'

# --- what a header says that its run replicates --------------------------------------------------------------------------------

replicates() { # FILE RUNS: what its header says
    edit "$1" "1s/\"kind\"/\"replicates\":[$2],&/" && "$forge" chain "$1" && "$forge" ledger
}
damage_replication() { damage_sought_again && replicates $crashed '"0001-20260101T000001Z-aaaaaa"'; }
finds replication 0 0 --
damage_replication_of_another_run() { damage_sought_again && replicates $crashed '"0002-20260101T000003Z-bbbbbb"'; }
finds replication_of_another_run 1 1 "$crashed:1|$book" --
holds replication_says_where "$(cat "$scratch/out")" grep -q "replicates other runs than $ledger:6 has above it" "$scratch/out"
damage_replication_of_a_later_run() { damage_sought_again && replicates $one '"0001-20260101T000002Z-cccccc"'; }
finds replication_of_a_later_run 1 1 "$one:1|$book" --
damage_replication_of_what_answered_nothing() {
    damage_sought_again && edit $one 's/survived/invalid/' && "$forge" chain $one && edit $ledger '5s/survived/invalid/' &&
        replicates $crashed '"0001-20260101T000001Z-aaaaaa"'
}
finds replication_of_what_answered_nothing 1 1 "$crashed:1|$book" --

# --- 17: the key ---------------------------------------------------------------------------------------------------------------

if command -v ssh-keygen >/dev/null; then
    for name in mine theirs; do ssh-keygen -q -t ed25519 -N '' -C '' -f "$scratch/$name"; done
    echo "me@here $(cat "$scratch/mine.pub")" >"$scratch/signers"
    sign() { ssh-keygen -q -Y sign -n "$2" -f "$scratch/$1" checkpoint; }
    with_key=(--checkpoint checkpoint --key "$scratch/signers")
    damage_17_signed() { cp "$scratch/checkpoint" . && sign mine locus-checkpoint; }
    finds 17_signed 0 0 -- "${with_key[@]}"
    if grep -q 'checkpoint signed by me@here' "$scratch/out"; then pass 17_names_the_signer; else
        fail 17_names_the_signer "$(cat "$scratch/out")"; fi
    damage_17_not_signed() { cp "$scratch/checkpoint" .; }
    finds 17_not_signed 1 1 "checkpoint:1|$key" -- "${with_key[@]}"
    finds 17_not_required 0 0 -- --checkpoint checkpoint
    damage_17_other_key() { cp "$scratch/checkpoint" . && sign theirs locus-checkpoint; }
    finds 17_other_key 1 1 "checkpoint:1|$key" -- "${with_key[@]}"
    damage_17_other_purpose() { cp "$scratch/checkpoint" . && sign mine file; }
    finds 17_other_purpose 1 1 "checkpoint:1|$key" -- "${with_key[@]}"
    damage_17_other_checkpoint() { damage_17_signed && echo >>checkpoint; }
    finds 17_other_checkpoint 1 1 "checkpoint:1|$key" -- "${with_key[@]}"
    damage_17_no_signature_at_all() { damage_17_signed && echo garbage >checkpoint.sig; }
    finds 17_no_signature_at_all 1 1 "checkpoint:1|$key" -- "${with_key[@]}"
    damage_17_no_ssh_keygen() { damage_17_signed; }
    only_path=$scratch/empty refused 17_no_ssh_keygen 'not installed' "${with_key[@]}"
else
    skip 17_signature "needs ssh-keygen"
fi

# --- logs of version 2: header, columns, four rows, the end of their round, counters, summary, seal ------------------------------

mv "$scratch/good" "$scratch/good_1"
export LOG_VERSION=2
make_good || fail good_record_2 "cannot be made"
damage_rows_undamaged() { grep -q '^\[0,1,0,"A",1001]$' $one && grep -q '^{"t":"round","rows":4,' $one; }
finds rows_undamaged 0 0 -- --git
damage_rows_changed() { edit $one '4s/1001/1003/'; }
finds rows_changed 1 1 "$one:3|$seal" --
damage_rows_one_gone() { edit $one '5d'; }
finds rows_one_gone 1 1 "$one:3|$seal" --
damage_rows_swapped() { swap_lines $one 4; }
finds rows_swapped 1 1 "$one:3|$seal" --
damage_rows_without_their_end() { edit $one '7d'; }
finds rows_without_their_end 1 1 "$one:3|$seal" --
damage_rows_of_other_columns() { edit $one '2s/time_ns/mine_ns/'; }
finds rows_of_other_columns 1 1 "$one:2|$seal" --
damage_rows_cut() { edit $one '6,$d'; }
finds rows_cut 1 1 "$one:3|$seal" --
damage_rows_cut_behind_them() { edit $one '8,$d'; }
finds rows_cut_behind_them 1 1 "$one:8|$seal" --
damage_rows_behind_the_seal() { echo '[0,9,"A",9]' >>$one; }
finds rows_behind_the_seal 1 1 "$one:11|$seal" --
damage_rows_of_a_crash() { edit $crashed '$d' && echo '[0,4,"A",1004]' >>$crashed; }
finds rows_of_a_crash 0 0 --
damage_rows_committed() { edit $one '4s/1001/1003/' && commit changed; }
finds rows_committed 1 2 "$one:3|$seal" "$one:4|$history" -- --git
damage_rows_forged_as_they_were() { forged && git diff --quiet; }
finds rows_forged_as_they_were 0 0 -- --git
damage_rows_of_no_shape() { edit $one '4s/^.0/[1/' && forged; }
finds rows_of_no_shape 1 1 "$one:4|$seal" --
damage_rows_of_a_shape_that_is_none() { edit $one '4s/^.0/["x"/' && forged; }
finds rows_of_a_shape_that_is_none 1 1 "$one:4|$seal" --
damage_rows_too_short() { edit $one '4s/,1001//' && forged; }
finds rows_too_short 1 1 "$one:4|$seal" --
damage_rows_too_long() { edit $one '4s/1001/1001,7/' && forged; }
finds rows_too_long 1 1 "$one:4|$seal" --
damage_rows_of_no_json() { edit $one '4s/1001/10 01/' && forged; }
finds rows_of_no_json 1 1 "$one:4|$seal" --
damage_rows_of_no_cell() { edit $one '4s/,0,"A"/,1,"A"/' && forged; }
finds rows_of_no_cell 1 1 "$one:4|$seal" --
damage_rows_of_no_arm() { edit $one '4s/"A"/"B"/' && forged; }
finds rows_of_no_arm 1 1 "$one:4|$seal" --
damage_rows_whose_time_is_none() { edit $one '4s/1001/"fast"/' && forged; }
finds rows_whose_time_is_none 1 1 "$one:4|$seal" --
damage_rows_counted_wrong() { edit $one '7s/"rows":4/"rows":3/' && forged; }
finds rows_counted_wrong 1 1 "$one:7|$seal" --
damage_rows_of_no_columns() { edit $one '2s/"round"/"round","round"/' && forged; }
finds rows_of_no_columns 1 1 "$one:2|$seal" --
damage_rows_of_a_crash_that_do_not_parse() { edit $crashed '$d' && edit $crashed '4s/1001/"fast"/' && "$forge" chain $crashed; }
finds rows_of_a_crash_that_do_not_parse 1 1 "$crashed:4|$seal" --
unset LOG_VERSION

# --- bad input -----------------------------------------------------------------------------------------------------------------

damage_no_logs() { rm -r logs; }
refused no_logs 'logs: No such file'
damage_no_host() { :; }
refused no_host 'no logs/bm9' --host bm9
refused host_that_is_a_path "cannot name a host" --host ../bm1
refused key_without_checkpoint 'name it with --checkpoint' --key "$scratch/checkpoint"
refused missing_checkpoint 'nowhere: No such file' --checkpoint nowhere
refused checkpoint_of_something_else 'not a checkpoint' --checkpoint $postulate
refused stray_argument "'x'" x
refused unknown_option "bogus" --bogus

done_testing
