// SPDX-License-Identifier: Apache-2.0
//
// marks_scenario: programs of which it is known what they execute between the marks, for tests/counts.sh to compare with what the
// emulator's plugin counts (guest/plugin/counts.c). Each prints what it knows, in the plugin's words.
//
//     marks_scenario plain       12 instructions, of which 4 lock memory; one exchange, which succeeds
//     marks_scenario more        the same and one locked instruction more
//     marks_scenario failing     5 exchanges that fail, by both jumps, one of them with moves between, and one that succeeds
//     marks_scenario untold      one exchange whose outcome is kept and not jumped on
//     marks_scenario bound       a function's first call, after a second thread: with LD_BIND_NOW nothing locks
//     marks_scenario contended   two threads at once, which count the failures of their own exchanges
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "testbed/counters/mark.h"

#ifdef __x86_64__
#define TEXT_OF(...) ".byte " TB_MARK_TEXT(__VA_ARGS__) "\n"
#define BEGIN TEXT_OF(TB_MARK_BEGIN_BYTES)
#define END TEXT_OF(TB_MARK_END_BYTES)

// Until each has failed once: on a busy machine the two may take turns for a while.
#define INCREMENTS 200000u
#define INCREMENTS_MAX 100000000u

static _Atomic uint64_t word;
static _Atomic unsigned ready, done;
static _Atomic bool go, leave;

// clang-format off
#define PLAIN                                                                                                                      \
    "xorl %%eax, %%eax\n"                                                                                                          \
    "movl $1, %%ecx\n"                                                                                                             \
    "lock cmpxchgq %%rcx, %0\n" /* 0 becomes 1 */                                                                                  \
    "jne 1f\n"                                                                                                                     \
    "movl $2, %%ecx\n"                                                                                                             \
    "1: lock addq $1, %0\n"                                                                                                        \
    "xchgq %%rcx, %0\n"                                                                                                            \
    "xchgq %%rcx, %%rdx\n"      /* of registers: locks nothing */                                                                  \
    "addq $1, %0\n"                                                                                                                \
    "lock incq %0\n"                                                                                                               \
    "leaq 3(%%rcx), %%rcx\n"                                                                                                       \
    "nopl 0x12345678(%%rax)\n"  /* no mark */
// clang-format on

static const char *plain(void)
{
    __asm__ volatile(BEGIN PLAIN END : "+m"(word)::"rax", "rcx", "rdx", "cc", "memory");
    return "instructions 12 locked 4 exchanges 1 failed 0 untold 0";
}

static const char *more(void)
{
    __asm__ volatile(BEGIN PLAIN "lock incq %0\n" END : "+m"(word)::"rax", "rcx", "rdx", "cc", "memory");
    return "instructions 13 locked 5 exchanges 1 failed 0 untold 0";
}

static const char *failing(void)
{
    word = 7;
    __asm__ volatile(BEGIN "movl $3, %%edx\n"
                           "1: movl $9, %%eax\n"
                           "lock cmpxchgq %%rcx, %0\n" // three times
                           "jne 2f\n"
                           "nop\n"
                           "2: decl %%edx\n"
                           "jnz 1b\n"
                           "movl $8, %%eax\n"
                           "lock cmpxchgq %%rcx, %0\n"
                           "movq %%rax, %%rdx\n" // moves leave the flags alone
                           "leaq 1(%%rdx), %%rdx\n"
                           "je 3f\n"
                           "3: movl $8, %%eax\n" // both ways are one: nothing is told
                           "lock cmpxchgl %%ecx, %0\n"
                           ".byte 0x0f, 0x84, 1, 0, 0, 0\n" // je, of 32 bits, over the next one
                           "nop\n"
                           "movl $7, %%eax\n"
                           "lock cmpxchgq %%rcx, %0\n" // succeeds
                           "je 4f\n"
                           "nop\n"
                           "4:" END
                     : "+m"(word)::"rax", "rcx", "rdx", "cc", "memory");
    return "instructions 28 locked 6 exchanges 6 failed 4 untold 1";
}

static const char *untold(void)
{
    __asm__ volatile(BEGIN "lock cmpxchgq %%rcx, %0\n"
                           "sete %%al\n" END
                     : "+m"(word)::"rax", "rcx", "cc", "memory");
    return "instructions 2 locked 1 exchanges 1 failed 0 untold 1";
}

static void *nothing(void *argument)
{
    return argument;
}

// The linker leaves its locks out until a process has a second thread.
static const char *bound(void)
{
    pthread_t second;
    if (pthread_create(&second, NULL, nothing, NULL) || pthread_join(second, NULL))
        return NULL;
    tb_mark_begin();
    sched_yield();
    tb_mark_end();
    return "locked 0 exchanges 0 failed 0 untold 0";
}

// A system call and nothing else: usleep() exchanges, for the sake of cancellation.
static void rest(void)
{
    struct timespec pause = {.tv_nsec = 100000};
    syscall(SYS_nanosleep, &pause, NULL);
}

static void *increment(void *argument)
{
    uint64_t *failures = argument;
    atomic_fetch_add(&ready, 1);
    while (!atomic_load(&go))
        ;
    for (unsigned i = 0; i < INCREMENTS || (*failures == 0 && i < INCREMENTS_MAX); i++) {
        uint64_t seen = atomic_load_explicit(&word, memory_order_relaxed);
        while (!atomic_compare_exchange_weak(&word, &seen, seen + 1))
            ++*failures;
    }
    atomic_fetch_add(&done, 1);
    while (!atomic_load(&leave)) // what libc does at a thread's end belongs to nobody here
        rest();
    return NULL;
}

static const char *contended(void)
{
    static char said[96];
    uint64_t failures[2] = {0};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, increment, &failures[i]))
            return NULL;
    while (atomic_load(&ready) < 2)
        rest();
    tb_mark_begin();
    atomic_store_explicit(&go, true, memory_order_release); // without a lock
    while (atomic_load(&done) < 2)
        rest(); // there may be two CPUs, and these are for the two threads
    tb_mark_end();
    atomic_store(&leave, true);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    unsigned long long failed = failures[0] + failures[1], exchanges = word + failed; // beside these, two additions to `done`
    snprintf(said, sizeof said, "locked %llu exchanges %llu failed %llu untold 0", exchanges + 2, exchanges, failed);
    return failed ? said : NULL;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        const char *(*run)(void);
    } programs[] = {{"plain", plain},   {"more", more},   {"failing", failing},
                    {"untold", untold}, {"bound", bound}, {"contended", contended}};
    for (size_t i = 0; argc == 2 && i < sizeof programs / sizeof *programs; i++) {
        if (strcmp(programs[i].name, argv[1]))
            continue;
        const char *said = programs[i].run();
        return !said || puts(said) < 0;
    }
    return 2;
}
#else
int main(void)
{
    return 77; // there are no marks on this architecture
}
#endif
