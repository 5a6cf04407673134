// SPDX-License-Identifier: Apache-2.0
//
// popularity: which of N adapters a request uses, from a seed. The 10 most popular have 28 % of the uses, the first 100 68.8 %.
//
// These two shares, of a recorded trace of adapters, do not fit one power law. The family here has three pieces, and each is scaled
// to its share, so that both hold exactly, whatever N is:
//
//     rank r            weight      share
//     1 to 10           r^(-3/4)    28.0 %
//     11 to 100         r^(-3/4)    40.8 %
//     101 to N          r^(-13/8)   31.2 %
//
// Of 10,000 adapters rank 11 is 0.3 % more popular than the law of the first ten has it, and rank 101 is 13 % less than that of the
// first hundred: these exponents are the eighths that come nearest to one curve without a rank that is more popular than the one
// before it, from 1,500 adapters on. The last of 10,000 has one use in 860,000. Eighths need square roots alone, which IEEE 754
// rounds correctly: every host draws the same.
//
// Draws are independent of each other, unless uses come again: then a request repeats, with that chance, one of the last 64 uses,
// each as likely. In expectation that leaves every adapter its share, and its uses come in bursts, as those of tenants do; a policy
// that looks at the past has something to find only then.
#ifndef TB_POPULARITY_H
#define TB_POPULARITY_H

#include <stdint.h>

#define TB_POPULAR_LEAST 101u // adapters: there is a third piece
#define TB_ADAPTERS_MAX (1u << 20)
#define TB_AGAIN_USES 64u       // arbitrary: a quarter of a batch of 256

enum tb_popular { TB_POPULAR_TOP10, TB_POPULAR_TOP100, TB_POPULAR_REST, TB_POPULAR_CLASSES }; // the three pieces

struct tb_popularity {
    uint32_t adapters;
    uint64_t *below;            // of 2^53 draws so many have this rank or a more popular one; ranks are from 0 here and below
};

// 0, -ENOMEM, or -EINVAL: fewer than TB_POPULAR_LEAST, or more than TB_ADAPTERS_MAX.
int tb_popularity_open(struct tb_popularity *popularity, uint32_t adapters);
void tb_popularity_close(struct tb_popularity *popularity);

uint32_t tb_popularity_draw(const struct tb_popularity *popularity, uint64_t *random);

// The first `count` uses: ranks. `again_percent`: the chance that a use is one of the last TB_AGAIN_USES once more.
void tb_popularity_uses(const struct tb_popularity *popularity, uint64_t seed, uint32_t again_percent, uint32_t ranks[],
                        uint32_t count);

enum tb_popular tb_popular_class(uint32_t rank);

#endif
