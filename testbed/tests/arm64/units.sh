#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# units.sh PROGRAM...: in the guest: runs one test program after the other, a Criterion program by unit and a stress program by
# itself. After the output of each it prints "end EXIT PROGRAM". The simulations of the statistics are left out, five minutes of
# arithmetic. Contenders have threads that spin, so their tests run one at a time.
set -u
for program in "$@"; do
    case $program in
    */unit)
        jobs=2
        [ "${program%/contenders/*}" = "$program" ] || jobs=1
        "$program" -j$jobs --timeout 300 --tap=- --filter '!(simulation/*)'
        ;;
    *) timeout 120 "$program" 3 ;;
    esac
    echo "end $? $program"
done
