#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all
#
# decode_mutants.sh: are the tests of attention on paged memory any good? placement/tests/mutants.bash has the method.
#
# Most mutants of the vector kernels are in the body that all of them share; a kernel that this machine cannot run has none.
. "$(dirname "$0")/../../placement/tests/mutants.bash"

mutants_begin topo/*.c placement/base/*.c testbed/loops/*.c testbed/decode/{attend,cache,dtype,kernel,shape,team}.c \
    testbed/decode/{kernels,layouts}/*.c
controls attend_test value_test team_litmus team_stress

attend=testbed/decode/attend.c cache=testbed/decode/cache.c team=testbed/decode/team.c
value=testbed/decode/dtype.c body=testbed/decode/kernels/vector_body.h scalar=testbed/decode/kernels/scalar.c

# --- where things lie ----------------------------------------------------------------------------------------------------------

mutant position-off-by-one $attend attend_test \
    's/(place->k = tb_cache_k\(cache, block, place->head), token/\1, (token + 1) % cache->block_tokens/'
mutant v-for-k $attend attend_test 's/place->k = tb_cache_k\(/place->k = tb_cache_v(/'
mutant last-block-in-full $attend attend_test 's/left < TB_TILE_TOKENS \? left : TB_TILE_TOKENS/TB_TILE_TOKENS/'
mutant same-block-again $attend attend_test 's/call->layer, number\);/call->layer, number \& ~1u);/'
mutant last-head-is-left-out $attend attend_test 's/\+\+next\.head ==/++next.head + 1 >=/'
mutant next-head-goes-on-where-the-last-ended $attend attend_test \
    '/next\.position >= next\.end/,/if/s/next\.position = next\.first;/;/'
mutant span-is-left-out $attend attend_test 's/next\.first = next\.end;/next.first = next.end + TB_TILE_TOKENS;/'
mutant part-ends-a-tile-early $attend attend_test \
    's/tiles \* who \/ count \* TB_TILE_TOKENS/(tiles * who \/ count - (who == count)) * TB_TILE_TOKENS/'
mutant append-writes-the-next-token $cache attend_test \
    's/token = position % cache->block_tokens/token = (position + 1) % cache->block_tokens/'
mutant columns-are-written-as-rows $cache attend_test 's/cache->k_value_bytes == bytes/true/'
mutant interleaved-has-longer-runs testbed/decode/layouts/interleaved.c attend_test 's/return tokens;/return 2 * tokens;/'
mutant layers-overlap testbed/decode/layouts/tokens.c attend_test \
    's/cache->v_bytes = cache->shape.layers/cache->v_bytes = cache->shape.layers \/ 2/'

# --- softmax -------------------------------------------------------------------------------------------------------------------

mutant head-is-not-scaled $attend attend_test 's/float scale = 1 \/ sqrtf\(.*/float scale = 1;/'
mutant parts-are-merged-unweighted $attend attend_test 's/float scale = expf\(part.*/float scale = 1;/'
mutant part-is-not-cleared $attend attend_test '/^static void part_clear/,/^}/s/^ +memset.*//'
mutant scalar-without-maximum $scalar attend_test \
    's/expf\(score\[token\] - max\)/expf(score[token])/; s/expf\(gather->max\[query\] - max\)/1/'
mutant scalar-keeps-what-weighs-less $scalar attend_test 's/float scale = expf\(.*/float scale = 1;/'

# --- values, and the team ------------------------------------------------------------------------------------------------------

mutant halves-are-cut-off $value value_test 's/ \+ 0xfff \+ \(rest >> 13 & 1\)//'
mutant half-to-the-odd-one $value value_test 's/0xfff \+ \(rest >> 13 & 1\)/0x1000/'
mutant small-halves-are-zero $value value_test 's/bits_of\(float_of\(rest\) \+ 0\.5f\) - bits_of\(0\.5f\)/0/'
mutant large-halves-are-the-largest $value value_test 's/sign \| 0x7c00\)/sign | 0x7bff)/'
mutant bf16-is-cut-off $value value_test 's/\(bits \+ 0x7fff \+ \(bits >> 16 & 1\)\) >> 16/bits >> 16/'
mutant bf16-to-the-odd-one $value value_test 's/0x7fff \+ \(bits >> 16 & 1\)/0x8000/'
mutant R1-job-relaxed $team team_litmus '/\/\/ R1$/s/memory_order_release/memory_order_relaxed/'
mutant R2-see-relaxed $team team_litmus '/\/\/ R2$/s/memory_order_acquire/memory_order_relaxed/'
mutant D1-done-relaxed $team team_litmus '/team->work\(team->context/,/^}/s/memory_order_release/memory_order_relaxed/'
mutant D2-all-done-relaxed $team team_litmus '/\/\/ D2$/s/memory_order_acquire/memory_order_relaxed/'
mutant one-is-not-waited-for $team team_stress 's/!= team->started;/+ 1 < team->started;/'
mutant done-is-not-set-back $team team_stress 's/^ +atomic_store_explicit\(&team->done, 0.*/;/'
mutant pinning-may-fail $team team_stress 's/error = error \? error : atomic_load_explicit\(&team->error.*/;/'

# --- the vector kernels --------------------------------------------------------------------------------------------------------

mutant scores-of-the-next-token $body attend_test \
    's/part->tile\.k \+ token \* token_bytes/part->tile.k + (token ^ 1) * token_bytes/'
mutant last-tile-has-no-end $body attend_test 's/i = part->tile\.tokens \* queries; i < floats/i = floats; i < floats/'
mutant last-tile-is-not-copied $body attend_test 's/if \(tile->tokens < TB_TILE_TOKENS\)/if (false)/'
mutant last-tile-of-columns-is-not-narrowed $body attend_test 's/part->k_value_bytes = TB_TILE_TOKENS \* bytes;/;/'
mutant without-maximum $body attend_test \
    's/exponential\(load_f32\(part->weight \+ i\) - max\)/exponential(load_f32(part->weight + i))/'
mutant maximum-of-a-part-of-the-lanes $body attend_test 's/max = most\(swap\(max, distance\), max\)/;/'
mutant what-was-gathered-is-not-scaled $body attend_test 's/\* all\(scale\)/* all(1)/'
mutant sum-is-not-scaled $body attend_test 's/gather->sum\[query\] \*= scale;/;/'
mutant exponential-of-fewer-terms $body attend_test 's/all\(8\.3334519073e-3f\)/all(0)/'
mutant exponential-without-an-end $body attend_test 's/x = most\(all\(-88\), x\);//'
mutant seventh-query-is-left-out $body attend_test \
    's/count = queries < left \? queries : left;/count = queries < left ? queries : left - (left == 7);/'
if grep -q avx512f /proc/cpuinfo; then
    # AVX2 takes all dimensions two vectors at a time, of which a head has a whole number.
    mutant last-dims-are-left-out $body attend_test '/^FN void values_of_tile/,/^}/s/if \(dim < dims\)/if (dim + WIDTH < dims)/'
    mutant twins-are-not-taken-apart $attend attend_test 's/acc\[call->attention->place\[dim\]\]/acc[dim]/'
    mutant lanes-change-places testbed/decode/kernels/avx512_ops.h attend_test \
        's/fold\(quarters\(v\), quarters\(v \+ 4\)\)/fold(quarters(v + 4), quarters(v))/'
fi
if grep -q avx2 /proc/cpuinfo; then
    mutant a-half-of-the-sum testbed/decode/kernels/avx2_ops.h attend_test 's/(low, high, 0x20\)) \+ .*/\1;/'
fi
mutants_end
