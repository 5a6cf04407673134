#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# receive.sh MACHINE FOLDER: reads a guest's messages while it runs, and copies its record here. boot.sh runs it in the project's
# folder. It ends with its input.
#
#   OFFSET BYTES /locus/PATH and the bytes     an append to a journal (testbed/record/chain.h). Below logs/guest-MACHINE and
#                                              build/logs/guest-MACHINE it is repeated here, if PATH has exactly OFFSET bytes
#   0 0 clock SECONDS                          the guest's time, when the command begins and when it ends
#
# An incomplete append is dropped, so no half line is written here. After the first append that fails, because a file here has
# changed or the disk is full, no more are made: boot.sh copies everything at the end. FOLDER/home lists the files that received
# data, FOLDER/clock has a line "HERE THERE" for each clock message.
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
        echo "locus: guest: $1 cannot be written, so the guest's logs come only when it ends. Make room on this disk" >&2
        return
    }
    grep -qxF "$1" "$folder/home" 2>/dev/null || echo "$1" >>"$folder/home"
}

while read -r offset bytes path; do
    head -c "$bytes" >"$folder/append" && [ "$(stat -c %s "$folder/append")" = "$bytes" ] || {
        cat >/dev/null # reads the rest, so that the guest does not wait for a reader
        break
    }
    case $path in
    clock\ *) echo "$(date +%s) ${path#clock }" >>"$folder/clock" ;;
    */../*) ;;
    /locus/logs/guest-"$machine"/* | /locus/build/logs/guest-"$machine"/*) append "${path#/locus/}" "$offset" "$bytes" ;;
    esac
done
