#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all
#
# policies_mutants.sh: are the tests of the policies that only the testbed has any good? placement/tests/mutants.bash has the
# method.
. "$(dirname "$0")/../../placement/tests/mutants.bash"

sanitizers=none # no program is a litmus
mutants_begin placement/{base,evict}/*.c placement/adapter/{adapter_policy,ranks,order,policies/*}.c \
    testbed/workload/cache/{evict_*,ghosts,heap}.c testbed/serving/adapters/resident*.c
controls evicts_test residents_test

# --- of retention --------------------------------------------------------------------------------------------------------------

cache=testbed/workload/cache
mutant fifo-forgets-when-it-came $cache/evict_fifo.c evicts_test 's/if \(fresh\)/if (1)/'
mutant lfu-counts-from-the-start $cache/evict_lfu.c evicts_test 's/if \(fresh\)/if (lfu->count[block] == 0)/'
mutant lfu-equals-by-number $cache/evict_lfu.c evicts_test 's/lfu->keeps\+\+\}/block}/'
mutant arc-does-not-learn $cache/evict_arc.c evicts_test 's/arc->p \+= once >= often \? 1 : often \/ once;/;/'
mutant arc-learns-one-way $cache/evict_arc.c evicts_test 's/arc->p -= often >= once \? 1 : once \/ often;/;/'
mutant arc-without-case-4 $cache/evict_arc.c evicts_test 's/^        forget\(arc\);/        ;/'
mutant arc-missed-often-does-not-count $cache/evict_arc.c evicts_test 's/arc->missed_often && once == arc->p/0/'
mutant arc-what-comes-back-is-new $cache/evict_arc.c evicts_test 's/fresh && !ghost \? ONCE : OFTEN/fresh ? ONCE : OFTEN/'
mutant s3fifo-nothing-comes-back $cache/evict_s3fifo.c evicts_test 's/return ghost;/return false;/'
mutant s3fifo-small-without-bound $cache/evict_s3fifo.c evicts_test 's/10 \* \(uint64_t\)s3->small\.count < share/0/'
mutant s3fifo-once-is-enough $cache/evict_s3fifo.c evicts_test 's/freq <= 1\)/freq == 0)/'
mutant s3fifo-main-goes-at-once $cache/evict_s3fifo.c evicts_test 's/ && s3->block\[block\]\.freq > 0\)/ \&\& 0)/'
mutant ghosts-without-bound $cache/evict_s3fifo.c evicts_test 's/count\[LEFT\] > ghosts_max\(s3\)/count[LEFT] > ghosts_max(s3) + 1/'
mutant ghosts-the-newest-goes $cache/ghosts.c evicts_test \
    's/TAILQ_INSERT_TAIL\(&ghosts->queue\[queue\]/TAILQ_INSERT_HEAD(\&ghosts->queue[queue]/'
mutant ghosts-of-any-id $cache/ghosts.c evicts_test 's/ && !locus_id_equal\(ghost->id, id\)\)/ \&\& 0)/'
mutant ghosts-are-not-counted-off $cache/ghosts.c evicts_test 's/ghosts->count\[ghost->queue\]--;//'
mutant heap-without-rise $cache/heap.c evicts_test 's/^        rise\(heap, place, last\);/        put(heap, place, last);/'
mutant heap-without-sink $cache/heap.c evicts_test 's/^        sink\(heap, place, last\);/        put(heap, place, last);/'
mutant heap-second-does-not-count $cache/heap.c evicts_test 's/: x->second < y->second/: a < b/'

# --- of residency --------------------------------------------------------------------------------------------------------------

adapters=testbed/serving/adapters resident=testbed/serving/adapters/resident.c
mutant equal-ranks-have-no-turns $resident residents_test 's/: a\.turn < b\.turn/: 0/'
mutant anybody-makes-room $resident residents_test 's/if \(below\(ranks\[places->list\[place\]\[i\]\], ranks\[least\]\)\)/if (0)/'
mutant room-is-not-seen $resident residents_test 's/places->count\[place\] < places->most\[place\] \|\| //'
mutant who-ranks-lower-comes-in $resident residents_test \
    's/ \|\| below\(ranks\[lowest\(places, ranks, place\)\], ranks\[adapter\]\)/ || 1/'
mutant hot-ones-are-thrown-out $resident residents_test '/if \(full\)/,+1s/LOCUS_ADAPTER_WARM\)/LOCUS_ADAPTER_COLD)/'
mutant warm-overflows $resident residents_test 's/if \(places->count\[LOCUS_ADAPTER_WARM\] > .*/if (0)/'
mutant moves-from-anywhere $resident residents_test 's/\{adapter, from, to\}/{adapter, LOCUS_ADAPTER_COLD, to}/'
mutant frequency-counts-no-use $adapters/resident_frequency.c residents_test 's/ranks\[adapter\]\.rank\+\+;/ranks[adapter].rank;/'
mutant the-floor-does-not-rise $adapters/resident_cost.c residents_test 's/cost->floor = cost->ranks\[left\]\.rank;/;/'
mutant uses-outlive-the-cold $adapters/resident_cost.c residents_test 's/cost->uses\[adapter\] = 0;/;/'
mutant uses-grow-for-ever $adapters/resident_cost.c residents_test 's/cost->uses\[adapter\] < USES_MOST;/1;/'
mutant what-costs-nothing-has-no-rank $adapters/resident_cost.c residents_test 's/ns == 0 \? 1 : //'
mutant great-costs-are-cut-short $adapters/resident_cost.c residents_test \
    's/ns < UINT32_MAX \? \(uint32_t\)ns : UINT32_MAX/(uint32_t)ns/'
mutant the-last-numbers-are-fixed $adapters/resident_fixed.c residents_test \
    's/places, i, i < config->hot/places, config->adapters - 1 - i, i < config->hot/'
mutant a-use-of-a-fixed-one-counts $adapters/resident_fixed.c residents_test \
    's/\(void\)state, \(void\)now_ns, \(void\)adapter;/(void)now_ns; tb_places_move(state, adapter, LOCUS_ADAPTER_COLD);/'
mutants_end
