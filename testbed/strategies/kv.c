// SPDX-License-Identifier: Apache-2.0
//
// kv: see kv.h.

#include "testbed/strategies/kv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int tb_kv_open(struct tb_kv *kv, uint64_t tokens, size_t token_bytes, bool tags)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    *kv = (struct tb_kv){0};
    if (tokens == 0 || token_bytes == 0 || token_bytes % 8 || tokens > SIZE_MAX / 2 / token_bytes)
        return -EINVAL;
    size_t bytes = (tokens * token_bytes + page_bytes - 1) / page_bytes * page_bytes;
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    uint64_t *shadow = tags ? calloc(bytes / token_bytes + 1, sizeof *shadow) : NULL;
    if (base == MAP_FAILED || (tags && !shadow)) {
        if (base != MAP_FAILED)
            munmap(base, bytes);
        free(shadow);
        return -ENOMEM;
    }
    *kv = (struct tb_kv){.base = base, .tokens = tokens, .token_bytes = token_bytes, .bytes = bytes, .tags = shadow};
    return 0;
}

void tb_kv_close(struct tb_kv *kv)
{
    if (kv->base)
        munmap(kv->base, kv->bytes);
    free(kv->tags);
    *kv = (struct tb_kv){0};
}

// The tags of a run lie side by side, wherever in the region it begins.
void tb_kv_copy(struct tb_kv *kv, void *to, void *from, uint64_t tokens)
{
    kv->moved += tokens;
    if (kv->tags)
        memmove(tb_kv_tag(kv, to), tb_kv_tag(kv, from), tokens * sizeof *kv->tags);
}
