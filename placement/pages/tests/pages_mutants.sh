#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all
#
# pages_mutants.sh: are the tests of the arena of pages any good? placement/tests/mutants.bash has the method.
. "$(dirname "$0")/../../tests/mutants.bash"

mutants_begin topo/*.c placement/{base,memory,pages,pages/scores}/*.c
controls unpin_litmus stay_litmus set_litmus magazine_litmus pages_test leave_test set_test zone_test pages_stress

word=placement/pages/word.h pages=placement/pages/pages.c evictor=placement/pages/evictor.c extent=placement/pages/extent.c
set=placement/pages/set.c zone=placement/pages/zone.c magazine=placement/pages/magazine.c report=placement/pages/report.c
internal=placement/pages/pages_internal.h open=placement/pages/open.c bits=placement/pages/bits.c
weighted=placement/pages/scores/weighted.c

# --- memory orders -------------------------------------------------------------------------------------------------------------

mutant U1-unpin-relaxed $word unpin_litmus '/\/\/ U1$/s/__ATOMIC_RELEASE/__ATOMIC_RELAXED/'
mutant E1-claim-without-acquire $word unpin_litmus '/\/\/ E1, S1$/s/__ATOMIC_ACQ_REL/__ATOMIC_RELEASE/'
mutant S1-stay-without-release $word stay_litmus '/\/\/ E1, S1$/s/__ATOMIC_ACQ_REL/__ATOMIC_ACQUIRE/'
mutant E1-last-unpin-relaxed $word unpin_litmus '/RELAXED\); \/\/ E1$/s/__ATOMIC_ACQUIRE/__ATOMIC_RELAXED/'
mutant V1-show-relaxed $word set_litmus '/\/\/ V1; /s/__ATOMIC_RELEASE/__ATOMIC_RELAXED/'
mutant V2-pin-relaxed $word set_litmus '/fetch_add.*\/\/ V2$/s/__ATOMIC_ACQUIRE/__ATOMIC_RELAXED/'
mutant C1-commit-relaxed $set set_litmus '/SET_COMMITTED, .*\/\/ C1$/s/__ATOMIC_RELEASE/__ATOMIC_RELAXED/'
mutant C2-look-relaxed $set set_litmus '/\/\/ C2$/s/__ATOMIC_ACQUIRE/__ATOMIC_RELAXED/'
mutant M1-give-relaxed $magazine magazine_litmus '/\/\/ M1$/s/__ATOMIC_RELEASE/__ATOMIC_RELAXED/'
mutant M2-take-relaxed $internal magazine_litmus '/\/\/ M2$/s/__ATOMIC_ACQUIRE/__ATOMIC_RELAXED/'

# --- each exchange split in two ------------------------------------------------------------------------------------------------

two() { # add or sub, and its sign
    echo "s/__atomic_fetch_$1\\(word, (.*), __ATOMIC_[A-Z]*\\)/({ uint64_t was = word_read(word);" \
        "*(volatile uint64_t *)word = was $2 (\\1); was; })/"
}
# The store comes late, and overwrites what came in between.
late_store='s/^#define WORD_PIN .*/&\nstatic bool put_late(uint64_t *at, uint64_t to) { __atomic_store_n(at, to, 5); return 1; }/'
late() { # expected, what fails, desired
    echo "s/return .*;/if (word_read(at) != $1)\\n        return $2;" \
        "\\n    sched_yield();\\n    return put_late(at, $3);/; $late_store"
}
mutant pin-in-two $word pages_stress "/ V2\$/$(two add +)"
mutant unpin-in-two $word pages_stress "/ U1\$/$(two sub -)"
mutant exchange-in-two $word pages_stress "/E1, S1\$/$(late '*word' '*word = word_read(at), false' desired)"
mutant last-unpin-in-two $word pages_stress \
    "s/(word_end_doomed\\(uint64_t \\*)word,/\\1at,/; /RELAXED\\); \/\/ E1\$/$(late doomed false 'word_ended(doomed)')"
mutant whoever-comes-to-zero-gives-back $word pages_stress \
    '/RELAXED\); \/\/ E1$/s/return .*;/sched_yield();\n    __atomic_store_n(word, word_ended(doomed), 3);\n    return true;/'
mutant magazine-in-two $internal pages_stress \
    '/M2$/s/\? __atomic_exchange_n\(slot, 0, __ATOMIC_ACQUIRE\)/? ({ uint32_t was = *slot; *(volatile uint32_t *)slot = 0; was; })/'

# --- what the code does --------------------------------------------------------------------------------------------------------

mutant generation-stays $word pages_test 's/\(word \+ 1\) & WORD_GENERATION/word \& WORD_GENERATION/'
mutant ended-drops-passing-pins $word pages_stress \
    's/return \(word & ~\(WORD_PIN - 1\)\) \|/return (word_state(word) ? WORD_PIN : 0) |/'
mutant pin-of-any-generation $pages pages_test 's/!= \(word_state_of\(LOCUS_RANGE_RESIDENT\) \| range_generation\(range\)\)/== 0/'
mutant a-refused-pin-stays $pages pages_test 's/if \(word_unpin\(&page->word\)\)$/if (0)/'
mutant pins-without-end $pages pages_test 's/word_pins\(before\) >= LOCUS_PINS_MAX/0/'
mutant unpin-without-a-pin $pages pages_test 's/if \(word_pins\(word\) == 0 \|\| others\)/if (others)/'
mutant unpin-takes-the-evictors-pin $pages pages_test 's/if \(word_pins\(word\) == 0 \|\| others\)/if (word_pins(word) == 0)/'
mutant free-while-pinned $pages pages_test 's/bool unpinned = (.*) && word_pins\(word\) == 0;/bool unpinned = \1;/'
mutant freed-twice $pages pages_test 's/ \|\| state == LOCUS_RANGE_DOOMED\)/)/'
mutant prepared-is-freed $pages pages_test 's/state == LOCUS_RANGE_PREPARED\)$/0)/'
mutant unpin-is-no-use $pages leave_test '/^int locus_pages_unpin/,/^}/s/RELAXED_STORE\(page->last_use_ns, .*//'
mutant pinned-since-ever $pages pages_test 's/if \(word_pins\(before\) == 0\)$/if (0)/'
mutant gradients-are-taken $pages pages_test 's/return -EOPNOTSUPP;/return 0;/'
mutant magazines-keep-their-pages $pages pages_test \
    's/== PAGE_NONE && magazines_empty\(pages\)/== PAGE_NONE \&\& 0/; s/if \(\*page != PAGE_NONE\)$/if (*page != PAGE_NONE || 1)/'
mutant an-ask-that-stays-evicts $pages leave_test 's/return ask->no_evict \? -ENOMEM : /return /'
mutant magazines-mix-the-ends $pages pages_test 's/pages->config\.split == LOCUS_SPLIT_NONE;/pages->zones_count == 1;/'
mutant high-end-for-all $pages pages_test 's/ask->kind >= LOCUS_PAGES_SCRATCH/true/'
mutant one-zone-for-all $internal pages_test 's/pages->zones_count > 1 \? \(unsigned\)kind : 0/0/'
mutant thrash-of-any-kind $report leave_test 's/ && gone->kind == ask->kind//; s/ \* LOCUS_PAGES_KINDS \+ \(unsigned\)kind//'
mutant thrash-for-ever $report leave_test 's/ && now_ns - gone->at_ns < THRASH_NS//; s/(until_ns = ).*;/\1UINT64_MAX;/'
mutant overdue-at-once $report pages_test 's/ \|\| info->pinned_since_ns > overdue->before_ns//'

mutant evicts-what-is-pinned $evictor leave_test 's/ && word_pins\(word\) == 0;/;/'
mutant used-since-the-pass $evictor leave_test 's/RELAXED_LOAD\(page->last_use_ns\) == out->last_use_ns && //'
mutant greatest-first $evictor leave_test 's/return a->score < b->score \|\|/return a->score > b->score ||/'
mutant the-first-victims-stay $evictor leave_test 's/less\(&victim, &heap\[0\]\)/false/'
mutant eviction-without-range $evictor leave_test 's/ask->pages == 1 && pages->zones_count == 1/pages->zones_count == 1/'
mutant eviction-of-other-zones $evictor pages_test 's/ask->pages == 1 && pages->zones_count == 1/ask->pages == 1/'
mutant what-must-stay-leaves $evictor leave_test 's/ended\(page, result != 0, &was_freed\)/ended(page, false, \&was_freed)/'
mutant what-stays-is-asked-first-again $evictor leave_test '/^static bool settle/,/^}/s/RELAXED_STORE\(page->last_use_ns, .*//'
mutant a-free-counts-as-eviction $evictor leave_test 's/if \(is_free && !was_freed\)/if (is_free)/'
mutant leaving-for-ever $evictor leave_test '/^int locus_pages_evict_done/,/^}/s/atomic_fetch_sub_explicit\(.*//'
mutant evicts-more-while-room-is-on-its-way $evictor leave_test \
    's/pages_leaving, memory_order_relaxed\) < ask->pages\)/pages_leaving, memory_order_relaxed) + 1 > 0)/'
mutant room-on-its-way-anywhere $evictor leave_test \
    's/zone_of_kind\(pages, ask->kind\)->pages_leaving/pages->zones->pages_leaving/'
mutant refused-is-asked-again $evictor leave_test 's/ && !evictor_was_refused\(pages, i\)//'
mutant any-number-of-answers $evictor leave_test 's/if \(!\(__atomic_fetch_and\(.*/if (0)/'
mutant no-room-for-who-evicts $evictor leave_test \
    's/^    while \(!error && \*page == PAGE_NONE\) \{/    error = is_evictor(pages) ? -EDEADLK : 0;\n&/'
mutant leave-waits-for-itself $evictor leave_test 's/if \(is_evictor\(pages\)\)/if (0)/'
mutant two-evictors $evictor pages_stress '/^int evictor_room/,/^}/s/if \(pages->evicting\)/if (0)/'
mutant the-rest-of-the-victim-is-lost $evictor leave_test \
    's/victim\.page, 1, victim\.page \+ length\)/victim.page, 1, victim.page + 1)/'
mutant hysteresis-without-memory $evictor leave_test 's/atomic_store_explicit\(&pages->draining, true, .*/return drain(pages);/'
mutant no-band $evictor leave_test 's/pages->config\.low_permille \*/pages->config.high_permille */'
mutant low-mark-rounded-up $evictor leave_test 's/(low_permille \* pages->config\.pages);/\1 + 999;/'
mutant later-refusals-do-not-count $evictor leave_test \
    's/atomic_load_explicit\(&pages->evict_refused, memory_order_relaxed\) - refused >=/pages->refused_count >=/'
mutant refused-and-tried-at-once $evictor leave_test 's/atomic_store_explicit\(&pages->vain, VAIN_ALLOCATIONS, .*//'
mutant drains-for-ever $evictor leave_test 's/atomic_store_explicit\(&pages->draining, false, .*//'
mutant the-dead-keep-their-room $evictor set_test 's/if \(error && locus_pages_reap\(pages\) > 0\)/if (0)/'

mutant dearest-extent $extent leave_test 's/\(score > search->best_score \|\|/(score < search->best_score ||/'
mutant extent-over-a-wall $extent leave_test 's/word_state\(word\) != LOCUS_RANGE_RESIDENT \|\| word_pins\(word\) > 0/0/'
mutant scores-do-not-fall $extent leave_test 's/search->fall_end--;/break;/'
mutant the-rest-of-the-extent-is-lost $extent leave_test 's/first \+ search\.best_pages\)/first + ask->pages)/'
mutant claims-are-kept $extent pages_stress 's/evictor_unclaim\(search->pages, .*/;/'
mutant an-extent-with-one-that-stays $extent leave_test 's/error = result > 0 \? -EAGAIN : -EBUSY;/error = 0;/'
mutant all-leave-in-vain $extent leave_test 's/if \(error == -EBUSY\)/if (0)/'

mutant commit-in-parts $set set_litmus 's/^    __atomic_store_n\(&set->state, SET_COMMITTED, .*/    ;/'
mutant roll-back-shows $set set_test '/^void locus_pages_set_rollback/,/^}/s/end\(set, false\)/end(set, true)/'
mutant half-a-set $set set_test 's/^    if \(error\) \{$/    if (0) {/'
mutant a-dead-holder-holds $set set_test 's/pthread_mutexattr_setrobust\(.*//'
mutant prepared-is-visible $set set_test \
    's/pages_begin\(pages, &asks\[i\], page, LOCUS_RANGE_PREPARED\)/pages_begin(pages, \&asks[i], page, LOCUS_RANGE_RESIDENT)/'

mutant left-neighbour-stays-apart $zone zone_test 's/if \(first > zone->first && table\[first - 1\]\.free\)/if (0)/'
mutant right-neighbour-stays-apart $zone zone_test 's/if \(end < zone->first \+ zone->pages && table\[end\]\.free\)/if (0)/'
mutant largest-fit $zone zone_test 's/bits_next\(&zone->lengths, length\)/bits_last(\&zone->lengths)/'
mutant in-a-magazine-for-ever $zone pages_test 's/RELAXED_STORE\(head->in_magazine, false\);//'
mutant any-first-fit $zone zone_test 's/table\[zone->first \+ i\]\.pages >= length/table[zone->first + i].pages > length/'
mutant last-word-of-a-level $bits zone_test 's/from >= bits->words\[i\]/from + 1 >= bits->words[i]/'
mutant a-level-is-not-cleared $bits zone_test 's/^( *)return;$/\1return; else return;/'
mutant magazine-without-bound $magazine pages_test 's/magazine->top == magazine->room/magazine->top == LOCUS_MAGAZINE_MAX/'
mutant a-whole-magazine-at-once $magazine pages_test 's/\(magazine->room \+ 1\) \/ 2/magazine->room/'
mutant close-while-pinned $open pages_test 's/ \|\| info->pins > 0//'
mutant the-clock-goes-back $open pages_test 's/while \(then_ns < now_ns &&$/while (then_ns != now_ns \&\&/'
mutant equal-watermarks $open pages_test 's/config->low_permille == config->high_permille && /0 \&\& /'
mutant size-counts-against $weighted leave_test 's/0\.2 \* size/-0.2 * size/'
mutant adapters-are-always-warm $weighted leave_test 's/view->idle_ns >= COLD_NS \? 3 : 4/4/'
mutants_end
