#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all alone
#
# Where real llama.cpp cannot go on with our devices: each end has a line that says why, nothing crashes, and nothing hangs. Also
# several contexts at a time, and a device whose thread is gone (engine_contexts.c). It needs the engine, which it fetches.
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/../../tests/cases.bash"
cd "$(dirname "$0")/../../.." || exit 1
. testbed/engine/tests/engine.bash
needs_backend 'ends of llama.cpp'
unset "${!LOCUS_@}"
export GGML_NO_BACKTRACE=1 # of the engine's own aborts; it would call a debugger
export GGML_BACKEND_PATH=$build/libggml-locus.so LOCUS_NODES=0,0 LOCUS_THREADS=1

model=$scratch/tiny.gguf
"$build/locus-gguf" --quiet -o "$model" >"$out" 2>"$err" || fail 'a model' "$(cat "$err")"

run() { # command...: its exit status is in $status
    timeout -k 5 "${limit:-300}" "$@" >"$out" 2>"$err" </dev/null
    status=$?
    why="exit $status: $(head -n 3 "$err" | cut -c 1-300)"
}
llama() { run "$build/locus-llama" --quiet --model "$model" --steps 4 --devices LOCUS0,LOCUS1 "$@"; }
said() { grep -Eq -- "$1" "$err" || { why="no line '$1': $why"; return 1; }; }

# ends STATUS PATTERN COMMAND...: with that status, and a line on stderr that matches
ends() {
    local wanted=$1 pattern=$2
    shift 2
    "$@"
    [ $status -eq "$wanted" ] && said "$pattern"
}
decodes() { # command...
    "$@"
    [ $status -eq 0 ] && jq -e '."step ns" | length == 4' "$out" >/dev/null
}
check 'all is well to begin with' decodes llama --split tensor

# --- memory --------------------------------------------------------------------------------------------------------------------

# A model with 128 KiB of cache for each token: of its four layers LOCUS0 has three.
cp "$model" "$scratch/whole"
"$build/locus-gguf" --quiet --width 64 --heads 32 --kv-heads 32 --head-dim 128 -o "$model" >"$out" 2>"$err" ||
    fail 'a model with a large cache' "$(cat "$err")"
large() { llama --kv f32 --context "$@"; }
check 'no room on a node: the line has both figures and the way out' ends 1 \
    '^locus: LOCUS0: node 0 has room for [0-9]+ MiB, less [0-9]+ MiB .*; [0-9]+ MiB are needed.*Use a shorter context' \
    large 16000000
holds 'and the engine goes on to say what it could not open' "$why" \
    said '^llama_init_from_model: .*failed to allocate buffer for kv'
room=$(sed -n 's/^locus: .* has room for \([0-9]*\) MiB.*/\1/p' "$err")
check 'room that was promised to another device is not there' ends 1 \
    '^locus: LOCUS1: node 0 has room for [0-9]+ MiB, less [1-9][0-9]+ MiB promised to other' large $((room * 1024 * 9 / 10 / 96))
# By tensor llama.cpp v0.5.0 does not look whether it was given the buffer, and aborts itself.
tensor_room() {
    large 16000000 --split tensor
    said '^locus: LOCUS0: node 0 has room for' && { [ $status -eq 1 ] || said 'ggml-backend-meta.cpp.*ASSERT'; }
}
check 'by tensor, too, although the engine then aborts' tensor_room
cp "$scratch/whole" "$model"

deny=$build/testbed/host/tests/deny_scenario
forbidden() { run "$deny" EPERM mbind -- "$build/locus-llama" --quiet --model "$model" --steps 4 --devices LOCUS0,LOCUS1 "$@"; }
if "$deny" EPERM mbind -- true 2>/dev/null; then
    check 'mbind is forbidden: the line names the right and the other policy' ends 1 \
        '^locus: LOCUS0: .* by the policy bind: .*CAP_SYS_NICE.* The policy first-touch needs no such right' forbidden
    for split in layer tensor; do
        LOCUS_POLICY=first-touch check "first-touch decodes without it by $split" decodes forbidden --split $split
    done
else
    skip 'mbind is forbidden' "deny_scenario does not run here: make tests, on a kernel with seccomp"
fi

# --- settings ------------------------------------------------------------------------------------------------------------------

for bad in '9999:this machine has no such node' '-1:node numbers, such as' '0,:node numbers, such as' 'x:node numbers, such as'; do
    LOCUS_NODES=${bad%%:*} check "LOCUS_NODES=${bad%%:*} is refused" ends 1 "^locus: LOCUS_NODES=${bad%%:*}: .*${bad#*:}" llama
done
LOCUS_POLICY=best check 'a policy that is none is refused' ends 1 '^locus: LOCUS_POLICY=best: it must be one of bind' llama
LOCUS_THREADS=0 check 'no threads are refused' ends 1 '^locus: LOCUS_THREADS=0: it must be a number from 1' llama
LOCUS_POLICY=best check 'the engine goes on without our devices' decodes \
    run "$build/locus-llama" --quiet --model "$model" --steps 4
check 'by tensor without flash attention: the engine refuses' ends 1 'SPLIT_MODE_TENSOR requires flash_attn' \
    llama --split tensor --flash off

# --- a KV cache that is not on the devices -------------------------------------------------------------------------------------

# llama.cpp's --no-kv-offload. By tensor the engine itself would go on, with wrong logits. One KV head is every device's.
for kv in f16 f32 q8_0; do
    check "--no-kv-offload by tensor is refused ($kv)" ends 1 \
        '^locus: the KV cache is not on our devices .* leave this option out, or divide by layer' \
        llama --split tensor --host-kv --kv $kv
done
aborts() { # of this prompt the engine does so itself, before we are asked; a line has said why
    run "$build/locus-llama" --model "$model" --prompt 601 --steps 4 --devices LOCUS0,LOCUS1 --split tensor --host-kv
    [ $status -ne 0 ] && said '^locus: the KV cache is not on our devices \(--no-kv-offload\): .* by tensor the engine cannot'
}
check 'and of a long prompt, where llama.cpp v0.5.0 aborts, there is a line, too' aborts
one=$scratch/one.gguf
"$build/locus-gguf" --quiet --kv-heads 1 --heads 8 -o "$one" >"$out" 2>"$err" || fail 'a model of one KV head' "$(cat "$err")"
near() { # most, words...: the logits are at most that far from the stock engine's
    local most=$1
    shift
    run env -u GGML_BACKEND_PATH "$build/locus-llama" --quiet "$@" --plain --steps 4 --logits "$scratch/logits"
    [ $status -eq 0 ] || return
    run "$build/locus-llama" --quiet "$@" --steps 4 --devices LOCUS0,LOCUS1 --host-kv --split $split --against "$scratch/logits"
    [ $status -eq 0 ] && why="differs by $(jq '."largest difference"' "$out")" &&
        jq -e ".\"largest difference\" <= $most" "$out" >/dev/null
}
split=layer check '--no-kv-offload by layer: the same bits' near 0 --model "$model" --kv f16
split=layer check '--no-kv-offload by layer: the same bits of a cache in f32' near 0 --model "$model" --kv f32
split=tensor check '--no-kv-offload by tensor with one KV head: near stock' near 0.01 --model "$one"

# --- loading -------------------------------------------------------------------------------------------------------------------

cat >"$scratch/alone.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void *symbol = library ? dlsym(library, "ggml_backend_init") : NULL, *(*function)(void) = NULL;
    memcpy(&function, &symbol, sizeof function);
    return !function ? 2 : function() ? 1 : 0;
}
END
check 'a process without ggml compiles' ${CC:-gcc} $strict -o "$scratch/alone" "$scratch/alone.c" -ldl
check 'there the backend is NULL, and a line names what is missing' ends 0 \
    '^locus: no ggml library in this process has ggml_[a-z_]+; this file is a backend for ggml$' \
    run "$scratch/alone" "$build/libggml-locus.so"
holds 'in one line' "$why" test "$(wc -l <"$err")" -eq 1

# --- models that are not what they say -----------------------------------------------------------------------------------------

key='blk\.0\.attn_k\.weight'
lying() { # what, Perl that changes the file in $_
    local split
    cp "$scratch/whole" "$model"
    perl -0777 -pi -e "$2" "$model"
    ! cmp -s "$model" "$scratch/whole" || fail "a model with $1" 'it was not changed'
    for split in layer tensor; do
        check "a model with $1 is refused by $split" ends 1 'did not load the model$' llama --split $split
    done
}
for bytes in 5000000 2000 20 0; do lying "$bytes bytes" "\$_ = substr(\$_, 0, $bytes)"; done
lying 'more tensors than there are' 'substr($_, 8, 8) = pack("Q<", 1 + unpack("Q<", substr($_, 8, 8)))'
lying 'tensors without number' 'substr($_, 8, 8) = pack("Q<", 1 << 60)'
lying 'keys without number' 'substr($_, 16, 8) = pack("Q<", 1 << 60)'
lying 'a wider tensor' "s/($key.{4}).{8}/\$1.pack('Q<', 512)/es"
lying 'an endless tensor' "s/($key.{4}).{16}/\$1.pack('Q<Q<', 1 << 40, 1 << 40)/es"
lying 'a tensor of a negative size' "s/($key.{4}).{8}/\$1.pack('q<', -256)/es"
lying 'a tensor of another type' "s/($key.{20}).{4}/\$1.pack('V', 0)/es"
lying 'a tensor beyond its end' "s/($key.{24}).{8}/\$1.pack('Q<', 1 << 40)/es"
lying 'a tensor inside another' "s/($key.{24}).{8}/\$1.pack('Q<', 0)/es"
lying 'more layers than it has' 's/(llama\.block_count.{4}).{4}/$1.pack("V", 40)/es'
lying 'other KV heads' 's/(llama\.attention\.head_count_kv.{4}).{4}/$1.pack("V", 3)/es'
cp "$scratch/whole" "$model"

# --- contexts ------------------------------------------------------------------------------------------------------------------

contexts=$scratch/contexts
check 'engine_contexts compiles' over_llama "$contexts" testbed/engine/tests/engine_contexts.c
try() { # what, split, devices
    run "$contexts" "$engine/lib" "$1" "$model" "$2" "$3"
    why="exit $status: $(cat "$out") $(head -n 2 "$err")"
    [ $status -eq 0 ]
}
for split in layer tensor; do
    check "two contexts at once by $split are as each alone" try two $split 2
    check "by $split the caller's affinity is the same afterwards" try affinity $split 2
    check "by $split a thread that is gone is noticed, and closing does not hang" try gone $split 2
    holds 'and there is a line about it' "$why" said '^locus: LOCUS0: its thread [0-9]+ is gone; close this context'
    check "by $split a thread that went in between, too" try idle-gone $split 2
done
check 'a group with another backend in it is none of ours' try mixed tensor 2
LOCUS_SUM=generic check 'two contexts with the generic sum are as each alone' try two tensor 2
LOCUS_NODES=0,0,0 check 'two contexts on three devices are as each alone' try two tensor 3
for kv in on-demand static populated; do
    LOCUS_KV=$kv check "LOCUS_KV=$kv: a cleared cache is all zeros" try cleared layer 2
done
cores=$("$LOCUS" topo --json | jq '.nodes[0].cpus_allowed_count // 1' 2>/dev/null)
if [ "${cores:-1}" -ge 2 ]; then
    check 'each device computes on a CPU of its own' try pinned tensor 2
    LOCUS_NODES=0 LOCUS_THREADS=2 check 'one of two threads is gone: the other does not hang the end' try gone layer 1
fi

# Each call that opens a context fails once. By tensor the engine aborts itself, as above.
inject=$build/placement/domain/tests/fault_inject.so
sweep() { # family: $hits calls were there to fail
    local call
    for call in {1..100}; do
        run env LOCUS_FAULT="$1:$call" LD_PRELOAD="$inject" "$contexts" "$engine/lib" fault "$model" layer 2
        why="call $call: exit $status: $(cat "$out") $(head -n 2 "$err")"
        hits=$((call - 1))
        [ $status -ne 3 ] || break
        [ $status -eq 0 ] && said '^locus: LOCUS[01]: ' || return 1
    done
    why="$hits calls of $1"
    [ $hits -gt 0 ] && [ $hits -lt 99 ]
}
if [ -e "$inject" ]; then
    for family in mbind pthread_create; do
        check "each call of $family fails: a line, and the next context decodes" sweep $family
    done
else
    skip 'each call fails' 'fault_inject.so is not built: make tests'
fi

interrupted() {
    run env --default-signal=INT timeout --preserve-status -s INT 1 "$build/locus-llama" --quiet --model "$model" \
        --context 1048576 --steps 1000000 --devices LOCUS0,LOCUS1 --split tensor
    [ $status -eq 130 ] # run() kills one that goes on
}
check 'an interrupt ends a decode' interrupted

# --- with AddressSanitizer -----------------------------------------------------------------------------------------------------

# The engine itself leaves one list of 72 bytes. And where a thread has gone, its pool is left, because freeing it could hang.
printf 'leak:%s\n' ggml_backend_meta_device_get_buffer_type ggml_threadpool_new >"$scratch/engine_leaks"
clean() { # command...
    ASAN_OPTIONS=detect_leaks=1:fast_unwind_on_malloc=0 LSAN_OPTIONS=suppressions=$scratch/engine_leaks:print_suppressions=0 \
        GGML_BACKEND_PATH=$asan/libggml-locus.so run "$@"
    why="exit $status: $(grep -E 'ERROR|SUMMARY|runtime error' "$err" | head -n 3)"
    [ $status -eq 0 ] && ! grep -Eq 'Sanitizer|runtime error' "$err"
}
# gcc's, because clang's build has no library that stands alone.
asan=build/gcc-asan
check 'the backend compiles with AddressSanitizer' make CC=gcc SAN=address,undefined $asan/{libggml-locus.so,locus-llama}
CC=gcc check 'engine_contexts compiles with AddressSanitizer' \
    over_llama "$contexts.asan" testbed/engine/tests/engine_contexts.c -fsanitize=address,undefined
for split in layer tensor; do
    check "AddressSanitizer and LeakSanitizer are silent by $split" clean "$asan/locus-llama" --quiet --model "$model" \
        --prompt 600 --batch 2 --steps 4 --devices LOCUS0,LOCUS1 --split $split --clear
    check "with two contexts at once by $split" clean "$contexts.asan" "$engine/lib" two "$model" $split 2
    check "with a thread that is gone by $split" clean "$contexts.asan" "$engine/lib" idle-gone "$model" $split 2
done

done_testing
