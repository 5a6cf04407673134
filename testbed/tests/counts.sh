#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all free
#
# What an emulator counts between marks: is it what the program is known to execute, does one instruction more make it one more, are
# failures under contention those that the program saw itself; and do the counts of `locus run` repeat exactly? LOCUS names the
# program, BUILD the folder of the build.
set -u
: "${LOCUS:?LOCUS must name the program}" "${BUILD:?BUILD must name the folder of the build}"
LOCUS=$(realpath "$LOCUS") BUILD=$(realpath "$BUILD")
. "$(dirname "$0")/cases.bash"
export LOCUS_HOST=test-host GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
unset LD_PRELOAD
cd "$(dirname "$0")/../.." || exit 1
project=$PWD

needs_guest counts fetch-user.sh

# --- known programs ------------------------------------------------------------------------------------------------------------

mkdir "$scratch/known-programs" && cp "$BUILD"/{locus-counts.so,testbed/counters/tests/marks_scenario} "$scratch/known-programs/"
counted() { # case of marks_scenario: $known and $seen, "instructions N locked N ..."
    known= seen=
    sh "$project/testbed/guest/counted.sh" "$scratch/known-programs/marks_scenario" "$1" >"$scratch/known" 2>"$scratch/seen"
    local status=$?
    known=$(cat "$scratch/known") seen=$(sed -n 's/^counts: marks 1 //p' "$scratch/seen")
    why="exit $status, known: $known; counted: $(cat "$scratch/seen" 2>&1)"
    return $status
}
number() { sed -n "s/.*\b$1 \([0-9]*\).*/\1/p" <<<"$2"; } # word, text

for program in plain more failing untold; do
    counted $program
    check "$program-is-counted-to-the-unit" [ -n "$seen" -a "$known" = "$seen" ]
done
counted plain && before=$seen && counted more
why="before: $before, with one more: $seen"
check one-locked-instruction-more-is-one-more \
    eval '[ $(number locked "$seen") = $(($(number locked "$before") + 1)) ] &&
          [ $(number instructions "$seen") = $(($(number instructions "$before") + 1)) ]'
counted bound
check a-function-is-bound-before-its-first-call [ "$known" = "locked${seen#*locked}" ]
check two-threads-at-once-end-well counted contended
check failures-are-those-that-the-threads-saw [ "$known" = "locked${seen#*locked}" ]
check there-were-failures eval '[ "$(number failed "$seen")" -gt 0 ]'

# --- a run ---------------------------------------------------------------------------------------------------------------------

mkdir "$scratch/tree" && cd "$scratch/tree" && git init -q . && mkdir postulates || exit 1
cat >postulates/0001-bookkeeping.md <<'END'
---
id: "0001"
title: a shared queue locks once for each block, a mailbox once for each chunk, and a ring never
requires: [emulator]
arms: {A: locus-mailbox, B: locus-mailbox, C: locus-shared, D: glibc, E: locus}
cells: [churn-touch/none, churn-touch/none/spin]
design: {unit: process, rounds: 2, order: random, dispatch: inline, workers: 1, block_bytes: 4096, laps: 2, seed: 7}
predictions:
  - {id: P1, metric: locked_per_block, cell: churn-touch/none, stat: max, arm: C, op: "==", value: 1, unit: count}
  - {id: P2, metric: instructions_per_block, cell: churn-touch/none, stat: hl_ratio(B/A), op: within, value: [0.999, 1.001],
     unit: x}
  - {id: P3, metric: locked_per_block, cell: churn-touch/none, stat: hl_ratio(C/A), op: within, value: [7.9, 8.1], unit: x}
  - {id: P4, metric: instructions_per_block, cell: churn-touch/none, stat: hl_ratio(D/A), op: ">", value: 1, unit: x}
  - {id: P5, metric: failed_per_block, cell: churn-touch/none, stat: max, arm: C, op: "==", value: 0, unit: count}
  - {id: P6, metric: instructions_per_block, cell: churn-touch/none/spin, stat: max, arm: A, op: ">", value: 0, unit: count}
  - {id: P7, metric: locked_per_block, cell: churn-touch/none, stat: min, arm: D, op: ">", value: 0, unit: count}
  - {id: P8, metric: locked_per_block, cell: churn-touch/none, stat: max, arm: E, op: "==", value: 0, unit: count}
gates: [allocated == freed, pushed == drained]
prior: |
  nothing
---

## Why

It is what the code says.

## How it could be wrong

It would be a fault of the counting.
END

check a-run-with-counts-ends-well locus 0 run -q 0001
log=$(sed -n 's/^log //p' "$out")
line() { "$LOCUS" record show --samples "$log" | jq -cs "$@"; }
verdicts=$(line '[.[] | select(.t == "sum").predictions[].verdict] | join(" ")')
why="verdicts: $verdicts"
check counts-are-exact-and-decide [ "$verdicts" = '"survived survived survived survived survived inconclusive survived survived"' ]
why=$(line '.[0].emulator')
check the-log-names-the-emulator eval '[[ $why == *qemu-x86_64\ version* ]]'
counts=$(line '[.[] | select(.t == "s" and .cell == 0) | [.arm, .emulated]] | unique | length')
why="$counts different counts of 5 arms"
check each-process-of-an-arm-counts-the-same [ "$counts" = 5 ]
# What a process with threads locks is exact of a ring alone. The other arms lock more where threads meet.
threads='.[] | select(.t == "s" and .cell == 1)'
why=$(line "[$threads | select(.emulated.instructions != null or .emulated.why == null)] | .[0]")
check with-threads-waiting-is-not-counted [ "$why" = null ]
why=$(line "[$threads | select((.emulated.locked > 0) != (.arm != \"E\")) | {arm, round, emulated}] | .[0]")
check what-locks-does-so-with-threads-and-a-ring-does-not [ "$why" = null ]
why=$(line '[.[] | select(.t == "sum").predictions[] | select(.id == "P6").why] | .[0]')
check a-figure-that-is-not-there-has-the-reason-of-its-samples \
    eval '[[ $why == *"has no instructions_per_block (threads that wait for each other execute instructions meanwhile)"* ]]'

# --- without an emulator ---------------------------------------------------------------------------------------------------------

mkdir "$scratch/share" && cp -r "$project/testbed/guest" "$scratch/share/" || exit 1
LOCUS_SHARE=$scratch/share XDG_CACHE_HOME=$scratch/none locus 0 run -q 0001
why=$(tail -n 3 "$out" "$err")
check without-an-emulator-it-is-unmeasurable grep -q 'unmeasurable' "$out"
log=$(sed -n 's/^log //p' "$out")
why=$(line '.[0].unmet')
check and-says-what-is-missing eval '[[ $why == *"needs emulator, and there is no qemu-x86_64 that loads plugins: sh "* ]]'
sed -i 's/requires: .*/requires: []/' postulates/0001-bookkeeping.md
locus 2 run -q 0001
why=$(cat "$err")
check a-count-without-the-need-is-refused grep -q "say so in 'requires', emulator" "$err"
done_testing
