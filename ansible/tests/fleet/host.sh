#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# host.sh FOLDER LAYERS: what becomes a fake host (fleet.bash), started in namespaces of its own. Puts its root together, enters
# it, and becomes sshd, its first process: when that dies, the kernel ends all others with it.
#
#   FOLDER/{name,upper,work,root,knobs,home,tmp}     LAYERS: folders that are laid over /, the first one on top, colons between
#
# A fake host must never change the machine that it runs on: /proc/sys and /sys are read-only except for the knobs laid over them,
# and the rights to mount, swap, boot, load modules and set clocks are dropped before anything runs.
set -eu
folder=$1 layers=$2
root=$folder/root

hostname "$(cat "$folder/name")"
mount -t overlay overlay -o "lowerdir=$layers:/,upperdir=$folder/upper,workdir=$folder/work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
for path in sys irq bus fs sysrq-trigger; do
    [ -e "$root/proc/$path" ] || continue
    mount --bind "$root/proc/$path" "$root/proc/$path"
    mount -o remount,bind,ro "$root/proc/$path"
done
mount -o remount,ro "$root/sys"

for path in /sys/devices/system/cpu /sys/devices/system/node /sys/kernel/mm \
    $(cd "$folder/knobs" && find proc -type f | sed 's|^|/|'); do
    mount --bind "$folder/knobs$path" "$root$path"
done

mount --bind "$folder/home" "$root/home" # persons' files are theirs
mount --bind "$folder/home/root" "$root/root"
mount --bind "$folder/tmp" "$root/tmp"
mount -t tmpfs -o mode=755 run "$root/run"
mkdir -p "$root/run/sshd" "$root/run/lock"
mount -t tmpfs -o mode=755 dev "$root/dev"
for name in null zero full random urandom tty; do
    : >"$root/dev/$name"
    mount --bind "/dev/$name" "$root/dev/$name"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
for name in 0:stdin 1:stdout 2:stderr; do ln -s "fd/${name%:*}" "$root/dev/${name#*:}"; done

while ! ip link show eth0 >/dev/null 2>&1; do sleep 0.02; done # fleet.bash plugs it in
ip link set lo up
ip addr add "$(cat "$folder/address")/24" dev eth0
ip link set eth0 up

cd "$root"
mkdir -p "$root/mnt/outside"
pivot_root . mnt/outside
umount -l /mnt/outside
rmdir /mnt/outside
exec setpriv --bounding-set \
    -sys_admin,-sys_boot,-sys_time,-sys_module,-sys_rawio,-sys_tty_config,-syslog,-mknod,-mac_admin,-mac_override,-wake_alarm \
    --inh-caps -all /usr/sbin/sshd -D -e
