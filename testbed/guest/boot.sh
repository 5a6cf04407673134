#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# boot.sh [--machine NAME] [--timeout SECONDS] [--with FILE|FOLDER]... [--balancing] [--no-record] [--keep] [--qemu WORDS]
#         [--kernel WORDS] [--accesses FOLDER,out=FILE[,window=LO-HI[,section=BYTES]]] -- PROGRAM [ARGUMENT...]
#
# Boots an emulated machine (machines.sh), runs PROGRAM there, prints its output and exits with its status. `locus guest` is this
# script with a help text. In the guest, LOCUS_GUEST is the machine's name, the host's name is guest-NAME, and the working
# directory is a copy of the project; files that PROGRAM leaves in build/logs/guest-NAME and logs/guest-NAME are copied here.
# Ledger and logs come while it runs (receive.sh): an opened run is on record here before its first sample, whatever happens to
# the machine. A terminal shows the elapsed time and PROGRAM's last line.
#
# Outside of a clone of the project the working directory is empty, because an unrelated folder must not be copied; only output
# comes back, and QEMU is in $XDG_CACHE_HOME/locus/guest (~/.cache/locus/guest).
#
#   --with       copies a file, or every file of a folder, to /with in the guest, under its own name. /with is in PATH,
#                and LOCUS_TRACES is /with. But a program of this project (below this folder, executable, ELF or a script) keeps
#                its path, beside the files that it expects there, and its folder is in PATH. With locus comes locus-lap.
#   --balancing  boots with automatic NUMA balancing, which is otherwise off because it moves the pages that a run counts.
#   --no-record  leaves .git and the guest's own logs here: for a PROGRAM that neither reads nor files records. Other hosts' logs
#                never go along.
#   --keep       keeps everything else (console, dmesg, vmstat, the tar) in build/guest/NAME/.
#   --qemu       adds words to QEMU's command line (a disk).
#   --kernel     adds words to the kernel's command line (isolcpus=1,3).
#   --accesses   counts loads and stores by pairs of nodes, in FILE: in the windows of addresses that the program names
#                (testbed/counters/window.h), and in those given here (plugin/accesses.c, built in FOLDER).
#
# A failing program is not a failing machine. PROGRAM's time-out runs inside the guest and ends it with status 124. The machine's
# own time-out runs outside. A machine without a result (QEMU exits with 0 after a panic) is started up to twice more, unless part
# of its record has come; so is one whose clock ran ahead and ended PROGRAM too early. And then:
#
# Exit status: PROGRAM's; 124 it took longer than SECONDS (600); 99 the machine failed; 77 QEMU or the kernel is missing; 2 bad
# usage, or too many files for the machine's memory.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/machines.sh"

die() { # status, message
    echo "locus: guest: $2" >&2
    exit "$1"
}

machine=n2 limit=600 keep='' with='' more='' words='' accesses='' boot_seconds=60 balancing=disable record=yes
newline='
'
while [ $# -gt 0 ]; do
    case $1 in
    --machine) machine=${2-}; shift 2 ;;
    --timeout) limit=${2-}; shift 2 ;;
    --with) with=$with${2-}$newline; shift 2 ;;
    --qemu) more=${2-}; shift 2 ;;
    --kernel) words=${2-}; shift 2 ;;
    --accesses) accesses=${2-}; shift 2 ;;
    --keep) keep=yes; shift ;;
    --balancing) balancing=enable; shift ;;
    --no-record) record=''; shift ;;
    --) shift; break ;;
    *) die 2 "boot.sh has no option $1" ;;
    esac
done
[ $# -gt 0 ] || die 2 "which program?"
known=no
for name in $machines; do [ "$name" != "$machine" ] || known=yes; done
[ $known = yes ] || die 2 "there is no machine '$machine'; there are: $machines"
[ -f "$1" ] || die 2 "there is no program $1"
"machine_$machine"

# --- files for the guest -------------------------------------------------------------------------------------------------------

if [ -d postulates ]; then # as tb_cli_clone()
    project=$(pwd -P) place=$project/build
else
    project='' place=${XDG_CACHE_HOME:-${HOME-}/.cache}/locus
fi
files='' bytes=0 traces='' folders=''

at_home() { # file of the project: its path in the guest's copy of the project
    [ -n "$project" ] || return
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

add_program() { # file, its path in the guest: locus-lap goes beside it (tb_share_lap)
    add "$1" "$2"
    for lap in "${real%/*}/locus-lap" "${real%/*}/../libexec/locus/locus-lap"; do
        [ ! -f "$lap" ] || { add "$lap" "${2%/*}/locus-lap"; break; }
    done
}

take_along() { # file or folder
    if [ -d "$1" ]; then
        for entry in "$1"/*; do [ ! -f "$entry" ] || take_along "$entry"; done
    elif [ ! -f "$1" ] || [ ! -r "$1" ]; then
        die 2 "--with: no file $1, or it is not readable"
    elif inside=$(at_home "$1") && is_program "$1"; then
        add_program "$1" "$inside"
        folders=$folders:${inside%/*}
    else
        add_program "$1" "/with/${1##*/}"
        traces=/with
    fi
}

program=$(at_home "$1") || program=/bin/${1##*/}
add_program "$1" "$program"
shift
IFS=$newline
for path in $with; do take_along "$path"; done
unset IFS

# While the machine starts it has the files in memory twice (below); as much again is left to PROGRAM. The rest of the root file
# system and the kernel need less than the other term.
most=$(((memory_bytes - (256 << 20)) / 3))
[ $bytes -le $most ] ||
    die 2 "the memory of $machine ($((memory_bytes >> 20)) MiB) is too small: it could take $((most >> 20)) MiB along, and these \
files have $((bytes >> 20)) MiB. Take less along, or another machine"

guest=$place/guest parts=$place/$files_of
fetch="sh $here/fetch${files_of#guest}.sh" into=
[ -n "$project" ] || into=" $parts"
why="which fetches QEMU and a kernel (150 MB) and installs nothing"
for part in qemu vmlinux busybox; do
    [ -s "$parts/$part" ] || die 77 "there is no $parts/$part: run '$fetch$into', $why"
done
version=$("$parts/qemu" --version 2>/dev/null) || die 77 "$parts/qemu does not start: run '$fetch --again$into', $why"

if [ -n "$accesses" ]; then
    plugin=${accesses%%,*}/accesses.so
    case $version in *' version '[5-8].*) plugin=${accesses%%,*}/accesses-v1.so ;; esac # the fallback pair's
    [ -e "$plugin" ] || die 2 "--accesses: there is no $plugin: make tests"
    counted=${accesses#*,out=} counted=${counted%%,*}
    more="$more -plugin $plugin,${accesses#*,},cpus=$cpu_nodes,memory=$node_bytes"
fi

# Two machines of the same name would write the same ledger.
exec 9>"$guest.$machine.lock"
flock 9

work=$(mktemp -d) || exit 1
watcher='' emulator='' receiver=''
end() { # first brings home what has come
    watch_end
    [ -z "$emulator" ] || { kill "$emulator" && wait "$emulator"; } 2>/dev/null
    exec 8>&-
    [ -z "$receiver" ] || wait "$receiver"
    rm -rf "$work"
}
trap end EXIT
trap 'exit 1' HUP INT TERM

quoted() { printf "'%s' " "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }

# --- the root file system ------------------------------------------------------------------------------------------------------

mkdir -p "$work/root/locus${project:+/build}"
{
    printf 'exec '
    for word in "$program" "$@"; do quoted "$word"; done
    echo
} >"$work/root/command"
watched='' columns=80
if [ -t 2 ]; then
    watched=yes columns=$(stty size <&2 2>/dev/null | cut -d ' ' -f 2)
    [ "${columns:-0}" -gt 1 ] || columns=80
fi
{
    echo "export LOCUS_GUEST=$machine ${traces:+LOCUS_TRACES=$traces}"
    echo "limit=$limit watched=$watched folders=$(quoted "$folders")"
} >"$work/root/settings"
if [ -z "$project" ]; then # what the program finds beside itself where it is installed
    mkdir -p "$work/root/share/locus/workload"
    cp "$here/../workload/sample.csv" "$work/root/share/locus/workload/"
elif [ -d "build/logs/guest-$machine" ]; then # the ledger goes on
    mkdir -p "$work/root/locus/build/logs"
    cp -R "build/logs/guest-$machine" "$work/root/locus/build/logs/"
fi
IFS=$newline
SYSROOT=$sysroot PACKER=$guest/busybox PROJECT=$project RECORD=${record:+guest-$machine} \
    sh "$here/build.sh" "$parts/busybox" "$work/root" "$work/image" $files ||
    die 1 "the root file system cannot be built"
unset IFS

# --- the machine ---------------------------------------------------------------------------------------------------------------

# No timer calibration: under emulation it takes long, and fails on a busy host.
kernel_line="console=$console quiet panic=-1 oops=panic nokaslr mitigations=off no_timer_check lpj=4000000 \
numa_balancing=$balancing"
# The emulated TSC is this machine's, and may jump where its CPUs' differ. The HPET's time is the system clock's, and slow to read.
fast_clock='tsc=reliable' steady_clock='tsc=unstable clocksource=hpet'

# The guest's console has the kernel's messages and, on a terminal, the program's last line (init.sh).
watch() {
    begun=$(date +%s) width=$((columns - 1)) # a line that fills the last column wraps on some terminals
    while sleep 1 && [ -d "$work" ]; do
        last=$(tail -n 1 "$work/console" 2>/dev/null | tr -cd ' -~')
        printf "\r%-$width.${width}s" "$machine: $(($(date +%s) - begun)) s, at most $limit  $last" >&2
    done
}

watch_end() {
    [ -n "$watcher" ] || return 0
    kill "$watcher" 2>/dev/null
    wait "$watcher" 2>/dev/null
    watcher=
    printf "\r%$((columns - 1))s\r" '' >&2
}

# The guest's record comes through a pipe while it runs. We also open the pipe for writing, so that its reader neither waits for a
# machine that does not start nor ends before the machine does. Without ioeventfd, the guest's data is in the pipe when its write
# returns. QEMU runs in the background, because a shell that waits for a foreground process does not handle interrupts.
boot() {
    rm -rf "$work/results" "$work/results2" "$work/journal" "$work/clock" "$work/out"
    [ -z "$accesses" ] || rm -f "$counted" # those of a machine that failed
    mkfifo "$work/journal" || { ended=none && return 1; }
    [ -z "$watched" ] || { watch >/dev/null 9>&- & watcher=$!; }
    (cd "${project:-$work}" && exec sh "$here/receive.sh" "$machine" "$work") <"$work/journal" &
    receiver=$!
    exec 8>"$work/journal"
    timeout -k 5 $((limit + boot_seconds)) "$parts/qemu" -accel tcg,thread=multi -nodefaults -no-user-config \
        -display none -monitor none -no-reboot $qemu $more -serial "file:$work/console" -serial "file:$work/results2" \
        -serial "file:$work/journal" -device virtio-serial-pci,ioeventfd=off \
        -chardev "file,id=results,path=$work/results" -device virtserialport,chardev=results,name=results \
        -chardev "file,id=journal,path=$work/journal" -device virtserialport,chardev=journal,name=journal \
        -kernel "$parts/vmlinux" -initrd "$work/image" -append "$kernel_line $clock $append $words" </dev/null 2>"$work/qemu.err" &
    emulator=$!
    wait "$emulator"
    ended=$? emulator=
    watch_end
    exec 8>&-
    wait $receiver
    receiver=
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

timed_out() { [ -e "$work/out/timed-out" ]; } # PROGRAM, which may also end with 124 by itself

clock_read() { # here_1, there_1, here_2, there_2: when the command began and ended, by both clocks
    [ -f "$work/clock" ] && [ "$(wc -l <"$work/clock")" = 2 ] &&
        { read -r here_1 there_1 && read -r here_2 there_2; } <"$work/clock"
}

# In less than nine tenths of the time, less what a busy machine takes to read its clock.
ended_too_early() {
    timed_out && clock_read && [ $((here_2 - here_1)) -lt $((limit - limit / 10 - 2)) ]
}

# The files are in memory twice, first as they come and unpacked, then unpacked and in their final place, which holds no more than
# half of it (init.sh). The kernel needs the rest.
image_bytes=$(stat -c %s "$work/image") most=$(((memory_bytes - (64 << 20)) / 2))
[ "$image_bytes" -le $most ] ||
    die 2 "the memory of $machine ($((memory_bytes >> 20)) MiB) is too small: it could take $((most >> 20)) MiB of files along, \
and these have $((image_bytes >> 20)) MiB${project:+, the project with its .git included}. Take less along, or another machine"

status= clock=$fast_clock
for try in first second third; do
    failure="QEMU's status"
    if boot; then
        status=$(cat "$work/out/status")
        ended_too_early && [ ! -s "$work/home" ] && [ $try != third ] || break
        failure="its clock ran $limit s in $((here_2 - here_1)) s, QEMU's status" status=
    fi
    clock=$steady_clock
    [ $ended != 124 ] || echo "timed out after $((limit + boot_seconds)) seconds" >>"$work/console"
    {
        echo "locus: guest: the machine $machine failed, $try try ($failure $ended); from its console:"
        last_words | sed 's/^/    | /'
        [ ! -s "$work/home" ] || {
            echo "locus: guest: its record so far is here: $(paste -sd ' ' "$work/home")"
            echo "locus: guest: a run that is open there has crashed, so the machine is not started again"
        }
    } >&2
    [ ! -s "$work/home" ] || break
done

if [ -n "$keep" ]; then
    rm -rf "${guest:?}/$machine"
    mkdir -p "$guest/$machine"
    cp -R "$work/console" "$work/qemu.err" "$work/results" "$work/out" "$guest/$machine/" 2>/dev/null
    echo "locus: guest: kept in $guest/$machine" >&2
fi
[ -n "$status" ] || die 99 "no result: the machine failed, not the command"

# A ledger only grows: one that changed here while the guest ran is not overwritten.
bring_home() { # folder in the results, folder here
    [ -d "$1" ] || return 0
    for ledger in "$1"/*/ledger.jsonl; do
        mine=$2/${ledger#"$1/"}
        [ ! -s "$mine" ] || [ ! -f "$ledger" ] || cmp -s -n "$(stat -c %s "$mine")" "$mine" "$ledger" || {
            rm -rf "$guest/$machine.unmerged" && mkdir -p "$guest" && cp -R "$1" "$guest/$machine.unmerged"
            die 1 "$mine changed while the guest ran; the guest's logs are in build/guest/$machine.unmerged"
        }
    done
    mkdir -p "$2"
    cp -R "$1/." "$2/"
}

# The clocks may differ by the time a busy machine takes to read them, plus a tenth of the elapsed time.
clock_check() {
    clock_read || return
    first=$((there_1 - here_1)) second=$((there_2 - here_2)) most=$((10 + (here_2 - here_1) / 10))
    [ ${first#-} -gt $most ] || [ ${second#-} -gt $most ] || return
    ahead() { if [ "$1" -lt 0 ]; then echo "${1#-} s behind"; else echo "$1 s ahead"; fi; }
    echo "locus: guest: the clock of $machine was off: $(ahead $first) of this machine's when the command began, and \
$(ahead $second) when it ended, $((here_2 - here_1)) s later. Times in what it logged are wrong; counts are not" >&2
}

if [ -n "$project" ]; then
    bring_home "$work/out/logs" build/logs
    bring_home "$work/out/official" logs
fi
cat "$work/out/stdout" 2>/dev/null || die 1 "standard output: some of it could not be written; is the disk full?"
cat "$work/out/stderr" >&2
clock_check
! timed_out || echo "locus: guest: timed out after $limit seconds (--timeout)" >&2
exit "$status"
