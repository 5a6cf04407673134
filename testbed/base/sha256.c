// SPDX-License-Identifier: Apache-2.0
//
// sha256: by libcrypto.
#include "testbed/base/sha256.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/file.h"

void tb_hash_text(const struct tb_hash *hash, char out[TB_HASH_TEXT])
{
    for (size_t i = 0; i < TB_HASH_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", hash->bytes[i]);
}

// Accepts only what tb_hash_text() writes: 64 lower-case digits and nothing else.
int tb_hash_parse(const char *text, struct tb_hash *out)
{
    static const char digits[] = "0123456789abcdef";
    if (strspn(text, digits) != TB_HASH_TEXT - 1 || text[TB_HASH_TEXT - 1])
        return -EINVAL;
    for (size_t i = 0; i < TB_HASH_BYTES; i++)
        out->bytes[i] = (unsigned char)((strchr(digits, text[2 * i]) - digits) << 4 | (strchr(digits, text[2 * i + 1]) - digits));
    return 0;
}

int tb_hash_behind(const struct tb_hash *before, const void *data, size_t bytes, struct tb_hash *out)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool done = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) &&
                (!before || EVP_DigestUpdate(context, before->bytes, TB_HASH_BYTES)) && EVP_DigestUpdate(context, data, bytes) &&
                EVP_DigestFinal_ex(context, out->bytes, NULL);
    EVP_MD_CTX_free(context);
    return done ? 0 : -ENOMEM;
}

int tb_hash_memory(const void *data, size_t bytes, char out[TB_HASH_TEXT])
{
    struct tb_hash hash;
    int error = tb_hash_behind(NULL, data, bytes, &hash);
    if (!error)
        tb_hash_text(&hash, out);
    return error;
}

int tb_hash_file(const char *path, char out[TB_HASH_TEXT])
{
    char *data;
    size_t bytes;
    int error = tb_file_read(path, &data, &bytes);
    if (error)
        return error;
    error = tb_hash_memory(data, bytes, out);
    free(data);
    return error;
}
