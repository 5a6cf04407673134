#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The main job, as `make run` does it: describe this machine, say whether it is fit to measure and what its memory costs, run the
# scoreboard, replay a recorded trace, time the single operations, run the scoreboard's postulate on this host as a short trial,
# and sum up the results in plain words. The terminal shows the steps with their seconds, and then the answer. $OUT has each
# step's output, samples, plots and the report. TRACE=file replays another trace.
set -u
: "${LOCUS:=build/gcc/locus}" "${OUT:=build/run}" "${LOGS:=build/logs}"
: "${TRACE:=testbed/workload/sample.csv}" "${ROUNDS:=20}" "${TRIAL_ROUNDS:=8}" "${NODE_ROUNDS:=2}"
mkdir -p "$OUT" || exit 1
failed=0 begun=$(date +%s)

# timed NAME COMMAND...: runs it and prints how long it took. Its standard error stays visible: progress, and what was skipped.
timed() {
    name=$1 at=$(date +%s)
    shift
    "$@" >"$OUT/$name.txt"
    status=$?
    printf '  %-10s %4d s\n' "$name" $(($(date +%s) - at))
    return $status
}

# step NAME COMMAND...: the same for a locus command. A failure does not stop the others; the end reports it again.
step() {
    name=$1
    shift
    rm -f "$OUT/$name".*
    timed "$name" "$LOCUS" "$@" && return
    failed=1
    printf '  %-10s FAILED, exit %s: locus %s\n' '' $status "$*"
    tail -n 3 "$OUT/$name.txt" | sed 's/^/             /'
}

outputs() {
    echo "--log=$OUT/$1.jsonl --json=$OUT/$1.json --csv=$OUT/$1.csv --plot=$OUT/$1.svg --summary=$OUT/$1.summary"
}

# The experiment on many nodes: on this machine if it has several, otherwise on an emulated one, which counts but does not time.
flagship() {
    if [ -z "$nodes" ]; then
        printf '  %-10s not run: the number of nodes of this machine is unknown\n' flagship
    elif [ "$nodes" -ge 2 ]; then
        step flagship run 0005 --rounds "$NODE_ROUNDS" --logs "$LOGS"
    elif timed guest sh testbed/guest/fetch.sh; then
        step flagship guest --timeout 600 -- run 0005 --rounds "$NODE_ROUNDS"
    else
        rm -f "$OUT"/flagship.*
        printf '  %-10s not run: this machine has one node, and no emulated machine is available\n' flagship
    fi
}

# --- before --------------------------------------------------------------------------------------------------------------------

printf 'This machine, the scoreboard, a replay, a trial: 5 to 8 minutes if nothing else runs here.\n'
printf 'All results go to %s/; the answer comes at the end.\n' "$OUT"
load=$("$LOCUS" doctor load | sed '/^$/,$d' | grep -A 3 '^UNFIT')
[ -z "$load" ] || printf '\nOther processes are running: it will take two or three times as long, and show little.\n%s\n' "$load"
printf '\n'

# --- the steps -----------------------------------------------------------------------------------------------------------------

step topo topo
step doctor doctor
step counters counters
# shellcheck disable=SC2046 # the words of outputs are separate flags
step matrix matrix $(outputs matrix | sed 's/--log=[^ ]* //; s/ --summary=.*//')
nodes=$(sed -n '1s/^\([0-9][0-9]*\) .*/\1/p' "$OUT/topo.txt")
# shellcheck disable=SC2046
{
    step eval eval --touch full --rounds "$ROUNDS" $(outputs eval)
    step eval-byte eval --touch byte --rounds "$ROUNDS" $(outputs eval-byte)
    step replay replay "$TRACE" --rounds "$ROUNDS" $(outputs replay)
    step bench bench --rounds "$ROUNDS" $(outputs bench)
}
step run run 0001 --rounds "$TRIAL_ROUNDS" --logs "$LOGS"
flagship
step advise advise --trace "$TRACE"
step verify verify --logs "$LOGS"
step report report --logs "$LOGS" --measured "$OUT" -o "$OUT/report.html"

# --- what came out -------------------------------------------------------------------------------------------------------------

# The paragraph of advise.txt that is the answer.
placement() {
    awk 'BEGIN { RS = "" } /^(Use |It makes |This |There is nothing |Too few )/ { print; exit }' "$OUT/advise.txt" |
        sed '/^    /,$d' | grep . || echo "no answer: this step failed"
}

answer() {
    cat "$OUT/$1.summary" 2>/dev/null || echo "no answer: this step failed"
}

seconds=$(($(date +%s) - begun))
printf '\n== What came out, after %d min %d s\n\n' $((seconds / 60)) $((seconds % 60))
printf 'Fit?        %s (At the start; see %s/doctor.txt.)\n' "$(tail -n 1 "$OUT/doctor.txt")" "$OUT"
printf '\nScoreboard, blocks written in full, %s rounds (%s/eval.txt; one byte of each: eval-byte.txt)\n' "$ROUNDS" "$OUT"
answer eval
printf '\nReplay of %s (%s/replay.txt)\n' "$TRACE" "$OUT"
answer replay
printf '\nPlacement (%s/advise.txt, matrix.txt)\n' "$OUT"
placement
printf '\nOpen        %s/report.html: all of this, and the trial of 0001 with every sample; plots: %s/*.svg\n' "$OUT" "$OUT"
printf 'Next        for a verdict that counts: locus run 0001; for the record: locus run 0001 --official\n'
[ $failed = 0 ] || printf 'FAILED      at least one step, see above\n'
exit $failed
