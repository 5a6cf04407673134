#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all alone
#
# A thousand contexts of real llama.cpp on our devices, opened and closed in one process: no memory, thread or file is left
# (engine_contexts.c). It needs the engine, which it fetches.
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/../../tests/cases.bash"
cd "$(dirname "$0")/../../.." || exit 1
. testbed/engine/tests/engine.bash
needs_backend 'a thousand contexts of llama.cpp'
unset "${!LOCUS_@}"
# One arena, or the heap's size would depend on which threads meet; and no caches of freed pieces, which count as in use.
export GGML_BACKEND_PATH=$build/libggml-locus.so
export LOCUS_NODES=0,0 LOCUS_THREADS=1 MALLOC_ARENA_MAX=1 GLIBC_TUNABLES=glibc.malloc.tcache_count=0

"$build/locus-gguf" --quiet --layers 2 --width 64 --heads 2 --kv-heads 2 --head-dim 32 --ffn 64 --vocab 64 \
    -o "$scratch/small.gguf" >"$out" 2>"$err" || fail 'a model' "$(cat "$err")"
check 'engine_contexts compiles' over_llama "$scratch/contexts" testbed/engine/tests/engine_contexts.c
many() { # split
    timeout -k 5 550 "$scratch/contexts" "$engine/lib" many "$scratch/small.gguf" "$1" 2 >"$out" 2>"$err" </dev/null
    local status=$?
    why="exit $status: $(cat "$out") $(head -n 2 "$err")"
    [ $status -eq 0 ]
}
for split in layer tensor; do check "by $split nothing is left" many $split; done

done_testing
