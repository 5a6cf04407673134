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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed/base/file.h"
#include "testbed/record/chain.h"

static const char tail_begin[] = ",\"h\":\"", tail_end[] = "\"}";
enum {
    TAIL_BEGIN_BYTES = sizeof tail_begin - 1,
    TAIL_END_BYTES = sizeof tail_end - 1,
    TAIL_BYTES = TAIL_BEGIN_BYTES + TB_HASH_TEXT - 1 + TAIL_END_BYTES,
};

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
    int error = tb_hash_behind(head, text, hashed, &next), length = -1;
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
    return tb_hash_behind(before, line, length - TAIL_BYTES, &computed) == 0 && memcmp(&computed, claimed, sizeof computed) == 0;
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
    int error = tb_file_read(path, &data, &bytes);
    if (error)
        return error;
    while (!error && !out->broken_line && out->bytes < bytes)
        error = line_take(out, data, data + bytes, &head);
    free(data);
    if (error)
        tb_chain_close(out);
    return error;
}
