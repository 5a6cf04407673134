#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# boot.sh [--machine NAME] [--timeout SECONDS] [--keep] [--with FILE]... [--qemu WORDS] -- PROGRAM [ARGUMENT...]
#
# Boots an emulated machine (machines.sh), runs PROGRAM there, prints what it printed and exits as it did. `locus guest` is this
# script with a help text. --with takes another program along. Inside, LOCUS_GUEST is the machine's name, the host's name is
# guest-NAME, and the working directory is a copy of the project; what PROGRAM leaves in build/logs/ is put into build/logs/
# here. --qemu adds words to QEMU's command line (a plugin). --keep leaves everything else (console, dmesg, vmstat, the tar) in
# build/guest/NAME/.
#
# A test or a program that fails is one thing, a machine that fails another. PROGRAM's time-out runs inside the guest, and its
# end is status 124. The machine's own runs outside; a machine that gives no result (QEMU exits with 0 after a panic) is started
# once more, and then:
#
# Exit status: PROGRAM's; 124 it took longer than SECONDS (60); 99 the machine failed; 77 QEMU or the kernel is missing; 2 bad use.
set -u
here=$(dirname "$0")
. "$here/machines.sh"

die() { # status, message
    echo "locus: guest: $2" >&2
    exit "$1"
}

machine=n2 limit=60 keep='' programs='' more='' boot_seconds=60
newline='
'
while [ $# -gt 0 ]; do
    case $1 in
    --machine) machine=${2-}; shift 2 ;;
    --timeout) limit=${2-}; shift 2 ;;
    --with) programs=$programs$newline${2-}; shift 2 ;;
    --qemu) more=${2-}; shift 2 ;;
    --keep) keep=yes; shift ;;
    --) shift; break ;;
    *) die 2 "$1 is no option of boot.sh" ;;
    esac
done
[ $# -gt 0 ] || die 2 "which program?"
case " $machines " in *" $machine "*) ;; *) die 2 "there is no machine '$machine', but these: $machines" ;; esac
[ -f "$1" ] || die 2 "there is no program $1"

guest=$(pwd)/build/guest
fetch="run 'sh testbed/guest/fetch.sh', which fetches QEMU and a kernel (150 MB) and installs nothing"
for part in qemu vmlinux busybox; do
    [ -s "$guest/$part" ] || die 77 "there is no build/guest/$part: $fetch"
done
"$guest/qemu" --version >/dev/null 2>&1 || die 77 "build/guest/qemu does not start: $fetch --again"

# Two machines of one name would write the same ledger.
exec 9>"$guest.$machine.lock"
flock 9

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

quoted() { printf "'%s' " "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }

# --- the root file system ------------------------------------------------------------------------------------------------------

program=$(readlink -f "$1")
project=$(pwd -P)
case $program in
"$project"/*) inside=/locus/${program#"$project"/} ;;
*) inside=/bin/${program##*/} ;;
esac
shift
mkdir -p "$work/root/locus/build"
{
    printf 'exec '
    for word in "$inside" "$@"; do quoted "$word"; done
    echo
} >"$work/root/command"
echo "LOCUS_GUEST=$machine limit=$limit" >"$work/root/settings"
if [ -d "build/logs/guest-$machine" ]; then # the ledger goes on
    mkdir -p "$work/root/locus/build/logs"
    cp -R "build/logs/guest-$machine" "$work/root/locus/build/logs/"
fi
IFS=$newline
sh "$here/build.sh" "$guest/busybox" "$work/root" "$work/image" "$program" $programs || die 1 "the root file system cannot be built"
unset IFS

# --- the machine ---------------------------------------------------------------------------------------------------------------

# No timers to calibrate: under emulation that takes long, and goes wrong on a busy host.
kernel_line="console=ttyS0 quiet panic=-1 oops=panic nokaslr mitigations=off tsc=reliable no_timer_check lpj=4000000"

boot() {
    rm -f "$work/results" "$work/results2"
    timeout -k 5 $((limit + boot_seconds)) "$guest/qemu" -accel tcg,thread=multi -cpu max -nodefaults -no-user-config \
        -display none -monitor none -no-reboot $qemu $more -serial "file:$work/console" -serial "file:$work/results2" \
        -device virtio-serial-pci -chardev "file,id=results,path=$work/results" \
        -device virtserialport,chardev=results,name=results \
        -kernel "$guest/vmlinux" -initrd "$work/image" -append "$kernel_line $append" </dev/null 2>"$work/qemu.err"
    ended=$?
    [ -s "$work/results" ] || mv "$work/results2" "$work/results" 2>/dev/null
    mkdir -p "$work/out" && tar -C "$work/out" --no-same-owner -xf "$work/results" 2>/dev/null && [ -s "$work/out/status" ]
}

last_words() {
    cat "$work/qemu.err" "$work/console" >"$work/words" 2>/dev/null
    if grep -q 'BUG: \|Oops\|Kernel panic' "$work/words"; then
        sed -n '/BUG: \|Oops\|Kernel panic/,$p' "$work/words" | head -n 20
    else
        tail -n 20 "$work/words"
    fi
}

"machine_$machine"
status=
for try in first second; do
    if boot; then
        status=$(cat "$work/out/status")
        break
    fi
    [ $ended -ne 124 ] || echo "no end after $((limit + boot_seconds)) seconds" >>"$work/console"
    {
        echo "locus: guest: the machine $machine failed, $try try (QEMU's status $ended); from its console:"
        last_words | sed 's/^/    | /'
    } >&2
done

if [ -n "$keep" ]; then
    rm -rf "${guest:?}/$machine"
    mkdir -p "$guest/$machine"
    cp -R "$work/console" "$work/qemu.err" "$work/results" "$work/out" "$guest/$machine/" 2>/dev/null
    echo "locus: guest: kept in build/guest/$machine" >&2
fi
[ -n "$status" ] || die 99 "no result: the machine failed, not the command"
if [ -d "$work/out/logs" ]; then
    mkdir -p build/logs
    cp -R "$work/out/logs/." build/logs/
fi
cat "$work/out/stdout"
cat "$work/out/stderr" >&2
[ "$status" -ne 124 ] || echo "locus: guest: no end after $limit seconds (--timeout)" >&2
exit "$status"
