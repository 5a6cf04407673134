#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all
#
# nodes_mutants.sh: are the tests of the flagship any good? placement/tests/mutants.bash has the method.
#
# Left out are mutants that only a machine of two nodes can distinguish, and the memory orders of `asleep` (nodes/station.h),
# which both sides exchange: none of our tools notices when they are weakened. The purpose of the exchange is tested here.
. "$(dirname "$0")/../../placement/tests/mutants.bash"

mutants_begin topo/*.c placement/{base,evict,memory,tier,tier/file,blocks,blocks/pools,sharing,domain}/*.c \
    testbed/contenders/{homes,unsteered,malloc,malloc_nodes}.c \
    testbed/measure/{dispatch,engine,watch,sample,contender,contender_list,decoding/{process,available},peers/peer}.c \
    testbed/measure/clocked/clocked.c \
    testbed/measure/{nodes,locality}/*.c \
    testbed/{stats/stats,base/{cli,cpus/cpus,file,nearest,words},engine/arm,strategies/strategy,serving/policy}.c \
    testbed/measure/pins/way.c testbed/stats/latency.c testbed/serving/adapters/{batcher,resident}*.c \
    placement/pages/*.c placement/pages/scores/*.c \
    placement/adapter/{adapter_policy,ranks,order,policies/*}.c testbed/workload/{schedule,why,cache/*}.c \
    testbed/decode/*.c testbed/decode/{acts,copies,kernels,layouts}/*.c testbed/loops/*.c \
    testbed/counters/{cpu_id,parts,pfm,resolve,tables_intel,tables_others,thread}.c
controls station_litmus unsteered_litmus nodes_stress nodes_station_test nodes_books_test nodes_judge_test nodes_contenders_test \
    locality_look_test arm_test

station=testbed/measure/nodes/station.c worker=testbed/measure/nodes/worker.c books=testbed/measure/nodes/books.c
judge=testbed/measure/nodes/judge.c
unsteered=testbed/contenders/unsteered.c locality=testbed/measure/locality/locality.c arm=testbed/measure/contender.c

# --- memory orders, and sleep --------------------------------------------------------------------------------------------------

mutant F1-finished-relaxed $worker station_litmus '/\/\/ F1$/s/memory_order_release/memory_order_relaxed/'
mutant F2-settle-relaxed $station station_litmus '/\/\/ F2$/s/memory_order_acquire/memory_order_relaxed/'
mutant G1-arrive-relaxed $station station_litmus '/\/\/ G1$/s/memory_order_release/memory_order_relaxed/'
mutant G2-pass-relaxed $station station_litmus '/\/\/ G2$/s/memory_order_acquire/memory_order_relaxed/'
mutant U1-put-away-relaxed $unsteered unsteered_litmus '/\/\/ U1$/s/memory_order_release/memory_order_relaxed/'
mutant U2-home-relaxed $unsteered unsteered_litmus '/\/\/ U2$/s/memory_order_acquire/memory_order_relaxed/'
mutant parcel-read-after-hand-back $worker station_litmus \
    's/^( +)next = link->next; .*//; s/^( +)(atomic_fetch_add.*F1)$/\1\2\n\1next = link->next;/'
mutant asleep-is-stored-not-exchanged $worker nodes_stress \
    '/asleep, 1, /s/exchange_explicit\(.*\)/store_explicit(\&worker->asleep, 1, memory_order_release)/'
mutant sender-wakes-nobody $worker nodes_stress 's/if \(may_sleep && /if (false \&\& /'
mutant worker-sleeps-without-a-second-look $worker nodes_stress 's/if \(locus_mailbox_empty\(&worker->inbox\) && /if (/'
mutant stop-wakes-nobody $worker nodes_stress '/^void tb_node_worker_stop/,/^}/s/^ +syscall.*/;/'

# --- who finishes what, and that nobody waits for ever -------------------------------------------------------------------------

mutant share-is-never-used-up $station nodes_station_test '/self->cross_turn -= 100;/d'
mutant share-is-one-short $station nodes_station_test 's/self->cross_turn < 100/self->cross_turn <= 100/'
mutant crosses-to-the-next-one-only $station nodes_station_test 's/self->away_turn % \(run->count - 1\) \+ 1/1/'
mutant one-turn-for-all-workers $station nodes_station_test 's/worker_turn\[to->number\]/worker_turn[0]/'
mutant serves-before-it-may $station nodes_station_test 's/^        if \(self->entered\)$/        if (true)/'
mutant failed-start-is-ignored $station nodes_station_test 's/error = error \? error : run->stations\[i\]\.error;/;/'
mutant later-error-hides-the-first $station nodes_station_test 's/if \(!error \|\| self->error\)/if (!error)/'
mutant lost-request-is-waited-for $station nodes_station_test 's/self->gave_up = .*/;/'
mutant failed-station-serves-nobody $station nodes_station_test 's/if \(self->entered\)/if (self->entered \&\& !self->error)/'
mutant stations-write-the-same $station nodes_station_test 's/\(uint64_t\)self->number << 60/(uint64_t)0/; s/self->number \* 31/0/'
mutant damage-unseen $station nodes_station_test 's/self->damaged \+= /(void)/'

# --- what is counted -----------------------------------------------------------------------------------------------------------

mutant timed-laps-are-counted $station nodes_station_test 's/run->counting = false;/;/'
mutant frees-are-not-noted $worker nodes_station_test 's/^ +tb_books_finishing.*/;/'
mutant writes-are-not-noted $station nodes_station_test 's/^ +tb_books_written.*/;/'
mutant curve-has-one-point $station nodes_station_test '/steps_per_point == 0/,/tb_books_step/s/tb_books_step\(.*/;/'
mutant map-is-one-step-old $books nodes_books_test 's/int error = tb_locality_look\(.*/int error = 0;/'
mutant free-is-kept-by-who-frees $books nodes_books_test 's/addresses\[i\], kept_on\);/addresses[i], TB_LOCALITY_HERE);/'
mutant silence-is-taken-for-a-claim $books nodes_books_test 's/kept_on = TB_LOCALITY_UNKNOWN;/kept_on = TB_LOCALITY_HERE;/'
mutant local-frees-are-never-abroad $books nodes_books_test 's/return sums\.local \+ sums\.remote;/return sums.remote;/'
mutant old-blocks-are-noted-again $books nodes_books_test 's/^    for \(uint32_t count; first < table->count/    first = 0;\n&/'
mutant first-batch-only $books nodes_books_test 's/first < table->count; first \+= count/first < BATCH; first += count/'
mutant refusal-of-the-page-map-is-lost $books nodes_books_test 's/books->error = .*/(void)error;/'
mutant points-do-not-add-up $books nodes_books_test 's/points\[p\]\.allocated \+= /points[p].allocated = /'
mutant pages-behind-the-first-are-not-asked-about $locality locality_look_test \
    '/^int tb_locality_look/,/^}/s/number <= end/number <= end \&\& number == (uintptr_t)addresses[i] >> locality->page_shift/'
mutant look-ends-with-its-first-question $locality locality_look_test \
    '/^int tb_locality_look/,/^}/s/^( +)result = look_now\(locality, &look\);/\1return look_now(locality, \&look);/'
mutant moved-pages-stay-where-they-were $locality locality_look_test '/^static int look_now/,/^}/s/\*node = fresh;/;/'
mutant refusal-is-passed-over $locality locality_look_test '/^int tb_locality_look/,/^}/s/return result \? result : /return /'
mutant touched-looks-at-one-word $locality locality_look_test \
    '/^bool tb_locality_touched/,/^}/s/return false;/return false;\n        else\n            break;/'

# --- the gates -----------------------------------------------------------------------------------------------------------------

mutant strict-pool-may-lie-elsewhere $judge nodes_judge_test 's/else if \(row->elsewhere\)/else if (false)/'
mutant strict-pool-may-be-absent $judge nodes_judge_test 's/row->present != row->pages/false/'
mutant witnesses-may-disagree $judge nodes_judge_test 's/row->maps_read && !row->maps_agree/false/'
mutant placement-unasked-before $judge nodes_judge_test 's/strictly_placed\(run, sample->nodes\.before, "before", why, n\)/true/'
mutant placement-unasked-after $judge nodes_judge_test 's/strictly_placed\(run, sample->nodes\.after, "after", why, n\)/true/'
mutant placement-of-the-first-pool-only $judge nodes_judge_test 's/s < sample->placements/s < 1/'
mutant balancing-may-work $judge nodes_judge_test 's/if \(run->migrates \|\| /if (true || run->migrates || /'
mutant balancing-may-scan $judge nodes_judge_test 's/sample->numa_pte_updates == 0 && //'
mutant balancing-counts-since-boot $judge nodes_judge_test 's/sign < 0 \? -\(uint64_t\)value : /sign < 0 ? 0 : /'
mutant migrating-by-design-is-disturbed $judge nodes_judge_test 's/if \(run->migrates \|\| /if (/'
mutant unknown-touches-pass $judge nodes_judge_test 's/return !error && !unknown;/return !error;/'
mutant page-map-of-the-first-station-only $judge nodes_judge_test '/^static bool known/,/^}/s/s < run->count/s < 1/'
mutant homes-make-up-for-each-other $judge nodes_judge_test \
    's/audit->allocated != audit->freed/false/; s/station->retired != audit->drained/false/'
mutant workers-anywhere $judge nodes_judge_test 's/else if \(workers_error\(station\)\)/else if (false)/'
mutant unwritten-blocks-pass $judge nodes_judge_test 's/sample->touched_bytes != sample->touched_bytes_expected/false/'
mutant block-on-two-shelves-is-two $unsteered nodes_contenders_test 's/ \|\| all->seen\[number\]\)/)/'
mutant control-is-steered $unsteered nodes_contenders_test \
    's/shelves\[station\]->returned, &table/shelves[table->tag]->returned, \&table/'
mutant share-above-a-hundred $arm arm_test 's/0, 100, &share/0, 1000, \&share/'
mutant percent-of-a-path-is-a-share $arm arm_test '/^static int share_parse/,/^}/s/return strncmp.*/return -EINVAL;/'
mutant share-on-one-node $arm arm_test 's/ && arm->cross_percent == 0//'
mutant misplaced-on-one-node $arm arm_test 's/ && arm->fault != TB_FAULT_MISPLACE//'
mutants_end
