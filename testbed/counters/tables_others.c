// SPDX-License-Identifier: Apache-2.0
//
// tables of AMD, Arm and Power.
//
// AMD counts fills of the first-level data cache by where they came from.
//
//   dram_*      demand fills, of loads and stores alike; memory-mapped devices among them
//   reads_*     all fills, those of prefetches too
//   cache_near, cache_far   from a cache of another core complex; alternate: from extension memory (CXL)
//   *_local     the NUMA node of the core, *_remote another one, of the same socket or not: what is a node, the firmware says
//               (NPS). On Zen 2 it is the die.
//
// The kernel's generic cache events are those of the second level there, so the last level (one for each core complex) is counted
// by fills, too: llc_accesses came from it or from beyond, llc_misses from beyond.
//
// Arm: remote_accesses are those to another socket, to its memory or its caches, reads and writes.
// Power: demand loads from the memory of the chip (local), of another chip of the group (remote), of another group (distant).
#include "testbed/counters/tables.h"

#define FILL(name_, code, event_, umask, suffix, group_, pfm_)                                                                     \
    {                                                                                                                              \
        .name = name_, .event = event_ "." suffix, .config = (code) | (umask) << 8, .group = group_, .pfm = pfm_                   \
    }

#define ZEN2(name_, umask, suffix, group_, umask_pfm)                                                                              \
    FILL(name_, 0x43, "ls_refills_from_sys", umask, suffix, group_, "DATA_CACHE_REFILLS_FROM_SYSTEM:" umask_pfm)

static const struct tb_cpu_event zen2[] = {
    ZEN2("dram_local", 0x08, "ls_mabresp_lcl_dram", 3, "LS_MABRESP_LCL_DRAM"),
    ZEN2("dram_remote", 0x40, "ls_mabresp_rmt_dram", 0, "LS_MABRESP_RMT_DRAM"),
    ZEN2("cache_far", 0x10, "ls_mabresp_rmt_cache", 0, "LS_MABRESP_RMT_CACHE"),
};

#define DEMAND(name_, umask, suffix, group_, umask_pfm)                                                                            \
    FILL(name_, 0x43, "ls_dmnd_fills_from_sys", umask, suffix, group_, "DEMAND_DATA_CACHE_FILLS_FROM_SYSTEM:" umask_pfm)
#define ANY(name_, umask, suffix, group_, umask_pfm)                                                                               \
    FILL(name_, 0x44, "ls_any_fills_from_sys", umask, suffix, group_, "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:" umask_pfm)
#define FILLS(near_dram, far_dram, near_cache, far_cache)                                                                          \
    DEMAND("dram_local", 0x08, "dram_io_near", 3, near_dram), DEMAND("dram_remote", 0x40, "dram_io_far", 0, far_dram),             \
        DEMAND("cache_near", 0x04, "near_cache", 0, near_cache), DEMAND("cache_far", 0x10, "far_cache", 0, far_cache),             \
        ANY("reads_local", 0x08, "dram_io_near", 4, near_dram), ANY("reads_remote", 0x40, "dram_io_far", 0, far_dram),             \
        ANY("reads_cache_near", 0x04, "near_cache", 0, near_cache), ANY("reads_cache_far", 0x10, "far_cache", 0, far_cache)
#define ALTERNATE                                                                                                                  \
    DEMAND("alternate", 0x80, "alternate_memories", 5, "ALT_MEM_NEAR_FAR"),                                                        \
        ANY("reads_alternate", 0x80, "alternate_memories", 0, "ALT_MEM_NEAR_FAR")

static const struct tb_cpu_event zen3[] = {FILLS("MEM_IO_LCL", "MEM_IO_RMT", "EXT_CACHE_LCL", "EXT_CACHE_RMT")};
static const struct tb_cpu_event zen4[] = {FILLS("DRAM_IO_NEAR", "DRAM_IO_FAR", "NEAR_CACHE_NEAR_FAR", "FAR_CACHE_NEAR_FAR"),
                                           ALTERNATE};
static const struct tb_cpu_event zen5[] = {FILLS("DRAM_IO_NEAR", "DRAM_IO_FAR", "NEAR_FAR_CACHE_NEAR", "NEAR_FAR_CACHE_FAR"),
                                           ALTERNATE};

// Unit masks add up. On Zen 2 demand fills only, and a cache of another complex whose address is on this die counts as a hit.
#define CACHES(code, event_, accesses, misses)                                                                                     \
    FILL("llc_accesses", code, event_, accesses, #accesses, 2, ""), FILL("llc_misses", code, event_, misses, #misses, 0, "")

static const struct tb_cpu_event caches_zen2[] = {CACHES(0x43, "ls_refills_from_sys", 0x5a, 0x58)};
static const struct tb_cpu_event caches_zen3[] = {CACHES(0x44, "ls_any_fills_from_sys", 0x5e, 0x5c)};
static const struct tb_cpu_event caches_zen4[] = {CACHES(0x44, "ls_any_fills_from_sys", 0xde, 0xdc)};

// Of all packages. The third level samples latencies: time over requests is the mean, measured by the hardware.
#define UMC(name_, suffix, mask, group_)                                                                                           \
    {                                                                                                                              \
        .name = name_, .event = "umc_cas_cmd." suffix, .device = "amd_umc", .code = "event=0x0a,rdwrmask=" mask, .group = group_   \
    }
#define XI(name_, suffix, code_, umask, group_)                                                                                    \
    {                                                                                                                              \
        .name = name_, .event = "l3_xi_sampled_latency" suffix, .device = "amd_l3", .group = group_,                               \
        .code = "event=" code_ ",umask=" umask ",enallcores=1,enallslices=1,sliceid=3,threadmask=3"                                \
    }

static const struct tb_cpu_event uncore_zen4[] = {UMC("umc_reads", "rd", "1", 20), UMC("umc_writes", "wr", "2", 0)};
static const struct tb_cpu_event uncore_zen5[] = {
    UMC("umc_reads", "rd", "1", 20),
    UMC("umc_writes", "wr", "2", 0),
    XI("l3_latency_near", ".dram_near", "0xac", "0x01", 21),
    XI("l3_sampled_near", "_requests.dram_near", "0xad", "0x01", 0),
    XI("l3_latency_far", ".dram_far", "0xac", "0x02", 0),
    XI("l3_sampled_far", "_requests.dram_far", "0xad", "0x02", 0),
};

static const struct tb_cpu_event remote[] = {{.name = "remote_accesses", .event = "REMOTE_ACCESS", .config = 0x31, .group = 3}};
static const struct tb_cpu_event remote_reads[] = {
    {.name = "remote_access_reads", .event = "REMOTE_ACCESS_RD", .config = 0x38, .group = 3}};
static const struct tb_cpu_event kunpeng[] = {
    {.name = "remote_accesses", .event = "REMOTE_ACCESS", .config = 0x31, .group = 3},
    {.name = "remote_access_reads", .event = "REMOTE_ACCESS_RD", .config = 0x38},
};

#define POWER(lmem, rmem, dmem)                                                                                                    \
    {.name = "dram_local", .event = "PM_DATA_FROM_LMEM", .config = lmem, .group = 3},                                              \
        {.name = "dram_remote", .event = "PM_DATA_FROM_RMEM", .config = rmem},                                                     \
    {                                                                                                                              \
        .name = "dram_distant", .event = "PM_DATA_FROM_DMEM", .config = dmem                                                       \
    }

static const struct tb_cpu_event power8[] = {POWER(0x2c048, 0x3c04a, 0x4c04c)}; // and 9
static const struct tb_cpu_event power10[] = {POWER(0x094040000001c040, 0x0d4040000001c040, 0x0f4040000001c040)};

const struct tb_cpu_events tb_amd_zen2 = TB_CPU_EVENTS(zen2), tb_amd_zen3 = TB_CPU_EVENTS(zen3), tb_amd_zen4 = TB_CPU_EVENTS(zen4),
                           tb_amd_zen5 = TB_CPU_EVENTS(zen5);
const struct tb_cpu_events tb_amd_caches_zen2 = TB_CPU_EVENTS(caches_zen2), tb_amd_caches_zen3 = TB_CPU_EVENTS(caches_zen3),
                           tb_amd_caches_zen4 = TB_CPU_EVENTS(caches_zen4), tb_amd_uncore_zen4 = TB_CPU_EVENTS(uncore_zen4),
                           tb_amd_uncore_zen5 = TB_CPU_EVENTS(uncore_zen5);
const struct tb_cpu_events tb_arm_remote = TB_CPU_EVENTS(remote), tb_arm_remote_reads = TB_CPU_EVENTS(remote_reads),
                           tb_arm_kunpeng = TB_CPU_EVENTS(kunpeng), tb_power8 = TB_CPU_EVENTS(power8),
                           tb_power10 = TB_CPU_EVENTS(power10);
