# SPDX-License-Identifier: Apache-2.0
#
# power.bash: power loss, shared by the scripts that source it (in sh). EXT4_IOC_SHUTDOWN stops an ext4 file system on a loop
# device without flushing its journal, so all unsynced data is lost; then it is mounted again. As a control, with the sync disabled
# by a preloaded library, acknowledged things must be lost.
#
#     scenario      program: `power SEED FOLDER` says on stdout what is acknowledged until it cuts the power, `check` reads it
#     way           variable by which it is told to use io_uring, or plain calls
#     nosync        library to preload for the control, which then runs in this way: losing_way
#     acknowledged  pattern of a line that acknowledges
#     lost          pattern of the check's words for what is lost
#     losing        name of the control's case
#     power_cuts "$@"
#
# All mounts are in a private namespace that ends with the script, and the loop device frees itself with its last mount.
# SEED repeats a run.

power_skip() {
    for name in $power_cases; do echo "ok - $name # SKIP $1"; done
    echo 1..3
    exit 0
}

power_begin() {
    power_cases="20_power_cuts_lose_nothing_acknowledged_io_uring 20_power_cuts_lose_nothing_acknowledged_plain $losing"
    if [ "${1-}" != inside ]; then
        [ "$(id -u)" = 0 ] || power_skip "needs root, to mount"
        command -v mkfs.ext4 >/dev/null || power_skip "needs mkfs.ext4"
        unshare -m true 2>/dev/null || power_skip "needs the right to make a mount namespace"
        scratch=$(mktemp -d -p /var/tmp) || exit 1 # a tmpfs may have no loop devices
        trap 'rm -rf "$scratch"' EXIT
        unshare -m --propagation private sh "$0" inside "$scratch"
        exit
    fi
    scratch=$2
    mounted=$scratch/mounted
    seed=${SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
    failures=0
    echo "seed $seed"
    mkdir "$mounted"
    truncate -s 64M "$scratch/image"
    mkfs.ext4 -q "$scratch/image" || power_skip "mkfs.ext4 made no file system"
    plug || power_skip "no loop device: $(head -n 1 "$scratch/mount")"
    unplug || exit 1
    trap 'umount "$mounted" 2>/dev/null' EXIT
}

plug() { mount -t ext4 -o loop "$scratch/image" "$mounted" 2>"$scratch/mount"; }
# The kernel closes the files of a killed process's ring a little after the process is gone.
unplug() {
    for try in $(seq 1200); do
        umount "$mounted" 2>/dev/null && return
        sleep 0.05
    done
    umount "$mounted"
}

# cut NUMBER: one power loss and the check of what remains. Its status: 0 all is well, 1 the check failed, 2 it did not come to it.
cut() {
    plug || return 2
    rm -rf "$mounted/it"
    mkdir "$mounted/it"
    sync -f "$mounted"
    LD_PRELOAD=${preload:-} "$scenario" power "$((seed + $1))" "$mounted/it" >"$scratch/said" 2>"$scratch/out" ||
        { unplug; return 2; }
    unplug && plug || return 2
    "$scenario" check "$mounted/it" <"$scratch/said" >"$scratch/out" 2>&1
    checked=$?
    unplug || return 2
    return "$checked"
}

survives() { # io_uring or plain
    name=20_power_cuts_lose_nothing_acknowledged_$1
    export "$way=$1"
    count=0 torn=0
    for i in $(seq 20); do
        cut "$i" || {
            echo "not ok - $name: seed $seed, cut $i: $(paste -sd ' ' "$scratch/out" "$scratch/mount")"
            failures=$((failures + 1))
            return
        }
        count=$((count + $(grep -c "$acknowledged" "$scratch/said")))
        torn=$((torn + $(sed -n 's/.* torn //p' "$scratch/out")))
    done
    echo "acknowledged $count, torn $torn"
    if [ "$count" -ge 20 ]; then
        echo "ok - $name"
    else
        echo "not ok - $name: only $count acknowledgements in 20 cuts show nothing"
        failures=$((failures + 1))
    fi
}

loses() {
    preload=$nosync
    export "$way=$losing_way"
    for i in $(seq 20); do
        cut "$i"
        if [ $? -eq 1 ] && grep -q "$lost" "$scratch/out"; then
            echo "lost by cut $i: $(grep -m 1 "$lost" "$scratch/out")"
            echo "ok - $losing"
            return
        fi
    done
    echo "not ok - $losing: 20 cuts, nothing lost: $(paste -sd ' ' "$scratch/out")"
    failures=$((failures + 1))
}

power_cuts() {
    power_begin "$@"
    survives io_uring
    survives plain
    loses
    echo 1..3
    [ "$failures" -eq 0 ]
}
