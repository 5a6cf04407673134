#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all
#
# mutants.sh: are the tests of the library, and of the testbed's dispatch and queues, any good? mutants.bash has the method.
. "$(dirname "$0")/mutants.bash"

mutants_begin topo/*.c placement/{base,evict,memory,tier,tier/{file,demote},blocks,blocks/pools,sharing,domain}/*.c \
    testbed/measure/dispatch.c
controls mailbox_litmus lane_order_litmus table_pending_litmus owner_role_litmus spawn_litmus counters_litmus domain_litmus \
    ring_litmus lane_litmus rings_litmus handle_queue_litmus mailbox_test lane_test pool_test pool_handles_test pool_runs_test \
    table_test owner_test owner_drop_test owner_lane_test owner_role_test where_test window_test region_windows_test \
    domain_test domain_borrow_test \
    domain_health_test domain_nodes_test pool_stress homes_stress backpressure_stress domain_stress ring_stress share_test \
    prefix_test prefix_id_test prefix_check_test prefix_offload_test offload_test reservation_test share_stress \
    reservation_stress domain_share_test

# --- memory orders -------------------------------------------------------------------------------------------------------------

mailbox=placement/include/locus/lane.h owner=placement/blocks/owner.c table=placement/blocks/table.c pool=placement/blocks/pool.c
drains=placement/blocks/owner_drain.c thread=placement/blocks/owner_thread.c lanes=placement/include/locus/lane.h
inlined=placement/include/locus/inline.h taken=placement/include/locus/inline.h
runs=placement/blocks/pools/runs.c report=placement/blocks/pool_report.c
borrow=placement/domain/domain_borrow.c domain=placement/domain/domain.c
health=placement/domain/domain_health.c
ring=testbed/measure/dispatch.h worker=testbed/measure/dispatch.c lane=testbed/contenders/counting.h
rings=testbed/contenders/rings.h handles=testbed/contenders/handle_queue.h

mutant P1-push-relaxed $mailbox mailbox_litmus '/\/\/ P1$/s/__ATOMIC_RELEASE/__ATOMIC_RELAXED/'
mutant T1-take-relaxed $mailbox mailbox_litmus '/\/\/ T1$/s/__ATOMIC_ACQUIRE/__ATOMIC_RELAXED/'
mutant V1-sent-relaxed $lanes lane_order_litmus '/\/\/ V1$/s/__ATOMIC_RELEASE/__ATOMIC_RELAXED/'
mutant V2-received-relaxed $lanes lane_order_litmus '/\/\/ V2$/s/__ATOMIC_ACQUIRE/__ATOMIC_RELAXED/'
mutant D2-pending-relaxed $drains table_pending_litmus '/\/\/ D2$/s/__ATOMIC_ACQ_REL/__ATOMIC_RELAXED/'
mutant D2-pending-acquire-only $drains table_pending_litmus '/\/\/ D2$/s/__ATOMIC_ACQ_REL/__ATOMIC_ACQUIRE/'
mutant D2-pending-release-only $drains table_pending_litmus '/\/\/ D2$/s/__ATOMIC_ACQ_REL/__ATOMIC_RELEASE/'
mutant O1-leave-relaxed $owner owner_role_litmus '/\/\/ O1$/s/__ATOMIC_RELEASE/__ATOMIC_RELAXED/'
mutant O2-adopt-relaxed $owner owner_role_litmus '/\/\/ O2$/s/__ATOMIC_ACQUIRE/__ATOMIC_RELAXED/'
mutant S1-thread-given-relaxed $thread spawn_litmus '/\/\/ S1$/s/memory_order_release/memory_order_relaxed/'
mutant S2-thread-taken-relaxed $thread spawn_litmus '/\/\/ S2$/s/memory_order_acquire/memory_order_relaxed/'
mutant L1-answer-relaxed $borrow domain_litmus '/\/\/ L1$/s/memory_order_release/memory_order_relaxed/'
mutant L2-look-relaxed $borrow domain_litmus '/\/\/ L2$/s/memory_order_acquire/memory_order_relaxed/'
mutant L3-loan-done-relaxed $borrow domain_litmus '/\/\/ L3$/s/memory_order_release/memory_order_relaxed/'
mutant R1-send-relaxed-spin $ring ring_litmus '/\/\/ R1$/s/memory_order_release/memory_order_relaxed/'
mutant R1-send-relaxed-futex $ring ring_litmus '/\/\/ R1, S1$/s/memory_order_seq_cst/memory_order_relaxed/'
mutant S1-send-without-fence $ring ring_stress '/\/\/ R1, S1$/s/exchange(.*)seq_cst/store\1release/'
mutant S2-sleep-without-fence $worker ring_stress '/asleep, 1, .*S2$/s/exchange(.*)seq_cst/store\1release/'
mutant R2-receive-relaxed $worker ring_litmus '/\/\/ R2$/s/memory_order_acquire/memory_order_relaxed/'
mutant W1-done-relaxed $worker ring_litmus '/\/\/ W1$/s/memory_order_release/memory_order_relaxed/'
mutant W2-idle-relaxed $ring ring_litmus '/\/\/ W2$/s/memory_order_acquire/memory_order_relaxed/'
mutant C1-requests-relaxed $lane lane_litmus '/requests_now, .*C1$/s/memory_order_release/memory_order_relaxed/'
mutant C1-blocks-relaxed $lane lane_litmus '/blocks_now, .*C1$/s/memory_order_release/memory_order_relaxed/'
mutant C2-requests-relaxed $lane lane_litmus '/requests, .*C2$/s/memory_order_acquire/memory_order_relaxed/'
mutant C2-blocks-relaxed $lane lane_litmus '/blocks, .*C2$/s/memory_order_acquire/memory_order_relaxed/'
mutant H1-tail-relaxed $rings rings_litmus '/\/\/ H1$/s/memory_order_release/memory_order_relaxed/'
mutant H2-arrived-relaxed $rings rings_litmus '/\/\/ H2$/s/memory_order_acquire/memory_order_relaxed/'
mutant H3-took-relaxed $rings rings_litmus '/\/\/ H3$/s/memory_order_release/memory_order_relaxed/'
mutant H4-room-relaxed $rings rings_litmus '/\/\/ H4$/s/memory_order_acquire/memory_order_relaxed/'
mutant ring-holds-one-too-many $rings rings_litmus 's/> ring->mask\)/> ring->mask + 1)/'
mutant Q1-sent-relaxed $handles handle_queue_litmus '/\/\/ Q1$/s/memory_order_release/memory_order_relaxed/'
mutant Q2-received-relaxed $handles handle_queue_litmus '/\/\/ Q2$/s/memory_order_acquire/memory_order_relaxed/'
mutant Q3-emptied-relaxed $handles handle_queue_litmus '/\/\/ Q3$/s/memory_order_release/memory_order_relaxed/'
mutant Q4-room-relaxed $handles handle_queue_litmus '/\/\/ Q4$/s/memory_order_acquire/memory_order_relaxed/'

for counter in counter_add:base/counters.h counter_set:base/counters.h pool_top_set:blocks/pool_internal.h; do
    mutant "${counter%:*}-is-a-plain-store" "placement/${counter#*:}" counters_litmus \
        "/inline void ${counter%:*}/,/^}/"'s/__atomic_store_n\(([^,]*), (.*), __ATOMIC_RELAXED\)/*(\1) = \2/'
done

# --- what the code does --------------------------------------------------------------------------------------------------------

mutant take-newest-first $mailbox mailbox_test 's/link->next = oldest_first;/oldest_first = oldest_first ? oldest_first : link;/'
mutant push-stale-next-after-failure $mailbox pool_stress \
    's/^    do \{/    link->next = (void *)(head \& ~LOCUS_MAILBOX_ALONE);\n    do {/; s/^        link->next = \(struct.*//'
mutant push-always-alone $mailbox mailbox_test 's/head \? 0 : LOCUS_MAILBOX_ALONE/LOCUS_MAILBOX_ALONE/'
mutant take-always-alone $mailbox mailbox_test 's/\*alone = false;//'
mutant ring-has-one-slot-too-many $lanes lane_test 's/RELAXED\) \+ LOCUS_LANE_SLOTS;/RELAXED) + LOCUS_LANE_SLOTS + 1;/'
mutant ring-is-never-full-again $lanes lane_test 's/ \|\| lane->sent == limit;/;/'
mutant ring-hides-that-it-may-be-full $lanes lane_test 's/bool last = [^;]*;/bool last = false;/'
mutant ring-says-full-one-message-late $lanes lane_test 's/turn \+ 1 == lane->limit/turn == lane->limit/'
mutant detour-ends-before-the-mailbox-is-empty $lanes lane_test \
    's/\(lane->detours && !locus_mailbox_empty\(&lane->mailbox\)\) \|\| //'
mutant detour-is-forgotten $lanes lane_test 's/lane->detours \? lane->sent : limit;/limit;/'
mutant detour-never-ends $lanes lane_test 's/\(lane->detours && !locus_mailbox_empty\(&lane->mailbox\)\)/lane->detours/'
mutant owner-never-tells-what-it-took $lanes lane_test 's/end->taken % LOCUS_LANE_ACK_EVERY == 0/false/'
mutant owner-tells-more-than-it-took $lanes lane_test \
    's/\(&lane->taken, end->taken, /(\&lane->taken, end->taken + LOCUS_LANE_ACK_EVERY, /'
mutant old-message-is-new $lanes lane_test 's/ \|\| \(message & LOCUS_LANE_PARITY\) != locus_lane_parity\(turn\)\)/)/'
mutant owner-looks-into-the-ring-alone $lanes lane_test \
    's/message & LOCUS_LANE_LAST \? LOCUS_LANE_FROM_BOTH : LOCUS_LANE_FROM_RING/LOCUS_LANE_FROM_RING/'
mutant owner-looks-everywhere-for-ever $lanes lane_test \
    's/message & LOCUS_LANE_LAST \? LOCUS_LANE_FROM_BOTH : LOCUS_LANE_FROM_RING/LOCUS_LANE_FROM_BOTH/'
mutant full-mailbox-is-empty $lanes lane_test 's/return end->source == LOCUS_LANE_FROM_RING \|\| .*/return true;/'
mutant lane-is-exclusive-twice $drains owner_lane_test 's/ \|\| mode == LOCUS_LANE_EXCLUSIVE\)\)/))/'
mutant mode-is-not-kept $drains owner_lane_test 's/\(before != mode \|\| /(/'
mutant exclusive-pusher-looks-into-the-table placement/include/locus/route.h owner_lane_test \
    's/if \(route->only && /if (table->push_to \&\& route->only \&\& table->homes \&\& !(table->push_to = 0) \&\& /'
mutant route-of-two-homes-has-one $drains owner_lane_test 's/bool one = [^;]*;/bool one = true;/'
mutant undeclared-table-comes-home $drains owner_lane_test 's/retired = table->state == LOCUS_TABLE_RETIRED;/retired = true;/'
mutant table-of-other-homes-comes-home $drains owner_lane_test 's/return !alone && table->push_to;/return false;/'
mutant ring-before-the-rest-of-a-mailbox $drains owner_lane_test 's/^    if \(!link\) \{/    if (true) {/'
mutant ring-is-not-looked-at-again $lanes lane_order_litmus 's/^    parcel = locus_lane_take\(lane, end\);.*/    (void)0;/'
mutant exclusive-lane-loses-its-ring $drains owner_lane_test \
    's/!= LOCUS_LANE_EXCLUSIVE\) \/\/ told/!= LOCUS_LANE_UNUSED) \/\/ told/'
mutant budget-without-effect $drains owner_lane_test 's/bool whole = left <= /bool whole = true || left <= /'
mutant budget-is-spent-once $drains owner_lane_test 's/arrival->budget -= .*/arrival->budget -= now > 1;/'
mutant budget-frees-from-the-front $drains owner_lane_test \
    's/blocks = table->blocks \+ left - now;/blocks = table->blocks + table->count - left;/'
mutant budget-forgets-its-table $drains owner_lane_test 's/^        owner->open = table;/        owner->open = NULL;/'
mutant budget-forgets-the-rest $drains owner_lane_test 's/owner->hot.unfinished = .*/owner->hot.unfinished = false;/'
mutant budget-hands-back-half-a-table $drains owner_lane_test 's/^    if \(!whole\)$/    if (false)/'
mutant budget-stays-with-one-lane $drains owner_lane_test 's/^    if \(budget && !arrival.budget\)$/    if (false)/'
mutant budget-divides-tables-of-a-ring $drains owner_lane_test 's/return pool->reuse != LOCUS_REUSE_FIFO && /return /'
mutant table-of-two-homes-comes-home-forwards $drains owner_lane_test 's/, forwards = [^;]*;/, forwards = true;/'
mutant open-table-is-drained-within-its-drain $drains owner_lane_test 's/^ +owner->open = NULL;/;/'
mutant drain-within-a-drain $drains owner_lane_test 's/if \(__builtin_expect\(owner->draining, 0\)\)/if (0)/'
mutant drain-of-an-ended-thread-goes-on $owner owner_role_test 's/owner->draining = false;.*/;/'
mutant drain-never-ends $drains owner_lane_test 's/owner->draining = false;/;/'
mutant grow-waits-within-a-drain $owner owner_lane_test 's/ \|\| owner->draining\)/)/'
mutant chunk-larger-than-the-room $pool pool_handles_test 's/ \&\& count <= pool->blocks - pool->hot.top;/;/'
mutant budget-divides-what-a-prefix-cache-knows $drains prefix_test 's/ && !pool->keeper;/;/'
mutant budget-puts-all-in-order $pool owner_lane_test 's/ \|\| used > budget\)/)/'
mutant inlined-grow-overflows-its-table $inlined owner_lane_test 's/ && table->capacity - at >= count && / \&\& /'
mutant inlined-grow-of-one-overflows-its-table $inlined owner_lane_test 's/ && at < table->capacity &&/ \&\&/'
mutant inlined-grow-of-a-retired-table $inlined owner_lane_test \
    '/^inline bool locus_owner_grow_one_fast/,/^}/s/table->state == LOCUS_TABLE_LIVE && //'
mutant inlined-grow-forgets-the-home $inlined owner_lane_test 's/^    table->homes \|= hot->home_bit;//'
mutant inlined-grow-for-a-table-without-a-link $inlined owner_lane_test 's/ && hot->home < table->homes_max &&/ \&\&/'
mutant inlined-take-of-never-used-blocks $taken owner_test 's/top >= count && top - count >= floor/top >= count/'
mutant inlined-take-leaves-the-stack-as-it-was $taken pool_stress \
    's/hot->top - count, __ATOMIC_RELAXED\)/hot->top - count + (count > 2), __ATOMIC_RELAXED)/'
mutant inlined-address-of-the-next-block $taken owner_lane_test \
    's/return hot->base \+ locus_block_index\(block\)/return hot->base + (locus_block_index(block) + 1)/'
mutant drain-drops-one-table-in-64 $drains pool_stress \
    's/^( +)(drain_table\(owner, table, .*)$/\1static unsigned nth;\n\1if (++nth % 64)\n\1    \2/'
mutant window-hides-what-is-left $owner owner_drop_test 's/^    memmove\(table->blocks, table->blocks \+ table->dropped, .*//'
mutant window-stays-when-the-table-goes $owner owner_drop_test 's/^    table->dropped = 0;//'
mutant dropped-blocks-go-home $owner owner_drop_test 's/^    table->count -= table->dropped;//'
mutant dropped-blocks-are-in-flight $owner owner_drop_test 's/ & !table->dropped;/;/'
mutant retired-with-nothing-in-it $owner owner_drop_test '/^static .* retire_slow/,/^}/s/ : -ENODATA;/ : 0;/'
mutant truncate-frees-what-was-dropped $owner owner_drop_test \
    's/\(keep < table->dropped, 0\)/(false, 0)/'
mutant truncate-leaves-the-window-behind-its-end $owner owner_drop_test \
    's/table->count = table->dropped = keep;/table->count = keep;/'
mutant truncate-into-the-window-leaves-blocks $owner owner_drop_test \
    's/int error = locus_owner_truncate\(owner, table, table->dropped\);/int error = 0;/'
mutant truncate-into-the-window-in-spite-of-a-foreign-block $owner owner_drop_test \
    '/^static .* truncate_slow/,/^}/s/if \(!error\)/if (true)/'
mutant table-of-several-homes-is-taken-for-own $owner owner_drop_test \
    '/^static bool all_own/,/^}/s/if \(table->homes == owner->hot.home_bit\)/if (true)/'
mutant foreign-block-is-dropped $owner owner_drop_test 's/if \(!all_own\(owner, table, first, end\)\)/if (false)/'
mutant block-is-dropped-before-its-last-token placement/blocks/owner_internal.h owner_drop_test \
    's/end = position \/ table->tokens_per_block;/end = position \/ table->tokens_per_block + 1;/'
mutant dropped-handle-stays placement/blocks/owner_internal.h owner_drop_test \
    's/table->blocks\[table->dropped\] = LOCUS_BLOCK_NONE;/;/'
mutant drain-leaves-blocks-in-flight $drains owner_test 's/if \(table->retired_by == owner->hot.home\)/if (0)/'
mutant wait-drains-uncounted $owner owner_test \
    's/^        locus_owner_drain\(owner\);/uint64_t *freed = \&owner->hot.pool->counters.freed, was = *freed;\n&\n*freed = was;/'
mutant wait-loses-reclaimed-tables $owner owner_test \
    's/^        locus_owner_drain\(owner\);/&\n        owner->hot.reclaimed_first = NULL;/'
mutant wait-for-what-cannot-come $owner owner_test 's/pool->hot\.top \+ pool->counters\.kept \+ pool->in_flight < count/0/'
mutant waiting-grow-leaves-kept-blocks $owner prefix_test 's/^        pool_reclaim\(pool, count\);.*//'
mutant wait-without-end $owner owner_test 's/> owner->wait_ns\)/> 1000 * owner->wait_ns)/'
mutant back-pressure-without-effect $owner backpressure_stress 's/owner->backpressure && pool->in_flight/0/'
mutant back-pressure-waits-one-block-late $owner backpressure_stress \
    's/pool->hot.top - count < pool->fresh/pool->hot.top - count + 1 < pool->fresh/'
mutant hand-back-by-every-home $drains table_test 's/alone \|\| __atomic_sub_fetch/true || __atomic_sub_fetch/'
mutant hand-back-too-early $drains homes_stress '/\/\/ D2$/s/== 0\)/== 1)/'
mutant every-home-refuses-a-damaged-handle $drains table_test 's/lowest = \(table->homes & \(home_bit - 1\)\) == 0/lowest = true/'
mutant truncate-frees-before-it-looks $owner owner_test 's/if \(!all_own\(owner, table, keep, table->count\)\)/if (false)/'
mutant spawned-thread-keeps-the-role $thread owner_role_test '/^static void spawned_end/,/^}/s/locus_owner_leave/(void)/'
mutant spawned-thread-leaves-only-when-it-returns $thread owner_role_test \
    's/pthread_cleanup_push\(spawned_end.*/{/; s/pthread_cleanup_pop\(1\);/spawned_end(owner); }/'
mutant join-takes-an-exit-for-a-return $thread owner_role_test 's/!error \&\& !owner->step_returned/false/'
mutant spawn-asks-without-taking $thread spawn_litmus \
    's/!thread_take\(owner, THREAD_NONE, THREAD_STARTING\)/owner->thread_state != THREAD_NONE/'
mutant owner-closed-under-its-thread $thread owner_role_test 's/relaxed\) != THREAD_NONE;/relaxed) > THREAD_JOINING;/'
mutant domain-closed-under-a-thread $domain domain_test 's/&& owner_has_thread\(.*\)\) \{$/\&\& 0) {/'
mutant grow-of-one-block-asks-for-no-role $inlined owner_role_test \
    's/has_one\(pool\) && locus_owner_is_here\(hot\)/has_one(pool)/'
mutant grow-of-many-blocks-asks-for-no-role $inlined owner_lane_test \
    's/has\(pool, count\) && locus_owner_is_here\(hot\)/has(pool, count)/'
mutant grow-asks-for-no-role $owner owner_role_test \
    's/\(int\)holds_role\(owner\) \& \(table->state == LOCUS_TABLE_LIVE\) \& \(pool/(pool/'
mutant retire-asks-for-no-role $owner owner_role_test 's/usual = \(int\)holds_role\(owner\) \& /usual = /'
mutant drain-asks-for-no-role $drains owner_role_test '/^uint32_t locus_owner_drain_slow/,/^}/s/holds_role\(owner\) \?/true ?/'
mutant drain-with-a-budget-asks-for-no-role $drains owner_lane_test \
    '/^uint32_t locus_owner_drain_some/,/^}/s/holds_role\(owner\) \?/true ?/'
mutant reclaimed-tables-for-anybody $inlined owner_lane_test \
    '/^inline struct locus_table \*locus_owner_next/,/^}/s/!locus_owner_is_here\(hot\), 0/false, 0/'
mutant in-flight-is-lost-with-the-owner $owner owner_role_test \
    's/^    __atomic_store_n\(&config\.pool->owner, owner.*/&\n    config.pool->in_flight = 0;/'
mutant in-flight-wraps $drains owner_role_test 's/\(arrival->declared < in_flight \? .*\)\);/arrival->declared);/'
mutant push-twice-allowed $table table_test 's/table->push_to = 0;//'
mutant push-undeclared-allowed $table table_test 's/if \(!homes\)/if (false)/'
mutant pending-counts-one-home-more $table table_test \
    's/__builtin_popcountll\(homes\), __/__builtin_popcountll(homes) + 1, __/'
mutant retired-to-nowhere $owner owner_test 's/table->push_to = table->homes;//'
mutant push-half-a-table $table table_test 's/if \(homes & ~route->homes\)/homes \&= route->homes;\n    if (!homes)/'
mutant generation-unchecked $pool pool_handles_test 's/generations\[index\] != \(uint32_t\)block \|\| //'
mutant generation-not-advanced $pool pool_test 's/generations\[index\] = \(uint32_t\)next;//; s/\*to = next;/*to = block;/'
mutant generation-not-advanced-fifo $pool pool_test \
    's/pool->generation\[index\] = generation \+ 1;//; s/\(pool\) = block \+ 1;/(pool) = block;/'
mutant generation-runs-ahead $pool pool_stress \
    's/generations\[index\] = \(uint32_t\)next;/generations[index] = (uint32_t)next + 1;/; s/\*to = next;/*to = next + 1;/'
mutant generation-wraps $pool pool_handles_test 's/ \|\| \(uint32_t\)next <= 1//'
mutant retired-block-reused $pool pool_handles_test '/counters\.retired, 1\);/{n;n;d}'
mutant refused-block-ends-the-chunk $pool pool_handles_test \
    's/accepted \+= free_one\((.*)\);/if (!free_one(\1)) break; else accepted++;/'
mutant refused-block-counted-as-freed $pool pool_handles_test '/pool_refuse\(pool, pool_error_kind/{n;s/return 0/return 1/}'
mutant fifo-returned-at-the-wrong-end $pool pool_test 's/LOCUS_REUSE_LIFO \? 0 : pool->hot.top - 1/LOCUS_REUSE_LIFO ? 0 : 0/'
mutant broken-chunk-leaves-a-gap $pool pool_test \
    '/close_gap\(locus_block/,/^}/s/memmove\(.*\);/(void)stack, (void)freed, (void)count;/'
mutant pool-where-a-block-begins $pool owner_test \
    's/apart_alloc\(sizeof/aligned_alloc(128, sizeof/; s/apart_free\(pool\)/free(pool)/'
mutant owner-where-a-block-begins $owner owner_test \
    's/apart_alloc\(sizeof/aligned_alloc(128, sizeof/; s/apart_free\(owner\)/free(owner)/'
mutant straightened-with-old-generations $pool pool_test \
    's/ \+ generations\[i\];/ + pool->generation_first;/; s/generations \+ i, sizeof two/\&pool->generation_first, 4/'
mutant straightened-with-retired-blocks $pool pool_stress 's/if \(pool->generation\[i\] != POOL_GENERATION_WORN\)//'
mutant table-extended-without-its-blocks $table table_test 's/memmove\(array, table->blocks, .*/;/'
mutant table-extended-hands-out-its-own-array $table table_test 's/table->blocks != own && //'
mutant table-extended-too-small $table table_test 's/ \|\| capacity < table->count\)/)/'
mutant run-does-not-go-on $runs pool_runs_test 's/bool goes_on = after != POOL_NOWHERE && /bool goes_on = count == 0 \&\& /'
mutant run-starts-beside-another $runs pool_runs_test 's/at \+= \(extent - first\) \/ 2;/;/'
mutant run-starts-anywhere $runs pool_runs_test 's/~0u << class, false/~0u, false/'
mutant run-starts-in-the-largest-extent $runs pool_runs_test 's/~0u << class, false/~0u << class, true/'
mutant last-span-is-whole $runs pool_runs_test 's/^    if \(behind\)/    if (behind \&\& false)/'
mutant span-that-came-home-is-not-found $runs pool_runs_test 's/span->class >= class\)/span->class + 1 >= class)/'
mutant first-use-is-not-counted $runs pool_runs_test 's/pool->fresh -= .*;/;/'
mutant blocks-after-a-refused-one-stay-out $runs pool_runs_test \
    '/^uint32_t pool_runs_free/,/^}/s/^    if \(home\)/    if (home \&\& i == count)/'
mutant guessed-handle-makes-a-block $runs pool_runs_test 's/\(span_bits\(span\) & blocks\) != 0, 0/false, 0/'
mutant spans-of-a-chunk-leave-backwards $runs pool_runs_test 's/bool in_front = behind == POOL_NOWHERE/bool in_front = true/'
mutant run-lets-a-block-out-twice placement/blocks/pools/runs.h pool_runs_test 's/span->free = free & ~\(.*\);/;/'
mutant peak-is-not-noted placement/blocks/pools/runs.h pool_runs_test 's/ \|\| top <= runs->low\)/)/'
mutant run-forgets-tags $runs pool_test 's/ && runs->low != POOL_NEVER\)/)/'
mutant run-of-a-table-goes-on-elsewhere $owner pool_runs_test \
    's/table->blocks\[at - 1\] >> 32\) \+ 1/table->blocks[at - 1] >> 32) + 2/'
mutant free-runs-are-out $report pool_test 's/pool_runs_is_free\(pool, i\) << i % 8/false << i % 8/'
mutant tags-forgotten-when-the-pool-deepens $pool pool_test 's/if \(!pool->tags && !pool->sharing && CALLS_UNCHECKED\)/if (1)/'
mutant lent-blocks-lose-their-tag $borrow domain_borrow_test '/pool_note_tag/d'
mutant free-blocks-are-out $report pool_test 's/is_free\[index \/ 8\] \|= /(void)/'
mutant what-a-report-frees-is-out $report pool_test 's/if \(locus_pool_check\(pool, list\[i\]\.block\)\)/if (false)/'
mutant a-cancelled-join-joins-for-ever $thread owner_role_test '/^static void join_cancelled/,/^}/s/THREAD_RUNNING/THREAD_JOINING/'
mutant last-page-is-not-asked placement/memory/where.c where_test 's/unit <= last; unit \+= units/unit < last; unit += units/'
mutant a-part-of-a-page-is-none placement/memory/where.c where_test 's/bytes - 1, &last/bytes, \&last/'
mutant only-the-first-call-counts placement/memory/where.c where_test 's/on\[status\[i\]\]\+\+;/on[status[i]] = 1;/'
mutant config-of-no-size-refused placement/base/config.h pool_test 's/bytes == 0/0/'
mutant overlong-config-accepted placement/base/config.h pool_test 's/return -E2BIG;/;/'
mutant config-read-beyond-its-end placement/base/config.h pool_test 's/bytes < own_bytes \? bytes : own_bytes/own_bytes/'
mutant child-inherits-the-blocks placement/memory/region.c pool_test 's/MADV_DONTFORK/MADV_DOFORK/'
mutant distinct-blocks-not-counted $pool pool_test \
    '/pool->fresh = pool->hot.top;/d; s/(hot.floor, )pool->hot.top,/\1pool->fresh,/'
mutant pools-begin-alike $pool pool_handles_test 's/ \+ random_bits\(\) % POOL_FIRST_GENERATIONS//'
mutant more-come-home-than-were-out $pool pool_handles_test 's/if \(none_is_out \|\| /if (/'
mutant desk-reads-next-after-hand-back $borrow domain_litmus \
    '/link \*next = link->next; \/\/ before/d; s/^( +)link = next;/\1link = link->next;/'
mutant late-answer-is-given-nevertheless $borrow domain_litmus \
    's/\(atomic_compare_exchange_strong.*LOAN_GIVEN.*/(atomic_exchange(\&loan->state, LOAN_GIVEN)) {/
    /^ +memory_order_relaxed\)\) \{/d'
mutant late-answer-leaks $borrow domain_litmus '/\/\/ cancelled just now/d'
mutant cancelled-questions-are-answered $borrow domain_borrow_test \
    '/memory_order_relaxed\) != LOAN_ASKED\)/d; s/asked = LOAN_ASKED;$/asked = atomic_load(\&loan->state);\n    if (!asked)/'
mutant lender-keeps-no-spare-blocks $borrow domain_borrow_test 's/domain->config\.spare/0u/'
mutant lender-lends-while-it-asks $borrow domain_borrow_test 's/if \(home->asked \|\| avoided/if (avoided/'
mutant lender-lends-new-blocks-under-back-pressure $borrow domain_borrow_test \
    's/if \(domain->config.backpressure && owner.blocks_in_flight\) \/\/ as/if (0) \/\/ as/'
mutant avoided-home-lends $borrow domain_health_test 's/home->asked \|\| avoided\(home\)/home->asked/'
mutant avoided-home-uses-its-own $borrow domain_health_test \
    's/bool elsewhere = .*/bool elsewhere = false;/; s/if \(!avoided\(home\)\)/if (1)/'
mutant avoided-home-is-no-last-resort $borrow domain_health_test '/an avoided home.s own blocks are/s/own_grow\(.*\);/-ENOMEM;/'
mutant unused-blocks-are-not-returned $borrow domain_borrow_test 's/post\(domain, lender, loan, LOAN_RETURNED\);/loan->want = 0;/'
mutant used-blocks-are-returned-too $borrow domain_borrow_test \
    's/loan->given - loan->taken, loan->blocks \+ loan->taken, 0/loan->given, loan->blocks, 0/'
mutant grow-leaves-questions-open $borrow domain_borrow_test 's/else if \(home->asked \|\| home->again\)/else if (0)/'
mutant borrows-before-blocks-in-flight $borrow domain_borrow_test 's/\(elsewhere \|\| error == -ENOMEM\)/true/'
mutant waits-for-a-silent-lender $borrow domain_borrow_test 's/if \(late \|\| \(unanswered/if ((unanswered/'
mutant waiting-knows-no-shares $borrow domain_borrow_test 's/^( +)late = waited_ns > .*/\1late = false;/'
mutant borrower-waits-without-end $borrow domain_borrow_test 's/waited_ns > wait_ns\)/waited_ns > 1000 * wait_ns)/'
mutant declined-for-ever $borrow domain_borrow_test '/the next call may ask them again/s/settle\(domain, home\);/;/'
mutant old-loan-taken-for-declined $borrow domain_borrow_test 's/^        error = -EAGAIN;$/        error = -ENOENT;/'
mutant old-loan-posted-again $borrow domain_borrow_test 's/== LOAN_IDLE\) \{/!= LOAN_GIVEN) {/'
mutant chunk-without-limit $borrow domain_borrow_test 's/least\(want, domain->config.chunk\)/want/'
mutant narrow-table-borrows $borrow domain_borrow_test 's/ && table->homes_max >= domain->homes_count;/;/'
mutant tables-stay-with-the-lender $borrow domain_borrow_test 's/if \(table->retired_by != home->ordinal\)/if (false)/'
mutant a-drain-forwards-nothing $borrow domain_borrow_test '/^    forward\(domain, home\);$/d'
mutant finished-list-is-lost $borrow domain_borrow_test 's/if \(!home->finished_list\)/if (1)/'
mutant borrows-though-it-must-not $borrow domain_test \
    's/config.exhausted == LOCUS_EXHAUSTED_BORROW && table/config.exhausted \&\& table/'
mutant desk-is-served-without-the-role $borrow domain_test \
    's/home && locus_owner_held_here\(home->owner\) \? home : NULL/home/'
mutant questions-are-cancelled-without-the-role $borrow domain_test \
    '/^int locus_domain_cancel/,/^}/s/!locus_owner_held_here\(home->owner\)/false/'
mutant homes-that-there-are-not $domain domain_test 's/home < domain->homes_count \? (domain->homes.*) : NULL/\1/'
mutant lenders-in-the-wrong-order $domain domain_test 's/\(home->ordinal \+ i\) %/(home->ordinal + domain->homes_count - i) %/'
mutant unusable-node-accepted $domain domain_test 's/if \(!usable\(locus_topo_node\(topo, config->nodes\[i\]\)\)\)/if (0)/'
mutant offline-node-is-an-error $health domain_health_test 's/if \(error && error != -ENODEV\)/if (error)/'
mutant moved-is-worse-than-offline $health domain_health_test \
    's/->node_bytes_now == 0\)/->node_bytes_now == 0 \&\& !report->pages_elsewhere)/'
mutant shrunk-node-is-well $health domain_health_test 's/node_bytes_now < report->/node_bytes_now > report->/'
mutant sizes-of-homes-ignored $domain domain_nodes_test 's/return config->blocks_of \? .*/return config->blocks;/'
mutant callers-sizes-kept $domain domain_nodes_test '/domain->config.blocks_of = NULL;/d'
mutant late-blocks-uncounted $borrow domain_litmus '/stats\.blocks_late, count/d'

# --- sharing -------------------------------------------------------------------------------------------------------------------

share=placement/sharing/share.c shared=placement/blocks/pools/shared.c prefix=placement/sharing/prefix.c
reservation=placement/sharing/reservation.c offload=placement/sharing/offload.c index=placement/sharing/prefix_index.c
ids=placement/sharing/prefix_id.c

mutant a-reference-too-few $shared share_stress 's/sharing\[index\] = word \+ 1;/sharing[index] = word + (done > 0);/'
mutant a-reference-too-many $shared share_stress 's/sharing\[index\] = word \+ 1;/sharing[index] = word + 1 + (done == 3);/'
mutant a-failed-share-keeps-references $shared share_test 's/^        pool->sharing\[index\]--;$/        (void)index;/'
mutant any-tag-frees $shared share_test \
    's/holders_first && !holder_drop\(pool, index, tag\)\)/holders_first \&\& (holder_drop(pool, index, tag), 0))/'
mutant sharers-are-not-reported $report share_test 's/count <= sharers; count/count < sharers; count/'
mutant chunk-comes-home-backwards $shared share_test 's/bool backwards = .*;/bool backwards = false;/'
mutant kept-block-is-freed-twice $pool prefix_test 's/return live && !pool_is_kept\(pool, index\)/return live/'
mutant a-skipped-copy $share share_stress 's/^    copy\(write, pool_address/    if (0)\n        copy(write, pool_address/'
mutant copies-what-is-not-in-use $share domain_share_test 's/bytes = token_bytes \* tokens;/bytes = plane_bytes;/'
mutant first-plane-only $share share_test 's/i < write->planes && bytes/i < 1 \&\& bytes/'
mutant taken-over-while-two-hold-it $share share_stress 's/& ~POOL_BY_TAG\) == 0/\& ~POOL_BY_TAG) <= 1/'
mutant published-block-is-written $share share_stress 's/& ~POOL_BY_TAG\) == 0/\& ~POOL_BY_TAG \& ~POOL_PUBLISHED) == 0/'
mutant last-holder-copies $share share_test 's/& ~POOL_BY_TAG\) == 0/\& UINT32_MAX) == 0/'
mutant last-holder-is-not-asked $shared share_test 's/sharing & POOL_BY_TAG && /0 \&\& /'
mutant finder-is-not-asked $shared prefix_test 's/& ~POOL_KEPT\) \| by_tag\(pool\)/\& ~POOL_KEPT)/'
mutant next-use-is-asked $shared share_test 's/^        pool->sharing\[index\] = 0;$//'
mutant foreign-block-is-taken-over $share domain_share_test 's/return locus_block_home\(block\) == pool->home &&$/return/'
mutant fork-shares-what-was-dropped $share share_test 's/count - dropped, from->blocks \+ dropped/count, from->blocks/'
mutant fork-forgets-the-window $share share_test 's/^    to->dropped = dropped;//'
mutant write-into-what-was-dropped $share share_test 's/before = extent->begin - table->dropped;/before = extent->begin;/'
mutant leavers-without-room placement/domain/domain_write.c domain_share_test \
    's/if \(foreign > leavers->capacity - leavers->count\)/if (false)/'
mutant foreign-handle-is-lost $share domain_share_test 's/error = locus_table_append\(write->leavers, old\);/error = 0;/'
mutant fork-counts-foreign-blocks-only-once $share domain_share_test 's/if \(!\(\*homes_left & home_bit\(owner\)\)\)/if (0)/'
mutant victim-with-kept-blocks-below $prefix prefix_test 's/while \(prefix->entry\[block\]\.oldest != NONE\)/while (false)/'
mutant way-down-of-another-victim $prefix prefix_test 's/bool again = victim == prefix->victim && /bool again = /'
mutant gap-breaks-a-run $index prefix_test 's/< way\(index, gap, at\)\)/< way(index, gap, at) - 1)/'
mutant a-full-line-ends-a-look-up placement/sharing/prefix_index.h prefix_test 's/\*further = .*/*further = false;/'
mutant half-an-id-is-compared placement/include/locus/id.h prefix_test 's/ \| \(a\.word\[1\] \^ b\.word\[1\]\)//'
mutant id-is-published-twice $prefix prefix_test 's/if \(there != NONE \|\| !own/if (!own/'
mutant salt-is-ignored $ids prefix_id_test 's/locus_id_of\(salt\)/locus_id_of(0)/'
mutant key-is-known $prefix prefix_id_test 's/error = key_draw\(&key\);/key = (struct locus_prefix_key){{0}};/'
mutant key-is-half-used $ids prefix_id_test 's/START1 \^ key->word\[1\]/START1/; s/START3 \^ key->word\[1\]/START3/'
mutant parent-within-a-word-loses-a-half $ids prefix_id_test 's/first >> 32 \| second << 32/second << 32/'
mutant lanes-take-one-block $ids prefix_id_test 's/\(first \+ i < count \? first \+ i : count - 1\)/first/'
mutant length-is-not-hashed $ids prefix_id_test 's/\(4 \* \(uint64_t\)count \+ sizeof parent\) << 56/0/'
mutant tokens-are-not-compared $prefix prefix_check_test '/^static bool is_meant/,/^}/s/if \(prefix->tokens\)/if (false)/'
mutant engine-is-not-asked $prefix prefix_check_test 's/return !prefix->check\.same \|\| /return true || /'
mutant tokens-are-not-kept $prefix prefix_check_test '/^static void publish/,/^}/s/if \(prefix->tokens\)/if (false)/'
mutant published-behind-another-ones-block $prefix prefix_check_test '/counters\.blocks_refused, 1\);/,+1s/break;/continue;/'
mutant missing-tokens-are-read $prefix prefix_check_test 's/return prefix->tokens && !tokens && count;/return false;/'
mutant closed-cache-stays-published $prefix prefix_test 's/^            pool_unpublish.*/            ;/'
mutant what-was-dropped-is-published $prefix prefix_test 's/bool own = it != LOCUS_BLOCK_NONE && /bool own = /'
mutant published-id-stays-below $prefix prefix_offload_test 's/^    if \(prefix->connector\.drop\)/    if (false)/'
mutant computed-during-its-store-stays-below $prefix prefix_offload_test \
    's/if \(!error && prefix->connector\.drop && /if (false \&\& /'
mutant block-is-free-while-a-store-reads-it $prefix prefix_offload_test \
    's/pool_revive\(prefix->pool, it, prefix->connector\.tag\)/pool_evict(prefix->pool, it)/'
mutant block-stays-out-after-its-store $prefix prefix_offload_test 's/^    locus_pool_free_bulk\(prefix->pool, 1.*/    ;/'
mutant read-block-stays-published $prefix prefix_offload_test 's/^    pool_unpublish\(prefix->pool, it\);/    ;/'
mutant done-of-what-no-store-reads $prefix prefix_offload_test \
    's/ \|\| !prefix->entry\[locus_block_index\(block\)\]\.offloading\)/)/'
mutant unloaded-block-is-published $prefix prefix_offload_test 's/if \(loaded < has\)/if (false)/'
mutant close-stores-what-is-kept $prefix prefix_offload_test 's/^    prefix->connector\.store = NULL;/    ;/'
mutant close-while-a-store-reads $prefix prefix_offload_test 's/if \(prefix->offloaded\.blocks_offloading\)/if (false)/'
mutant stored-under-the-id-above $prefix prefix_offload_test \
    's/connector.context, entry->id, entry->parent_id,/connector.context, entry->parent_id, entry->id,/'
mutant refused-block-counts-as-offloaded $prefix prefix_offload_test \
    's/error \? &prefix->offloaded\.blocks_lost : /false ? \&prefix->offloaded.blocks_lost : /'
mutant refused-start-goes-on $prefix prefix_offload_test '/connector\.start\(/,/return/s/return false/return true/'
mutant start-takes-what-is-reserved $reservation prefix_offload_test \
    's/held_here\(reservations->owner\) \|\| reserve\(reservations, count, 0\)\)/held_here(reservations->owner))/'
mutant a-load-takes-what-is-reserved $reservation prefix_offload_test \
    's/ = prefix_load\(prefix, ids, tokens, count, table, has\)/ = locus_prefix_load(prefix, ids, tokens, count, table)/'
mutant spare-is-found $offload offload_test 's/ && !offload->entry\[\*slot\]\.spare;/;/'
mutant spare-is-written-again $offload offload_test 's/bool leaves = entry && entry->tier > to && /bool leaves = entry \&\& /'
mutant spare-stays-below $offload offload_test 's/bool leaves = .*/bool leaves = false;/'
mutant spares-leave-last $offload offload_test 's/bool spare = list\[SPARE\]\.count > 0;/bool spare = !list[FOUND].count;/'
mutant newest-leaves $offload offload_test 's/list\[spare\]\.oldest/list[spare].newest/'
mutant nothing-passes-on $offload offload_test 's/if \(to > tier && to < offload->tiers\)/if (false)/'
mutant a-tier-above-is-below $offload offload_test 's/if \(to > tier && to < offload->tiers\)/if (to < offload->tiers)/'
mutant policy-is-not-asked $offload offload_test 's/if \(!config->policy\)/if (true)/'
mutant spares-are-no-room $offload offload_test 's/ \+ offload->list\[i\]\[SPARE\]\.count;/;/'
mutant a-load-is-no-use $offload offload_test 's/\.uses\+\+;/.uses += 0;/'
mutant refused-by-the-policy-and-stored $offload offload_test 's/^        return -ENOSPC;/        to = 0;/'
mutant started-against-the-policy $offload offload_test 's/offload->config\.policy && destination\(offload, NONE\) != last/false/'
mutant a-store-during-its-drop-is-refused $offload offload_test 's/if \(error != -EBUSY \|\| tier != offload->file\)/if (true)/'
mutant a-copy-is-not-offered-again $offload offload_test '/^    offer_again\(move->offload->copies/d'
mutant a-started-block-is-not-offered-again $offload offload_test '/^    offer_again\(move->offload->started/d'
mutant store-copies-nothing $offload offload_test 's/^        block = memcpy\(move->buffer.*/        ;/'
mutant store-waits-for-a-buffer $offload offload_test \
    's/idle\(offload->copies, offload->config\.copies\)/idle(offload->copies, offload->config.copies + 1)/'
mutant what-is-written-is-not-there $offload offload_test 's/return \*slot != NONE && /& !offload->entry[*slot].from \&\& /'
mutant unreadable-stays $offload offload_test '/^        while \(forget\(offload, ids_find/,+1d'
mutant unreadable-counts-as-loaded $offload offload_test \
    's/while \(whole < asked && !wait\[whole\]\.result\)/while (whole < asked)/'
mutant started-is-reported-twice $offload offload_test '/^        move->state = IDLE;$/d'
mutant a-refused-store-keeps-its-room $offload offload_test \
    '/^static int store_begin/,/^}/s/^        ids_drop\(.*/        ;/'
mutant closed-while-the-cache-waits $offload offload_test 's/^            return -EBUSY;/            break;/'
mutant objects-of-other-bytes-are-found $offload offload_test \
    's/if \(bytes != offload->config\.block_bytes \|\| \*count ==/if (*count ==/'
mutant a-reservation-is-not-kept $reservation reservation_test 's/uint64_t needed = reserved \+ count/uint64_t needed = count/'
mutant two-schedulers-pass-on-the-same $reservation reservation_stress \
    '/^static int reserve\(/,/^}/{s/if \(atomic_compare_exchange_weak_explicit\(/if (atomic_fetch_add(/
     s/&word, changed.*/count) + 1)/; /Q1, Q2$/d}'
mutant watermark-binds-the-only-one $reservation reservation_test 's/anybody \|\| reserved \? left : 0/left/'
mutant a-match-takes-reserved-blocks $reservation reservation_test \
    's/begin_take\(reservations, mine, kept, &more\)/begin_take(reservations, mine, more = 0, \&more)/'
mutant an-end-keeps-the-reservation $reservation reservation_test '/^void locus_reservation_end/,/^}/s/unreserve\(.*/;/'
# --- windows --------------------------------------------------------------------------------------------------------------------

window=placement/blocks/window.c region=placement/memory/region.c
mutant window-forgets-that-it-hid $window window_test 's/^ *shown\[i\] = shown\[i\] == NOTHING .*$//'
mutant window-shows-any-home $window window_test 's/locus_block_home\(block\) != pool->home \|\| //'
mutant window-shows-beyond-the-pool $window window_test 's/ \|\| locus_block_index\(block\) >= pool->blocks//'
mutant window-takes-every-mapping $window window_test 's/return too_many \? -EMLINK : 0/return too_many \&\& 0 ? -EMLINK : 0/'
mutant window-keeps-what-was-cut $window window_test 's/at >= table->count \|\| //'
mutant window-keeps-what-was-dropped $window window_test \
    's/\(at >= table->count \|\| table->blocks\[at\] == LOCUS_BLOCK_NONE\)/at >= table->count/'
mutant window-loses-its-end $window window_test 's/^ *window->state\[row\]\.end = table->count;$//'
mutant window-keeps-half-a-block $window window_test 's/^            hide\(window, row, at, table->count\);$/            (void)0;/'
mutant window-maps-each-time $window window_test 's/wanted != shown\[at\]/wanted/'
mutant window-mixes-planes $window window_test 's/memory \+ plane \* window->part_bytes/memory/'
mutant window-counts-no-holes $window window_test 's/\(\(uint64_t\)live \+ 1\)/((uint64_t)live)/'
mutant windows-of-a-private-file $region region_windows_test 's/MAP_SHARED, file/MAP_PRIVATE, file/'
mutant windows-beyond-the-limit-of-files $region region_windows_test 's/bytes > limit\.rlim_cur/bytes > limit.rlim_cur \&\& 0/'
mutant windows-without-pages $region region_windows_test 's/ \|\| \(config\.windows && !config\.memory\)//'

mutants_end
