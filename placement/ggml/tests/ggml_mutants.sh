#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all
#
# ggml_mutants.sh: are the tests of bell and place any good? placement/tests/mutants.bash has the method. What needs an engine is in
# testbed/engine/tests/engine_mutants.sh.
. "$(dirname "$0")/../../tests/mutants.bash"

mutants_begin topo/*.c placement/{base,memory}/*.c placement/ggml/{bell,place}.c
controls bell_litmus bell_stress place_test
bell=placement/ggml/bell.c place=placement/ggml/place.c

# --- bell ----------------------------------------------------------------------------------------------------------------------

mutant B1-ring-relaxed $bell bell_litmus '/\/\/ B1$/s/__ATOMIC_RELEASE/__ATOMIC_RELAXED/'
mutant B2-reached-relaxed $bell bell_litmus '/^bool lg_bell_reached/,/^}/s/__ATOMIC_ACQUIRE/__ATOMIC_RELAXED/'
mutant B2-wait-relaxed $bell bell_litmus '/^int lg_bell_wait/,/^}/s/__ATOMIC_ACQUIRE/__ATOMIC_RELAXED/'
mutant wake-leaves-the-bit $bell bell_stress 's/^ +__atomic_fetch_and\(.*//'
mutant wake-wakes-one $bell bell_stress 's/FUTEX_WAKE, INT32_MAX/FUTEX_WAKE, 1/'
mutant ring-wakes-nobody $bell bell_stress 's/if \(!\(before & ASLEEP\)\)/if (true || before)/'
mutant ring-loses-the-bit $bell bell_stress \
    's/uint32_t before = .*B1$/uint32_t before = bell->word \& ~1u;\n__atomic_store_n(\&bell->word, before + 2, __ATOMIC_RELEASE);/'
mutant sleeper-sets-no-bit $bell bell_stress 's/&word, word \| ASLEEP, false/\&word, word, false/'
# The gap is an instant, which a busy machine may not meet in a minute: here it lasts 50 us.
mutant sleeper-overwrites-the-count $bell bell_stress \
    's/!__atomic_compare_exchange_n\(.*\)\)$/(usleep(1), __atomic_store_n(\&bell->word, word | ASLEEP, __ATOMIC_RELAXED), false))/'
mutant never-sleeps $bell bell_stress 's/else if \(ns > until_ns\)/else if (ns == 0)/'
mutant counts-do-not-wrap $bell bell_stress \
    's/return \(int32_t\)\(\(word/return (int64_t)(word/; s/~ASLEEP\) - count \* ONE\) >= 0/~ASLEEP) - (int64_t)(count * ONE) >= 0/'
mutant bit-counts $bell bell_stress 's/return \(int32_t\)\(\(word & ~ASLEEP\)/return (int32_t)((word + 1)/'
mutant dead-partner-is-believed-alive $bell bell_stress 's/ && !alive\(context\)/ \&\& !alive(context) \&\& false/'
mutant nobody-is-asked $bell bell_stress 's/alive \? &second : NULL/alive ? NULL : NULL/'
mutant asked-at-each-turn $bell bell_stress 's/\) && errno == ETIMEDOUT \&\& /) >= -1 \&\& alive \&\& /'

# --- place ---------------------------------------------------------------------------------------------------------------------

mutant siblings-before-cores $place place_test \
    's/for \(int rank = -1; rank < 8; rank\+\+\)/for (int rank = 7; rank >= -1; rank--)/'
mutant devices-share-the-first-cores $place place_test \
    's/unsigned first = share \* cores \/ rivals/unsigned first = 0 * share/'
mutant siblings-are-given-twice $place place_test 's/i = cores \+ share;/i = cores;/'
mutant second-device-has-the-nodes-cpus $place place_test 's/share \+= j < i && /share += 0 \&\& /'
mutant devices-without-a-cpu $place place_test 's/^ +place->cpus\[place->cpus_count\+\+\] = cpus\[share % cores\];/;/'
mutant threads-are-cut-in-silence $place place_test 's/if \(place->cpus_count < threads\) \{/if (false) {/'
mutant threads-are-ignored $place place_test 's/\(!threads \|\| place->cpus_count < threads\)/true/'
mutant cpus-in-the-order-given $place place_test 's/^ +qsort\(.*//'
mutant list-may-end-in-a-comma $place place_test "s/\\(\\*end != ',' \\|\\| !end\\[1\\]\\)/*end != ','/"
mutant list-may-have-signs $place place_test "s/\\*\\*at < '0' \\|\\| \\*\\*at > '9' \\|\\| //"
mutant memory-without-cpus-computes $place place_test \
    's/return node->kind == LOCUS_NODE_DRAM && /return node->kind != LOCUS_NODE_EMPTY \&\& /'
mutant seventeen-devices $place place_test 's/places_count == LG_DEVICES_MAX\)/places_count > LG_DEVICES_MAX)/'
mutant cpus-that-are-not-allowed $place place_test 's/bool any = is_described\(topo\);/bool any = true;/'
mutant empty-is-a-word $place place_test 's/if \(!value \|\| !\*value\)$/if (!value)/'
mutant kv-by-default-on-one-node $place place_test 's/!\(list && \*list\); i\+\+/i < 0; i++/'
mutant kv-prefers-all-nodes $place place_test 's/if \(out->policy == LOCUS_POLICY_PREFERRED/if (false/'
mutants_end
