#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# leaves.sh MODEL: in the guest `hot`: a preloaded cache is bound to node 2, and that node's memory goes offline between the first
# token and the last. Prints "arm 1 ..." (stock, for its logits) and "arm 2 ...", as arms.sh does.
set -u
build=/locus/build/gcc model=/with/$1 steps=120
decode() { "$build/locus-llama" --model "$model" --steps $steps --context 512 --quiet "$@"; }
on_node_2() { awk '/bind:2/ && match($0, /N2=[0-9]+/) { pages += substr($0, RSTART + 3, RLENGTH - 3) } END { exit !pages }' "$1"; }

decode --threads 1 --logits /tmp/first >/tmp/said || exit
echo "arm 1 stock 0"
cat /tmp/said
LD_PRELOAD=$build/liblocus-kv.so LOCUS_KV_POLICY=bind LOCUS_KV_NODES=2 LOCUS_PAGES=4k \
    "$build/locus-llama" --model "$model" --steps $steps --context 512 --quiet --threads 1 --against /tmp/first >/tmp/said &
child=$!
while [ -e /proc/$child ] && ! on_node_2 /proc/$child/numa_maps 2>/dev/null; do :; done
[ -e /proc/$child ] || { echo "it ended before its cache was on node 2" >&2; exit 1; }
offline-node 2 || exit
[ -e /proc/$child ] && echo "the node left while it ran" >&2 || { echo "it ended before the node left" >&2; exit 1; }
wait $child
status=$?
echo "arm 2 hot $status"
cat /tmp/said
exit $status
