// SPDX-License-Identifier: Apache-2.0
//
// config: a YAML file that says how an arena of pages (pages_open.h) is opened, in the keys of the document that the pool is after.
//
//   memory_pool:                    # all keys may be left out, and then have these values
//     page_size: "2MB"              # 512KB, 1MB, 2MB, 4MB; also KiB and MiB. Of 1,024 bytes either way
//     total_pages: 4096
//     alignment: 256                # bytes, a power of two up to 4096. Pages begin on multiples of 4,096 whatever it says
//     allocation_strategy: best_fit # or first_fit
//     thread_cache_size: 16         # pages in each thread's magazine
//     eviction:
//       policy: lru_size_aware      # the weighted score; or the name of any score of the library (pages_evict.h)
//       hysteresis: 0.1             # the same as high_watermark - low_watermark, so it has to agree with them
//       high_watermark: 0.90        # 0, and low_watermark 0: ranges leave only for want of room
//       low_watermark: 0.80
//     pinning:
//       max_pin_duration: "30s"     # a pin that is older is reported. It is not ended: somebody reads that memory
//       pin_timeout: "100ms"        # how long an engine tries again while a range is leaving or not yet visible. A pin never waits
//     adapters:                     # for who keeps adapters; read and checked here, and used by no part of the arena
//       hot_tier_budget: 100
//       warm_tier_budget: 1000
//       compression_threshold: "60s"
//       promotion_threshold: 10
//
// A file is taken as a whole or not at all. What is wrong is one sentence with file and line, the key, its value, and what it can
// be. Unknown keys are refused, and a key that is there twice.
#ifndef TB_POOL_CONFIG_H
#define TB_POOL_CONFIG_H

#include "locus/pages.h"

struct tb_pool_config {
    struct locus_pages_config pages; // of which `size`, `leave` and `context` are the caller's
    uint64_t alignment_bytes;
    uint64_t pin_overdue_ns;    // max_pin_duration
    uint64_t pin_timeout_ns;
    uint64_t hot_budget, warm_budget, compression_ns, promotion_uses;
};

extern const struct tb_pool_config tb_pool_config_defaults;

// 0; -EINVAL, -ENOMEM or another -errno: `why` says it. `parse` takes the text from memory, and of the path only the name.
int tb_pool_config_load(const char *path, struct tb_pool_config *out, char *why, size_t why_bytes);
int tb_pool_config_parse(const char *path, const char *text, size_t bytes, struct tb_pool_config *out, char *why, size_t why_bytes);

// "30s", "1.5h", "100ms": a number and ns, us, ms, s, m, h or d, at least 1 ns and at most 10,000 days. false: it is not.
bool tb_pool_duration(const char *text, uint64_t *out_ns);

#endif
