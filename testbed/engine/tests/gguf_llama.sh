#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The real llama.cpp loads what locus-gguf makes, and decodes with it (gguf_llama.c). It needs the engine, which it fetches.
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/../../tests/cases.bash"
cd "$(dirname "$0")/../../.." || exit 1
gguf=${BUILD:-$(dirname "$LOCUS")}/locus-gguf
needs_guest 'models in llama.cpp' ../engine/fetch.sh

engine=$PWD/build/engine model=$scratch/model.gguf
[ "$(uname -m)" != aarch64 ] || engine=$engine-arm64
"${CC:-gcc}" -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -isystem "$engine/include" testbed/engine/tests/gguf_llama.c \
    -o "$scratch/loads" -L"$engine/lib" -Wl,-rpath,"$engine/lib" -lllama -lggml -lggml-base -lm >"$scratch/cc" 2>&1 ||
    { fail 'the loader compiles' "$(head -n 1 "$scratch/cc")"; exit 1; }

loads() { # status, layers, width, vocabulary
    local wanted=$1 status
    shift
    "$scratch/loads" "$engine/lib" "$model" "$@" >"$out" 2>"$err"
    status=$?
    why="exit $status, not $wanted: $(cat "$out" "$err" | head -n 3 | paste -sd ' ')"
    [ $status -eq "$wanted" ]
}
decodes() { # layers, width, vocabulary, arguments of locus-gguf...
    why=$("$gguf" -o "$model" "${@:4}" 2>&1) && loads 0 "$1" "$2" "$3"
}
check 'the smallest is loaded and decodes' decodes 4 256 512
check 'sizes other than it says are noticed' loads 1 5 256 512
for bytes in 3000000 900 20 0; do
    truncate -s $bytes "$model"
    check "cut to $bytes bytes it is refused" loads 3 4 256 512
done
check 'two layers of Qwen2.5-0.5B decode' decodes 2 896 512 --shape Qwen2.5-0.5B --layers 2
check "a layer of GPT-2's shape decodes" decodes 1 768 1000 --shape GPT-2 --layers 1 --vocab 1000
check 'heads of another width than the model decode' decodes 3 128 512 --layers 3 --width 128 --head-dim 48
check 'sizes that divide by nothing decode' decodes 2 33 77 \
    --layers 2 --width 33 --heads 3 --kv-heads 1 --head-dim 10 --ffn 35 --vocab 77

done_testing
