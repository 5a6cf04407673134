// SPDX-License-Identifier: Apache-2.0
//
// A block handle: which home, which block there, and which use of that block.
//
//     63      58 57             32 31                            0
//    +----------+-----------------+-------------------------------+
//    | home (6) |    index (26)   |        generation (32)        |
//    +----------+-----------------+-------------------------------+
//
// `home` is the dense ordinal of a pool among the pools of one process, not an OS node number: node ids are sparse (4-7 with no 0
// is a real machine) and would waste the six bits. The owner of a home knows its OS node. `generation` goes up by one each time
// the block comes home. So a handle that outlives its use no longer matches, and freeing it is refused. No generation is 0, so 0
// as a whole is never a valid handle.
//
// 26 bits of index are 64 Mi blocks: 256 GiB of 4 KiB blocks in one pool. Handles are plain values: any thread may copy them.
#ifndef LOCUS_BLOCK_H
#define LOCUS_BLOCK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t locus_block;

#define LOCUS_BLOCK_NONE ((locus_block)0)
#define LOCUS_HOMES_MAX 64u             // 2^6: what the home field can name
#define LOCUS_BLOCKS_MAX (1u << 26)     // blocks in one pool
#define LOCUS_GENERATION_MIN 1u         // a new block's is drawn from here up (pool.h)
#define LOCUS_GENERATION_MAX UINT32_MAX // the last: a block that comes home with it is worn out (pool.h)

inline locus_block locus_block_make(uint32_t home, uint32_t index, uint32_t generation)
{
    return (uint64_t)home << 58 | (uint64_t)index << 32 | generation;
}

inline uint32_t locus_block_home(locus_block block)
{
    return (uint32_t)(block >> 58);
}

inline uint32_t locus_block_index(locus_block block)
{
    return (uint32_t)(block >> 32) & (LOCUS_BLOCKS_MAX - 1);
}

inline uint32_t locus_block_generation(locus_block block)
{
    return (uint32_t)block;
}

#ifdef __cplusplus
}
#endif

#endif
