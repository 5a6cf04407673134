// SPDX-License-Identifier: Apache-2.0
//
// bell_stress SECONDS SEED: each promise of bell.h by itself, and meanwhile rounds in which one ringer and one to three waiters
// pass a plain word to and fro. The counts begin shortly before they wrap. Waits are short, so that the waiters spin, or longer
// than LG_SPIN_NS, so that they sleep, or about as long, so that a ring meets a waiter that is just going to sleep.
//
// Each direction has its own bell and no other edge, so ThreadSanitizer sees every word that a bell fails to order. A wake-up that
// is lost is a hang: an alarm ends the program, because no other thread would.
#include "placement/blocks/tests/stress.h"
#include "placement/ggml/bell.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

#define WAITERS_MAX 3u
#define RINGS_MAX 300u
#define ASLEEP 1u               // bell.c's lowest bit
#define HANG_SECONDS 30u        // the longest wait here is three seconds

static struct lg_bell bell_at(uint32_t count)
{
    return (struct lg_bell){.word = count * 2};
}

static bool somebody_sleeps(const struct lg_bell *bell)
{
    return __atomic_load_n(&bell->word, __ATOMIC_RELAXED) & ASLEEP;
}

static void pause_ns(uint64_t ns)
{
    nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)}, NULL);
}

static pthread_t start(void *(*function)(void *), void *context)
{
    pthread_t thread;
    STRESS_EXPECT(pthread_create(&thread, NULL, function, context) == 0);
    return thread;
}

// --- promises ------------------------------------------------------------------------------------------------------------------

static void counts_wrap(void)
{
    struct lg_bell bell = bell_at(0x7ffffffe);
    STRESS_EXPECT(lg_bell_reached(&bell, 0x7ffffffe) && lg_bell_reached(&bell, 0x7ffffffd));
    for (uint32_t count = 0x7fffffff; count != 0x80000003; count++) {
        STRESS_EXPECT(!lg_bell_reached(&bell, count) && !lg_bell_reached(&bell, count + (1u << 29)));
        lg_bell_ring(&bell);
        STRESS_EXPECT(lg_bell_reached(&bell, count) && lg_bell_reached(&bell, count - (1u << 29)));
        STRESS_EXPECT(lg_bell_wait(&bell, count, NULL, NULL) == 0);
    }
    STRESS_EXPECT(lg_bell_reached(&bell, 2)); // a count has 31 bits
}

struct partner {
    unsigned asked, says_yes;   // times
};

static bool partner_lives(void *context)
{
    struct partner *partner = context;
    return ++partner->asked <= partner->says_yes;
}

// Asked once a second, and believed at the first no.
static void *dead_partner(void *unused)
{
    struct lg_bell bell = bell_at(7);
    struct partner partner = {.says_yes = 1};
    double begin_s = stress_now_s();
    STRESS_EXPECT(lg_bell_wait(&bell, 8, partner_lives, &partner) == -EOWNERDEAD);
    double took_s = stress_now_s() - begin_s;
    STRESS_EXPECT(partner.asked == 2 && took_s > 1.9 && took_s < 10);
    lg_bell_ring(&bell); // whom nobody awaits any more
    STRESS_EXPECT(lg_bell_wait(&bell, 8, partner_lives, &partner) == 0 && partner.asked == 2);
    STRESS_EXPECT(!somebody_sleeps(&bell));
    return unused;
}

static double cpu_s(void)
{
    struct rusage used;
    getrusage(RUSAGE_THREAD, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

struct sleeper {
    struct lg_bell bell;
    double cpu_s;
    bool asks;                  // with alive()
};

static void *sleep_there(void *context)
{
    struct sleeper *sleeper = context;
    struct partner partner = {.says_yes = UINT32_MAX};
    double begin_s = stress_now_s(), begin_cpu_s = cpu_s();
    STRESS_EXPECT(lg_bell_wait(&sleeper->bell, 2, sleeper->asks ? partner_lives : NULL, &partner) == 0);
    sleeper->cpu_s = cpu_s() - begin_cpu_s;
    STRESS_EXPECT(partner.asked <= stress_now_s() - begin_s);
    return NULL;
}

// A long wait takes no CPU time, a ring that is not the awaited one does not end it, and the bit is gone when nobody sleeps.
static void *long_waits(void *asks)
{
    struct sleeper sleeper = {.asks = asks};
    pthread_t thread = start(sleep_there, &sleeper);
    pause_ns(250000000);
    STRESS_EXPECT(somebody_sleeps(&sleeper.bell));
    lg_bell_ring(&sleeper.bell);
    pause_ns(250000000);
    STRESS_EXPECT(somebody_sleeps(&sleeper.bell));
    lg_bell_ring(&sleeper.bell);
    pthread_join(thread, NULL);
    STRESS_EXPECT(sleeper.cpu_s < 0.1);
    STRESS_EXPECT(!somebody_sleeps(&sleeper.bell));
    return NULL;
}

// --- rounds --------------------------------------------------------------------------------------------------------------------

struct round;
struct waiter {
    struct round *round;
    struct lg_bell answered;
    uint64_t random, sum;       // plain: the bells order them
};

struct round {
    struct lg_bell rung;
    uint32_t first, rings, waiters_count; // first: the count at the beginning
    uint64_t word, random;
    struct waiter waiters[WAITERS_MAX];
};

static void dawdle(uint64_t *random)
{
    uint32_t what = stress_random(random, 64);
    if (what == 0)
        pause_ns(2 * LG_SPIN_NS);
    else if (what < 4)
        pause_ns(stress_random(random, 2 * LG_SPIN_NS));
    else if (what < 8)
        sched_yield();
}

static void *wait_and_answer(void *context)
{
    struct waiter *waiter = context;
    struct round *round = waiter->round;
    struct partner partner = {.says_yes = UINT32_MAX};
    for (uint32_t ring = 1; ring <= round->rings; ring++) {
        bool asks = stress_random(&waiter->random, 2);
        dawdle(&waiter->random);
        STRESS_EXPECT(lg_bell_wait(&round->rung, round->first + ring, asks ? partner_lives : NULL, &partner) == 0);
        waiter->sum += round->word;
        lg_bell_ring(&waiter->answered);
    }
    return NULL;
}

static uint32_t round_run(struct round *round, uint64_t *random)
{
    pthread_t threads[WAITERS_MAX];
    uint64_t sum = 0;
    *round = (struct round){.first = 0x80000000 - stress_random(random, RINGS_MAX),
                            .rings = 1 + stress_random(random, RINGS_MAX),
                            .waiters_count = 1 + stress_random(random, WAITERS_MAX)};
    round->rung = bell_at(round->first);
    for (uint32_t i = 0; i < round->waiters_count; i++) {
        round->waiters[i] = (struct waiter){.round = round, .answered = bell_at(round->first), .random = stress_fork(*random, i)};
        threads[i] = start(wait_and_answer, &round->waiters[i]);
    }
    for (uint32_t ring = 1; ring <= round->rings; ring++) {
        round->word = stress_random(random, UINT32_MAX);
        sum += round->word;
        dawdle(random);
        lg_bell_ring(&round->rung);
        for (uint32_t i = 0; i < round->waiters_count; i++) {
            STRESS_EXPECT(lg_bell_wait(&round->waiters[i].answered, round->first + ring, NULL, NULL) == 0);
            STRESS_EXPECT(round->waiters[i].sum == sum);
        }
    }
    STRESS_EXPECT(!somebody_sleeps(&round->rung));
    for (uint32_t i = 0; i < round->waiters_count; i++) {
        pthread_join(threads[i], NULL);
        STRESS_EXPECT(!somebody_sleeps(&round->waiters[i].answered));
    }
    return round->rings;
}

static void hangs(int number)
{
    static const char text[] = "bell_stress: a thread waits for ever: a wake-up was lost\n";
    (void)number;
    (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
    _Exit(1);
}

int main(int argc, char **argv)
{
    struct stress stress = stress_begin(argc, argv);
    static struct round round;
    uint64_t random = stress_fork(stress.seed, 0), rings = 0;
    signal(SIGALRM, hangs);
    alarm(HANG_SECONDS);
    counts_wrap();
    pthread_t promises[] = {start(dead_partner, NULL), start(long_waits, NULL), start(long_waits, &stress)};
    do {
        alarm(HANG_SECONDS);
        rings += round_run(&round, &random);
    } while (stress_now_s() < stress.end_s);
    for (unsigned i = 0; i < sizeof(promises) / sizeof(promises[0]); i++)
        pthread_join(promises[i], NULL);
    printf("%llu rings\n", (unsigned long long)rings);
    return 0;
}
