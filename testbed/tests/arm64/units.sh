#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# units.sh PROGRAM...: in the guest: runs one test program after the other, a Criterion program by unit and a stress program by
# itself. After the output of each it prints "end EXIT PROGRAM". Left out are minutes of arithmetic that no processor does in
# another way: simulations of the statistics, every length of a context, models on every contender. Contenders have threads that
# spin, so their tests run one at a time.
set -u
left_out='@(simulation|keep|decode_sharing)/*|*every_length*|*every_group*|*carries_the_steps*'
for program in "$@"; do
    case $program in
    */unit)
        jobs=2
        [ "${program%/contenders/*}" = "$program" ] || jobs=1
        "$program" -j$jobs --timeout 300 --tap=- --filter "!($left_out)"
        ;;
    *) timeout 120 "$program" 3 ;;
    esac
    echo "end $? $program"
done
