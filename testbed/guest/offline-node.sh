#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
#
# offline-node N: takes all memory of node N offline, in the guest; online-node N brings it back. Its pages move to other nodes
# first. Exit status: 0 done; 1 some of it did not go offline, which is normal for memory present at boot: only node 2 of the
# machine `hot` goes reliably.
case ${0##*/} in
online-node) want=online_movable reached=online ;;
*) want=offline reached=offline ;;
esac
folder=/sys/devices/system/node/node${1:?which node?}
blocks=$(echo "$folder"/memory[0-9]*)
[ -e "${blocks%% *}" ] || { echo "${0##*/}: node $1 has no memory blocks" >&2; exit 1; }
for try in 1 2 3 4 5; do
    left=0
    for block in $blocks; do
        [ "$(cat "$block/state")" = $reached ] || echo $want 2>/dev/null >"$block/state" || left=$((left + 1))
    done
    [ $left -ne 0 ] || exit 0
done
echo "${0##*/}: $left blocks of node $1 do not go $reached" >&2
exit 1
