#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# suite: all guest
#
# The doctor's commands on a real kernel, in the emulated machine n2: it sees manual changes; each finding's change makes it fit,
# and its restore brings back every byte, one by one and all at once, in busybox's shell. LOCUS=path/to/locus
# BUILD=path/of/the/build.
set -u
: "${LOCUS:?LOCUS must name the program}" "${BUILD:?BUILD must name the folder of the build}"
cd "$(dirname "$0")/../.." || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

sh testbed/guest/or-skip.sh doctor_guest || { status=$?; echo 1..1; exit $((status == 1)); }

build=${BUILD#"$PWD"/}
cat >"$scratch/cases.sh" <<END
#!/bin/sh
locus=$build/locus
END
cat >>"$scratch/cases.sh" <<'END'
mm=/sys/kernel/mm thp=/sys/kernel/mm/transparent_hugepage
files="$thp/enabled $thp/defrag $thp/khugepaged/defrag $mm/ksm/run $mm/numa/demotion_enabled
    /proc/sys/kernel/numa_balancing /proc/sys/kernel/perf_event_paranoid /proc/sys/vm/zone_reclaim_mode
    /proc/sys/vm/swappiness"

pass() { echo "ok - $1"; }
fail() { echo "not ok - $1: $2"; }
check() { # name, remark, command...
    name=$1 remark=$2
    shift 2
    if "$@"; then pass "$name"; else fail "$name" "$remark"; fi
}
look() { "$locus" doctor --all >/tmp/all; } # a call takes a second here, so one serves for all findings
state() { sed -nE "s/^(fit|note|UNFIT|unknown) $1 .*/\\1/p" /tmp/all; }
part() { sed -n "/^(set -e # $2: /,/^ended $2\$/p" "$1" | sed "s/^ended .*/exit \$?/"; } # script, id: that finding's lines
daemon() { # the folder in /proc of the process called irqbalance; without a fork for each of all the others
    for comm in /proc/[0-9]*/comm; do
        read -r name <"$comm" && [ "$name" = irqbalance ] && echo "${comm%/comm}"
    done 2>/dev/null
}
settles() { # until the daemon runs or, with !, does not: it takes its name, and ends, a little later
    for _ in $(seq 120); do
        if [ -n "$(daemon)" ]; then [ "$1" = ! ] || return 0; else [ "$1" != ! ] || return 0; fi
        sleep 0.5
    done
}
snapshot() { # the files byte by byte, swap without what is used of it, the daemon as it was started
    for file in $files; do echo "$file"; cat "$file"; done
    awk '{ print $1, $2, $3, $5 }' /proc/swaps
    tr '\0' ' ' <"$(daemon)/cmdline" 2>/dev/null
}
same() { cmp -s "$1" "$2"; }
differ() { ! cmp -s "$1" "$2"; }

# --- a machine as it boots, then spoilt by hand --------------------------------------------------------------------------------

look
check boots_emulated "$(state machine)" grep -q '^UNFIT .*emulated (n2)' /tmp/all
check boots_fit_in_the_rest "$(state numa-balancing) $(state swap) $(state irqbalance)" \
    test "$(state numa-balancing) $(state swap) $(state irqbalance)" = "fit fit fit"
echo madvise >$thp/enabled
echo never >$thp/defrag
look
check sees_thp_calm "$(state thp) $(state thp-defrag)" test "$(state thp) $(state thp-defrag)" = "fit fit"
echo 1 >/proc/sys/kernel/numa_balancing
echo always >$thp/enabled
echo always >$thp/defrag
check topo_points_to_the_doctor "$("$locus" topo | tail -n 1)" \
    eval '"$locus" topo | grep -qF "ON (see \`locus doctor\`)"'

echo 1 >$mm/ksm/run
echo 1 >/proc/sys/vm/zone_reclaim_mode
echo true >$mm/numa/demotion_enabled
echo 3 >/proc/sys/kernel/perf_event_paranoid
mkswap /dev/nvme0n1 >/dev/null && swapon /dev/nvme0n1 || fail swap "no swap on /dev/nvme0n1"
# A script whose restarted self has the right name too: the shell's is written over.
printf '#!/bin/sh\necho irqbalance >/proc/self/comm\nwhile :; do sleep 1; done\n' >/tmp/irqbalance
chmod +x /tmp/irqbalance
/tmp/irqbalance --foreground "a word" &
settles daemon

# --- one by one ----------------------------------------------------------------------------------------------------------------

ids='thp thp-defrag khugepaged numa-balancing zone-reclaim demotion ksm swap swappiness irqbalance perf-paranoid'
look
snapshot >/tmp/before
"$locus" doctor --restore >/tmp/back.sh
"$locus" doctor --change >/tmp/change.sh
check sees_what_was_changed "$(state numa-balancing) $(state thp) $(state thp-defrag)" \
    test "$(state numa-balancing) $(state thp) $(state thp-defrag)" = "UNFIT UNFIT UNFIT"
check each_finding_with_commands_is_tried "$(grep '^ended ' /tmp/change.sh | tr '\n' ' ')" \
    test "$(sed -n 's/^ended \([a-z-]*\)$/\1/p' /tmp/change.sh | tr '\n' ' ')" = "$ids "
for id in $ids; do
    part /tmp/change.sh $id >/tmp/one.sh
    part /tmp/back.sh $id >/tmp/other.sh
    sh /tmp/one.sh 2>/tmp/err || fail "$id: change" "$(cat /tmp/err)"
    [ $id != irqbalance ] || settles !
    snapshot >/tmp/changed
    check "$id: change changes something" "$(cat /tmp/one.sh)" differ /tmp/before /tmp/changed
    sh /tmp/other.sh 2>/tmp/err || fail "$id: restore" "$(cat /tmp/err)"
    [ $id != irqbalance ] || settles daemon
    snapshot >/tmp/after
    check "$id: restore brings back every byte" "$(diff /tmp/before /tmp/after | head -n 4)" same /tmp/before /tmp/after
done

# --- all at once ---------------------------------------------------------------------------------------------------------------

"$locus" doctor --restore >/tmp/back.sh # the daemon is another process now
"$locus" doctor --change | sh 2>/tmp/err
check "all: change" "$(cat /tmp/err)" test ! -s /tmp/err
settles !
look
for id in $ids; do check "$id: changed, it is fit" "$(state $id)" test "$(state $id)" = fit; done

# A script of the good state: what is fit is restored as well.
snapshot >/tmp/good
"$locus" doctor --restore >/tmp/good.sh
sh /tmp/back.sh 2>/tmp/err
check "all: restore" "$(cat /tmp/err)" test ! -s /tmp/err
settles daemon
snapshot >/tmp/after
check "all: restore brings back every byte" "$(diff /tmp/before /tmp/after | head -n 4)" same /tmp/before /tmp/after
look
for id in $ids; do check "$id: restored, it is not" "$(state $id)" test "$(state $id)" != fit; done
swapoff /dev/nvme0n1
kill "$(basename "$(daemon)")"
settles !
sh /tmp/good.sh 2>/tmp/err
snapshot >/tmp/after
check "what was fit comes back, too" "$(diff /tmp/good /tmp/after | head -n 4) $(cat /tmp/err)" same /tmp/good /tmp/after

# --- what cannot be changed ----------------------------------------------------------------------------------------------------

echo 1 >/proc/sys/kernel/numa_balancing
mount -o remount,ro /proc 2>/dev/null || mount -o bind,ro /proc/sys /proc/sys
"$locus" doctor numa-balancing | tr -s ' \n' ' ' >/tmp/out
check "read-only: no command" "$(cat /tmp/out)" eval '! grep -q " echo " /tmp/out'
check "read-only: a remedy" "$(cat /tmp/out)" grep -q 'read-only here, as in a container: change it on the host' /tmp/out
echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/limited
echo "50000 100000" >/sys/fs/cgroup/limited/cpu.max
(echo 0 >/sys/fs/cgroup/limited/cgroup.procs; "$locus" doctor cpu-quota) >/tmp/out
check "a cgroup's quota is seen" "$(head -n 1 /tmp/out)" eval 'grep -q "^UNFIT .*time of 0.5 CPUs" /tmp/out'
echo done
END

truncate -s 64M "$scratch/disk"
sh testbed/guest/boot.sh --machine n2 --with "$LOCUS" --timeout 200 \
    --qemu "-drive file=$scratch/disk,if=none,id=disk,format=raw -device nvme,serial=1,drive=disk" -- "$scratch/cases.sh" \
    >"$scratch/out" 2>"$scratch/err"
status=$?
cat "$scratch/out"
if [ $status -ne 0 ] || [ "$(tail -n 1 "$scratch/out")" != "done" ]; then
    echo "not ok - the_machine: exit $status: $(tail -n 2 "$scratch/err" | tr '\n' ' ')"
    exit 1
fi
echo "1..$(grep -cE '^(not )?ok ' "$scratch/out")"
