// SPDX-License-Identifier: Apache-2.0
//
// owner_internal: what domain.c needs of an owner besides the public functions. Not installed.
#ifndef LOCUS_OWNER_INTERNAL_H
#define LOCUS_OWNER_INTERNAL_H

#include "owner.h"

// True: a spawned thread was not joined, so the owner cannot be closed. Any thread.
bool owner_has_thread(const struct locus_owner *owner);

#endif
