// SPDX-License-Identifier: Apache-2.0
//
// bell: see bell.h.

#include "bell.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "locus/lane.h"
#include "placement/base/clock.h"

#define ASLEEP 1u
#define ONE 2u
#define POLLS_BETWEEN_LOOKS 64u // a look at the clock takes as long as one poll of a line that is here

static long futex(uint32_t *word, int operation, uint32_t value, const struct timespec *timeout)
{
    return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, timeout, NULL, 0);
}

void lg_bell_ring(struct lg_bell *bell)
{
    uint32_t before = __atomic_fetch_add(&bell->word, ONE, __ATOMIC_RELEASE); // B1
    if (!(before & ASLEEP))
        return;
    __atomic_fetch_and(&bell->word, ~ASLEEP, __ATOMIC_RELAXED);
    futex(&bell->word, FUTEX_WAKE, INT32_MAX, NULL);
}

// The count may be ahead of what is asked for; the difference of two counts is taken modulo its 31 bits.
static bool reached(uint32_t word, uint32_t count)
{
    return (int32_t)((word & ~ASLEEP) - count * ONE) >= 0;
}

bool lg_bell_reached(const struct lg_bell *bell, uint32_t count)
{
    return reached(__atomic_load_n(&bell->word, __ATOMIC_ACQUIRE), count); // B2
}

static bool spin(const struct lg_bell *bell, uint32_t count)
{
    uint64_t until_ns = 0;
    for (unsigned polls = 1; !lg_bell_reached(bell, count); polls++) {
        locus_cpu_relax();
        if (polls % POLLS_BETWEEN_LOOKS)
            continue;
        uint64_t ns = clock_now_ns();
        if (!until_ns)
            until_ns = ns + LG_SPIN_NS;
        else if (ns > until_ns)
            return false;
    }
    return true;
}

int lg_bell_wait(struct lg_bell *bell, uint32_t count, bool (*alive)(void *context), void *context)
{
    const struct timespec second = {.tv_sec = 1};
    if (spin(bell, count))
        return 0;
    for (;;) {
        uint32_t word = __atomic_load_n(&bell->word, __ATOMIC_ACQUIRE); // B2
        if (reached(word, count))
            return 0;
        // Relaxed suffices: the bit carries nothing, and the futex compares the word again.
        if (!(word & ASLEEP) &&
            !__atomic_compare_exchange_n(&bell->word, &word, word | ASLEEP, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
        if (futex(&bell->word, FUTEX_WAIT, word | ASLEEP, alive ? &second : NULL) && errno == ETIMEDOUT && !alive(context))
            return -EOWNERDEAD;
    }
}
