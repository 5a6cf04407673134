// SPDX-License-Identifier: Apache-2.0
//
// chain: one line's hash covers its bytes and the hash of the line before, so it covers the file up to there. Whoever changes,
// takes away, adds or moves a line must write every hash behind it anew, and the last one is known elsewhere (the ledger, a
// checkpoint).
//
// The hash has a fixed width and ends its line, so a line is cut into what is hashed and the hash by counting from its end, before
// anything is parsed: no byte of the file, be it a blank or the case of a hexadecimal digit, can change unnoticed.

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed/record/chain.h"

static const char tail_begin[] = ",\"h\":\"", tail_end[] = "\"}";
enum {
    TAIL_BEGIN_BYTES = sizeof tail_begin - 1,
    TAIL_END_BYTES = sizeof tail_end - 1,
    TAIL_BYTES = TAIL_BEGIN_BYTES + TB_HASH_TEXT - 1 + TAIL_END_BYTES,
};

// --- hashes --------------------------------------------------------------------------------------------------------------------

void tb_hash_text(const struct tb_hash *hash, char out[TB_HASH_TEXT])
{
    for (size_t i = 0; i < TB_HASH_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", hash->bytes[i]);
}

// Only what tb_hash_text() writes: 64 digits, lower case, nothing behind.
int tb_hash_parse(const char *text, struct tb_hash *out)
{
    static const char digits[] = "0123456789abcdef";
    if (strspn(text, digits) != TB_HASH_TEXT - 1 || text[TB_HASH_TEXT - 1])
        return -EINVAL;
    for (size_t i = 0; i < TB_HASH_BYTES; i++)
        out->bytes[i] = (unsigned char)((strchr(digits, text[2 * i]) - digits) << 4 | (strchr(digits, text[2 * i + 1]) - digits));
    return 0;
}

// SHA-256(before || data). `before` may be NULL.
static int hash_behind(const struct tb_hash *before, const void *data, size_t bytes, struct tb_hash *out)
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
    int error = hash_behind(NULL, data, bytes, &hash);
    if (!error)
        tb_hash_text(&hash, out);
    return error;
}

// --- files ---------------------------------------------------------------------------------------------------------------------

// The whole file. *data is malloc'd.
static int file_read(const char *path, char **data, size_t *bytes)
{
    struct stat status;
    char *read_data = NULL;
    size_t done = 0;
    int error = 0, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a FIFO would wait for its writer
    if (fd < 0 || fstat(fd, &status))
        error = -errno;
    else if (!S_ISREG(status.st_mode))
        error = S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
    else if (!(read_data = malloc((size_t)status.st_size + 1)))
        error = -ENOMEM;
    while (!error && done < (size_t)status.st_size) {
        ssize_t n = read(fd, read_data + done, (size_t)status.st_size - done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0)
            break;
        else if (errno != EINTR)
            error = -errno;
    }
    if (fd >= 0)
        close(fd);
    if (error) {
        free(read_data);
        return error;
    }
    *data = read_data;
    *bytes = done;
    return 0;
}

int tb_hash_file(const char *path, char out[TB_HASH_TEXT])
{
    char *data;
    size_t bytes;
    int error = file_read(path, &data, &bytes);
    if (error)
        return error;
    error = tb_hash_memory(data, bytes, out);
    free(data);
    return error;
}

// --- writing -------------------------------------------------------------------------------------------------------------------

int tb_chain_line(struct tb_hash *head, const json_t *object, char **line, size_t *bytes)
{
    if (!json_is_object(object) || json_object_size(object) == 0 || json_object_get(object, "h"))
        return -EINVAL;
    struct tb_hash next;
    char hex[TB_HASH_TEXT];
    char *text = json_dumps(object, JSON_COMPACT);
    if (!text)
        return -ENOMEM;
    size_t hashed = strlen(text) - 1; // up to the closing brace
    int error = hash_behind(head, text, hashed, &next), length = -1;
    if (!error) {
        tb_hash_text(&next, hex);
        text[hashed] = '\0';
        length = asprintf(line, "%s%s%s%s\n", text, tail_begin, hex, tail_end);
        error = length < 0 ? -ENOMEM : 0;
    }
    free(text);
    if (error)
        return error;
    *head = next;
    *bytes = (size_t)length;
    return 0;
}

// --- reading -------------------------------------------------------------------------------------------------------------------

// The array grows when its count is a power of two, so that its capacity need not be kept.
int tb_chain_add(struct tb_chain *chain, json_t *object, const struct tb_hash *head, size_t bytes)
{
    size_t count = chain->count;
    if ((count & (count - 1)) == 0) {
        void *grown = realloc(chain->entries, (count ? 2 * count : 1) * sizeof *chain->entries);
        if (!grown)
            return -ENOMEM;
        chain->entries = grown;
    }
    chain->entries[count] = (struct tb_chain_entry){.object = json_incref(object), .head = *head, .offset = chain->bytes};
    chain->bytes += bytes;
    chain->count++;
    return 0;
}

void tb_chain_close(struct tb_chain *chain)
{
    for (size_t i = 0; i < chain->count; i++)
        json_decref(chain->entries[i].object);
    free(chain->entries);
    *chain = (struct tb_chain){0};
}

static const char *line_end(const char *line, const char *end)
{
    return memchr(line, '\n', (size_t)(end - line));
}

// The hash that the line claims to have, without looking at what it claims it of. False: there is none.
static bool hash_claimed(const char *line, size_t length, struct tb_hash *out)
{
    char hex[TB_HASH_TEXT] = "";
    if (length <= TAIL_BYTES)
        return false;
    const char *tail = line + length - TAIL_BYTES;
    if (memcmp(tail, tail_begin, TAIL_BEGIN_BYTES) || memcmp(line + length - TAIL_END_BYTES, tail_end, TAIL_END_BYTES))
        return false;
    memcpy(hex, tail + TAIL_BEGIN_BYTES, TB_HASH_TEXT - 1);
    return tb_hash_parse(hex, out) == 0;
}

static bool follows(const struct tb_hash *before, const char *line, size_t length, const struct tb_hash *claimed)
{
    struct tb_hash computed;
    return hash_behind(before, line, length - TAIL_BYTES, &computed) == 0 && memcmp(&computed, claimed, sizeof computed) == 0;
}

// A line with a wrong hash may be right behind another line of the file: the number of that line, or 0.
static size_t predecessor(const char *data, const char *end, const char *line, size_t length, const struct tb_hash *claimed)
{
    const char *next;
    size_t number = 1;
    for (const char *other = data; other < end && (next = line_end(other, end)); other = next + 1, number++) {
        struct tb_hash before;
        if (hash_claimed(other, (size_t)(next - other), &before) && follows(&before, line, length, claimed))
            return number;
    }
    return 0;
}

static void broken(struct tb_chain *chain, const char *what, size_t number)
{
    chain->broken_line = chain->count + 1;
    snprintf(chain->broken, sizeof chain->broken, what, number);
}

static int line_take(struct tb_chain *chain, const char *data, const char *end, struct tb_hash *head)
{
    const char *line = data + chain->bytes, *newline = line_end(line, end);
    struct tb_hash claimed;
    chain->torn = !newline;
    if (!newline) {
        broken(chain, "cut off: the file ends within this line", 0);
        return 0;
    }
    size_t length = (size_t)(newline - line);
    if (!hash_claimed(line, length, &claimed)) {
        broken(chain, "changed: it does not end with its hash", 0);
        return 0;
    }
    if (!follows(head, line, length, &claimed)) {
        size_t before = predecessor(data, end, line, length, &claimed);
        broken(chain,
               before ? "out of order: it was written right behind what is now line %zu"
                      : "changed, or what was before it is missing: its hash is wrong",
               before);
        return 0;
    }
    json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    if (!json_is_object(object)) {
        json_decref(object);
        broken(chain, "no JSON object, though its hash is right", 0);
        return 0;
    }
    json_object_del(object, "h");
    int error = tb_chain_add(chain, object, &claimed, length + 1);
    json_decref(object);
    *head = claimed;
    return error;
}

int tb_chain_load(const char *path, struct tb_chain *out)
{
    struct tb_hash head = {{0}};
    char *data;
    size_t bytes;
    *out = (struct tb_chain){0};
    int error = file_read(path, &data, &bytes);
    if (error)
        return error;
    while (!error && !out->broken_line && out->bytes < bytes)
        error = line_take(out, data, data + bytes, &head);
    free(data);
    if (error)
        tb_chain_close(out);
    return error;
}
