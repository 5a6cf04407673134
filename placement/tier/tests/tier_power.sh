#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# suite: all alone
#
# Power loss, 20 times at random moments, under a process that stores in a tier's file and drops from it (tier_kill_scenario.c has
# the checks). EXT4_IOC_SHUTDOWN stops an ext4 file system on a loop device without flushing its journal, so all unsynced data is
# lost; then it is mounted again. As a control, with the sync disabled by a preloaded library, acknowledged objects must be lost.
# BUILD=path/to/build/variant; SEED repeats a run.
#
# All mounts are in a private namespace that ends with the script, and the loop device frees itself with its last mount.
set -u
: "${BUILD:?BUILD must name the folder of a build}"

skip() {
    for name in $cases; do echo "ok - $name # SKIP $1"; done
    echo 1..3
    exit 0
}
cases='20_power_cuts_lose_nothing_acknowledged_io_uring 20_power_cuts_lose_nothing_acknowledged_plain
       without_the_linked_sync_a_power_cut_loses_acknowledged_objects'

if [ "${1-}" != inside ]; then
    [ "$(id -u)" = 0 ] || skip "needs root, to mount"
    command -v mkfs.ext4 >/dev/null || skip "needs mkfs.ext4"
    unshare -m true 2>/dev/null || skip "needs the right to make a mount namespace"
    scratch=$(mktemp -d -p /var/tmp) || exit 1
    trap 'rm -rf "$scratch"' EXIT
    unshare -m --propagation private sh "$0" inside "$scratch"
    exit
fi

scratch=$2
scenario=$BUILD/placement/tier/tests/tier_kill_scenario
mounted=$scratch/mounted
seed=${SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
failures=0
echo "seed $seed"

mkdir "$mounted"
truncate -s 64M "$scratch/image"
mkfs.ext4 -q "$scratch/image" || skip "mkfs.ext4 made no file system"
plug() { mount -t ext4 -o loop "$scratch/image" "$mounted" 2>"$scratch/mount"; }
plug || skip "no loop device: $(head -n 1 "$scratch/mount")"
# The kernel closes the files of a killed process's ring a little after the process is gone.
unplug() {
    for try in $(seq 100); do
        umount "$mounted" 2>/dev/null && return
        sleep 0.05
    done
    umount "$mounted"
}
unplug || exit 1
trap 'umount "$mounted" 2>/dev/null' EXIT

# cut NUMBER: one power loss and the check of what remains. Its status: 0 all is well, 1 the check failed, 2 it did not come to it.
cut() {
    plug || return 2
    rm -rf "$mounted/tier"
    mkdir "$mounted/tier"
    sync -f "$mounted"
    LD_PRELOAD=${preload:-} "$scenario" power "$((seed + $1))" "$mounted/tier" >"$scratch/said" 2>"$scratch/out" ||
        { unplug; return 2; }
    unplug && plug || return 2
    "$scenario" check "$mounted/tier" <"$scratch/said" >"$scratch/out" 2>&1
    checked=$?
    unplug || return 2
    return "$checked"
}

survives() { # ENGINE
    name=20_power_cuts_lose_nothing_acknowledged_$1
    export LOCUS_TIER="$1"
    acknowledged=0 torn=0 newer=0
    for i in $(seq 20); do
        cut "$i" || {
            echo "not ok - $name: seed $seed, cut $i: $(paste -sd ' ' "$scratch/out" "$scratch/mount")"
            failures=$((failures + 1))
            return
        }
        acknowledged=$((acknowledged + $(grep -c '^[SD]' "$scratch/said")))
        torn=$((torn + $(sed -n 's/.* torn //p' "$scratch/out")))
        newer=$((newer + $(sed -n 's/.* not yet acknowledged \([0-9]*\),.*/\1/p' "$scratch/out")))
    done
    echo "acknowledged $acknowledged, found before they were acknowledged $newer, torn $torn"
    if [ "$acknowledged" -ge 20 ]; then
        echo "ok - $name"
    else
        echo "not ok - $name: only $acknowledged acknowledgements in 20 cuts show nothing"
        failures=$((failures + 1))
    fi
}

loses() {
    name=without_the_linked_sync_a_power_cut_loses_acknowledged_objects
    preload=$BUILD/placement/tier/tests/tier_nosync_inject.so
    export LOCUS_TIER=io_uring
    for i in $(seq 20); do
        cut "$i"
        if [ $? -eq 1 ] && grep -q ': lost: ' "$scratch/out"; then
            echo "lost by cut $i: $(grep -m 1 ': lost: ' "$scratch/out")"
            echo "ok - $name"
            return
        fi
    done
    echo "not ok - $name: 20 cuts, nothing lost: $(paste -sd ' ' "$scratch/out")"
    failures=$((failures + 1))
}

survives io_uring
survives plain
loses
echo 1..3
[ "$failures" -eq 0 ]
