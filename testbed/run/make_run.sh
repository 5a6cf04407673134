#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What `make run` shows of this machine, the exact part first: which nodes and CPUs it has, where a process's memory lies, and which
# layout of a KV cache a trace of requests wants. That takes seconds, and is right on a busy machine as well. Then it is timed:
# memory, the scoreboard, a replay of the trace. On a machine that is unfit to measure the timed part is left out, and the end says
# how to get it; TIMED=yes has it all the same. $OUT has each step's output, samples and plots. TRACE=file is another
# trace.
set -u
: "${LOCUS:=build/gcc/locus}" "${OUT:=build/run}" "${ROUNDS:=8}"
TRACE=${TRACE:-testbed/workload/sample.csv} TIMED=${TIMED-}
mkdir -p "$OUT" || exit 1
failed=0 begun=$(date +%s)

# step NAME ARGUMENT...: a locus command, whose standard error stays visible: progress. A failure does not stop the others; the end
# reports it again.
step() {
    name=$1
    shift
    rm -f "$OUT/$name".*
    "$LOCUS" "$@" >"$OUT/$name.txt" && return
    status=$?
    failed=1
    printf 'FAILED, exit %s: %s %s\n' $status "$LOCUS" "$*"
    tail -n 3 "$OUT/$name.txt" | sed 's/^/    /'
    return 1
}

# first NAME: the first paragraph of what a step said; last NAME: its last one.
first() { awk 'BEGIN { RS = "" } { print; exit }' "$OUT/$1.txt"; }
last() { awk 'BEGIN { RS = "" } { text = $0 } END { print text }' "$OUT/$1.txt"; }

# timed NAME ARGUMENT...: a step of the timed part, with its seconds
timed() {
    at=$(date +%s)
    step "$@" || return
    printf '  %-7s %4d s\n' "$1" $(($(date +%s) - at))
}

outputs() {
    echo "--log=$OUT/$1.jsonl --json=$OUT/$1.json --csv=$OUT/$1.csv --plot=$OUT/$1.svg --summary=$OUT/$1.summary"
}

# --- exact ---------------------------------------------------------------------------------------------------------------------

printf '== This machine (%s topo)\n\n' "$LOCUS"
step topo topo && cat "$OUT/topo.txt"
nodes=$(sed -n '1s/^\([0-9][0-9]*\) .*/\1/p' "$OUT/topo.txt")

printf '\n== Where the memory of a process lies, here of this script (%s advise --pid N)\n\n' "$LOCUS"
step where advise --pid $$ && first where

printf '\n== Which layout of the KV cache a trace of requests wants (%s serve %s)\n\n' "$LOCUS" "$TRACE"
step serve serve "$TRACE" --load all --quiet && last serve

# --- timed ---------------------------------------------------------------------------------------------------------------------

printf '\n== Is it fit to measure? (%s doctor)\n\n' "$LOCUS"
fit=
step doctor doctor && last doctor
"$LOCUS" doctor --check >/dev/null 2>&1 && fit=yes
if [ "$fit$TIMED" ]; then
    printf '\n== Timed, two minutes if nothing else runs here\n\n'
    # shellcheck disable=SC2046 # the words of outputs are separate flags
    {
        timed matrix matrix $(outputs matrix | sed 's/--log=[^ ]* //; s/ --summary=.*//')
        timed eval eval --touch full --rounds "$ROUNDS" $(outputs eval)
        timed replay replay "$TRACE" --rounds "$ROUNDS" $(outputs replay)
    }
    [ "$nodes" = 1 ] || timed advise advise --trace "$TRACE" --rounds 2
else
    rm -f "$OUT"/matrix.* "$OUT"/eval.* "$OUT"/replay.* "$OUT"/advise.*
fi
# --- the end, one screen of 24 lines -------------------------------------------------------------------------------------------

missing() { echo '  no answer: this step failed'; }
table() { sed '/^$/q' "$OUT/$1.summary" 2>/dev/null | head -n 7 | grep . || missing; }
# The sentence on who is ahead, which begins with what was written.
ahead() {
    awk 'on && !/^  / { exit } on || /^[A-Z][a-z ]* touch: / { on = 1; print }' "$OUT/$1.summary" 2>/dev/null |
        head -n 3 | grep . || missing
}

seconds=$(($(date +%s) - begun))
printf '\n== After %d min %d s\n\n' $((seconds / 60)) $((seconds % 60))
if [ "$fit$TIMED" ]; then
    table eval
    ahead eval
    echo 'Replay of the trace:'
    ahead replay
else
    echo 'Nothing was timed, because this machine is not fit for it now (see above).'
    echo 'What spoils a measurement, and what to do about it, and then once more:'
    printf '    %s doctor\n    make run\nOr now, with the noise that comes of it:\n    make run TIMED=yes\n' "$LOCUS"
fi
printf '\nAll of it, with samples and plots: %s/\nTo go on:\n' "$OUT"
printf '    %s\n' "$LOCUS report" "$LOCUS serve $TRACE" "$LOCUS run 0001" "sh testbed/guest/fetch.sh && $LOCUS guest -- advise"
[ $failed = 0 ] || echo 'FAILED: at least one step, see above'
exit $failed
