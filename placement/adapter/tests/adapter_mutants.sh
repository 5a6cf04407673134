#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all
#
# adapter_mutants.sh: are the tests of adapters and of their policies any good? placement/tests/mutants.bash has the method.
. "$(dirname "$0")/../../tests/mutants.bash"

sanitizers=none # no program is a litmus
mutants_begin topo/*.c placement/{base,memory,pages,pages/scores,tier,tier/file,adapter,adapter/policies}/*.c
controls adapter_test adapter_version_test adapter_fault_test policies_test adapter_stress

adapter=placement/adapter/adapter.c ranks=placement/adapter/ranks.c order=placement/adapter/order.c
list=placement/adapter/adapter_policy.c policies=placement/adapter/policies

# --- prefetches and pins -------------------------------------------------------------------------------------------------------

mutant every-load-is-kept $adapter adapter_test 's/result == 0 && version->wanted\)$/result == 0)/'
mutant an-evicted-range-is-kept $adapter adapter_test 's/if \(error == -ESTALE\)/if (0)/'
mutant what-leaves-is-forgotten $adapter adapter_test 's/if \(error == -ESTALE\)/if (error)/'
mutant refused-pins-are-held $adapter adapter_test 's/version->kept = error == 0;/version->kept = true;/'
mutant a-load-under-way-is-pages $adapter adapter_test \
    's/version->range == LOCUS_RANGE_NONE \|\| bringing\(version\)\)$/version->range == LOCUS_RANGE_NONE)/'
mutant cancelled-but-pinned $adapter adapter_test '/^int locus_adapters_cancel/,/^}/s/keep_no_more\(version\);//'
mutant cancelled-but-wanted $adapter adapter_test \
    's/version->wanted = version->asked = false;/version->asked = false;/'
mutant cancelled-and-left-there $adapter adapter_test '/^int locus_adapters_cancel/,/^}/s/step\(version\);//'
mutant cancelled-without-a-prefetch $adapter adapter_test 's/ \|\| \(!version->wanted && version->error == 0\)//'
mutant an-error-is-no-prefetch $adapter adapter_fault_test 's/!version->wanted && version->error == 0\)/!version->wanted)/'
mutant cancelled-with-its-error $adapter adapter_fault_test 's/version->error = 0; \/\/ who it was for is gone//'
mutant told-of-what-others-waited-for $adapter adapter_fault_test 's/ && version->wanted \? result : 0;/ ? result : 0;/'
mutant no-error-is-told $adapter adapter_fault_test 's/was == BRINGING_COLD && version->wanted \? result : 0/0/'
mutant an-error-for-ever $adapter adapter_fault_test '/^static int error_of/,/^}/s/version->error = 0;//'
mutant asked-after-an-error $adapter adapter_test 's/version->asked &= error == -EAGAIN;//'
mutant the-pin-is-taken-twice $adapter adapter_test \
    's/version->wanted = version->asked = version->kept = false;/version->wanted = version->asked = false;/'
mutant acquired-but-prefetched-for $adapter adapter_test \
    's/version->wanted = version->asked = version->kept = false;/version->asked = version->kept = false;/'
mutant asked-for-ever $adapter adapter_test \
    's/version->wanted = version->asked = version->kept = false;/version->wanted = version->kept = false;/'
mutant asked-is-found $adapter adapter_test 's/there && !version->asked/there/'
mutant a-prefetch-is-a-use $adapter adapter_test \
    '/^int locus_adapters_prefetch/,/^}/s/int error = .*/&\n    adapters->policy->use(adapters->state, adapters->now_ns, number);/'
mutant an-acquire-is-no-use $adapter adapter_test 's/adapters->policy->use\(.*//'
mutant moves-wait-for-poll $adapter adapter_test '/^int locus_adapters_acquire/,/^}/s/^    moves\(adapters\);//'
mutant nobody-asks-again $adapter adapter_test '/^void locus_adapters_poll/,/^}/s/ask_again\(adapters\);//'
mutant no-room-is-an-error $adapter adapter_test 's/version->wanted = error == -EAGAIN;/version->wanted = false;/'
mutant no-room-is-no-error $adapter adapter_test 's/version->wanted = error == -EAGAIN;/version->wanted = true;/'
mutant leaving-is-not-waited-for $adapter adapter_test 's/waiting_add\(version\); \/\/ it is about/; \/\/ it is about/'
mutant the-last-waits-alone $adapter adapter_test \
    's/\*waiting_at\(version->adapters, NULL\) = version;/version->adapters->waiting = version;/'
mutant freed-while-it-waits $adapter adapter_test '/^static void version_free/,/^}/s/waiting_remove\(version\);//'
mutant moves-are-not-looked-for $adapter adapter_test '/^void locus_adapters_poll/,/^}/s/^    moves\(adapters\);//'
mutant acquired-without-a-pin $adapter adapter_stress \
    's/int error = (locus_pages_)pin(\(version->adapters->pages, version->range\));/&\n    error = error ? error : \1unpin\2;/'
mutant brought-without-a-pin $adapter adapter_stress \
    's/version->kept = true;/version->kept = locus_pages_unpin(adapters->pages, version->range) == 0;/'

# --- pages and places ----------------------------------------------------------------------------------------------------------

mutant the-tiers-pin-stays $adapter adapter_test 's/ \|\| was == SINKING\)$/)/'
mutant demoted-without-a-pin $adapter adapter_test 's/if \(locus_pages_pin\(adapters->pages, version->range\) != 0\)/if (0)/'
mutant a-refused-sink-pins $adapter adapter_fault_test \
    '/^static bool demote/,/^}/s/^    locus_pages_unpin\(adapters->pages, version->range\);//'
mutant a-failed-load-keeps-its-pages $adapter adapter_fault_test 's/if \(result\)$/if (0)/'
mutant pages-of-another-size $adapter adapter_test 's/= locus_pages_page_bytes\(config\.pages\)/= 2u << 20/'
mutant the-last-page-is-lost $adapter adapter_test 's/\(version->bytes \+ adapters->page_bytes - 1\) \//version->bytes \//'
mutant of-no-owner $adapter adapter_test 's/\.owner = number_of\(version\)/.owner = 0/'
mutant at-no-cost $adapter adapter_test 's/ask\.cost_ns = .*/;/'
mutant of-another-kind $adapter adapter_test 's/\.kind = LOCUS_PAGES_ADAPTER/.kind = LOCUS_PAGES_KV/'
mutant the-warm-copy-is-not-used $adapter adapter_test 's/if \(version->in_warm && !version->no_warm\)/if (0)/'
mutant a-damaged-copy-is-asked-again $adapter adapter_fault_test 's/version->no_warm \|= was == BRINGING_WARM && result;/;/'
mutant a-damaged-copy-takes-room $adapter adapter_fault_test 's/ \|\| version->no_warm; \/\/ the latter/; \/\/ the latter/'
mutant nan-is-asked-again $adapter adapter_fault_test 's/version->no_warm \|= error != -ENOSPC;/;/'
mutant no-room-is-for-ever $adapter adapter_fault_test 's/version->no_warm \|= error != -ENOSPC;/version->no_warm = true;/'
mutant warm-is-not-demoted $adapter adapter_test 's/place == LOCUS_ADAPTER_WARM && demote\(version\)/0/'
mutant hot-leaves $adapter adapter_test 's/if \(place == LOCUS_ADAPTER_HOT\)$/if (0)/'
mutant cold-stays-warm $adapter adapter_test 's/bool useless = place == LOCUS_ADAPTER_COLD \|\|/bool useless =/'
mutant what-is-held-leaves $adapter adapter_version_test 's/else if \(version->holders > 0\)/else if (0)/'
mutant no-step-after-release $adapter adapter_test '/^void locus_adapters_release/,/^}/s/step\(version\);//'

# --- versions ------------------------------------------------------------------------------------------------------------------

mutant the-oldest-is-found $adapter adapter_version_test 's/\(\*newest\)->key > key\)/(*newest)->key < key)/'
mutant old-ones-stay-in-the-file $adapter adapter_version_test 's/if \(!version->newest\)$/if (0)/'
mutant versions-begin-anew $adapter adapter_version_test 's/adapters->next_version\[key >> 32\] = .*/;/'
mutant the-same-version-again $adapter adapter_version_test 's/adapters->next_version\[number\]\+\+;//'
mutant more-versions-than-there-are $adapter adapter_version_test 's/if \(adapters->next_version\[number\] == UINT32_MAX\)/if (0)/'
mutant the-last-version-wraps $adapter adapter_version_test 's/ \+ \(\(uint32_t\)key < UINT32_MAX\)/ + 1/'
mutant the-old-one-is-the-newest $adapter adapter_version_test \
    's/version->newest = version->wanted = false;/version->wanted = false;/'
mutant the-old-prefetch-goes-on $adapter adapter_version_test \
    's/version->newest = version->wanted = false;/version->newest = false;/'
mutant the-old-pin-stays $adapter adapter_test '/^static void retire/,/^}/s/keep_no_more\(version\);//'
mutant unloaded-in-any-order $adapter adapter_fault_test 's/if \(version->still && !version->newest\)/if (version->still)/'
mutant only-the-newest-is-unloaded $adapter adapter_version_test 's/if \(version->still && !version->newest\)/if (0)/'
mutant ends-go-on-during-an-unload $adapter adapter_version_test 's/ \|\| version->still \|\|/ ||/'
mutant still-for-ever $adapter adapter_fault_test 's/^        version->still = false;//'
mutant a-failed-drop-is-done $adapter adapter_fault_test 's/return version->dropped;/return 0;/'
mutant a-failed-drop-has-dropped $adapter adapter_fault_test \
    's/version->in_cold = version->still && result != 0;/version->in_cold = false;/'
mutant history-outlives-an-unload $adapter adapter_version_test 's/adapters->policy->forget\(.*//'
mutant a-failed-load-is-there $adapter adapter_fault_test 's/error = error \? error : version->error;//'
mutant close-while-held $adapter adapter_version_test 's/if \(adapters->stats\.holds > 0\)/if (0)/'
mutant close-leaves-warm-copies $adapter adapter_test \
    '/^int locus_adapters_close/,/^}/s/if \(version->in_warm && begin.*/if (0)/'
mutant close-does-not-wait $adapter adapter_test '/^int locus_adapters_close/,/^}/s/^        wait_for\(version\);//'
mutant close-starts-anew $adapter adapter_test 's/adapters->closing = true;//'
mutant an-odd-number-of-bytes $adapter adapter_fault_test 's/ \|\| bytes % sizeof\(uint16_t\) != 0//'
mutant any-object-is-ours $adapter adapter_fault_test 's/if \(id\.word\[1\] \|\| key >> 32 >= adapters->numbers\)/if (0)/'
mutant warm-is-cold $adapter adapter_fault_test 's/ \|\| config\.cold == config\.warm\)/)/'

# --- ranks and order -----------------------------------------------------------------------------------------------------------

mutant one-more-is-hot $ranks policies_test 's/while \(ranks->hot_count > ranks->hot\)/while (ranks->hot_count > ranks->hot + 1)/'
mutant one-more-is-warm $ranks policies_test \
    's/while \(ranks->warm_count > ranks->warm\)/while (ranks->warm_count > ranks->warm + 1)/'
mutant nobody-rises-to-warm $ranks policies_test 's/while \(ranks->warm_count < ranks->warm && .*/while (0) {/'
mutant who-may-not-is-hot $ranks policies_test 's/ranks_admitted\(ranks, next\) == LOCUS_ADAPTER_HOT\)/true)/'
mutant told-twice $ranks policies_test 's/^    if \(ranks->queued\[adapter\]\)$/    if (0)/'
mutant there-and-back-is-told $ranks policies_test 's/if \(ranks->place\[adapter\] == ranks->told\[adapter\]\)/if (0)/'
mutant told-from-anywhere $ranks policies_test 's/ranks->told\[adapter\] = ranks->place\[adapter\];//'
mutant equal-ranks-have-no-turns $ranks policies_test 's/ranks->turns\+\+\)/1000 - ranks->turns++)/'
mutant a-demoted-one-loses-its-turn $ranks policies_test 's/ranks->order\.nodes\[adapter\]\.key\.minor\);/ranks->turns++);/'
mutant demoted-to-where-it-was $ranks policies_test 's/\(ranks->place\[adapter\] - 1\)/(ranks->place[adapter])/'
mutant the-first-is-the-victim $ranks policies_test \
    's/return place == LOCUS_ADAPTER_HOT \? ranks->hot_last : ranks->warm_last;/return ranks->order.end[1];/'
mutant victims-of-another-place $ranks policies_test 's/next != ORDER_NONE && ranks->place\[next\] == place/next != ORDER_NONE/'
mutant no-limit-of-uses $ranks policies_test 's/ \|\| config->uses > USES_MAX//'
mutant a-last-one-has-no-follower $ranks policies_test \
    's/ranks->hot_last = ranks->hot_count > 1 \? above\(ranks, adapter\) : ORDER_NONE;/ranks->hot_last = ORDER_NONE;/'
mutant no-rotations $order policies_test 's/ && priority\(number\) > priority\(node->parent\)\)/ \&\& 0)/'
mutant a-low-child-rises $order policies_test 's/priority\(high\) > priority\(low\)\)/priority(high) < priority(low))/'
mutant the-thread-is-cut $order policies_test '/^void order_drop/,/^}/s/thread\(order, .*//'
mutant minor-does-not-count $order policies_test 's/: a\.minor < b\.minor/: true/'

# --- policies ------------------------------------------------------------------------------------------------------------------

mutant the-first-policy-is-not-found $list policies_test 's/for \(uint32_t i = 0; locus/for (uint32_t i = 1; locus/'
mutant the-window-includes-its-end $policies/seed.c policies_test \
    's/if \(seed->ranks\.now_ns < (ends_ns\(seed, adapter, seed->uses\))\)/if (seed->ranks.now_ns <= \1)/'
mutant uses-without-end $policies/seed.c policies_test 's/\? used_ns \+ seed->window_ns : UINT64_MAX/? used_ns : UINT64_MAX/'
mutant the-end-of-time-wraps $policies/seed.c policies_test \
    's/return used_ns < UINT64_MAX - seed->window_ns \? (used_ns \+ seed->window_ns) : UINT64_MAX;/return \1;/'
mutant a-demoted-one-rises-by-time $policies/seed.c policies_test 's/if \(admitted < before\)/if (admitted != before)/'
mutant seed-remembers-the-forgotten $policies/seed.c policies_test 's/seed->count\[adapter\] = 0;//'
mutant lru-admits-only-to-warm $policies/lru.c policies_test 's/LOCUS_ADAPTER_HOT\)/LOCUS_ADAPTER_WARM)/'
mutants_end
