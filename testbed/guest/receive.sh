#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# receive.sh MACHINE FOLDER: reads what a guest says while it runs, and brings home what it made durable of its record; run by
# boot.sh, in the project's folder. It ends with its input.
#
#   OFFSET BYTES /locus/PATH and the bytes     an append to a journal (testbed/record/chain.h); below logs/guest-MACHINE and
#                                              build/logs/guest-MACHINE it is made here, too, where PATH has just OFFSET bytes
#   0 0 clock SECONDS                          what time it is there, when the command begins and when it has ended
#
# An append that did not come whole is left out, so no half line comes home. After the first that cannot be made, because a file
# went on here meanwhile or the disk is full, no other is: boot.sh takes care of all of it in the end. FOLDER/home lists the files
# that something came to, FOLDER/clock has a line "HERE THERE" for each clock.
set -u
machine=$1 folder=$2

parted=
append() { # file, offset, bytes
    [ -z "$parted" ] && mkdir -p "$(dirname "$1")" || return
    size=$(stat -c %s "$1" 2>/dev/null) || size=0
    [ "$size" -eq "$2" ] || { parted=yes; return; }
    cat "$folder/append" 2>/dev/null >>"$1" && sync "$1" || {
        truncate -s "$2" "$1"
        parted=yes
        echo "locus: guest: $1 cannot be written, so what the guest logs comes home at its end only. Make room on this disk" >&2
        return
    }
    grep -qxF "$1" "$folder/home" 2>/dev/null || echo "$1" >>"$folder/home"
}

while read -r offset bytes path; do
    head -c "$bytes" >"$folder/append" && [ "$(stat -c %s "$folder/append")" = "$bytes" ] || {
        cat >/dev/null # where there is more to come: the guest must not wait for a reader
        break
    }
    case $path in
    clock\ *) echo "$(date +%s) ${path#clock }" >>"$folder/clock" ;;
    */../*) ;;
    /locus/logs/guest-"$machine"/* | /locus/build/logs/guest-"$machine"/*) append "${path#/locus/}" "$offset" "$bytes" ;;
    esac
done
