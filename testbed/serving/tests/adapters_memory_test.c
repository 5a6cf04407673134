// SPDX-License-Identifier: Apache-2.0
//
// adapters_memory: without memory for any one of their arrays, batchers and policies of residency say so, and give all others back.
#include <criterion/criterion.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "testbed/serving/adapters/batches.h"
#include "testbed/serving/adapters/residency.h"
#include "testbed/serving/adapters/resident.h"
#include "placement/base/tests/sanitized.h"

#ifndef SANITIZED // its own memory does not fit below the limit
enum { ADAPTERS = 100000, ROOM_STEP = 262144 };

static size_t address_space_bytes(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    cr_assert(file && fscanf(file, "%zu", &pages) == 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static int run(const struct tb_scenario *scenario, const struct tb_adapter_settings *settings, const struct tb_batcher *batcher,
               const struct locus_adapter_policy *resident)
{
    struct tb_batched batched;
    struct tb_resided resided;
    struct tb_why why = {""};
    return batcher ? tb_batches(scenario, settings, batcher, &batched, NULL, &why)
                   : tb_residency(scenario, settings, resident, &resided, &why);
}

// Each array is a mapping of its own, so with more room one more of them can be had.
static void lacks(const struct tb_scenario *scenario, const struct tb_batcher *batcher, const struct locus_adapter_policy *resident)
{
    const char *name = batcher ? batcher->name : resident->name;
    struct tb_adapter_settings settings = {.adapters = ADAPTERS};
    struct rlimit limit;
    unsigned failures = 0;
    tb_adapter_settings_fill(&settings);
    size_t room = 0, mapped = mallinfo2().hblkhd;
    for (int error = -ENOMEM; error; room += ROOM_STEP) {
        cr_assert_eq(getrlimit(RLIMIT_AS, &limit), 0);
        rlim_t before = limit.rlim_cur;
        limit.rlim_cur = address_space_bytes() + room;
        cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
        error = run(scenario, &settings, batcher, resident);
        limit.rlim_cur = before;
        cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
        cr_assert(error == 0 || error == -ENOMEM, "%s: %d", name, error);
        failures += error != 0;
        cr_assert_eq(mallinfo2().hblkhd, mapped, "%s: not all is given back", name);
    }
    cr_expect_gt(failures, 5, "%s: %u", name, failures);
}

Test(adapters_memory, every_lack_of_memory_is_said_and_all_is_given_back)
{
    struct tb_scenario *poisson = NULL;
    struct tb_why why;
    cr_assert_eq(tb_scenario_open("poisson", 0, NULL, &poisson, &why), 0, "%s", why.text);
    mallopt(M_MMAP_THRESHOLD, 16384);
    for (uint32_t i = 0; tb_batcher_at(i); i++)
        lacks(poisson, tb_batcher_at(i), NULL);
    for (uint32_t i = 0; tb_resident_at(i); i++)
        lacks(poisson, NULL, tb_resident_at(i));
    tb_scenario_close(poisson);
}
#endif
