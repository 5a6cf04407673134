#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
#
# init.sh: the guest's first process. It runs /command (boot.sh writes that, and /settings), sends /results as a tar to the
# virtio-serial port "results" or, if the kernel has no built-in driver for it, to the second serial line, and turns the machine
# off. If anything fails here there is no tar, and boot.sh knows. The command's record goes out as it is written, by the port
# "journal" or the third serial line, and so does the time (receive.sh).
#
# The kernel unpacks the files on the node where it happens to run, and would fill a tiny one. So everything first moves to a file
# system on node 0; switch_root deletes the rest.
if [ ! -e /moved ]; then
    /bin/busybox mkdir /moved
    /bin/busybox mount -t tmpfs -o mpol=prefer:0,mode=755 root /moved
    /bin/busybox mkdir /moved/moved
    for entry in /*; do
        [ "$entry" = /moved ] || /bin/busybox cp -a "$entry" /moved/ || /bin/busybox poweroff -f
    done
    exec /bin/busybox switch_root /moved /init
fi
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs devtmpfs /dev
exec </dev/console >/dev/console 2>&1
/bin/busybox --install -s /bin
. /settings # limit, watched, folders; exports LOCUS_GUEST, and LOCUS_TRACES if files came along
export PATH="/bin:/usr/bin:/with$folders" HOME=/
hostname "guest-$LOCUS_GUEST"
mkdir -p /dev/shm
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ip link set lo up 2>/dev/null

port_of() { # name, serial line
    for entry in /sys/class/virtio-ports/*; do
        [ "$(cat "$entry/name" 2>/dev/null)" != "$1" ] || { echo "/dev/${entry##*/}"; return; }
    done
    stty raw -echo <"$2" 2>/dev/null && echo "$2"
}
journal=$(port_of journal /dev/ttyS2)
clock() { [ -z "$journal" ] || echo "0 0 clock $(date +%s)" >"$journal"; }
[ -z "$journal" ] || export LOCUS_JOURNAL_COPY=$journal

cd /locus || exit
clock
setsid sh /command </dev/null >/results/stdout 2>/results/stderr &
command=$!
{
    sleep "$limit"
    : >/tmp/timed-out
    kill -KILL "-$command"
} &
guard=$!
[ -z "$watched" ] || while sleep 2; do # prints the last line, if it is new
    line=$(tail -n 1 /results/stdout)
    line=${line:-$(tail -n 1 /results/stderr)}
    [ "$line" = "$shown" ] || echo "$line"
    shown=$line
done &
wait $command
status=$?
kill $guard 2>/dev/null
clock
if mv /tmp/timed-out /results/ 2>/dev/null; then status=124; fi
echo $status >/results/status
dmesg >/results/dmesg
cat /proc/vmstat >/results/vmstat
if [ -d build/logs ]; then mv build/logs /results/logs; fi
if [ -d "logs/guest-$LOCUS_GUEST" ]; then mkdir /results/official && mv "logs/guest-$LOCUS_GUEST" /results/official/; fi

tar -C /results -cf - . >"$(port_of results /dev/ttyS1)"
sync
poweroff -f
