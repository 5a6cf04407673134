// SPDX-License-Identifier: Apache-2.0
//
// sha256: hashes of memory and of files. Pure functions, any thread.
#ifndef TB_SHA256_H
#define TB_SHA256_H

#include <stddef.h>

#define TB_HASH_BYTES 32
#define TB_HASH_TEXT 65 // hexadecimal, with the NUL

struct tb_hash {
    unsigned char bytes[TB_HASH_BYTES];
};

void tb_hash_text(const struct tb_hash *hash, char out[TB_HASH_TEXT]);
int tb_hash_parse(const char *text, struct tb_hash *out);               // 0 or -EINVAL

// SHA-256(before || data); `before` may be NULL. 0 or -ENOMEM.
int tb_hash_behind(const struct tb_hash *before, const void *data, size_t bytes, struct tb_hash *out);

// SHA-256 of a whole file, as text. 0 or -errno.
int tb_hash_file(const char *path, char out[TB_HASH_TEXT]);
int tb_hash_memory(const void *data, size_t bytes, char out[TB_HASH_TEXT]);

#endif
