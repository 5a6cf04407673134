#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The main job, as `make run` does it: describe this machine, say whether it is fit to measure and what its memory costs, run the
# scoreboard, replay a recorded trace, time the single operations, run the scoreboard's postulate on this host as a short trial,
# and say in plain words what came out. Tables, samples, plots and the report go to $OUT. TRACE=file replays another trace.
set -u
: "${LOCUS:=build/gcc/locus}" "${OUT:=build/run}" "${LOGS:=build/logs}"
: "${TRACE:=testbed/sample.csv}" "${ROUNDS:=20}" "${TRIAL_ROUNDS:=8}" "${NODE_ROUNDS:=2}"
mkdir -p "$OUT" || exit 1
failed=0

# step NAME COMMAND...: runs it, keeps its output, remembers whether it failed.
step() {
    name=$1
    shift
    rm -f "$OUT/$name".*
    printf '\n== locus %s\n' "$*"
    "$LOCUS" "$@" >"$OUT/$name.txt" || failed=1
    cat "$OUT/$name.txt"
}

outputs() {
    echo "--json=$OUT/$1.json --csv=$OUT/$1.csv --plot=$OUT/$1.svg --summary=$OUT/$1.summary"
}

# The experiment on many nodes: on this machine if it has some, else in an emulated one, where it is counted and not timed.
flagship() {
    if [ "$nodes" -ge 2 ]; then
        step flagship run 0005 --rounds "$NODE_ROUNDS" --root "$LOGS"
    elif sh testbed/guest/fetch.sh; then
        printf '\nThis machine has one node. What follows ran in an EMULATED machine of two: counts, and no times.\n'
        step flagship guest --timeout 600 -- run 0005 --rounds "$NODE_ROUNDS"
    else
        printf '\nThis machine has one node, and no emulated one could be had: the experiment on many nodes was not run.\n'
    fi
}

step topo topo
step doctor doctor
step counters counters
# shellcheck disable=SC2046 # the words of outputs are separate flags
step matrix matrix $(outputs matrix | sed 's/ --summary=.*//')
nodes=$(sed -n '1s/ .*//p' "$OUT/topo.txt")
# shellcheck disable=SC2046
{
    step eval eval --touch full --touch byte --rounds "$ROUNDS" $(outputs eval)
    step replay replay "$TRACE" --rounds "$ROUNDS" $(outputs replay)
    step bench bench --rounds "$ROUNDS" $(outputs bench)
}
step run run 0001 --rounds "$TRIAL_ROUNDS" --root "$LOGS"
flagship
step advise advise --trace "$TRACE"
step verify verify --root "$LOGS"
step report report --root "$LOGS" -o "$OUT/report.html"

printf '\n== What came out\n'
printf '\ndoctor: %s\nmatrix: %s\n' "$(tail -n 1 "$OUT/doctor.txt")" "$(tail -n 1 "$OUT/matrix.txt")"
for name in eval replay bench; do
    [ -e "$OUT/$name.summary" ] && printf '\n%s: ' "$name" && cat "$OUT/$name.summary"
done
printf '\nTables, every sample (CSV, JSON) and plots (SVG) are in %s/.\n' "$OUT"
printf 'The trial of postulate 0001 is sealed and verified below %s; the report of all trials: %s/report.html\n' "$LOGS" "$OUT"
printf 'Too short for a verdict that counts. In full: locus run 0001; for the record: locus run 0001 --official\n'
exit $failed
