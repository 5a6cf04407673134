#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# suite: all
#
# 200 SIGKILLs at random moments of a process that stores in a tier's file and drops from it, half of them through io_uring and half
# by plain calls (tier_kill_scenario.c has the checks). BUILD=path/to/build/variant; SEED repeats a run; KILLS: how many.
set -u
: "${BUILD:?BUILD must name the folder of a build}"
scenario=$BUILD/placement/tier/tests/tier_kill_scenario
scratch=$(mktemp -d -p /var/tmp) || exit 1 # /tmp may be memory
trap 'rm -rf "$scratch"' EXIT
seed=${SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
half=$((${KILLS:-200} / 2))
failures=0
echo "seed $seed"
echo 1..2

for engine in io_uring plain; do
    name=${half}_kills_tear_nothing_and_lose_nothing_acknowledged_$engine
    mkdir "$scratch/$engine"
    LOCUS_TIER=$engine "$scenario" kill "$half" "$seed" "$scratch/$engine" >"$scratch/out" 2>&1
    if [ $? -eq 0 ] && grep -Eq "killed [0-9]+, acknowledged [1-9]" "$scratch/out"; then
        echo "ok - $name"
    else
        echo "not ok - $name: seed $seed: $(paste -sd ' ' "$scratch/out")"
        failures=$((failures + 1))
    fi
    cat "$scratch/out"
done

[ "$failures" -eq 0 ]
