#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The main job, as `make run` does it: describe this machine, run the scoreboard, replay a recorded trace, time the single
# operations, and say in plain words what came out. Tables, samples and plots go to $OUT. TRACE=file replays another trace.
set -u
: "${LOCUS:=build/gcc/locus}" "${OUT:=build/run}" "${TRACE:=testbed/sample.csv}" "${ROUNDS:=20}"
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

step topo topo
# shellcheck disable=SC2046 # the words of outputs are separate flags
{
    step eval eval --touch full --touch byte --rounds "$ROUNDS" $(outputs eval)
    step replay replay "$TRACE" --rounds "$ROUNDS" $(outputs replay)
    step bench bench --rounds "$ROUNDS" $(outputs bench)
}

printf '\n== What came out\n'
for name in eval replay bench; do
    [ -e "$OUT/$name.summary" ] && printf '\n%s: ' "$name" && cat "$OUT/$name.summary"
done
printf '\nTables, every sample (CSV, JSON) and plots (SVG) are in %s/\n' "$OUT"
exit $failed
