// SPDX-License-Identifier: Apache-2.0
//
// cpu_id: which CPU this is, and what is known about it. /proc/cpuinfo names the CPU in the manner of its architecture: vendor_id,
// cpu family and model; CPU implementer and CPU part; or "cpu : POWER9".

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/counters/tables.h"

#define ANY_STEPPING 0, UINT32_MAX
#define ARM_LTD "ARM", 0x41
#define ONE(model) (model), (model)

// Zen 4 and 5 are what the others of their families are not; Zen 6 has the events of Zen 5.
static const struct tb_cpu cpus[] = {
    {"GenuineIntel", 6, ONE(0x55), 0, 4, "Skylake-SP", "skx", NULL, &tb_intel_skx, &tb_intel_uncore_skx},
    {"GenuineIntel", 6, ONE(0x55), 5, UINT32_MAX, "Cascade Lake", "clx", NULL, &tb_intel_skx, &tb_intel_uncore_skx},
    {"GenuineIntel", 6, ONE(0x6a), ANY_STEPPING, "Ice Lake-SP", "icx", NULL, &tb_intel_icx, &tb_intel_uncore_icx},
    {"GenuineIntel", 6, ONE(0x6c), ANY_STEPPING, "Ice Lake-D", "icx", NULL, &tb_intel_icx, &tb_intel_uncore_icx},
    {"GenuineIntel", 6, ONE(0x8f), ANY_STEPPING, "Sapphire Rapids", "spr", NULL, &tb_intel_spr, &tb_intel_uncore_spr},
    {"GenuineIntel", 6, ONE(0xcf), ANY_STEPPING, "Emerald Rapids", "emr", NULL, &tb_intel_spr, &tb_intel_uncore_spr},
    {"GenuineIntel", 6, 0xad, 0xae, ANY_STEPPING, "Granite Rapids", "gnr", NULL, &tb_intel_gnr, &tb_intel_uncore_gnr},
    {"GenuineIntel", 6, ONE(0xaf), ANY_STEPPING, "Sierra Forest", "srf", NULL, &tb_intel_srf, &tb_intel_uncore_gnr},
    {"GenuineIntel", 6, ONE(0xdd), ANY_STEPPING, "Clearwater Forest", "cwf", NULL, &tb_intel_cwf, &tb_intel_uncore_gnr},
    {"AuthenticAMD", 0x17, 0x00, 0x2f, ANY_STEPPING, "Zen", "amd64_fam17h_zen1", NULL, NULL, NULL},
    {"AuthenticAMD", 0x17, 0x30, 0xff, ANY_STEPPING, "Zen 2", "amd64_fam17h_zen2", &tb_amd_caches_zen2, &tb_amd_zen2, NULL},
    {"AuthenticAMD", 0x19, 0x00, 0x0f, ANY_STEPPING, "Zen 3", "amd64_fam19h_zen3", &tb_amd_caches_zen3, &tb_amd_zen3, NULL},
    {"AuthenticAMD", 0x19, 0x20, 0x2f, ANY_STEPPING, "Zen 3", "amd64_fam19h_zen3", &tb_amd_caches_zen3, &tb_amd_zen3, NULL},
    {"AuthenticAMD", 0x19, 0x40, 0x5f, ANY_STEPPING, "Zen 3", "amd64_fam19h_zen3", &tb_amd_caches_zen3, &tb_amd_zen3, NULL},
    {"AuthenticAMD", 0x19, 0x00, 0xff, ANY_STEPPING, "Zen 4", "amd64_fam19h_zen4", &tb_amd_caches_zen4, &tb_amd_zen4,
     &tb_amd_uncore_zen4},
    {"AuthenticAMD", 0x1a, 0x50, 0x5f, ANY_STEPPING, "Zen 6", "amd64_fam1ah_zen6", &tb_amd_caches_zen4, &tb_amd_zen5,
     &tb_amd_uncore_zen5},
    {"AuthenticAMD", 0x1a, 0x80, 0xff, ANY_STEPPING, "Zen 6", "amd64_fam1ah_zen6", &tb_amd_caches_zen4, &tb_amd_zen5,
     &tb_amd_uncore_zen5},
    {"AuthenticAMD", 0x1a, 0x00, 0x7f, ANY_STEPPING, "Zen 5", "amd64_fam1ah_zen5", &tb_amd_caches_zen4, &tb_amd_zen5,
     &tb_amd_uncore_zen5},
    {ARM_LTD, ONE(0xd05), ANY_STEPPING, "Cortex-A55", "arm_ac55", NULL, &tb_arm_remote_reads, NULL},
    {ARM_LTD, ONE(0xd0c), ANY_STEPPING, "Neoverse N1", "arm_n1", NULL, &tb_arm_remote, NULL},
    {ARM_LTD, ONE(0xd40), ANY_STEPPING, "Neoverse V1", "arm_v1", NULL, &tb_arm_remote, NULL},
    {ARM_LTD, ONE(0xd49), ANY_STEPPING, "Neoverse N2", "arm_n2", NULL, &tb_arm_remote, NULL},
    {ARM_LTD, ONE(0xd4f), ANY_STEPPING, "Neoverse V2", "arm_v2", NULL, &tb_arm_remote, NULL},
    {ARM_LTD, ONE(0xd84), ANY_STEPPING, "Neoverse V3", "arm_v3", NULL, &tb_arm_remote, NULL},
    {ARM_LTD, ONE(0xd8e), ANY_STEPPING, "Neoverse N3", "arm_n3", NULL, &tb_arm_remote, NULL},
    {"ARM", 0x48, ONE(0xd01), ANY_STEPPING, "Kunpeng 920", "arm_hisilicon_kunpeng", NULL, &tb_arm_kunpeng, NULL},
    {"IBM", 8, 0, UINT32_MAX, ANY_STEPPING, "POWER8", "power8", NULL, &tb_power8, NULL},
    {"IBM", 9, 0, UINT32_MAX, ANY_STEPPING, "POWER9", "power9", NULL, &tb_power8, NULL},
    {"IBM", 10, 0, UINT32_MAX, ANY_STEPPING, "POWER10", "power10", NULL, &tb_power10, NULL},
};

const struct tb_cpu *tb_cpu_find(const struct tb_cpu_id *id)
{
    for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++) {
        const struct tb_cpu *cpu = &cpus[i];
        if (strcmp(cpu->vendor, id->vendor) == 0 && cpu->family == id->family && id->model >= cpu->model &&
            id->model <= cpu->model_last && id->stepping >= cpu->stepping && id->stepping <= cpu->stepping_last)
            return cpu;
    }
    return NULL;
}

int tb_cpu_id_parse(const char *text, struct tb_cpu_id *out)
{
    struct tb_cpu_id id = {.stepping = UINT32_MAX}; // not said: the newest
    int used[2] = {0};
    int found = sscanf(text, "%15[^:]:%9i:%9i%n:%9i%n", id.vendor, (int *)&id.family, (int *)&id.model, &used[0],
                       (int *)&id.stepping, &used[1]);
    bool refused = strpbrk(text, "+- \t\n") != NULL; // %i takes signs and blanks
    if (found < 3 || refused || text[used[found - 3]] != '\0')
        return -EINVAL;
    *out = id;
    return 0;
}

// A line "KEY : VALUE"; of those that say something else nothing is taken.
static void take_line(const char *line, struct tb_cpu_id *id)
{
    sscanf(line, "vendor_id : %15[^\n]", id->vendor);
    sscanf(line, "cpu family : %i", (int *)&id->family);
    sscanf(line, "model : %i", (int *)&id->model);
    sscanf(line, "stepping : %i", (int *)&id->stepping);
    sscanf(line, "CPU part : %i", (int *)&id->model);
    if (sscanf(line, "CPU implementer : %i", (int *)&id->family) == 1)
        snprintf(id->vendor, sizeof id->vendor, "ARM");
    if (sscanf(line, "cpu : POWER%u", &id->family) == 1)
        snprintf(id->vendor, sizeof id->vendor, "IBM");
}

int tb_cpu_id_host(const char *root, struct tb_cpu_id *out)
{
    char path[4096], line[4096];
    struct tb_cpu_id id = {0};
    snprintf(path, sizeof path, "%s/proc/cpuinfo", root);
    FILE *file = fopen(path, "re");
    if (!file)
        return -errno;
    while (fgets(line, sizeof line, file) && (line[0] != '\n' || !id.vendor[0])) // an empty line ends a CPU
        take_line(line, &id);
    int error = ferror(file) ? -EIO : id.vendor[0] ? 0 : -ENODATA;
    fclose(file);
    if (!error)
        *out = id;
    return error;
}

int tb_cpu_id_read(const char *root, struct tb_cpu_id *out)
{
    const char *told = getenv("LOCUS_CPU");
    return told && *told ? tb_cpu_id_parse(told, out) : tb_cpu_id_host(root, out);
}
