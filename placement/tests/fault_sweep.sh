#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Makes every single call of every fallible function fail, one per process: the first mmap, the second, ... until the scenario
# runs undisturbed, which shows that the last call was reached. Each process must report the error, give everything back, and end
# within the time limit: a hang is as much a bug as a crash.
#
#   BUILD=build/gcc sh placement/tests/fault_sweep.sh
#
# A sweep in which no call failed has tested nothing, and fails.
set -u

: "${BUILD:?the build directory: BUILD=build/gcc}"
find_built() { # the directory itself, or where the Makefile puts this layer's tests
    for directory in "$BUILD" "$BUILD/placement/domain/tests"; do
        if [ -e "$directory/$1" ]; then
            (cd "$directory" && printf '%s/%s\n' "$PWD" "$1")
            return
        fi
    done
}
inject=$(find_built fault_inject.so)
scenario=$(find_built fault_scenario)
if [ -z "$inject" ] || [ -z "$scenario" ]; then
    echo "not ok - fault_sweep: fault_inject.so or fault_scenario is not built in $BUILD (make tests)"
    exit 1
fi

limit=2000 # more calls than any family makes; arbitrary
failed=0

sweep() {
    family=$1
    call=1
    hits=0
    while [ "$call" -le $limit ]; do
        said=$(LOCUS_FAULT=$family:$call LD_PRELOAD=$inject timeout -k 2 10 "$scenario" 2>&1)
        status=$?
        case $status in
        0) break ;;
        3) hits=$((hits + 1)) ;;
        77)
            echo "ok - fault_$family # SKIP the call is not permitted here (container: --cap-add SYS_NICE)"
            return ;;
        124 | 137) fail "$family" "call $call hangs"; return ;;
        *) fail "$family" "call $call: exit $status. $said"; return ;;
        esac
        call=$((call + 1))
    done
    if [ "$hits" -eq 0 ]; then
        fail "$family" "never injected: nothing was tested"
    elif [ "$call" -gt $limit ]; then
        fail "$family" "still failing at call $limit"
    else
        echo "ok - fault_$family: each of $hits calls failed once; every error reported, everything released, no hang"
    fi
}

fail() {
    failed=1
    echo "not ok - fault_$1: $2"
}

echo 1..5
for family in mmap mbind madvise malloc pthread_create; do
    sweep $family
done
exit $failed
