#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all guest
#
# The same file on aarch64: the backend is cross-built from the same sources and loaded into llama.cpp's arm64 package, unmodified,
# on an emulated machine of two nodes. It says what stock says, and its KV cache lies on the nodes that read it. Bytes are counted
# on x86 alone (engine_guest.sh): the witness finds no windows on aarch64.
#
# Needs gcc-aarch64-linux-gnu; without it everything is skipped. LOCUS=path/to/locus BUILD=path/of/the/build, of this machine.
set -u
: "${LOCUS:?LOCUS must name the program}" "${BUILD:?BUILD must name the folder of the build}"
. "$(dirname "$0")/../../tests/cases.bash"
cd "$(dirname "$0")/../../.." || exit 1
. testbed/tests/arm64/cross.bash
plugin=''
needs_guest 'the engine on aarch64' fetch-arm64.sh
export ARCH=arm64
needs_guest 'the engine on aarch64' ../engine/fetch.sh
. testbed/engine/tests/emulated.bash
"$BUILD/locus-gguf" --quiet -o "$model" >/dev/null || { fail 'a model' 'locus-gguf failed'; exit 1; }

cross $build/{libggml-locus.so,liblocus-kv.so,locus-llama} >"$out" 2>&1 ||
    { fail 'it is cross-built' "$(tail -n 3 "$out" | paste -sd ' ')"; done_testing; exit; }
pass 'it is cross-built'

arms=(stock:1 stock:2:distribute kv:2:bind:1 layer: tensor: generic: layer:1)
boot arm "${arms[@]}"
for arm in 2 3 4 7; do same_logits "aarch64, ${arms[arm - 1]}" 0; done
for arm in 5 6; do same_logits "aarch64, ${arms[arm - 1]}" 0.01; done
for arm in 5 6; do
    holds "aarch64, ${arms[arm - 1]}: KV pages are even" "$(pages 0) and $(pages 1)" \
        test "$(pages 0)" -gt 0 -a "$(pages 0)" = "$(pages 1)"
done
for arm in 3 7; do
    holds "aarch64, ${arms[arm - 1]}: KV is on node 1 alone" "$(pages 0) and $(pages 1)" \
        test "$(pages 0)" = 0 -a "$(pages 1)" -gt 0
done
arm=5
holds 'aarch64, tensor: the sums cross, vector x layers x 2 x exchanges' "$(member 'crossed bytes')" \
    test "$(member 'crossed bytes')" = $((2 * vector * layers * 2 * steps))
done_testing
