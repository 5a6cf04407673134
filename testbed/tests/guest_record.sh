#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all guest
#
# The record of an emulated machine: it is copied here while the machine runs, so a killed emulator leaves a run that was opened
# and crashed; and a wrong clock is noticed. LOCUS=path/to/locus BUILD=path/of/the/build.
#
# Uses a project of its own, with postulates but no repository: the runs are trials that log to logs/, like official ones.
set -u
: "${LOCUS:?LOCUS must name the program}" "${BUILD:?BUILD must name the folder of the build}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1
repo=$PWD
needs_guest guest_record

export TMPDIR=$scratch/tmp # in QEMU's command line, so that it is ours that is killed
mkdir -p "$TMPDIR" "$scratch/home/postulates" "$scratch/home/build" && cd "$scratch/home" || exit 1
cp "$repo"/postulates/0003-*.md postulates/ && ln -s "$repo/build/guest" build/guest
mine=logs/guest-n2
ledger=$mine/ledger.jsonl

# machine NAME SECONDS SCRIPT: what it said is in $scratch/NAME and NAME.err, its status in $status.
machine() {
    printf '#!/bin/sh\n%s\n' "$3" >"$scratch/$1.sh"
    sh "$repo/testbed/guest/boot.sh" --machine n2 --timeout "$2" --with "$LOCUS" -- "$scratch/$1.sh" >"$scratch/$1" \
        2>"$scratch/$1.err"
    status=$?
}
remark() { echo "exit $status: $(tail -n 3 "$scratch/$1.err")"; }
entries() { jq -rs "map(.t + (if .t == \"postulate\" then \" \" + .id else \"\" end)) | join(\", \")" $ledger 2>&1; }
run='locus run 0003 --rounds 2 --logs logs --quiet'

# --- what a guest may say ------------------------------------------------------------------------------------------------------

mkdir "$scratch/said" "$scratch/elsewhere"
# receives WORDS: by a machine n2, in an empty project. What it has then is in $received, file by file.
receives() {
    rm -rf "$scratch/elsewhere" && mkdir -p "$scratch/elsewhere/$mine" && echo old >"$scratch/elsewhere/$mine/ledger.jsonl" &&
        (cd "$scratch/elsewhere" && printf "$1" | sh "$repo/testbed/guest/receive.sh" n2 "$scratch/said")
    received=$(cd "$scratch/elsewhere" && find . -type f | sort | xargs head -n 9 -v | grep . | tr '\n' ' ')
}
at=/locus/logs/guest-n2
receives "0 0 $at/0001-a/r.jsonl\n4 4 $at/ledger.jsonl\nopen0 3 $at/0001-a/r.jsonl\nlog"
holds what_it_makes_durable_is_appended "$received" \
    test "$received" = "==> ./$mine/0001-a/r.jsonl <== log ==> ./$mine/ledger.jsonl <== old open "
receives "4 4 $at/../../x\nleft0 3 /locus/x\nout0 3 /locus/logs/guest-n4/x\nout4 9 $at/ledger.jsonl\nhalf"
holds nothing_leads_elsewhere_and_no_half_line_comes "$received" test "$received" = "==> ./$mine/ledger.jsonl <== old "
receives "0 0 $at/r\n0 4 $at/ledger.jsonl\nopen0 3 $at/r\nlog"
holds a_ledger_that_went_on_here_is_left_with_its_logs "$received" \
    test "$received" = "==> ./$mine/ledger.jsonl <== old ==> ./$mine/r <== "

full() { # on a disk of 64 KiB, with a line that is longer
    unshare -rm sh -c 'mount -t tmpfs -o size=64k full "$1" && cd "$1" && mkdir -p "$2" && echo old >"$2/ledger.jsonl"
        { printf "4 90000 /locus/$2/ledger.jsonl\n" && head -c 90000 /dev/zero | tr "\\0" x &&
            printf "4 4 /locus/$2/ledger.jsonl\nopen"; } |
            sh "$3/testbed/guest/receive.sh" n2 "$4"
        head -c 100 "$2/ledger.jsonl"' - "$scratch/elsewhere" $mine "$repo" "$scratch/said" >"$out" 2>"$err"
}
if unshare -rm true 2>"$err"; then
    full
    holds on_a_full_disk_nothing_comes "$(cat "$out")" test "$(cat "$out")" = old
    holds a_full_disk_is_named "$(cat "$err")" grep -q "^locus: guest: $ledger cannot be written" "$err"
else
    skip a_full_disk "no mount namespace for this user"
fi

# --- a machine that is killed --------------------------------------------------------------------------------------------------

emulators() { pgrep -f -- "qemu-system.*$TMPDIR/"; }
{ machine killed 200 'locus run 0003 --rounds 1000 --logs logs --quiet'; echo $status >"$scratch/killed.status"; } &
booted=$!
for _ in $(seq 1200); do
    ! grep -q '"t":"open"' $ledger 2>/dev/null || break
    kill -0 $booted 2>/dev/null || break
    sleep 0.1
done
check a_run_is_opened_at_home_while_it_runs test "$(entries)" = 'ledger, postulate 0003, open'
log=$(echo $mine/0003-*/*.jsonl)
for _ in $(seq 1200); do # a round, and more
    [ "$(wc -l <"$log" 2>&1)" -lt 2 ] || break
    sleep 0.1
done
tries=$(grep -c ' try (' "$scratch/killed.err") # boots that failed before, on a busy machine
for process in $(emulators); do kill -KILL "$process"; done
wait $booted
status=$(cat "$scratch/killed.status")
holds a_killed_machine_has_failed "$(remark killed)" test "$status" = 99
holds it_says_what_stays "$(remark killed)" grep -q "^locus: guest: .*$ledger" "$scratch/killed.err"
holds it_is_not_started_again "$(remark killed)" eval "grep -q 'not started again' '$scratch/killed.err' &&
    [ \$(grep -c ' try (' '$scratch/killed.err') -eq $((tries + 1)) ]"
holds its_run_is_opened_and_not_closed "$(entries)" test "$(entries)" = 'ledger, postulate 0003, open'
holds its_log_has_come_so_far "$log: $(wc -l <"$log")" jq -es '.[0].t == "hdr" and .[1].t == "s"' \
    <("$LOCUS" record show --samples "$log")
prints its_run_has_crashed 0 '1 host, 1 run (0 sealed, 1 crashed), .*: all is well' "$LOCUS" verify
cp -a . "$scratch/without" && cd "$scratch/without" && rm "$log" # the line that opens it is home first
prints without_its_log_it_was_opened_and_dropped 1 "^$ledger:3: run .* was opened and dropped: " "$LOCUS" verify
cd "$scratch/home" || exit 1

# --- the next one, and a clock that is off -------------------------------------------------------------------------------------

machine next 200 "$run"
holds the_next_run_ends_well "$(remark next)" test $status = 0
holds its_ledger_goes_on "$(entries)" test "$(entries)" = 'ledger, postulate 0003, open, open, close'
prints both_runs_are_whole 0 '1 host, 2 runs (1 sealed, 1 crashed), .*: all is well' "$LOCUS" verify
holds a_clock_that_is_right_is_not_mentioned "$(remark next)" eval "! grep -q clock '$scratch/next.err'"
machine fast 100 'date -s "@$(($(date +%s) + 5000))"; locus run 0003 --smoke --logs logs --quiet'
holds a_run_comes_home_by_a_fast_clock "$(remark fast)" test $status = 0
fast='^locus: guest: the clock of n2 was off: [0-9]* s .* when the command began, and [45][0-9][0-9][0-9] s ahead when it ended'
holds its_clock_is_noticed "$(remark fast)" grep -Eq "$fast" "$scratch/fast.err"
machine slow 100 'date -s "@$(($(date +%s) - 5000))" >/dev/null; exit 3'
holds a_clock_that_goes_back_is_noticed "$(remark slow)" \
    grep -Eq 'was off: .* and [45][0-9][0-9][0-9] s behind when it ended' "$scratch/slow.err"
holds and_the_status_is_the_commands "$(remark slow)" test $status = 3
machine after 100 'locus run 0003 --smoke --logs logs --quiet'
prints a_ledger_that_goes_back_is_remarked_on 0 "^$ledger:[0-9]*: remark: its time, .* a clock was wrong" "$LOCUS" verify
done_testing
