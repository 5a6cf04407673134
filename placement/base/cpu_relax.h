// SPDX-License-Identifier: Apache-2.0
//
// cpu_relax: a pause for a loop that polls memory which another CPU writes. It saves power, leaves room to the core's other
// hardware thread, and avoids a mis-speculated load when the loop ends. Any thread.
#ifndef LOCUS_CPU_RELAX_H
#define LOCUS_CPU_RELAX_H

#ifdef __cplusplus
extern "C" {
#endif

inline void locus_cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); // yield is a no-op on most cores; isb stalls about as long as pause
#endif
}

#ifdef __cplusplus
}
#endif

#endif
