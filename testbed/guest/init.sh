#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
#
# init.sh: the guest's first process. Runs /command (written by boot.sh, which also put the settings into /settings), and sends
# /results as a tar to the virtio-serial port "results", or, under a kernel that has no driver for it built in, to the second
# serial line. Then it turns the machine off. Whatever fails here leaves no tar, and that is how boot.sh knows.
#
# The kernel unpacks the files on whichever node it happens to run, and would fill a tiny one with them. So everything first moves
# to a file system on node 0; switch_root deletes what is left behind.
if [ ! -e /moved ]; then
    /bin/busybox mkdir /moved
    /bin/busybox mount -t tmpfs -o mpol=prefer:0,mode=755 root /moved
    /bin/busybox mkdir /moved/moved
    for entry in /*; do [ "$entry" = /moved ] || /bin/busybox cp -a "$entry" /moved/; done
    exec /bin/busybox switch_root /moved /init
fi
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs devtmpfs /dev
exec </dev/console >/dev/console 2>&1
/bin/busybox --install -s /bin
. /settings # limit; exports LOCUS_GUEST, and LOCUS_TRACES if files came along
export PATH=/bin:/usr/bin:/with HOME=/
hostname "guest-$LOCUS_GUEST"
mkdir -p /dev/shm
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ip link set lo up 2>/dev/null

cd /locus || exit
setsid sh /command </dev/null >/results/stdout 2>/results/stderr &
command=$!
{
    sleep "$limit"
    : >/tmp/timed-out
    kill -KILL "-$command"
} &
guard=$!
wait $command
status=$?
kill $guard 2>/dev/null
[ ! -e /tmp/timed-out ] || status=124
echo $status >/results/status
dmesg >/results/dmesg
cat /proc/vmstat >/results/vmstat
if [ -d build/logs ]; then mv build/logs /results/logs; fi
if [ -d "logs/guest-$LOCUS_GUEST" ]; then mkdir /results/official && mv "logs/guest-$LOCUS_GUEST" /results/official/; fi

port=/dev/ttyS1
for entry in /sys/class/virtio-ports/*; do
    if [ "$(cat "$entry/name" 2>/dev/null)" = results ]; then port=/dev/${entry##*/}; fi
done
case $port in */ttyS*) stty raw -echo <$port ;; esac
tar -C /results -cf - . >$port
sync
poweroff -f
