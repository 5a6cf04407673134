#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all guest
#
# engine_mutants.sh: would the tests with real llama.cpp notice? The backend is broken on purpose, one thing at a time, and built
# anew from that source; then the logits, a program of engine_contexts.c, or pages and CPUs in an emulated machine of two nodes must
# show it. It needs the engine, which it fetches, and for the last part the guest. A race may need several runs. Many mutants hang:
# what takes far longer than the slowest control did, on this machine in this minute, does.
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/../../tests/cases.bash"
cd "$(dirname "$0")/../../.." || exit 1
. testbed/engine/tests/engine.bash
needs_backend 'a broken backend in llama.cpp'
unset GGML_BACKEND_PATH "${!LOCUS_@}"
export LOCUS_THREADS=1 GGML_NO_BACKTRACE=1
contexts=$scratch/contexts
over_llama "$contexts" testbed/engine/tests/engine_contexts.c >"$out" 2>&1 ||
    { fail 'engine_contexts compiles' "$(head -n 1 "$out")"; exit 1; }

limit=300 slowest=0 # seconds
llama() { # shape, words...
    timeout -k 5 "$limit" "$build/locus-llama" --quiet --model "$scratch/$1.gguf" --steps 6 --batch 2 --prompt 601 "${@:2}" \
        >"$out" 2>"$err"
}
# Of 601 tokens of width 264 no sum has whole lines.
for shape in tiny 'one --kv-heads 1' 'three --width 256 --heads 6 --kv-heads 3 --head-dim 32' \
    'odd --width 264 --heads 8 --kv-heads 4 --head-dim 32'; do
    "$build/locus-gguf" --quiet -o "$scratch/${shape%% *}.gguf" ${shape#"${shape%% *}"} >"$out" 2>"$err" &&
        llama ${shape%% *} --logits "$scratch/${shape%% *}.stock" || { fail "stock $shape" "$(cat "$err")"; exit 1; }
done

# --- what may notice: each succeeds if all is well -----------------------------------------------------------------------------

names() { seq -s , -f LOCUS%.0f 0 $(($1 - 1)); }
zeros() { yes 0 | head -n "$1" | paste -sd ,; }
logits() { # shape, split, devices
    local most=0.01 try
    [ "$2" = tensor ] || most=0
    for try in 1 2 3; do
        LOCUS_NODES=$(zeros "$3") llama "$1" --devices "$(names "$3")" --split "$2" --against "$scratch/$1.stock" &&
            jq -e ".\"largest difference\" <= $most" "$out" >/dev/null || return 1
    done
}
context() { # what, split, devices
    LOCUS_NODES=$(zeros "$3") timeout -k 5 "$limit" "$contexts" "$engine/lib" "$1" "$scratch/tiny.gguf" "$2" "$3" \
        >"$out" 2>"$err"
}

few() { # split: as in engine_many.sh
    MALLOC_ARENA_MAX=1 GLIBC_TUNABLES=glibc.malloc.tcache_count=0 context few "$1" 2
}
nothing_left() { # split: not seen where it fails for another reason
    few "$1" || ! grep -q 'something is left' "$out"
}

# --no-kv-offload by tensor: of several KV heads it is refused, of one it is right.
host_kv() { # refused|right, shape, type of the cache
    local words="--quiet --model $scratch/$2.gguf --steps 4 --kv $3" stock=$scratch/host.stock
    "$build/locus-llama" $words --logits "$stock" >"$out" 2>"$err" || return
    if LOCUS_NODES=0,0 "$build/locus-llama" $words --host-kv --devices LOCUS0,LOCUS1 --split tensor --against "$stock" \
        >"$out" 2>"$err"; then
        [ "$1" = right ] && jq -e '."largest difference" <= 0.01' "$out" >/dev/null
    else
        [ "$1" = refused ] && grep -q '^locus: the KV cache is not on our devices' "$err"
    fi
}
form() { # served|refused, FLAG...: in a process with a ggml of that form
    local status
    ${CC:-gcc} $strict -rdynamic "${@:2}" -o "$scratch/host" testbed/engine/tests/engine_host.c -ldl >"$out" 2>"$err" || return 1
    LOCUS_NODES=0,0 "$scratch/host" "$GGML_BACKEND_PATH" >"$out" 2>"$err"
    status=$?
    [ "$1/$status" = served/0 ] || [ "$1/$status" = refused/3 ]
}

two_threads_gone() { # several times, because it may go between two graphs, where its partner does not wait for it
    local try
    for try in 1 2 3 4 5; do
        LOCUS_NODES=0 LOCUS_THREADS=2 timeout -k 5 "$limit" "$contexts" "$engine/lib" gone "$scratch/tiny.gguf" layer 1 \
            >"$out" 2>"$err" || return 1
    done
}

# broken NAME FILE EXPRESSION: builds it; $plugin is the result
broken() {
    local source=$scratch/$(basename "$2")
    plugin=$scratch/$1.so
    sed -E "$3" "$2" >"$source"
    ! cmp -s "$2" "$source" || { fail "mutant $1" "the expression did not change $2"; return 1; }
    plugin "$plugin" "$source" -Wno-error >"$out" 2>&1 || { fail "mutant $1" "$(grep -m 1 error "$out")"; return 1; }
}
mutant() { # name, file, sed expression, who must notice...
    broken "$1" "$2" "$3" || return
    if GGML_BACKEND_PATH=$plugin "${@:4}"; then fail "mutant $1" "survived ${*:4}"; else pass "mutant $1: killed by ${*:4}"; fi
}
control() {
    local began=$SECONDS
    why=
    GGML_BACKEND_PATH=$build/libggml-locus.so check "control $*" "$@"
    slowest=$((SECONDS - began > slowest ? SECONDS - began : slowest))
}
unpinned='s/locus_pin_node\(.*\);/0;/; s/\.strict_cpu = true/.strict_cpu = false/; s/params\.cpumask\[.*\] = true;/;/'
stream=placement/ggml/stream.c group=placement/ggml/group.c buffer=placement/ggml/buffer.c layout=placement/ggml/layout.c

control logits tiny layer 2
for count in 2 3; do control logits tiny tensor $count; done
control logits odd tensor 3
for kv in f16 f32; do control host_kv refused tiny $kv; done
control host_kv right one f16
control form served -DNUMBER=2 -DROWS
control form served -DNUMBER=3 -DROWS -DLISTS
control form refused -DNUMBER=2
control logits three tensor 4
for what in two affinity gone; do control context $what tensor 2; done
for kv in on-demand static populated; do LOCUS_KV=$kv control context cleared layer 1; done
for split in layer tensor; do control few $split; done
pinned=
[ "$(nproc)" -lt 2 ] || { pinned=yes && control context pinned tensor 2 && control two_threads_gone; }
limit=$((20 + 3 * slowest))

# --- the sum, and who waits for whom -------------------------------------------------------------------------------------------

mutant a-member-is-left-out $group 's/term < group->terms_count; term/term + 1 < group->terms_count; term/' logits tiny tensor 2
mutant a-member-is-added-twice $group 's/for \(unsigned term = 1;/for (unsigned term = 0;/' logits tiny tensor 2
mutant a-member-does-not-get-the-sum $group 's/part < group->count; part/part + 1 < group->count; part/' logits tiny tensor 2
mutant a-piece-begins-a-line-late $group \
    's/^( +)(size_t begin = .*) \* LINE_FLOATS;/\1\2 * LINE_FLOATS + (member ? LINE_FLOATS : 0);/' logits tiny tensor 2
mutant a-piece-ends-a-line-early $group 's/(size_t end = .*) \* LINE_FLOATS;/\1 * LINE_FLOATS - LINE_FLOATS;/' logits tiny tensor 2
mutant the-rest-is-left-out $group 's/member == group->count - 1 \? group->floats : end/end/' logits odd tensor 3
mutant the-sum-is-no-number $group 's/^    lane sum = (.*);/    lane sum = \1 * __builtin_nanf("");/' logits tiny tensor 2
mutant empty-parts-are-added $group 's/if \(parts\[i\]->flags & GGML_TENSOR_FLAG_COMPUTE\)/if (true)/' logits three tensor 4
mutant the-last-does-not-wait $stream \
    's/others = lg_group_wait\(stream->group\);/others = GGML_STATUS_SUCCESS;/' logits tiny tensor 2
mutant waits-for-the-first-alone $group \
    '/^enum ggml_status lg_group_wait/,/^}/s/i < group->count - 1;/i < 1;/' logits tiny tensor 3
mutant a-divided-sum-does-not-wait $group \
    's/return lg_group_wait\(group\) == GGML_STATUS_SUCCESS;/return true;/' logits tiny tensor 3
mutant alone-nobody-waits $stream \
    '/if \(!stream->group\) \{/,/\}/s/return lg_stream_wait\(stream\);/return GGML_STATUS_SUCCESS;/' logits tiny layer 2

# --- forms of the interface, and a cache elsewhere -----------------------------------------------------------------------------

mutant the-second-form-for-all $layout 's/if \(number == 2\)/if (true)/' form served -DNUMBER=3 -DROWS -DLISTS
mutant the-third-form-for-all $layout 's/if \(number == 2\)/if (false)/' form served -DNUMBER=2 -DROWS
mutant rows-are-not-looked-for $layout 's/\? has_rows\(\) && /? /' form refused -DNUMBER=2
mutant lists-are-not-looked-for $layout 's/ && has_lists\(\);/;/' form refused -DNUMBER=3 -DROWS
mutant lists-do-not-contradict $layout 's/has_rows\(\) && !has_lists\(\)/has_rows()/' form refused -DNUMBER=2 -DROWS -DLISTS
mutant any-later-number $layout 's/: \*number == NEWEST && /: /' form refused -DNUMBER=4 -DROWS -DLISTS
mutant without-a-number-it-is-two $layout 's/has_lists\(\) \? NEWEST : 2/2/' form served -DNUMBER=3 -DROWS -DLISTS -DNONE
mutant a-cache-elsewhere-is-not-noticed $group 's/exchange_n\(&host_caches, true/exchange_n(\&host_caches, false/' \
    host_kv refused tiny f16
mutant a-converted-cache-is-not-followed $group 's/if \(is_operation\(tensor, "CPY"\) .*/if (false)/' host_kv refused tiny f32
mutant one-head-is-refused $group 's/return tensor->ne\[2\] > 1 && /return /' host_kv right one f16
mutant scratch-counts-as-cache $buffer 's/return named && tensor->op == GGML_OP_NONE && /return named \&\& /' \
    host_kv refused tiny f32

# --- contexts, threads and memory ----------------------------------------------------------------------------------------------

mutant one-group-for-all $group \
    's/struct lg_group \*group = calloc\(.*\);/static struct lg_group all, *group = \&all;/; s/^    free\(group\);//' \
    context two tensor 2
mutant the-caller-stays-pinned $stream 's/^ +syscall\(SYS_sched_setaffinity, 0, .*//' context affinity tensor 2
mutant closing-leaves-the-caller-pinned $stream \
    '/^static void (free_backend|synchronize)/,/^}/s/^ +lg_stream_unpin_caller\(\);/;/' \
    context affinity tensor 2
mutant a-thread-that-is-gone-is-waited-for $stream \
    's/return syscall\(SYS_tgkill, .*/return stream->leader_tid;/' context gone tensor 2
lost='s/^(ggml_backend_t lg_stream_open.*)$/#include <sys\/mman.h>\n#include <unistd.h>\nvoid *lost;\n\1/'
lost="$lost; s/^    stream->device = device;$/&"
mutant a-context-leaves-a-few-bytes $stream "$lost lost = malloc(1);/" nothing_left layer
mutant a-context-leaves-a-page $stream "$lost lost = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);/" \
    nothing_left layer
mutant a-context-leaves-a-file $stream "$lost (void)dup(2);/" nothing_left tensor
mutant a-stream-is-left $stream '/^static void close_stream/,/^}/s/^    free\(stream\);/;/' nothing_left layer
mutant a-group-is-left $group 's/^    free\(group\);/;/' nothing_left tensor
if [ -n "$pinned" ]; then
    mutant a-pool-without-its-thread-is-freed $stream 's/if \(!stream->broken\)/if (true)/' two_threads_gone
    mutant threads-are-not-pinned $stream "$unpinned" context pinned tensor 2
    mutant the-caller-is-not-pinned $stream 's/ && locus_pin_cpu\(cpu\) == 0//' context pinned tensor 2
    mutant both-devices-have-one-cpu placement/ggml/place.c \
        's/unsigned first = share \* cores/unsigned first = 0 * share * cores/' \
        context pinned tensor 2
fi
mutant a-stranger-joins-a-group placement/ggml/group.c \
    's/^        if \(!lg_stream_of\(backends\[i\]\)\)$/        if (false)/' context mixed tensor 2
mutant clear-does-not-clear $buffer 's/^    if \(value \|\| !gives_back \|\| .*/    if (value)/' context cleared layer 1
export LOCUS_KV=static
mutant clear-stops-early $buffer 's/memset\(base, value, bytes\);/memset(base, value, 4096);/' context cleared layer 1
unset LOCUS_KV

# --- two nodes -----------------------------------------------------------------------------------------------------------------

# In the guest: for each backend in /with, are all pages where its devices are, and its threads, too?
cat >"$scratch/there.sh" <<'END'
engine=/locus/build/engine/lib
export LD_LIBRARY_PATH=$engine LOCUS_THREADS=1 # for the program that was built in another place
pages() { # words for locus-llama: lines NODE RESIDENT THERE
    locus-llama --quiet --model /with/tiny.gguf --prompt 64 --steps 4 "$@" | sed -n '/"regions decoded"/,$p' |
        sed -n 's/.*"node": \([0-9]*\),.*"resident": \([0-9]*\),.*"on": \[\(.*\)\].*/\1 \2 \3/p' | tr -d ,
}
for plugin in /with/node-*.so; do
    export GGML_BACKEND_PATH=$plugin
    told=
    both=$(pages --devices LOCUS0,LOCUS1 --split tensor | awk '$2 != $(3 + $1) { print "elsewhere" }' | sort -u)
    one=$(pages --devices LOCUS1 --split layer | awk '$1 != 1 { print "other" }' | sort -u)
    count=$(pages --devices LOCUS0,LOCUS1 --split tensor | awk '$2 > 0' | wc -l)
    cpus=$(/with/contexts $engine pinned /with/tiny.gguf tensor 2 2>&1)
    [ "$count" -ge 4 ] || told="$told few-regions"
    [ -z "$both" ] || told="$told pages-elsewhere"
    [ -z "$one" ] || told="$told other-node"
    case $cpus in # n2 has CPUs 0 and 1 on node 0
    'LOCUS0 on CPU '[01]', LOCUS1 on CPU '[23]', so it is') ;;
    *) told="$told cpus" ;;
    esac
    echo "$(basename $plugin .so):$told"
done
END

two_nodes() {
    cp "$build/libggml-locus.so" "$scratch/node-control.so"
    broken node-1 $buffer \
        's/^    int err = there \?(.*)$/    buffer->config.node ^= 1;\n    int err = there ?\1\n    buffer->config.node ^= 1;/' &&
        broken node-2 $buffer 's/\.node = memory->node,/.node = memory->node ^ 1,/' &&
        broken node-3 $buffer 's/\.policy = memory->policy,/.policy = LOCUS_POLICY_FIRST_TOUCH,/' &&
        broken node-4 $stream "$unpinned" || return
    local with=() file
    for file in "$build/locus-llama" "$contexts" "$scratch/tiny.gguf" "$scratch"/node-*.so \
        "$engine"/lib/lib{llama.v*,ggml.v*,ggml-base,ggml-cpu-x64,ggml-cpu-haswell}.so; do
        with+=(--with "$file")
    done
    sh testbed/guest/boot.sh --machine n2 --no-record "${with[@]}" -- "$scratch/there.sh" >"$out" 2>"$err" ||
        { fail 'the emulated machine' "$(tail -n 1 "$err")"; return; }
    names_it control ' *' && names_it 1 '.* pages-elsewhere.*' && names_it 2 '.* other-node.*' &&
        names_it 3 '.* pages-elsewhere.*' && names_it 4 '.* cpus.*'
}
names_it() { # mutant, what is told of it
    holds "in the machine of two nodes: backend node-$1" "$(grep "^node-$1:" "$out")" grep -qx "node-$1:$2" "$out"
}
if line=$(sh testbed/guest/or-skip.sh 'pages and CPUs on two nodes') && [ "$(uname -m)" = x86_64 ]; then
    two_nodes
else
    skip 'pages and CPUs on two nodes' "${line##*# SKIP }"
fi

done_testing
