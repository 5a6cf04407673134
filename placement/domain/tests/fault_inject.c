// SPDX-License-Identifier: Apache-2.0
//
// A library to preload that lets the Nth call of one function fail: LOCUS_FAULT="mmap:3". The families are
//
//     mmap            mmap, mmap64                                               ENOMEM
//     mbind           libnuma's mbind, and syscall(SYS_mbind, ...)               ENOMEM
//     madvise         madvise                                                    ENOMEM
//     malloc          malloc, calloc, realloc, aligned_alloc, posix_memalign     ENOMEM
//     pthread_create  pthread_create                                             EAGAIN
//
// Calls count only between fault_arm() and fault_disarm(), which the program under test finds by dlsym. Counting from the
// start of the process would number the loader's and the C library's own calls too, and N would mean something else on every
// system.
// Exactly one call fails; those after it succeed again, so a clean-up that allocates is exercised and not excused.
//
// It also keeps a balance of live heap blocks and mapped bytes, so that "everything was released" is a number and needs no
// sanitizer (whose own malloc would be in the way of this one). It writes nothing.
//
// The allocator's entry points are reached by the names glibc gives them (__libc_malloc), because dlsym itself allocates.
#include <dlfcn.h>
#include <errno.h>
#include <numaif.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void fault_arm(void);
void fault_disarm(void);
int fault_was_hit(void);
long fault_live_blocks(void);
long fault_live_bytes(void);

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *block, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *block);

enum family { NONE, MMAP, MBIND, MADVISE, MALLOC, PTHREAD_CREATE };

static enum family target; // written before any thread is started
static long target_call;
static _Atomic bool armed;
static _Atomic long calls;
static _Atomic bool hit;
static _Atomic long live_blocks; // live since fault_arm: blocks of the heap, and bytes of mappings
static _Atomic long live_bytes;

static const struct {
    const char *name;
    enum family family;
} families[] = {
    {"mmap:", MMAP}, {"mbind:", MBIND}, {"madvise:", MADVISE}, {"malloc:", MALLOC}, {"pthread_create:", PTHREAD_CREATE},
};

__attribute__((constructor)) static void read_target(void)
{
    const char *fault = getenv("LOCUS_FAULT");
    for (size_t i = 0; fault && i < sizeof(families) / sizeof(families[0]); i++) {
        size_t length = strlen(families[i].name);
        if (strncmp(fault, families[i].name, length) == 0) {
            target = families[i].family;
            target_call = atol(fault + length);
        }
    }
}

void fault_arm(void)
{
    atomic_store(&live_blocks, 0);
    atomic_store(&live_bytes, 0);
    atomic_store(&armed, true);
}

void fault_disarm(void)
{
    atomic_store(&armed, false);
}

int fault_was_hit(void)
{
    return atomic_load(&hit);
}

long fault_live_blocks(void)
{
    return atomic_load(&live_blocks);
}

long fault_live_bytes(void)
{
    return atomic_load(&live_bytes);
}

static bool fails(enum family family)
{
    if (family != target || !atomic_load(&armed) || atomic_fetch_add(&calls, 1) + 1 != target_call)
        return false;
    atomic_store(&hit, true);
    return true;
}

static void *next(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (!function)
        abort();
    return function;
}

static void *counted_block(void *block)
{
    if (block)
        atomic_fetch_add(&live_blocks, 1);
    return block;
}

static void *out_of_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

// A stream whose buffer cannot be had works without one, inside the C library: a failure there has nothing to show.
static bool is_stream_buffer(const void *caller)
{
    Dl_info info;
    return dladdr(caller, &info) && info.dli_sname && strcmp(info.dli_sname, "_IO_file_doallocate") == 0;
}

void *malloc(size_t bytes)
{
    bool exempt = target == MALLOC && atomic_load(&armed) && is_stream_buffer(__builtin_return_address(0));
    return !exempt && fails(MALLOC) ? out_of_memory() : counted_block(__libc_malloc(bytes));
}

void *calloc(size_t count, size_t bytes)
{
    return fails(MALLOC) ? out_of_memory() : counted_block(__libc_calloc(count, bytes));
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails(MALLOC) ? out_of_memory() : counted_block(__libc_memalign(alignment, bytes));
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    void *block = fails(MALLOC) ? NULL : counted_block(__libc_memalign(alignment, bytes));
    if (!block)
        return ENOMEM;
    *out = block;
    return 0;
}

void *realloc(void *block, size_t bytes)
{
    if (fails(MALLOC))
        return out_of_memory();
    bool had = block != NULL;
    void *moved = __libc_realloc(block, bytes);
    if (moved && !had)
        atomic_fetch_add(&live_blocks, 1);
    else if (had && bytes == 0) // glibc frees
        atomic_fetch_sub(&live_blocks, 1);
    return moved;
}

void free(void *block)
{
    if (block)
        atomic_fetch_sub(&live_blocks, 1);
    __libc_free(block);
}

// Balanced for a program that maps fresh addresses only (no MAP_FIXED over a live mapping), as the library does.
void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    void *(*real)(void *, size_t, int, int, int, off_t) = next("mmap");
    if (fails(MMAP)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    void *mapping = real(address, bytes, protection, flags, file, offset);
    if (mapping != MAP_FAILED)
        atomic_fetch_add(&live_bytes, (long)bytes);
    return mapping;
}

void *mmap64(void *address, size_t bytes, int protection, int flags, int file, off64_t offset)
{
    return mmap(address, bytes, protection, flags, file, (off_t)offset);
}

int munmap(void *address, size_t bytes)
{
    int (*real)(void *, size_t) = next("munmap");
    int result = real(address, bytes);
    if (result == 0)
        atomic_fetch_sub(&live_bytes, (long)bytes);
    return result;
}

int madvise(void *address, size_t bytes, int advice)
{
    int (*real)(void *, size_t, int) = next("madvise");
    if (!fails(MADVISE))
        return real(address, bytes, advice);
    errno = ENOMEM;
    return -1;
}

long mbind(void *address, unsigned long bytes, int mode, const unsigned long *mask, unsigned long maxnode, unsigned flags)
{
    return syscall(SYS_mbind, address, bytes, mode, mask, maxnode, flags);
}

// Reads six arguments whatever the caller passed: on the two calling conventions that we run on (x86-64, aarch64) the rest are
// registers or stack words of no meaning, which the kernel ignores just as it does behind the real wrapper.
long syscall(long number, ...)
{
    long (*real)(long, ...) = next("syscall");
    long argument[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        argument[i] = va_arg(list, long);
    va_end(list);
    if (number != SYS_mbind || !fails(MBIND))
        return real(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
    errno = ENOMEM;
    return -1;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = next("pthread_create");
    return fails(PTHREAD_CREATE) ? EAGAIN : real(thread, attributes, start, argument);
}
