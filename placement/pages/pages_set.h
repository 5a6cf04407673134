// SPDX-License-Identifier: Apache-2.0
//
// pages_set: ranges that become visible together or not at all, in two phases.
//
//     prepare(asks) -> fill them (locus_pages_address()), hand their handles to anybody -> commit, or roll back
//
// Until the commit a pin of any of them returns -EAGAIN. The commit is one store: every pin after it finds the whole set, and a
// reader that has found one range of a set finds all others. The ranges stay pinned once by their holder, as after
// locus_pages_allocate().
//
// A thread that ends without commit or roll back is noticed by the next prepare() that finds no other free place, by
// locus_pages_reap(), and by an arena that looks for room: its set is rolled back (a robust mutex tells, see
// pthread_mutexattr_setrobust(3)). If it ended inside the commit, the set is visible, and the holder's pins end.
//
// Threads: commit and roll back belong to the thread that prepared.
#ifndef LOCUS_PAGES_SET_H
#define LOCUS_PAGES_SET_H

#include "pages.h"

#ifdef __cplusplus
extern "C" {
#endif

struct locus_set;

// All ranges or none; ranges[] has room for `count` > 0 handles. The errors of locus_pages_allocate(); -EBUSY: as many sets as the
// arena was opened for are prepared.
int locus_set_prepare(struct locus_set **out, struct locus_pages *pages, const struct locus_pages_ask asks[], uint32_t count,
                      locus_range ranges[]);

void locus_set_commit(struct locus_set *set);    // the set is gone; its ranges are RESIDENT, pinned once
void locus_set_roll_back(struct locus_set *set); // the set and its ranges are gone

// Rolls back the sets of threads that have ended. Returns how many.
uint32_t locus_pages_reap(struct locus_pages *pages);

#ifdef __cplusplus
}
#endif

#endif
