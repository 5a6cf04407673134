// SPDX-License-Identifier: Apache-2.0
//
// cpus: see cpus.h.

#include "testbed/base/cpus/cpus.h"

#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topo/pin.h"

#define ISOLATED "/sys/devices/system/cpu/isolated"
#define WORDS (8192u / (8u * (unsigned)sizeof(unsigned long))) // the largest kernel has so many CPUs (topo/idset.h)

static unsigned long others[WORDS]; // where tb_cpus_leave() goes
static bool has_others, was_asked;
static hwloc_bitmap_t offered_here, measured_here; // NULL: nothing has asked yet

// hwloc parses the list, but takes whatever begins like one, so the text is looked at first.
static bool is_list(const char *text)
{
    for (bool first = true; *text; first = false) {
        if (!first && *text++ != ',')
            return false;
        for (int ends = 0; ends < 2 && (ends == 0 || *text == '-'); ends++) {
            text += ends; // the '-'
            if (!isdigit((unsigned char)*text))
                return false;
            while (isdigit((unsigned char)*text))
                text++;
        }
    }
    return true;
}

int tb_id_list(const char *text, hwloc_bitmap_t out)
{
    return !out ? -ENOMEM : !is_list(text) || hwloc_bitmap_list_sscanf(out, text) ? -EINVAL : 0;
}

void tb_cpus_choose(hwloc_const_bitmap_t given, hwloc_const_bitmap_t reach, hwloc_const_bitmap_t isolated, hwloc_bitmap_t out)
{
    hwloc_bitmap_andnot(out, reach, isolated);
    bool chosen = !hwloc_bitmap_isequal(given, reach) && !hwloc_bitmap_isequal(given, out);
    hwloc_bitmap_and(out, reach, isolated);
    if (chosen || hwloc_bitmap_iszero(out))
        hwloc_bitmap_copy(out, given);
}

static int affinity_get(hwloc_bitmap_t out)
{
    unsigned long words[WORDS] = {0};
    if (sched_getaffinity(0, sizeof words, (cpu_set_t *)words))
        return -errno;
    return hwloc_bitmap_from_ulongs(out, WORDS, words) ? -ENOMEM : 0;
}

static int affinity_set(hwloc_const_bitmap_t set)
{
    unsigned long words[WORDS];
    hwloc_bitmap_to_ulongs(set, WORDS, words);
    return sched_setaffinity(0, sizeof words, (const cpu_set_t *)words) ? -errno : 0;
}

static int isolated_read(hwloc_bitmap_t out)
{
    char text[4096] = "";
    FILE *file = fopen(ISOLATED, "re");
    if (file) {
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
    }
    text[strcspn(text, "\n")] = '\0';
    return tb_id_list(text, out);
}

// By the rule. What the cpuset has is what the kernel grants to who asks for everything.
static int offer(hwloc_const_bitmap_t given, hwloc_bitmap_t out)
{
    hwloc_bitmap_t isolated = hwloc_bitmap_alloc(), reach = hwloc_bitmap_alloc_full();
    int error = isolated && reach ? 0 : -ENOMEM;
    hwloc_bitmap_copy(out, given);
    if (!error && isolated_read(isolated) == 0 && !hwloc_bitmap_iszero(isolated) && affinity_set(reach) == 0) {
        error = affinity_get(reach);
        if (!error)
            tb_cpus_choose(given, reach, isolated, out);
        affinity_set(given);
    }
    hwloc_bitmap_free(isolated);
    hwloc_bitmap_free(reach);
    return error;
}

static int list_wanted(const char *name, const char *list, hwloc_bitmap_t out, char *why, size_t why_bytes)
{
    int error = tb_id_list(list, out);
    if (error)
        snprintf(why, why_bytes, "%s: '%.80s' is no list of CPUs, such as 2-7,9", name, list);
    return error;
}

// Asked for is not granted: the kernel drops CPUs that are offline or outside of the cpuset, and says nothing.
static int move(const char *name, hwloc_const_bitmap_t wanted, char *why, size_t why_bytes)
{
    unsigned remembered = 0;
    char missing[128] = "";
    hwloc_bitmap_t got = hwloc_bitmap_alloc();
    int error = !got ? -ENOMEM : affinity_set(wanted);
    if (!error)
        error = affinity_get(got);
    if (error && error != -EINVAL) // EINVAL: none of them is there
        goto out;
    hwloc_bitmap_andnot(got, wanted, got);
    if (!hwloc_bitmap_iszero(got)) {
        hwloc_bitmap_list_snprintf(missing, sizeof missing, got);
        snprintf(why, why_bytes,
                 "%s: this process may not run on CPU %s: there is none, or it is offline, or a cpuset keeps the process away "
                 "from it (what there is: locus topo)",
                 name, missing);
        error = -EPERM;
    } else if (locus_pin_allowed(NULL, 0, &remembered) || (int)remembered != hwloc_bitmap_weight(wanted)) {
        error = -EBUSY;
    }
out:
    hwloc_bitmap_free(got);
    return error;
}

// For the functions below. LOCUS_CPUS is set only if it says something.
static int keep(bool told, hwloc_const_bitmap_t given, hwloc_const_bitmap_t offered, hwloc_const_bitmap_t measured)
{
    char *text = NULL;
    hwloc_bitmap_t rest = hwloc_bitmap_alloc();
    offered_here = hwloc_bitmap_dup(offered);
    measured_here = hwloc_bitmap_dup(measured);
    was_asked = told || !hwloc_bitmap_isequal(given, measured);
    int error = rest && offered_here && measured_here && hwloc_bitmap_list_asprintf(&text, measured) >= 0 ? 0 : -ENOMEM;
    if (!error && was_asked && setenv(TB_CPUS_VARIABLE, text, 1))
        error = -ENOMEM;
    if (!error) {
        hwloc_bitmap_andnot(rest, given, measured);
        hwloc_bitmap_to_ulongs(rest, WORDS, others);
        has_others = !hwloc_bitmap_iszero(rest);
    }
    free(text);
    hwloc_bitmap_free(rest);
    return error;
}

static int ask(const char *list, bool isolated, hwloc_bitmap_t sets[3], char *why, size_t why_bytes)
{
    hwloc_bitmap_t given = sets[0], offered = sets[1], wanted = sets[2];
    const char *name = list ? "--cpus" : TB_CPUS_VARIABLE;
    if (!list)
        list = getenv(TB_CPUS_VARIABLE);
    bool told = list && *list;
    int error = affinity_get(given);
    if (!error)
        error = offer(given, offered);
    if (!error)
        error = told ? list_wanted(name, list, wanted, why, why_bytes) : hwloc_bitmap_copy(wanted, isolated ? offered : given);
    if (!error)
        error = move(name, wanted, why, why_bytes);
    if (!error)
        error = keep(told, given, offered, wanted);
    if (error && !hwloc_bitmap_iszero(given))
        affinity_set(given);
    return error;
}

int tb_cpus_ask(const char *list, bool isolated, char *why, size_t why_bytes)
{
    hwloc_bitmap_t sets[] = {hwloc_bitmap_alloc(), hwloc_bitmap_alloc(), hwloc_bitmap_alloc()};
    why[0] = '\0';
    int error = sets[0] && sets[1] && sets[2] ? ask(list, isolated, sets, why, why_bytes) : -ENOMEM;
    if (error && !why[0])
        snprintf(why, why_bytes, "cannot ask for the CPUs to measure on: %s", strerror(-error));
    for (size_t i = 0; i < 3; i++)
        hwloc_bitmap_free(sets[i]);
    return error;
}

void tb_cpus_leave(void)
{
    if (has_others)
        sched_setaffinity(0, sizeof others, (const cpu_set_t *)others);
}

const char *tb_cpus_asked(void)
{
    return was_asked ? getenv(TB_CPUS_VARIABLE) : NULL;
}

int tb_cpus_here(hwloc_bitmap_t offered, hwloc_bitmap_t measured)
{
    if (measured_here)
        return hwloc_bitmap_copy(offered, offered_here) || hwloc_bitmap_copy(measured, measured_here) ? -ENOMEM : 0;
    int error = affinity_get(measured);
    if (!error)
        error = offer(measured, offered);
    return error || hwloc_bitmap_copy(measured, offered) == 0 ? error : -ENOMEM;
}
