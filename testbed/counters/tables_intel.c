// SPDX-License-Identifier: Apache-2.0
//
// tables of Intel's Xeons: loads and stores by where the data came from.
//
//   dram_*       demand loads (DEMAND_DATA_RD)             dram_rfo_*   demand stores, which read the line for ownership
//   reads_*      all of a core's reads, prefetches too     nt_writes*   stores past the caches (STREAMING_WR)
//   retired_*    retired loads alone: blind to stores and prefetches
//   *_local      the socket, or the SNC cluster, of the core    *_snc   another cluster of the socket    *_remote   another socket
//
// An OCR event is one code with its condition in a second register (config1). The kernel has two codes and registers, chooses
// either, and needs to be told only one: 0x1b7 up to Ice Lake, 0x12a since Sapphire Rapids.
//
// Stores from a remote DRAM have no name of their own since Ice Lake. They are what is left of all after local and SNC. The
// condition 0x730000002 would be the analogue of the loads' and counts it directly, but Intel does not document it.
#include "testbed/counters/tables.h"

#define RETIRED(suffix, umask, name_, group_)                                                                                      \
    {                                                                                                                              \
        .name = name_, .event = "MEM_LOAD_L3_MISS_RETIRED." suffix, .config = 0xd3 | (umask) << 8, .group = group_                 \
    }
#define OCR(code_, name_, suffix, condition, group_)                                                                               \
    {                                                                                                                              \
        .name = name_, .event = "OCR." suffix, .config = code_, .config1 = condition, .group = group_                              \
    }

// Skylake and Cascade Lake: DRAM answered, which is to say that no other cache forwarded the line (SNOOP_MISS_OR_NO_FWD). Of the
// remote ones libpfm4 knows one hop only, so they are raw.
#define SKX(name_, request, from, condition, group_, pfm_)                                                                         \
    {                                                                                                                              \
        .name = name_, .event = "OCR." request "." from ".SNOOP_MISS_OR_NO_FWD", .config = 0x1b7, .config1 = condition,            \
        .group = group_, .pfm = pfm_                                                                                               \
    }

static const struct tb_cpu_event skx[] = {
    SKX("dram_local", "DEMAND_DATA_RD", "L3_MISS_LOCAL_DRAM", 0x604000001, 3,
        "OFFCORE_RESPONSE_0:DMND_DATA_RD:L3_MISS_LOCAL:SNP_MISS:SNP_HIT_NO_FWD"),
    SKX("dram_remote", "DEMAND_DATA_RD", "L3_MISS_REMOTE_DRAM", 0x63b800001, 0, ""),
    RETIRED("LOCAL_DRAM", 0x01, "retired_local", 0),
    RETIRED("REMOTE_DRAM", 0x02, "retired_remote", 0),
    SKX("dram_rfo_local", "DEMAND_RFO", "L3_MISS_LOCAL_DRAM", 0x604000002, 4,
        "OFFCORE_RESPONSE_0:DMND_RFO:L3_MISS_LOCAL:SNP_MISS:SNP_HIT_NO_FWD"),
    SKX("dram_rfo_remote", "DEMAND_RFO", "L3_MISS_REMOTE_DRAM", 0x63b800002, 0, ""),
    RETIRED("REMOTE_HITM", 0x04, "retired_remote_hitm", 0),
    RETIRED("REMOTE_FWD", 0x08, "retired_remote_fwd", 0),
};

// From here on the conditions are the same but for what a read to the core is (`reads`) and for what has a name.
#define DRAM(code)                                                                                                                 \
    OCR(code, "dram_local", "DEMAND_DATA_RD.LOCAL_DRAM", 0x104000001, 3),                                                          \
        OCR(code, "dram_remote", "DEMAND_DATA_RD.REMOTE_DRAM", 0x730000001, 0), RETIRED("LOCAL_DRAM", 0x01, "retired_local", 0),   \
        RETIRED("REMOTE_DRAM", 0x02, "retired_remote", 0)
#define SNC(code, reads)                                                                                                           \
    OCR(code, "dram_snc", "DEMAND_DATA_RD.SNC_DRAM", 0x708000001, 4),                                                              \
        OCR(code, "reads_snc", "READS_TO_CORE.SNC_DRAM", 0x708000000 | (reads), 0),                                                \
        RETIRED("REMOTE_HITM", 0x04, "retired_remote_hitm", 0), RETIRED("REMOTE_FWD", 0x08, "retired_remote_fwd", 0)
#define RFO(code)                                                                                                                  \
    OCR(code, "dram_rfo_all", "DEMAND_RFO.DRAM", 0x73c000002, 5),                                                                  \
        OCR(code, "dram_rfo_local", "DEMAND_RFO.LOCAL_DRAM", 0x104000002, 0)
#define RFO_SNC(code)                                                                                                              \
    RFO(code), OCR(code, "dram_rfo_snc", "DEMAND_RFO.SNC_DRAM", 0x708000002, 0),                                                   \
    {                                                                                                                              \
        .name = "dram_rfo_remote", .event = "DRAM - LOCAL_DRAM - SNC_DRAM",                                                        \
        .minus = {"dram_rfo_all", "dram_rfo_local", "dram_rfo_snc"},                                                               \
    }
#define READS(code, reads)                                                                                                         \
    OCR(code, "reads_local", "READS_TO_CORE.LOCAL_DRAM", 0x104000000 | (reads), 6),                                                \
        OCR(code, "reads_remote", "READS_TO_CORE.REMOTE_DRAM", 0x730000000 | (reads), 0),                                          \
        OCR(code, "reads_local_socket", "READS_TO_CORE.LOCAL_SOCKET_DRAM", 0x70c000000 | (reads), 7),                              \
        OCR(code, "reads_remote_hitm", "READS_TO_CORE.REMOTE_CACHE.SNOOP_HITM", 0x1030000000 | (reads), 0)
#define NT(code)                                                                                                                   \
    OCR(code, "nt_writes", "STREAMING_WR.ANY_RESPONSE", 0x10800, 8),                                                               \
        OCR(code, "writes_estimate", "WRITE_ESTIMATE.MEMORY", 0xfbff80822, 0)
#define NT_MISS(code)                                                                                                              \
    OCR(code, "nt_writes_miss", "STREAMING_WR.L3_MISS", 0x94000800, 9),                                                            \
        OCR(code, "nt_writes_local", "STREAMING_WR.L3_MISS_LOCAL", 0x84000800, 0)

static const struct tb_cpu_event icx[] = {
    DRAM(0x1b7), SNC(0x1b7, 0x477), RFO_SNC(0x1b7), READS(0x1b7, 0x477), NT(0x1b7), NT_MISS(0x1b7),
};

static const struct tb_cpu_event spr[] = {
    DRAM(0x12a), SNC(0x12a, 0x4477), RFO_SNC(0x12a), READS(0x12a, 0x4477), NT(0x12a), NT_MISS(0x12a),
};

static const struct tb_cpu_event gnr[] = {
    DRAM(0x12a),
    RFO(0x12a),
    {.name = "dram_rfo_remote", .event = "DRAM - LOCAL_DRAM", .minus = {"dram_rfo_all", "dram_rfo_local"}},
    RETIRED("REMOTE_HITM", 0x04, "retired_remote_hitm", 0),
    RETIRED("REMOTE_FWD", 0x08, "retired_remote_fwd", 0),
    READS(0x12a, 0x4477),
    NT(0x12a),
};

// The forests have small cores: other names, and nothing about stores.
#define FOREST(suffix, umask, name_, group_)                                                                                       \
    {                                                                                                                              \
        .name = name_, .event = "MEM_LOAD_UOPS_L3_MISS_RETIRED." suffix, .config = 0xd3 | (umask) << 8, .group = group_            \
    }
#define FORESTS(local)                                                                                                             \
    OCR(0x1b7, "dram_local", "DEMAND_DATA_RD.LOCAL_DRAM", local, 3),                                                               \
        OCR(0x1b7, "dram_remote", "DEMAND_DATA_RD.REMOTE_DRAM", 0x730000001, 0), FOREST("LOCAL_DRAM", 0x01, "retired_local", 0),   \
        FOREST("REMOTE_DRAM_OR_NOFWD", 0x02, "retired_remote", 0), FOREST("REMOTE_FWD_HITM", 0x08, "retired_remote_hitm", 4),      \
        FOREST("REMOTE_FWD_NONM", 0x04, "retired_remote_fwd", 0)

static const struct tb_cpu_event srf[] = {
    FORESTS(0x184000001),
    OCR(0x1b7, "nt_writes", "STREAMING_WR.ANY_RESPONSE", 0x10800, 0),
};

static const struct tb_cpu_event cwf[] = {FORESTS(0x784000001)};

// Of a package: requests to a home agent by where they came from, reads and writes of a memory channel (64 bytes each), data that
// left for another socket (a flit of 9 in 64 bytes).
#define UNCORE(name_, event_, device_, code_, group_)                                                                              \
    {                                                                                                                              \
        .name = name_, .event = event_, .device = device_, .code = code_, .group = group_                                          \
    }
#define CHA(suffix, umask, name_, group_) UNCORE(name_, "UNC_CHA_REQUESTS." suffix, "uncore_cha", "event=0x50,umask=" umask, group_)
#define CHA_UPI                                                                                                                    \
    CHA("READS_LOCAL", "0x01", "cha_reads_local", 20), CHA("READS_REMOTE", "0x02", "cha_reads_remote", 0),                         \
        CHA("WRITES_LOCAL", "0x04", "cha_writes_local", 0), CHA("WRITES_REMOTE", "0x08", "cha_writes_remote", 0),                  \
        CHA("INVITOE_LOCAL", "0x10", "cha_invitoe_local", 21), CHA("INVITOE_REMOTE", "0x20", "cha_invitoe_remote", 0),             \
        UNCORE("upi_data", "UNC_UPI_TxL_FLITS.ALL_DATA", "uncore_upi", "event=0x02,umask=0x0f", 0)
#define CAS(suffix, name_, code_, group_) UNCORE(name_, "UNC_M_CAS_COUNT" suffix, "uncore_imc", code_, group_)

static const struct tb_cpu_event uncore_skx[] = {CHA_UPI, CAS(".RD", "imc_reads", "event=0x04,umask=0x03", 22),
                                                 CAS(".WR", "imc_writes", "event=0x04,umask=0x0c", 0)};
static const struct tb_cpu_event uncore_icx[] = {CHA_UPI, CAS(".RD", "imc_reads", "event=0x04,umask=0x0f", 22),
                                                 CAS(".WR", "imc_writes", "event=0x04,umask=0x30", 0)};
static const struct tb_cpu_event uncore_spr[] = {CHA_UPI, CAS(".RD", "imc_reads", "event=0x05,umask=0xcf", 22),
                                                 CAS(".WR", "imc_writes", "event=0x05,umask=0xf0", 0)};
static const struct tb_cpu_event uncore_gnr[] = {
    CHA_UPI,
    CAS("_SCH0.RD", "imc_reads_0", "event=0x05,umask=0xcf", 22),
    CAS("_SCH1.RD", "imc_reads_1", "event=0x06,umask=0xcf", 0),
    CAS("_SCH0.WR", "imc_writes_0", "event=0x05,umask=0xf0", 0),
    CAS("_SCH1.WR", "imc_writes_1", "event=0x06,umask=0xf0", 0),
};

const struct tb_cpu_events tb_intel_skx = TB_CPU_EVENTS(skx), tb_intel_icx = TB_CPU_EVENTS(icx), tb_intel_spr = TB_CPU_EVENTS(spr),
                           tb_intel_gnr = TB_CPU_EVENTS(gnr), tb_intel_srf = TB_CPU_EVENTS(srf), tb_intel_cwf = TB_CPU_EVENTS(cwf);
const struct tb_cpu_events tb_intel_uncore_skx = TB_CPU_EVENTS(uncore_skx), tb_intel_uncore_icx = TB_CPU_EVENTS(uncore_icx),
                           tb_intel_uncore_spr = TB_CPU_EVENTS(uncore_spr), tb_intel_uncore_gnr = TB_CPU_EVENTS(uncore_gnr);
