#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: test alone
#
# Real llama.cpp on our devices says what it says without them. The same tokens are given to both (teacher-forced), and all logits
# of all steps are compared: by layer they must be the same bits, by tensor, where sums are added in another order, within 0.01.
# It needs the engine, which it fetches. Stock has one thread, and so has each device: with more, llama.cpp divides the positions
# among them and differs from itself.
#
# Here are few steps and a choice of the sizes. engine_logits_all.sh sources this with all_sizes=yes: every size, and 256 steps for
# each shape.
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/../../tests/cases.bash"
cd "$(dirname "$0")/../../.." || exit 1
. testbed/engine/tests/engine.bash
needs_backend 'logits of llama.cpp'
unset GGML_BACKEND_PATH "${!LOCUS_@}"
steps=6
[ -z "${all_sizes-}" ] || steps=24

model() { # name, words for locus-gguf...
    "$build/locus-gguf" --quiet -o "$scratch/$1.gguf" "${@:2}" >"$out" 2>"$err" || fail "the model $1" "$(cat "$err")"
}
model tiny # 8 heads, 4 of KV
model three --width 256 --heads 6 --kv-heads 3 --head-dim 32 # with four devices one has no head
model fourteen --layers 2 --heads 14 --kv-heads 2 --head-dim 64 --ffn 512 # does not divide: whole layers go to one device
model odd --width 264 --heads 8 --kv-heads 4 --head-dim 32 # of 601 tokens the sums do not end with a cache line

# --- running it ----------------------------------------------------------------------------------------------------------------

# llama SHAPE WORDS...: without our devices
llama() {
    timeout 300 "$build/locus-llama" --quiet --model "$scratch/$1.gguf" --steps $steps "${@:2}" >"$out" 2>"$err"
    local status=$?
    why="exit $status: $(head -n 2 "$err")"
    [ $status -eq 0 ]
}
names() { seq -s , -f LOCUS%.0f 0 $(($1 - 1)); }

# devices COUNT SPLIT SHAPE WORDS...
devices() {
    local nodes
    nodes=$(yes 0 | head -n "$1" | paste -sd ,)
    (export GGML_BACKEND_PATH=$build/libggml-locus.so LOCUS_NODES=$nodes LOCUS_THREADS=1
        llama "$3" --devices "$(names "$1")" --split "$2" "${@:4}"
        status=$? && echo "$why" >"$scratch/why" && exit $status)
    local status=$?
    why=$(cat "$scratch/why")
    return $status
}

# What it said of the logits and of the devices. By one device nothing is added up.
differs() { # most, jq expression about the sums
    why="$(jq -c '[."largest logit", ."largest difference", .sums]' "$out")"
    jq -e "(.\"largest logit\" | . > 0.5 and . < 20) and .\"largest difference\" <= $1 and ($2) and
        ([.\"regions decoded\"[] | select(.class == \"kv\")] | all(.node == 0))" "$out" >/dev/null
}
by_layer() { devices "$1" layer "${@:2}" && differs 0 '.sums.exchanges == 0'; }
by_tensor() {
    devices "$1" tensor "${@:2}" && differs 0.01 "(.sums.exchanges > 0) == ($1 > 1) and .sums.declined == 0"
}

# matrix COUNTS SHAPE WORDS...: stock, and these numbers of devices in both ways
matrix() {
    local count stock=$scratch/stock said
    said=$2${*:3}
    said=${said// --/, }
    said=${said/--/, }
    llama "${@:2}" --logits "$stock" || { fail "$said: stock" "$why"; return; }
    for count in $1; do
        check "$said: $count by layer" by_layer "$count" "${@:2}" --against "$stock"
        check "$said: $count by tensor" by_tensor "$count" "${@:2}" --against "$stock"
    done
}

# --- sizes ---------------------------------------------------------------------------------------------------------------------

if [ -n "${all_sizes-}" ]; then
    for shape in tiny three fourteen; do
        for prompt in 1 600 1990; do matrix '1 2 3 4' $shape --prompt $prompt; done
        for prompt in 1 600; do matrix '2 4' $shape --prompt $prompt --batch 8; done
        matrix '1 2 3 4' $shape --prompt 500 --steps 256
        for kv in bf16 f32; do
            for prompt in 1 600; do matrix '1 2 3 4' $shape --prompt $prompt --kv $kv; done
        done
    done
    matrix '2 4' tiny --prompt 1990 --batch 8
else
    for shape in tiny three fourteen; do
        matrix '2 4' $shape --prompt 600
        matrix '2 3' $shape --prompt 1 --batch 8
    done
    matrix '1 2' tiny --prompt 1990
    for kv in bf16 f32; do matrix '3' three --prompt 600 --kv $kv; done
fi
matrix '2 3' odd --prompt 601

# --- the same bits -------------------------------------------------------------------------------------------------------------

repeated() { # count, words...
    devices "$1" tensor "${@:2}" --logits "$scratch/first" && devices "$1" tensor "${@:2}" --logits "$scratch/second" &&
        why='the second has other logits than the first' && cmp -s "$scratch/first" "$scratch/second"
}
for count in 2 3 4; do check "$count by tensor: the same bits in a second run" repeated $count three --prompt 600 --batch 2; done

# Two terms have one sum, in whichever order; more of them the engine adds in another.
generic() { # count, most
    devices "$1" tensor tiny --prompt 600 --logits "$scratch/ours" &&
        LOCUS_SUM=generic devices "$1" tensor tiny --prompt 600 --against "$scratch/ours" &&
        differs "$2" '.sums.exchanges == 0 and .sums.declined > 0'
}
check "2 by tensor: the engine's own sum has the same bits as ours" generic 2 0
check "4 by tensor: the engine's own sum is near ours" generic 4 0.01

uneven() { devices 2 tensor tiny --prompt 600 --shares 3,1 --against "$scratch/stock" && differs 0.01 '.sums.exchanges > 0'; }
llama tiny --prompt 600 --logits "$scratch/stock" && check 'shares of 3 and 1 by tensor' uneven

# Also a quantised cache is divided between heads, so that nothing is rounded in another place.
quantised() { # split, most
    llama tiny --prompt 600 --kv q8_0 --logits "$scratch/stock" &&
        devices 2 "$1" tiny --prompt 600 --kv q8_0 --against "$scratch/stock" && differs "$2" true
}
check 'a cache in q8_0 by layer: the same bits' quantised layer 0
check 'a cache in q8_0 by tensor' quantised tensor 0.01

# Ten thousand tokens before the first logits: nothing in between makes the engine wait for us.
long() {
    llama tiny --context 10240 --prompt 9980 --logits "$scratch/stock" && repeated 2 tiny --context 10240 --prompt 9980 \
        --against "$scratch/stock" && differs 0.01 '.sums.exchanges > 0'
}
[ -z "${all_sizes-}" ] || check 'after a prompt of 9,980 tokens: the same bits twice, and near stock' long

done_testing
