#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# arms.sh MODEL STEPS CONTEXT ARM...: in the guest: runs each arm once, with the accesses of its steps counted in windows of its own
# (ten times its place in the list). Prints "arm NUMBER NAME EXIT" and what locus-llama said. Names of arms:
#
#   stock:THREADS[:HOW]        the CPU backend as it comes, with the engine's --numa HOW
#   numactl:THREADS:WORDS      stock under numactl; WORDS are joined by +
#   kv:THREADS:POLICY:NODES    stock with the preloaded cache, threads distributed
#   layer:NODES, tensor:NODES, generic:NODES   our devices; NODES as LOCUS_NODES, "" for all
#   even:NODES                 as layer, half of four layers each, and not by the free memory of the nodes
set -u
model=/with/$1 steps=$2 context=$3
shift 3
build=$(echo /locus/build/*/locus-llama) # one build goes along
build=${build%/*}

devices() { # how many
    list=LOCUS0
    for i in 1 2 3; do [ "$i" -ge "$1" ] || list=$list,LOCUS$i; done
    echo $list
}

count() { # LOCUS_NODES; "": those with memory and CPUs
    if [ -n "$1" ]; then
        echo "$1" | tr ',' '\n' | wc -l
        return
    fi
    found=0
    for node in /sys/devices/system/node/node[0-9]*; do
        [ -z "$(cat "$node/cpulist")" ] || ! grep -q 'MemTotal: *[1-9]' "$node/meminfo" || found=$((found + 1))
    done
    echo $found
}

number=0
for arm in "$@"; do
    number=$((number + 1))
    kind=${arm%%:*} rest=${arm#*:}
    set -- --model "$model" --steps "$steps" --context "$context" --quiet --watch $((number * 10)) --logits /tmp/logits
    [ ! -e /tmp/first ] || set -- "$@" --against /tmp/first
    case $kind in
    stock)
        [ "${rest%:*}" = "$rest" ] || set -- "$@" --numa "${rest#*:}"
        "$build/locus-llama" "$@" --threads "${rest%%:*}"
        ;;
    numactl) numactl $(echo "${rest#*:}" | tr '+' ' ') "$build/locus-llama" "$@" --threads "${rest%%:*}" ;;
    kv)
        policy=${rest#*:}
        LD_PRELOAD=$build/liblocus-kv.so LOCUS_KV_POLICY=${policy%%:*} LOCUS_KV_NODES=${policy#*:} LOCUS_PAGES=4k \
            "$build/locus-llama" "$@" --threads "${rest%%:*}" --numa distribute
        ;;
    even | layer | tensor | generic)
        [ -n "$rest" ] && [ "$rest" != "$arm" ] || rest=
        sum=ours split=$kind
        [ "$kind" != generic ] || { sum=generic split=tensor; }
        [ "$kind" != even ] || { split=layer && set -- "$@" --shares 2,3; } # the engine counts the output as a fifth layer
        GGML_BACKEND_PATH=$build/libggml-locus.so LOCUS_NODES=$rest LOCUS_PAGES=4k LOCUS_SUM=$sum \
            "$build/locus-llama" "$@" --split $split --devices "$(devices "$(count "$rest")")"
        ;;
    esac >/tmp/said 2>/tmp/words
    status=$?
    echo "arm $number $arm $status"
    cat /tmp/said
    sed 's/^/words /' /tmp/words
    [ -e /tmp/first ] || [ $status -ne 0 ] || mv /tmp/logits /tmp/first
done
