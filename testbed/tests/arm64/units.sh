#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# units.sh PROGRAM...: in the guest: runs one test program after the other, a Criterion program by unit and a stress program by
# itself. After the output of each it prints "end EXIT PROGRAM SECONDS". Some cases are left out: plain arithmetic with integers
# that takes a quarter of a minute or more. Contenders have threads that spin, so their tests run one at a time.
set -u
long='simulation/*|keep/counts_what_the_model*|sink/the_library_finds*|id_cache/tiers_add_up*'
for program in "$@"; do
    begun=$(date +%s)
    case $program in
    */unit)
        jobs=2
        [ "${program%/contenders/*}" = "$program" ] || jobs=1
        "$program" -j$jobs --timeout 300 --tap=- --filter "!($long)"
        ;;
    *) timeout 120 "$program" 3 ;;
    esac
    echo "end $? $program $(($(date +%s) - begun))"
done
