// SPDX-License-Identifier: Apache-2.0
//
// cpu_node: the kernel writes the CPU and the node into the thread's rseq area whenever it puts the thread on a CPU, so reading
// them costs two loads. The C library's header may be older than the running kernel, so we use the fields' fixed offsets. The
// library says whether there is an area: __rseq_size is 0 if it registered none (an old kernel, or
// GLIBC_TUNABLES=glibc.pthread.rseq=0). Only the auxiliary vector says whether the kernel fills node_id: a library that knows
// only the 20 bytes of the first interface reports 20, but has registered 32, because the kernel never accepted fewer, and the
// kernel fills all fields that it knows of those.
#include "testbed/measure/locality/cpu_node.h"

#include <errno.h>
#include <stdint.h>
#include <sys/auxv.h>

#if defined __has_include && __has_include(<sys/rseq.h>)
#include <sys/rseq.h>

#define FEATURE_SIZE_KEY 27ul   // AT_RSEQ_FEATURE_SIZE; missing in headers older than Linux 6.3
#define CPU_ID_OFFSET 4
#define NODE_ID_OFFSET 20
#define NODE_ID_END 24u
#define SIZE_MIN 20u

static const char *thread_area(void)
{
#ifdef __x86_64__ // clang has no __builtin_thread_pointer here
    const char *self;
    __asm__("mov %%fs:0, %0" : "=r"(self));
    return self + __rseq_offset;
#else
    return (const char *)__builtin_thread_pointer() + __rseq_offset;
#endif
}

bool tb_cpu_node_has_rseq(void)
{
    return __rseq_size >= SIZE_MIN && getauxval(FEATURE_SIZE_KEY) >= NODE_ID_END;
}

int tb_cpu_node_rseq(void)
{
    if (!tb_cpu_node_has_rseq())
        return -ENOSYS;
    const char *area = thread_area();
    // A negative CPU: the registration of this one thread failed.
    if (*(const volatile int32_t *)(const void *)(area + CPU_ID_OFFSET) < 0)
        return -ENOSYS;
    return *(const volatile int32_t *)(const void *)(area + NODE_ID_OFFSET);
}

#else

bool tb_cpu_node_has_rseq(void)
{
    return false;
}

int tb_cpu_node_rseq(void)
{
    return -ENOSYS;
}

#endif
