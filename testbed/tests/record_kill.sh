#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# 100 SIGKILLs at random moments of a process that writes ledger and logs, half of them through io_uring and half through write
# and fsync (record_kill_scenario.c has the checks). BUILD=path/to/build/variant; SEED repeats a run.
set -u
: "${BUILD:?BUILD must name the folder of a build}"
scenario=$BUILD/testbed/record/tests/record_kill_scenario
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
seed=${SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
failures=0
echo "seed $seed"
echo 1..2

for engine in io_uring plain; do
    name=50_kills_lose_nothing_acknowledged_$engine
    mkdir "$scratch/$engine"
    if LOCUS_JOURNAL=$engine "$scenario" kill 50 "$seed" "$scratch/$engine" >"$scratch/out" 2>&1 &&
        grep -Eq 'killed 50, acknowledged [1-9][0-9]' "$scratch/out"; then
        echo "ok - $name"
    else
        echo "not ok - $name: seed $seed: $(grep -v '^killed' "$scratch/out" | paste -sd ' ') $(tail -n 1 "$scratch/out")"
        failures=$((failures + 1))
    fi
    cat "$scratch/out"
done

[ "$failures" -eq 0 ]
