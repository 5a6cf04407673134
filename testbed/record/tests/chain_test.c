// SPDX-License-Identifier: Apache-2.0
//
// chain: the hashes are those of sha256sum, and no change of a file is overlooked or said to be elsewhere.
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/record/chain.h"

#define LINES 5

static char path[] = "/tmp/record_chain_XXXXXX";

static void file_make(void)
{
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    close(fd);
}

static void file_remove(void)
{
    unlink(path);
}

TestSuite(record_chain, .init = file_make, .fini = file_remove);

// --- memory that runs out ---

static long allocations_left = -1; // -1: no limit

static void *scarce_malloc(size_t bytes)
{
    if (allocations_left == 0) {
        errno = ENOMEM;
        return NULL;
    }
    allocations_left -= allocations_left > 0;
    return malloc(bytes);
}

static void save(const char *data, size_t bytes)
{
    FILE *file = fopen(path, "w");
    cr_assert(file && fwrite(data, 1, bytes, file) == bytes && fclose(file) == 0);
}

// Five lines, {"t":"s","round":0} to 4, as text. ends[i]: offset after line i.
static char *sample(size_t ends[LINES])
{
    static char text[4096];
    struct tb_hash head = {{0}};
    size_t at = 0;
    for (int i = 0; i < LINES; i++) {
        char *line;
        size_t bytes;
        json_t *object = json_pack("{s:s, s:i}", "t", "s", "round", i);
        cr_assert_eq(tb_chain_line(&head, object, &line, &bytes), 0);
        memcpy(text + at, line, bytes);
        ends[i] = at += bytes;
        json_decref(object);
        free(line);
    }
    text[at] = '\0';
    return text;
}

// Loads `data` and expects the chain to break at that line (0: not at all).
static struct tb_chain expect(const char *data, size_t bytes, size_t line, const char *word)
{
    struct tb_chain chain;
    save(data, bytes);
    cr_assert_eq(tb_chain_load(path, &chain), 0);
    cr_assert_eq(chain.broken_line, line, "line %zu, not %zu: %s", chain.broken_line, line, chain.broken);
    cr_assert(strstr(chain.broken, word), "says: %s", chain.broken);
    cr_assert_eq(chain.count, line ? line - 1 : LINES);
    return chain;
}

// (head -c 32 /dev/zero; printf '{"t":"hdr","v":1') | sha256sum, and the second with the first 32 bytes taken from the first.
Test(record_chain, hashes_are_those_of_sha256sum)
{
    static const char *const expected[] = {
        "{\"t\":\"hdr\",\"v\":1,\"h\":\"2a380eb52c4fa21eba54c51f4ac82143f765208d3217e13d7aeb784bf1cbcb37\"}\n",
        "{\"t\":\"s\",\"time_ns\":12.5,\"why\":null,\"h\":\"4ab48353f6ce96fd5bdc6ac6c2c174186a4e25a727148fa1eab4b1bdff06d332\"}\n",
    };
    json_t *objects[] = {json_pack("{s:s, s:i}", "t", "hdr", "v", 1),
                         json_pack("{s:s, s:f, s:n}", "t", "s", "time_ns", 12.5, "why")};
    struct tb_hash head = {{0}};
    for (int i = 0; i < 2; i++) {
        char *line;
        size_t bytes;
        cr_assert_eq(tb_chain_line(&head, objects[i], &line, &bytes), 0);
        cr_assert_str_eq(line, expected[i]);
        cr_assert_eq(bytes, strlen(line));
        free(line);
        json_decref(objects[i]);
    }
}

Test(record_chain, what_was_written_is_read_again)
{
    size_t ends[LINES];
    const char *text = sample(ends);
    struct tb_chain chain = expect(text, ends[LINES - 1], 0, "");
    for (int i = 0; i < LINES; i++) {
        char hex[TB_HASH_TEXT];
        cr_assert_eq(json_integer_value(json_object_get(chain.entries[i].object, "round")), i);
        cr_assert_null(json_object_get(chain.entries[i].object, "h"));
        cr_assert_eq(chain.entries[i].offset, i ? ends[i - 1] : 0);
        tb_hash_text(&chain.entries[i].head, hex);
        cr_assert_eq(memcmp(hex, text + ends[i] - 67, 64), 0, "the head is the line's hash");
    }
    cr_assert_eq(chain.bytes, ends[LINES - 1]);
    cr_assert_not(chain.torn);
    tb_chain_close(&chain);
}

Test(record_chain, every_single_flipped_bit_is_found_in_its_line)
{
    size_t ends[LINES];
    char *text = sample(ends);
    size_t line = 0;
    for (size_t at = 0; at < ends[LINES - 1]; at++) {
        line += at == ends[line];
        for (int bit = 0; bit < 8; bit++) {
            text[at] ^= (char)(1 << bit);
            struct tb_chain chain = expect(text, ends[LINES - 1], line + 1, "");
            cr_assert_eq(chain.torn, at == ends[LINES - 1] - 1, "only a file without its last newline is torn");
            tb_chain_close(&chain);
            text[at] ^= (char)(1 << bit);
        }
    }
}

Test(record_chain, a_file_cut_within_a_line_is_torn_there_and_between_lines_it_is_shorter)
{
    size_t ends[LINES], line = 0;
    const char *text = sample(ends);
    for (size_t bytes = 0; bytes < ends[LINES - 1]; bytes++) {
        struct tb_chain chain;
        line += line < LINES && bytes == ends[line];
        bool between = bytes == 0 || (line && bytes == ends[line - 1]);
        save(text, bytes);
        cr_assert_eq(tb_chain_load(path, &chain), 0);
        cr_assert_eq(chain.torn, !between, "%zu bytes", bytes);
        cr_assert_eq(chain.broken_line, between ? 0 : line + 1, "%zu bytes", bytes);
        cr_assert_eq(chain.count, line);
        cr_assert_eq(chain.bytes, line ? ends[line - 1] : 0);
        cr_assert_eq(strstr(chain.broken, "cut off") != NULL, !between);
        tb_chain_close(&chain);
    }
}

Test(record_chain, a_deleted_line_is_missed_by_the_next_one)
{
    size_t ends[LINES];
    const char *text = sample(ends);
    for (int gone = 0; gone < LINES - 1; gone++) {
        char changed[4096];
        size_t begin = gone ? ends[gone - 1] : 0;
        memcpy(changed, text, begin);
        memcpy(changed + begin, text + ends[gone], ends[LINES - 1] - ends[gone]);
        struct tb_chain chain = expect(changed, begin + ends[LINES - 1] - ends[gone], (size_t)gone + 1, "missing");
        tb_chain_close(&chain);
    }
}

Test(record_chain, reordered_and_repeated_lines_are_found_and_their_place_is_named)
{
    size_t ends[LINES];
    char *text = sample(ends), changed[4096];
    size_t bytes = ends[0]; // all lines are of one length
    memcpy(changed, text, ends[LINES - 1]);
    memcpy(changed + ends[1], text + ends[2], bytes);
    memcpy(changed + ends[2], text + ends[1], bytes);
    struct tb_chain chain = expect(changed, ends[LINES - 1], 3, "right after what is now line 4");
    tb_chain_close(&chain);
    memcpy(changed, text, ends[2]);
    memcpy(changed + ends[2], text + ends[1], bytes);
    chain = expect(changed, ends[3], 4, "right after what is now line 2");
    tb_chain_close(&chain);
}

Test(record_chain, valid_hashes_do_not_make_json)
{
    // (head -c 32 /dev/zero; printf '[1') | sha256sum
    static const char line[] = "[1,\"h\":\"d1695bf113de87f192a1f03bd6a9ce1e3dc486b6c00fe6fa1a7c7bc153452fa7\"}\n";
    struct tb_chain chain = expect(line, sizeof line - 1, 1, "no JSON");
    tb_chain_close(&chain);
    chain = expect("\n", 1, 1, "does not end with its hash");
    tb_chain_close(&chain);
}

Test(record_chain, refuses_what_cannot_be_chained)
{
    struct tb_hash head = {{0}};
    char *line;
    size_t bytes;
    json_t *wrong[] = {json_array(), json_object(), json_pack("{s:s}", "h", "mine"), NULL};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_assert_eq(tb_chain_line(&head, wrong[i], &line, &bytes), -EINVAL, "case %zu", i);
        json_decref(wrong[i]);
    }
    cr_assert_eq(memcmp(&head, &(struct tb_hash){{0}}, sizeof head), 0, "an error must leave the head as it is");
}

Test(record_chain, a_text_with_every_kind_of_character_survives)
{
    struct tb_hash head = {{0}};
    struct tb_chain chain;
    char *line;
    size_t bytes;
    json_t *object = json_pack("{s:s#, s:s}", "nul", "a\0b", 3, "odd", "line\nbreak \"h\":\" \xc3\xa9 \x01");
    cr_assert_eq(tb_chain_line(&head, object, &line, &bytes), 0);
    save(line, bytes);
    cr_assert_eq(tb_chain_load(path, &chain), 0);
    cr_assert_eq(chain.broken_line, 0, "%s", chain.broken);
    cr_assert(json_equal(chain.entries[0].object, object));
    tb_chain_close(&chain);
    json_decref(object);
    free(line);
}

Test(record_chain, what_is_no_file_is_an_error)
{
    struct tb_chain chain;
    char hex[TB_HASH_TEXT];
    cr_assert_eq(tb_chain_load("/nowhere/at/all", &chain), -ENOENT);
    cr_assert_eq(tb_chain_load("/tmp", &chain), -EISDIR);
    cr_assert_eq(tb_chain_load("/dev/null", &chain), -EINVAL);
    cr_assert_eq(tb_hash_file("/nowhere/at/all", hex), -ENOENT);
}

Test(record_chain, hashes_of_files_and_memory_agree_with_the_standard)
{
    static const char abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; // FIPS 180-2, "abc"
    char hex[TB_HASH_TEXT];
    struct tb_hash hash;
    save("abc", 3);
    cr_assert_eq(tb_hash_file(path, hex), 0);
    cr_assert_str_eq(hex, abc);
    cr_assert_eq(tb_hash_memory("abc", 3, hex), 0);
    cr_assert_str_eq(hex, abc);
    cr_assert_eq(tb_hash_parse(abc, &hash), 0);
    tb_hash_text(&hash, hex);
    cr_assert_str_eq(hex, abc);
    static const char *const wrong[] = {"", "ba78", "BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad0",
                                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ag"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_eq(tb_hash_parse(wrong[i], &hash), -EINVAL, "%s", wrong[i]);
}

// Whatever cannot be had, a chain that is whole is never called broken: it is read, or there was no memory.
Test(record_chain, is_not_called_broken_for_want_of_memory)
{
    size_t ends[LINES], failed = 0;
    const char *data = sample(ends);
    save(data, ends[LINES - 1]);
    json_set_alloc_funcs(scarce_malloc, free);
    for (long limit = 0;; limit++) {
        struct tb_chain chain;
        allocations_left = limit;
        int rc = tb_chain_load(path, &chain);
        allocations_left = -1;
        cr_expect(rc == 0 || rc == -ENOMEM, "after %ld allocations: %d", limit, rc);
        if (rc) {
            failed++;
            continue;
        }
        cr_expect(chain.broken_line == 0 && chain.count == LINES, "after %ld allocations: %s", limit, chain.broken);
        tb_chain_close(&chain);
        if (limit > 1000) // more than it needs
            break;
    }
    cr_expect_gt(failed, LINES);
}
