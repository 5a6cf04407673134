#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# locus postulate and locus postulate list from outside: in a repository of their own, from the first draft to the ledger.
set -u
LOCUS=$(realpath "${LOCUS:-build/gcc/locus}")
REPO=${REPO:-$PWD}
. "$(dirname "$0")/cases.bash"

# This machine's git configuration must not matter, nor a repository above the scratch folder.
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_CEILING_DIRECTORIES=$scratch LC_ALL=C
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
commit() { git add -A && git -c user.name=test -c user.email=test@localhost commit -q -m test; }

# expect NAME STATUS WORDS COMMAND...: exit status, and words in what it prints on either stream. Errors are one line.
expect() {
    local name=$1 wanted=$2 words=$3 status
    shift 3
    "$@" >"$scratch/out" 2>"$scratch/err"
    status=$?
    if [ $status -ne "$wanted" ]; then
        fail "$name" "exit $status: $(head -n 1 "$scratch/err")"
    elif ! cat "$scratch/out" "$scratch/err" | grep -qF -- "$words"; then
        fail "$name" "no '$words': $(cat "$scratch/out" "$scratch/err" | head -n 3)"
    elif [ $wanted -ne 0 ] && [ "$(wc -l <"$scratch/err")" -ne 1 ]; then
        fail "$name" "$(wc -l <"$scratch/err") lines on stderr"
    else
        pass "$name"
    fi
}

line_of() { grep -n -m 1 -- "$1" "${2:-$file}" | cut -d : -f 1; } # pattern, file
mkdir "$scratch/work" && cd "$scratch/work" || exit 1
expect without_its_folder 2 'no postulates/ here' "$LOCUS" postulate check
mkdir postulates
expect list_of_none 0 'No postulate yet' "$LOCUS" postulate list
expect new_takes_the_first_number 0 'postulates/0001-one.md' "$LOCUS" postulate new one
expect new_takes_the_next_number 0 'postulates/0002-one.md' "$LOCUS" postulate new one
rm postulates/*
touch postulates/9000-old.md # numbers that no experiment has
expect new_counts_from_the_highest 0 'postulates/9001-churn.md' "$LOCUS" postulate new churn
expect new_is_not_ready 1 "postulates/9001-churn.md:3: 'title' is empty" "$LOCUS" postulate check 9001
expect bad_slug 2 'a slug is small letters' "$LOCUS" postulate new Big_Slug
expect no_action 2 'which of new, check and file' "$LOCUS" postulate
expect unknown_action 2 "'edit' is not new" "$LOCUS" postulate edit 9001
expect misplaced_option 2 '--title is for new' "$LOCUS" postulate check --title x
expect missing_number 2 'postulate file NNNN' "$LOCUS" postulate file
expect not_a_number 2 "'churn' is not the number" "$LOCUS" postulate check churn
expect no_such_number 2 'postulates/0007-*.md: there is no such' "$LOCUS" postulate check 7

file=postulates/9001-churn.md
rm $file
expect new_with_a_title 0 "$file" "$LOCUS" postulate new churn --title 'glibc: "pays" \ too'
rm postulates/9000-old.md
expect pilot_must_be_told 1 "9001-churn.md:$(line_of '^pilot:'): 'pilot' is none, or has" "$LOCUS" postulate check 9001
sed -i 's/^pilot:$/pilot: {host: elsewhere, seed: 8, cells: [burst-storm\/byte]}/' $file
expect prior_must_be_told 1 "9001-churn.md:$(line_of '^prior:'): 'prior' has to say" "$LOCUS" postulate check 9001
sed -i 's/^prior:$/prior: nothing/' $file
expect filled_in_it_is_good 0 "$file: ok, 1 prediction, 1 of it blind" "$LOCUS" postulate check
expect list_shows_it 0 '9001    no          1  none yet      churn' "$LOCUS" postulate list
expect title_survives_quoting 0 '"title": "glibc: \"pays\" \\ too"' "$LOCUS" postulate list --json
expect json_says_what_is_claimed 0 '"text": "hl_ratio(B/A) >= 1.25"' "$LOCUS" postulate list --json
sed -i 's/{id: P1, /&claim: glibc takes a quarter longer, /' $file
expect json_has_the_claim_in_words 0 '"claim": "glibc takes a quarter longer"' "$LOCUS" postulate list --json
expect without_a_question_the_title_stands_for_it 0 '"question": "glibc: \"pays\" \\ too"' "$LOCUS" postulate list --json
sed 's/metric:/methric:/; s/9001/9002/' $file >postulates/9002-broken.md
line=$(line_of methric: postulates/9002-broken.md)
expect check_names_file_and_line 1 "postulates/9002-broken.md:$line: unknown key 'methric' in a prediction" "$LOCUS" postulate check
expect list_names_file_and_line 1 "9002-broken.md:$line: unknown key" "$LOCUS" postulate list
expect check_of_one_sees_only_it 0 'ok' "$LOCUS" postulate check 9001
sed 's/B: glibc/B: nosuch/; s/9001/9002/' $file >postulates/9002-broken.md
expect unknown_contender 1 "arm B: unknown contender 'nosuch'" "$LOCUS" postulate check
sed 's/B: glibc/B: jemalloc-9.1-tuned/; s/9001/9002/' $file >postulates/9002-broken.md
expect a_peer_may_be_missing_here 0 '9002-broken.md: ok' "$LOCUS" postulate check 9002
sed 's/^requires/supersedes: "8000"\nrequires/; s/9001/9002/' $file >postulates/9002-broken.md
expect supersedes_what_is_not_there 1 'it supersedes 8000, which is not here' "$LOCUS" postulate check
cp $file postulates/9001-twin.md && rm postulates/9002-broken.md
expect a_number_twice 1 'another file has this number' "$LOCUS" postulate check
rm postulates/9001-twin.md

expect file_without_a_repository 1 'in no git repository' "$LOCUS" postulate file 9001 --host h
expect file_without_git 1 'no git program' env PATH="$scratch" "$LOCUS" postulate file 9001 --host h
git init -q .
expect file_in_an_empty_repository 1 'postulate 9001 is not committed' "$LOCUS" postulate file 9001 --host h
touch other && git add other && git -c user.name=test -c user.email=test@localhost commit -q -m test
expect file_of_what_is_not_committed 1 'postulate 9001 is not committed' "$LOCUS" postulate file 9001 --host h
commit
sed -i 's/value: 1.25/value: 1.20/' $file
expect file_of_what_was_changed 1 'is not what is committed' "$LOCUS" postulate file 9001 --host h
git update-index --assume-unchanged $file
expect file_of_what_git_was_told_not_to_see 1 'is not what is committed' "$LOCUS" postulate file 9001 --host h
git update-index --no-assume-unchanged $file
git checkout -q -- $file
[ ! -e logs ] && pass refusals_leave_no_ledger || fail refusals_leave_no_ledger "$(ls logs)"
sed 's/id: "9001"/id: "9003"/' $file >postulates/9003-draft.md && commit
sed -i 's/value: 1.25/value: 1.20/' postulates/9003-draft.md && commit
expect file_of_what_was_committed_twice 1 '9003-draft.md was committed 2 times, and a postulate comes once' \
    "$LOCUS" postulate file 9003 --host h
git rm -q postulates/9003-draft.md && commit
sed 's/id: "9001"/id: "9003"/; s/rounds: \[[^]]*\]/rounds: 6/' $file >postulates/9003-short.md && commit
expect check_says_what_is_too_short 0 'no official run: estimates need at least 20 rounds, and this has 6' \
    "$LOCUS" postulate check 9003
expect file_of_what_could_never_be_run 1 'an official run of estimates needs at least 20 rounds, and this has 6' \
    "$LOCUS" postulate file 9003 --host h
git rm -q postulates/9003-short.md && commit
expect file_it 0 "$file filed in logs/h/ledger.jsonl" "$LOCUS" postulate file 9001 --host h
sha256=$(sha256sum <$file | cut -d ' ' -f 1)
if grep -q "\"t\":\"postulate\",\"id\":\"9001\",\"path\":\"$file\",\"sha256\":\"$sha256\"" logs/h/ledger.jsonl; then
    pass ledger_has_the_hash
else
    fail ledger_has_the_hash "$(tail -n 1 logs/h/ledger.jsonl)"
fi
before=$(cksum <logs/h/ledger.jsonl)
expect file_it_again 0 'was filed already, unchanged' "$LOCUS" postulate file 9001 --host h
[ "$before" = "$(cksum <logs/h/ledger.jsonl)" ] && pass again_adds_nothing || fail again_adds_nothing 'the ledger has changed'
expect host_by_environment 0 'in logs/other/ledger.jsonl' env LOCUS_HOST=other "$LOCUS" postulate file 9001
expect list_says_when 0 "9001    $(date -u +%Y)-" "$LOCUS" postulate list
sed -i 's/value: 1.25/value: 1.20/' $file && commit
expect filed_and_then_edited 1 'it is not what was filed (logs/h/ledger.jsonl' "$LOCUS" postulate file 9001 --host h
expect nor_on_a_third_host 1 'it is not what was filed' "$LOCUS" postulate file 9001 --host third
expect check_sees_the_edit 1 'it is not what was filed' "$LOCUS" postulate check
expect list_sees_the_edit 0 '9001    EDITED ' "$LOCUS" postulate list
git checkout -q HEAD~ -- $file
sed 's/^requires/supersedes: "9001"\nrequires/; s/id: "9001"/id: "9002"/' $file >postulates/9002-better.md && commit
expect a_correction_is_filed 0 '9002-better.md filed' "$LOCUS" postulate file 9002 --host h
if tail -n 1 logs/h/ledger.jsonl | grep -q '"t":"supersede","id":"9001","by":"9002"'; then
    pass and_supersedes
else
    fail and_supersedes "$(tail -n 1 logs/h/ledger.jsonl)"
fi
sed -i '2s/9001/9003/' logs/other/ledger.jsonl
expect a_broken_ledger_is_named 1 'logs/other/ledger.jsonl:2: ' "$LOCUS" postulate list
expect nothing_is_filed_beside_it 1 'logs/other/ledger.jsonl:2: ' "$LOCUS" postulate file 9002 --host h
rm -r logs/other
mkdir logs/g && cp logs/h/ledger.jsonl logs/g/

if [ -c /dev/full ]; then # more than the stream holds: the write that fails is not the last one
    (cd "$REPO" && "$LOCUS" postulate list --json >/dev/full 2>"$err")
    why="exit $?: $(cat "$err")"
    check list_on_a_full_disk eval "[ '${why%%:*}' = 'exit 1' ] && grep -q '^locus: standard output: ' '$err'"
else
    skip list_on_a_full_disk "needs the device /dev/full"
fi
expect list_reads_no_arguments 2 "unexpected argument 'x'" "$LOCUS" postulate list x

# close HOST RUN VERDICT TIME: as a run that ends would append it; the hash is over the one before and the bytes of the line.
close_run() {
    local ledger=logs/$1/ledger.jsonl before line
    line="{\"t\":\"close\",\"run\":\"$2\",\"verdict\":\"$3\",\"time\":\"$4\""
    before=$(tail -n 1 "$ledger" | sed 's/.*"h":"\([0-9a-f]*\)"}$/\1/; s/../\\x&/g')
    echo "$line,\"h\":\"$({ printf "$before"; printf %s "$line"; } | sha256sum | cut -c 1-64)\"}" >>"$ledger"
}

close_run h 9001-20260101T000000Z-aaaaaa falsified 2099-01-02T00:00:00Z
close_run g 9001-20260101T000000Z-bbbbbb survived 2099-01-01T00:00:00Z
expect list_has_the_latest_verdict 0 " 1  falsified " "$LOCUS" postulate list

# A postulate is the whole experiment: what is filled in runs, and no file of code goes with it.
rm postulates/* && expect new_to_run 0 'postulates/0001-mine.md' "$LOCUS" postulate new mine --title 'glibc pays'
sed -i 's/^pilot:$/pilot: none/' postulates/0001-mine.md
sed -i 's/^prior:$/prior: nothing/; s/^# question: .*/question: Does it run as it is?/; s/B: glibc, C: locus/B: "null", C: locus/
    s/steady-decode/churn-touch/; s/workers_pinned\]/hardware]/; s/dispatch: spin/dispatch: inline/' postulates/0001-mine.md
sed -i 's/- {id: P1, /&claim: glibc pays a quarter, /' postulates/0001-mine.md
expect it_runs_without_a_line_of_code 0 'P1      glibc pays a quarter (hl_ratio(B/A) >= 1.25 on churn-touch/full)' \
    "$LOCUS" run 1 --smoke -q --host h
log=$(sed -n 's/^log //p' "$scratch/out")
if head -n 1 "$log" | jq -e '.experiment.question == "Does it run as it is?" and .experiment.suite == null and
    .design.dispatch == "inline" and (.arms | map(.name)) == ["locus", "null", "locus"]' >/dev/null &&
    "$LOCUS" record show --samples "$log" |
        jq -se 'map(select(.t == "sum"))[0].predictions[0].claim == "glibc pays a quarter"' >/dev/null; then
    pass and_its_log_says_the_design
else
    fail and_its_log_says_the_design "$(head -n 1 "$log" | cut -c 1-300)"
fi
sed -i 's/seed: 7/seed: 7, laps_counted: 1/' postulates/0001-mine.md
expect its_words_are_listed 0 '"claim": "glibc pays a quarter"' "$LOCUS" postulate list --json
"$LOCUS" report "$log" -o "$scratch/page.html" >/dev/null
check its_page_has_the_words_above_the_formula grep -q '>glibc pays a quarter<[^/].*hl_ratio(B/A) &gt;= 1.25' "$scratch/page.html"
expect of_many_nodes_it_has_other_arms 2 "locus runs on one node only" "$LOCUS" run 1 --smoke -q --host h
done_testing
