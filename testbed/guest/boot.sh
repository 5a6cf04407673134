#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# boot.sh [--machine NAME] [--timeout SECONDS] [--with FILE|FOLDER]... [--balancing] [--keep] [--qemu WORDS]
#         [--stores FOLDER,window=LO-HI,section=BYTES,out=FILE] -- PROGRAM [ARGUMENT...]
#
# Boots an emulated machine (machines.sh), runs PROGRAM there, prints what it printed and exits as it did. `locus guest` is this
# script with a help text. Inside, LOCUS_GUEST is the machine's name, the host's name is guest-NAME, and the working directory is
# a copy of the project; what PROGRAM leaves in build/logs/guest-NAME and in logs/guest-NAME is put there here, too.
#
#   --with       takes a file along, or every file of a folder. Inside it lies in /with under its own name, and /with is in PATH;
#                then LOCUS_TRACES is /with. Only a program of this project (below this folder, executable, ELF or a script) lies
#                where it lies at home instead, for what it expects beside it.
#   --balancing  boots with automatic NUMA balancing, which is off otherwise: it moves the pages that a run counts.
#   --keep       leaves everything else (console, dmesg, vmstat, the tar) in build/guest/NAME/.
#   --qemu       adds words to QEMU's command line (a disk).
#   --stores     counts in FILE, by pairs of nodes, what is stored in a window of addresses (plugin/stores.c, built in FOLDER).
#
# A test or a program that fails is one thing, a machine that fails another. PROGRAM's time-out runs inside the guest, and its
# end is status 124. The machine's own runs outside; a machine that gives no result (QEMU exits with 0 after a panic) is started
# once more, and then:
#
# Exit status: PROGRAM's; 124 it took longer than SECONDS (60); 99 the machine failed; 77 QEMU or the kernel is missing; 2 bad use,
# or more files than the machine has memory for.
set -u
here=$(dirname "$0")
. "$here/machines.sh"

die() { # status, message
    echo "locus: guest: $2" >&2
    exit "$1"
}

machine=n2 limit=60 keep='' with='' more='' stores='' boot_seconds=60 balancing=disable
newline='
'
while [ $# -gt 0 ]; do
    case $1 in
    --machine) machine=${2-}; shift 2 ;;
    --timeout) limit=${2-}; shift 2 ;;
    --with) with=$with${2-}$newline; shift 2 ;;
    --qemu) more=${2-}; shift 2 ;;
    --stores) stores=${2-}; shift 2 ;;
    --keep) keep=yes; shift ;;
    --balancing) balancing=enable; shift ;;
    --) shift; break ;;
    *) die 2 "$1 is no option of boot.sh" ;;
    esac
done
[ $# -gt 0 ] || die 2 "which program?"
known=no
for name in $machines; do [ "$name" != "$machine" ] || known=yes; done
[ $known = yes ] || die 2 "there is no machine '$machine', but these: $machines"
[ -f "$1" ] || die 2 "there is no program $1"
"machine_$machine"

# --- what goes along -----------------------------------------------------------------------------------------------------------

project=$(pwd -P)
files='' bytes=0 traces=''

at_home() { # file: its path in the guest's copy of the project, if it is the project's
    path=$(readlink -f "$1")
    case $path in
    "$project"/*) echo "/locus/${path#"$project"/}" ;;
    *) return 1 ;;
    esac
}

is_program() {
    [ -x "$1" ] && case $(head -c 4 "$1" | tr -d '\000') in '#!'* | ?ELF) ;; *) false ;; esac
}

add() { # file, its path in the guest
    real=$(readlink -f "$1")
    case $newline$files in
    *"$newline$real$newline$2$newline"*) return ;;
    *"$newline$2$newline"*) die 2 "two files are called ${1##*/}, and both would be $2: rename one" ;;
    esac
    files=$files$real$newline$2$newline
    bytes=$((bytes + $(stat -Lc %s "$1")))
}

take_along() { # file or folder
    if [ -d "$1" ]; then
        for entry in "$1"/*; do [ ! -f "$entry" ] || take_along "$entry"; done
    elif [ ! -f "$1" ] || [ ! -r "$1" ]; then
        die 2 "--with: there is no file $1 to be read"
    elif inside=$(at_home "$1") && is_program "$1"; then
        add "$1" "$inside"
    else
        add "$1" "/with/${1##*/}"
        traces=/with
    fi
}

program=$(at_home "$1") || program=/bin/${1##*/}
add "$1" "$program"
shift
IFS=$newline
for path in $with; do take_along "$path"; done
unset IFS

# While the machine starts it holds the files three times over: as they come, unpacked, and where they end up (init.sh). The rest
# of the root file system and the kernel come to less than the other term.
most=$(((memory_bytes - (256 << 20)) / 3))
[ $bytes -le $most ] ||
    die 2 "the memory of $machine ($((memory_bytes >> 20)) MiB) is too small: it could take $((most >> 20)) MiB along, and these \
files have $((bytes >> 20)) MiB. Take less along, or another machine"

guest=$(pwd)/build/guest parts=$(pwd)/build/$files_of
fetch="run 'sh testbed/guest/fetch${files_of#guest}.sh', which fetches QEMU and a kernel (150 MB) and installs nothing"
for part in qemu vmlinux busybox; do
    [ -s "$parts/$part" ] || die 77 "there is no build/$files_of/$part: $fetch"
done
version=$("$parts/qemu" --version 2>/dev/null) || die 77 "build/$files_of/qemu does not start: $fetch --again"

if [ -n "$stores" ]; then
    plugin=${stores%%,*}/stores.so
    case $version in *' version '[5-8].*) plugin=${stores%%,*}/stores-v1.so ;; esac # the fallback pair's
    [ -e "$plugin" ] || die 2 "--stores: there is no $plugin: make tests"
    more="$more -plugin $plugin,${stores#*,},cpus=$cpu_nodes,memory=$node_bytes"
fi

# Two machines of one name would write the same ledger.
exec 9>"$guest.$machine.lock"
flock 9

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

quoted() { printf "'%s' " "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }

# --- the root file system ------------------------------------------------------------------------------------------------------

mkdir -p "$work/root/locus/build"
{
    printf 'exec '
    for word in "$program" "$@"; do quoted "$word"; done
    echo
} >"$work/root/command"
echo "export LOCUS_GUEST=$machine ${traces:+LOCUS_TRACES=$traces}; limit=$limit" >"$work/root/settings"
if [ -d "build/logs/guest-$machine" ]; then # the ledger goes on
    mkdir -p "$work/root/locus/build/logs"
    cp -R "build/logs/guest-$machine" "$work/root/locus/build/logs/"
fi
IFS=$newline
SYSROOT=$sysroot PACKER=$guest/busybox sh "$here/build.sh" "$parts/busybox" "$work/root" "$work/image" $files ||
    die 1 "the root file system cannot be built"
unset IFS

# --- the machine ---------------------------------------------------------------------------------------------------------------

# No timers to calibrate: under emulation that takes long, and goes wrong on a busy host.
kernel_line="console=$console quiet panic=-1 oops=panic nokaslr mitigations=off tsc=reliable no_timer_check lpj=4000000 \
numa_balancing=$balancing"

boot() {
    rm -f "$work/results" "$work/results2"
    timeout -k 5 $((limit + boot_seconds)) "$parts/qemu" -accel tcg,thread=multi -nodefaults -no-user-config \
        -display none -monitor none -no-reboot $qemu $more -serial "file:$work/console" -serial "file:$work/results2" \
        -device virtio-serial-pci -chardev "file,id=results,path=$work/results" \
        -device virtserialport,chardev=results,name=results \
        -kernel "$parts/vmlinux" -initrd "$work/image" -append "$kernel_line $append" </dev/null 2>"$work/qemu.err"
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

# A ledger only grows: one that went on here while the guest ran is not overwritten.
bring_home() { # folder in the results, folder here
    [ -d "$1" ] || return 0
    for ledger in "$1"/*/ledger.jsonl; do
        mine=$2/${ledger#"$1/"}
        [ ! -s "$mine" ] || [ ! -f "$ledger" ] || cmp -s -n "$(stat -c %s "$mine")" "$mine" "$ledger" || {
            rm -rf "$guest/$machine.unmerged" && mkdir -p "$guest" && cp -R "$1" "$guest/$machine.unmerged"
            die 1 "$mine changed while the guest ran; its logs lie in build/guest/$machine.unmerged"
        }
    done
    mkdir -p "$2"
    cp -R "$1/." "$2/"
}
bring_home "$work/out/logs" build/logs
bring_home "$work/out/official" logs
cat "$work/out/stdout"
cat "$work/out/stderr" >&2
[ "$status" -ne 124 ] || echo "locus: guest: no end after $limit seconds (--timeout)" >&2
exit "$status"
