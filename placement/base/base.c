// SPDX-License-Identifier: Apache-2.0
//
// base: the version of the library in use, and the symbol of an inline function (blocks/inlines.c).
#include "locus/lane.h"
#include "locus/version.h"

extern inline void locus_cpu_relax(void);

uint32_t locus_version(void)
{
    return LOCUS_VERSION_NUMBER;
}
