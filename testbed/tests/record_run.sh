#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: test alone
#
# locus run: what it refuses, and that its logs are sealed, complete and agree with the ledger. LOCUS names the program, REPO the
# project. Works in a repository of its own, with the project's postulates.
set -u
: "${LOCUS:?LOCUS must name the program}"
REPO=${REPO:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$(dirname "$0")/cases.bash"
export LOCUS_HOST=test-host GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null

tree=$scratch/tree
mkdir "$tree" && cd "$tree" && git init -q . && git config user.email test@localhost && git config user.name test || exit 1
mkdir postulates && cp "$REPO"/postulates/0002-*.md postulates/ && echo build/ >.gitignore && echo text >README.md || exit 1

refuses no-experiment 2 'which experiment' run
refuses unknown-postulate 2 '9999.*there is no such postulate here' run 9999
refuses what-is-no-number 2 "'churn' is not the number of a postulate" run churn
refuses official-with-rounds 2 'official' run 0002 --official --rounds 6
refuses smoke-with-rounds 2 'smoke' run 0002 --smoke --rounds 6
refuses official-of-an-uncommitted-postulate 1 'postulate 0002 is not committed.*Commit it first' run 0002 --official
git add -A && git commit -qm "postulate" || exit 1
echo more >>README.md
refuses official-with-a-dirty-tree 1 'the tree is not clean.*README.md' run 0002 --official
git commit -qam "text"
echo new >untracked
refuses official-with-an-untracked-file 1 'the tree is not clean.*untracked' run 0002 --official
rm untracked
head=$(git rev-parse --short=12 HEAD)
refuses official-by-a-program-of-another-commit 1 "was built .*commit .*\(HEAD is $head\|changes that are in no commit\)" \
    run 0002 --official
why="something was written"
check a-refused-run-leaves-nothing [ ! -e logs ]

# --- a trial -------------------------------------------------------------------------------------------------------------------

if locus 0 run 0002 --rounds 6 --seed 5; then
    cp "$scratch/out" "$scratch/trial"
    log=$(sed -n 's/^log //p' "$scratch/trial")
    lines() { "$LOCUS" record show --samples "$log" | jq -es "$1"; }
    why="the table lacks a line"
    check trial-prints-verdict-log-and-checkpoint eval "grep -q '^P1 ' '$scratch/trial' && grep -q '^verdict ' '$scratch/trial' &&
        grep -q '^checkpoint test-host [0-9]* [0-9a-f]\{64\}$' '$scratch/trial'"
    why="silence was broken: $(head -n 1 "$scratch/err")"
    check trial-is-quiet-in-a-pipe [ ! -s "$scratch/err" ]
    why=
    check trial-log-is-where-it-belongs eval "[[ '$log' == build/logs/test-host/0002-churn-against-glibc/*.jsonl ]]"
    check log-has-header-samples-counters-summary-seal lines \
        'map(.t) | .[0] == "hdr" and .[-3:] == ["after", "sum", "seal"] and (.[1:-3] | unique == ["s"])'
    check log-names-what-was-run lines '.[0] | .kind == "trial" and .design.seed == 5 and .design.rounds == 6 and
        .experiment.id == "0002" and (.postulate.sha256 | length == 64) and (.arms | length == 3) and (.env | length > 10)'
    check every-round-has-every-arm-once lines '[.[] | select(.t == "s")] | group_by(.round) | length >= 6 and
        all(.[]; map(.arm) | sort == ["A", "B", "C"]) and all(.[]; map(.pos) | sort == [0, 1, 2])'
    check samples-hold-what-was-measured lines \
        '[.[] | select(.t == "s")] | all(.[]; .valid and .ran and .time_ns > 0 and .allocated == .freed)'
    check order-is-random lines '[.[] | select(.t == "s" and .pos == 0) | .arm] | unique | length > 1'
    check seal-counts-the-lines eval "[ \$(tail -n 1 '$log' | jq 'select(.status == \"complete\").lines') = \$(wc -l <'$log') ]"
    eval "$(sed -n '/^\/\/     check() {$/,/^\/\/     }$/s|^//     ||p' "$REPO/testbed/record/chain.h" | sed '1s/check/sums/')"
    chained() { [ "$(sums <"$log" | cut -c 1-80 | tee "$scratch/sums" | wc -l)" = 0 ] || { cat "$scratch/sums"; return 1; }; }
    check chain-agrees-with-sha256sum chained
    damaged() { ! diff <(sed "$1" "$log" | sums) /dev/null >/dev/null; }
    check sha256sum-finds-a-changed-row eval "grep -q '^\[' '$log' && damaged '0,/^\[0,/s//[0,1/'"
    check sha256sum-finds-a-row-that-is-gone damaged '0,/^\[0,.*/{//d}'
    check sha256sum-finds-rows-without-an-end damaged '/^{"t":"round"/,$d'
    ledger=build/logs/test-host/ledger.jsonl
    check ledger-opened-before-and-closed-after eval "jq -es 'map(.t) == [\"ledger\", \"postulate\", \"open\", \"close\"]' $ledger"
    head=$(jq -r 'select(.t == "close").log_head' $ledger)
    check ledger-holds-the-last-hash [ "$head" = "$(tail -n 1 "$log" | jq -r .h)" ]
    check verify-agrees locus 0 verify --logs build/logs
else
    fail trial "$why"
fi

# glibc gives its heap back and faults it in again. Locus keeps its memory. Whether the host is quiet enough for a verdict is
# another question; that there is a figure is what counts here.
counted_predictions() {
    sed -i '/id: P1/a\
\  - {id: P2, metric: page_faults, cell: churn-touch/full, stat: max, arm: B, op: ">", value: 0, unit: count}\
\  - {id: P3, metric: page_faults, cell: churn-touch/full, stat: max, arm: A, op: "<", value: 100, unit: count}\
\  - {id: P4, metric: cycles, cell: churn-touch/full, stat: hl_ratio(B/A), op: ">=", value: 1.1, unit: x}' postulates/0002-*.md
    locus 0 run 0002 --rounds 6 --seed 5 || return 1
    cp "$scratch/out" "$scratch/counted"
    counted=$(sed -n 's/^log //p' "$scratch/counted")
    git checkout -q postulates
}
if ! "$LOCUS" counters --json | jq -e '.counters[] | select(.name == "page_faults") | .why == null' >/dev/null; then
    skip counters-in-a-run "this host counts no page faults"
elif counted_predictions; then
    lines() { "$LOCUS" record show --samples "$counted" | jq -es "$1"; }
    judged() { grep -E "^$1 " "$scratch/counted" | grep "$2"; }
    why=
    check counted-header-names-each-counter-and-why-not lines \
        '.[0].counters.counters | length > 12 and all(.[]; .name and (.why == null or (.why | startswith("not supported: "))))'
    check counted-samples-have-values-and-times lines '[.[] | select(.t == "s") | .counters.page_faults] |
        length >= 18 and all(.[]; .value >= 0 and .enabled_ns > 0 and .running_ns <= .enabled_ns)'
    check counted-samples-have-no-counter-that-the-header-refuses lines \
        '(.[0].counters.counters | map(select(.why)) | map(.name)) as $no | [.[] | select(.t == "s") | .counters | keys[]] |
            unique | all(.[]; . as $name | $no | index($name) | not)'
    check page-faults-of-glibc-have-a-figure judged P2 'observed [0-9.]*[1-9]'
    check page-faults-of-locus-have-a-figure judged P3 'observed [0-9]'
    if lines '.[0].counters.counters[] | select(.name == "cycles") | .why == null' >/dev/null; then
        check cycles-are-judged eval "! judged P4 unmeasurable"
    else
        check cycles-that-are-not-there-are-unmeasurable judged P4 'unmeasurable.*cycles: not supported: '
    fi
    check counted-log-verifies locus 0 verify --logs build/logs
    check counted-log-makes-a-report locus 0 report --logs build/logs -o "$scratch/report.html"
    check counted-report-shows-them grep -q 'data-metric="page_faults"' -r "$scratch/report"
    check counted-log-is-shown locus 0 record show "$counted"
else
    fail counters-in-a-run "$why"
fi

# --- what cannot be run, and what ran badly ------------------------------------------------------------------------------------

# Blocks of a gibibyte: no machine has the sixteen tebibytes of the workload's pool.
why=
large=postulates/0100-too-large.md
sed 's/^id: "0002"/id: "0100"/; s/block_bytes: 4096/block_bytes: 1073741824/' postulates/0002-*.md >$large
too_large='needs 16 TiB (churn-touch/full, arm locus), .* \(has\|have\|leaves\) [0-9.]* [GM]iB'
check a-check-says-what-memory-a-run-takes-and-passes eval "locus 0 postulate check 0100 &&
    grep -q '  on this host: $too_large' '$out'"
mv build/logs build/kept # a host that has run it before goes by that
check and-how-long-it-takes eval "locus 0 postulate check 0100 &&
    grep -qE '  a run takes about [0-9]+ h \\([0-9.]+ TB at 10 GB/s\\)' '$out'"
mv build/kept build/logs
check what-fits-is-said-as-well eval "locus 0 postulate check 0002 &&
    grep -q '  on this host: needs 64 MiB (churn-touch/full, arm locus), ' '$out'"
check a-run-without-the-memory-takes-no-sample eval "locus 0 run 0100 &&
    grep -q '^verdict unmeasurable-on-host: $too_large' '$out' &&
    ! '$LOCUS' record show --samples \"\$(sed -n 's/^log //p' '$out')\" | grep -q '\"t\":\"s\"'"
rm $large
sed -i 's/A: locus, B: glibc, C: locus}/A: locus@drop-chunk, B: glibc, C: locus@drop-chunk}/' postulates/0002-*.md
check an-invalid-run-is-no-success eval "locus 1 run 0002 --rounds 2 && grep -q '^verdict invalid' '$out'"
git checkout -q postulates

# Where perf_event_open is refused the run goes on, and each counter has its reason.
deny=${BUILD:-$(dirname "$LOCUS")}/testbed/host/tests/deny_scenario
if [ -x "$deny" ] && "$deny" EPERM perf_event_open -- true; then
    why=
    check refused-counters-do-not-stop-a-run "$deny" EPERM perf_event_open -- "$LOCUS" run 0002 --smoke
    newest=$(ls -t build/logs/test-host/*/*.jsonl | head -n 1)
    check refused-counters-say-why jq -es '(.[0].counters.counters | map(select(.kind == "software")) |
        all(.[]; .why | contains("EPERM"))) and ([.[] | select(.t == "s")] | all(.[]; .valid and .counters == {}))' \
        <("$LOCUS" record show --samples "$newest")
else
    skip refused-counters-do-not-stop-a-run "no seccomp filter can be set here"
fi

check smoke-gives-no-verdict eval "'$LOCUS' run 0002 --smoke | grep -q '^verdict none (smoke)'"
why=
newest=$(ls -t build/logs/test-host/*/*.jsonl | head -n 1)
check smoke-says-so-in-the-log eval "[ \"\$(head -n 1 '$newest' | jq -r .kind)\" = smoke ]"

killed_as_it_opens() { # as soon as the ledger has the run
    local size run
    for _ in 1 2 3 4 5; do
        size=$(stat -c %s $ledger)
        "$LOCUS" run 0002 --rounds 6 -q >/dev/null 2>&1 &
        run=$!
        while [ "$(stat -c %s $ledger)" = "$size" ] && kill -0 $run 2>/dev/null; do :; done
        kill -9 $run && wait $run
        "$LOCUS" verify --logs build/logs >"$scratch/out" || return 1
    done 2>/dev/null
}
why="verify says that it was dropped"
check a-run-that-is-killed-as-it-opens-is-a-crash killed_as_it_opens
why=

# --- a trial among official runs -----------------------------------------------------------------------------------------------

rm -rf logs && git checkout -q . && git status --porcelain >"$scratch/status"
why="smoke, file: $(head -n 1 "$scratch/err")"
check what-a-trial-filed-is-filed-by-hand-afterwards eval "'$LOCUS' run 0002 --smoke -q --logs logs >'$scratch/out' 2>&1 &&
    '$LOCUS' postulate list --json --logs logs | jq -e '.experiments[] | select(.id == \"0002\") | .filed == null' &&
    '$LOCUS' postulate file 0002 | grep -q '0002-churn-against-glibc.md filed in'"
why="the filing was taken for the trial's own"
check a-trial-does-not-undo-a-filing eval "'$LOCUS' run 0002 --smoke -q --logs logs >'$scratch/out' 2>&1 &&
    '$LOCUS' verify | grep -q ' 1 postulate, .*all is well'"
echo >>postulates/0002-churn-against-glibc.md
check nor-hide-that-what-was-filed-changed eval "! '$LOCUS' verify >'$scratch/out' &&
    grep -q '^postulates/0002-churn-against-glibc.md:1: changed: not the postulate filed at' '$scratch/out'"
git checkout -q .
why=

# --- a second official run -----------------------------------------------------------------------------------------------------

# An official run is of a program that was built from what is committed: so in a clone of the project. 0041 is counted in half a
# second, and has the same verdict everywhere.
twice() {
    "$LOCUS" run 0041 --official -q >"$scratch/first" 2>&1 && "$LOCUS" run 0041 --official -q >"$scratch/second" 2>&1
}
if ! git clone -q --shared "$REPO" "$scratch/clone" 2>/dev/null || ! cd "$scratch/clone" ||
    ! "$LOCUS" postulate file 0041 >/dev/null || { ! twice && grep -q 'this program was built from' "$scratch/first"; }; then
    skip a-second-official-run "this program was not built from what is committed"
else
    first=$(sed -n 's/^run     \([^,]*\), official.*/\1/p' "$scratch/first")
    second=$(sed -n 's/^run     \([^,]*\), official.*/\1/p' "$scratch/second")
    header() { head -n 1 logs/test-host/0041-*/"${1#*-}.jsonl" | jq -e "$2"; }
    why="$(cat "$scratch/first" "$scratch/second")"
    check the-first-replicates-nothing eval "header '$first' 'has(\"replicates\") | not' && ! grep -qi replication '$scratch/first'"
    check the-second-is-announced-as-a-replication eval "head -n 1 '$scratch/second' |
        grep -qx '0041 was run here before, $first (falsified): this run is a replication'"
    check and-called-one-at-its-end grep -qx "        replication of $first (falsified)" "$scratch/second"
    check its-log-names-the-first header "$second" ".replicates == [\"$first\"]"
    said="This is a replication of $first (falsified)."
    check it-is-shown-as-a-replication eval "'$LOCUS' record show '$second' | grep -qxF '$said'"
    check and-drafted-as-one eval "'$LOCUS' record draft 0041 '$second' -o build.md && grep -qxF '$said' build.md"
    check verify-agrees-on-replications locus 0 verify --host test-host
    # The ledger that an official run goes on with is tracked: that must not make the next build one of uncommitted changes.
    git config user.email test@localhost && git config user.name test && git add logs && git commit -qm runs
    echo >>logs/test-host/ledger.jsonl
    why="$(make -s build/gcc/commit 2>&1; cat build/gcc/commit)"
    check a-build-after-an-official-run-has-no-changes eval "[ \"\$(cat build/gcc/commit)\" = \"\$(git rev-parse HEAD)\" ]"
    echo >>testbed/README.md
    why="$(make -s build/gcc/commit 2>&1; cat build/gcc/commit)"
    check a-build-of-changes-says-so eval "[ \"\$(cat build/gcc/commit)\" = \"\$(git rev-parse HEAD)-dirty\" ]"
fi
cd "$tree" || exit 1
why=
refuses a-folder-that-may-not-be-written 1 'proc' run 0002 --smoke --logs /proc/nowhere
done_testing
