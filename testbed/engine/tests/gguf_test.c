// SPDX-License-Identifier: Apache-2.0
//
// gguf: a file is read back by a second reader, written from the format's description.
#include "testbed/engine/gguf.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed/base/file.h"

static char folder[] = "/tmp/gguf-test-XXXXXX", path[64];

static void folder_make(void)
{
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/model.gguf", folder);
}

static void folder_remove(void)
{
    unlink(path);
    cr_expect_eq(rmdir(folder), 0, "something is left in it");
}

TestSuite(gguf, .init = folder_make, .fini = folder_remove);

// --- the reader ----------------------------------------------------------------------------------------------------------------

struct read_tensor {
    char name[64];
    uint32_t dimensions, type;
    uint64_t sizes[2], offset, bytes;
};

struct read_file {
    char *data;
    size_t bytes, at;
    uint64_t tensors_count, keys_count;
    char keys[2048];            // "name=value " of each, in order
    struct read_tensor tensors[64];
    size_t begin;               // of the first tensor
};

static uint64_t number(struct read_file *file, size_t bytes)
{
    uint64_t value = 0;
    cr_assert_leq(file->at + bytes, file->bytes);
    memcpy(&value, file->data + file->at, bytes);
    file->at += bytes;
    return value;
}

static void text(struct read_file *file, char *out, size_t size)
{
    const uint64_t length = number(file, 8);
    cr_assert_lt(length, size);
    cr_assert_leq(file->at + length, file->bytes);
    memcpy(out, file->data + file->at, length);
    out[length] = '\0';
    file->at += length;
}

static void key(struct read_file *file)
{
    char name[64], value[64];
    text(file, name, sizeof name);
    const uint64_t type = number(file, 4);
    const uint32_t bits = type == 8 ? 0 : (uint32_t)number(file, 4);
    float real;
    memcpy(&real, &bits, sizeof real);
    if (type == 8)
        text(file, value, sizeof value);
    else
        snprintf(value, sizeof value, "%g", type == 6 ? (double)real : (double)bits);
    cr_assert(type == 4 || type == 6 || type == 8, "%s has the type %u", name, (unsigned)type);
    const size_t used = strlen(file->keys);
    snprintf(file->keys + used, sizeof file->keys - used, "%s=%s ", name, value);
}

static void tensor(struct read_file *file, struct read_tensor *out)
{
    text(file, out->name, sizeof out->name);
    out->dimensions = (uint32_t)number(file, 4);
    cr_assert(out->dimensions == 1 || out->dimensions == 2);
    out->sizes[1] = 1;
    for (uint32_t i = 0; i < out->dimensions; i++)
        out->sizes[i] = number(file, 8);
    out->type = (uint32_t)number(file, 4);
    out->offset = number(file, 8);
    out->bytes = out->sizes[0] * out->sizes[1] * (out->type == 0 ? 4 : 2);
}

static struct read_file *file_read(void)
{
    struct read_file *file = calloc(1, sizeof *file);
    cr_assert_not_null(file);
    cr_assert_eq(tb_file_read(path, &file->data, &file->bytes), 0);
    cr_assert_eq(memcmp(file->data, "GGUF", 4), 0);
    file->at = 4;
    cr_assert_eq(number(file, 4), 3);
    file->tensors_count = number(file, 8);
    file->keys_count = number(file, 8);
    for (uint64_t i = 0; i < file->keys_count; i++)
        key(file);
    cr_assert_leq(file->tensors_count, sizeof file->tensors / sizeof *file->tensors);
    for (uint64_t i = 0; i < file->tensors_count; i++)
        tensor(file, &file->tensors[i]);
    file->begin = (file->at + 31) / 32 * 32;
    return file;
}

static void file_free(struct read_file *file)
{
    free(file->data);
    free(file);
}

static const struct read_tensor *tensor_named(const struct read_file *file, const char *name)
{
    for (uint64_t i = 0; i < file->tensors_count; i++)
        if (strcmp(file->tensors[i].name, name) == 0)
            return &file->tensors[i];
    cr_assert_fail("there is no tensor %s", name);
    return NULL;
}

static double half_value(uint16_t half)
{
    const int exponent = half >> 10 & 31, mantissa = half & 1023;
    const double size = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    return half & 0x8000 ? -size : size;
}

// --- what is made --------------------------------------------------------------------------------------------------------------

static const struct tb_model odd = {
    // no two sizes are alike, and the rows are no multiple of 32 bytes
    .name = "odd", .layers = 2, .width = 30, .heads = 6, .kv_heads = 2, .head_dim = 8, .ffn = 35, .vocab = 51, .context = 77,
};

static struct tb_model tiny(void)
{
    char why[256];
    struct tb_model model = {0};
    cr_assert_eq(tb_model_complete(NULL, &model, why, sizeof why), 0);
    return model;
}

static struct tb_gguf made(const struct tb_model *model, uint64_t seed)
{
    struct tb_gguf out;
    cr_assert_eq(tb_gguf_write(path, model, seed, NULL, NULL, &out), 0);
    return out;
}

Test(gguf, keys_say_what_the_model_is)
{
    made(&odd, 1);
    struct read_file *file = file_read();
    cr_expect_str_eq(
        file->keys,
        "general.architecture=llama general.name=odd general.alignment=32 general.file_type=1 llama.context_length=77 "
        "llama.embedding_length=30 llama.block_count=2 llama.feed_forward_length=35 llama.attention.head_count=6 "
        "llama.attention.head_count_kv=2 llama.attention.key_length=8 llama.attention.value_length=8 "
        "llama.rope.dimension_count=8 llama.attention.layer_norm_rms_epsilon=1e-05 llama.vocab_size=51 tokenizer.ggml.model=none ");
    file_free(file);
}

Test(gguf, tensors_are_all_there_with_their_sizes)
{
    static const struct {
        const char *name;
        uint64_t input, outputs;
    } expected[] = {
        {"token_embd.weight", 30, 51},     {"output_norm.weight", 30, 1},        {"output.weight", 30, 51},
        {"blk.0.attn_norm.weight", 30, 1}, {"blk.1.attn_q.weight", 30, 48},      {"blk.0.attn_k.weight", 30, 16},
        {"blk.1.attn_v.weight", 30, 16},   {"blk.0.attn_output.weight", 48, 30}, {"blk.1.ffn_norm.weight", 30, 1},
        {"blk.0.ffn_gate.weight", 30, 35}, {"blk.1.ffn_up.weight", 30, 35},      {"blk.1.ffn_down.weight", 35, 30},
    };
    made(&odd, 1);
    struct read_file *file = file_read();
    cr_expect_eq(file->tensors_count, 2 * 9 + 3);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const struct read_tensor *found = tensor_named(file, expected[i].name);
        const bool norm = expected[i].outputs == 1;
        cr_expect(found->sizes[0] == expected[i].input && found->sizes[1] == expected[i].outputs, "%s", found->name);
        cr_expect(found->dimensions == (norm ? 1 : 2) && found->type == (norm ? 0 : 1), "%s", found->name);
    }
    file_free(file);
}

Test(gguf, tensors_follow_each_other_and_fill_the_file)
{
    const struct tb_model models[] = {odd, tiny()};
    for (size_t i = 0; i < 2; i++) {
        const struct tb_gguf out = made(&models[i], 1);
        struct read_file *file = file_read();
        uint64_t end = 0, parameters = 0;
        for (uint64_t t = 0; t < file->tensors_count; t++) {
            const struct read_tensor *at = &file->tensors[t];
            cr_expect_eq(at->offset, end, "%s", at->name);
            for (uint64_t b = at->bytes; b % 32; b++)
                cr_expect_eq(file->data[file->begin + at->offset + b], 0, "behind %s", at->name);
            end = (at->offset + at->bytes + 31) / 32 * 32;
            parameters += at->sizes[0] * at->sizes[1];
        }
        cr_expect_eq(file->begin + end, file->bytes);
        cr_expect(out.bytes == file->bytes && out.parameters == parameters);
        file_free(file);
    }
}

Test(gguf, weights_are_uniform_in_the_range_of_their_input_and_norms_are_one)
{
    const struct tb_model model = tiny();
    made(&model, 1);
    struct read_file *file = file_read();
    for (uint64_t t = 0; t < file->tensors_count; t++) {
        const struct read_tensor *at = &file->tensors[t];
        const char *bytes = file->data + file->begin + at->offset;
        const double limit = 1.7 / sqrt((double)at->sizes[0]), count = (double)(at->sizes[0] * at->sizes[1]);
        double largest = 0, sum = 0, squares = 0;
        for (uint64_t i = 0; i < at->sizes[0] * at->sizes[1]; i++) {
            uint16_t half = 0;
            float norm = 0;
            memcpy(at->type ? (void *)&half : (void *)&norm, bytes + i * (at->type ? 2 : 4), at->type ? 2 : 4);
            const double value = at->type ? half_value(half) : (double)norm;
            cr_assert(at->type || value == 1.0, "%s", at->name);
            largest = fmax(largest, fabs(value));
            sum += value;
            squares += value * value;
        }
        if (at->type == 0)
            continue;
        cr_expect(largest <= limit * 1.0005 && largest > limit * 0.999, "%s: %g of %g", at->name, largest, limit);
        cr_expect_lt(fabs(sum / count), limit * 4 / sqrt(3 * count), "%s", at->name); // four standard errors
        cr_expect_float_eq(squares / count, limit * limit / 3, limit * limit * 0.01, "%s", at->name);
    }
    file_free(file);
}

// The sum says that it is so on every machine and with every compiler.
Test(gguf, a_seed_gives_the_same_bytes_and_another_gives_others)
{
    char sum[TB_HASH_TEXT];
    const struct tb_model model = tiny();
    const struct tb_gguf first = made(&model, 1);
    cr_assert_eq(tb_hash_file(path, sum), 0);
    cr_expect_str_eq(first.sha256, sum);
    cr_expect_str_eq(first.sha256, "094d55ea7ad059866bfa65a8fb2b78363a2b1b12b9407a7263e699c32018e448");
    cr_expect_str_eq(made(&model, 1).sha256, first.sha256);
    const struct tb_gguf other = made(&model, 2);
    cr_expect_str_neq(other.sha256, first.sha256);
    cr_expect_eq(other.bytes, first.bytes);
}

// --- what fails ----------------------------------------------------------------------------------------------------------------

static int give_up(void *context, uint64_t done_bytes, uint64_t total_bytes)
{
    *(uint64_t *)context = total_bytes;
    return done_bytes * 2 > total_bytes ? -EINTR : 0;
}

Test(gguf, a_failed_attempt_leaves_the_older_file_and_no_other)
{
    const struct tb_model model = tiny();
    const struct tb_gguf older = made(&odd, 1);
    struct tb_gguf out;
    char sum[TB_HASH_TEXT];
    uint64_t total = 0;
    cr_expect_eq(tb_gguf_write(path, &model, 1, give_up, &total, &out), -EINTR);
    cr_expect_eq(total, out.bytes);
    const struct rlimit limit = {1 << 20, RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_expect_eq(tb_gguf_write(path, &model, 1, NULL, NULL, &out), -EFBIG);
    cr_assert_eq(tb_hash_file(path, sum), 0);
    cr_expect_str_eq(sum, older.sha256);
}

Test(gguf, what_is_no_regular_file_is_left_alone)
{
    struct tb_gguf out;
    char missing[96];
    snprintf(missing, sizeof missing, "%s/none/model.gguf", folder);
    cr_expect_eq(tb_gguf_write("/dev/null", &odd, 1, NULL, NULL, &out), -EINVAL);
    cr_expect_eq(tb_gguf_write(folder, &odd, 1, NULL, NULL, &out), -EISDIR);
    cr_expect_eq(tb_gguf_write(missing, &odd, 1, NULL, NULL, &out), -ENOTDIR);
}

Test(gguf, a_link_stays_a_link)
{
    char link[64];
    struct stat about;
    made(&odd, 1);
    snprintf(link, sizeof link, "%s/link", folder);
    cr_assert_eq(symlink(path, link), 0);
    struct tb_gguf out, other;
    cr_expect_eq(tb_gguf_write(link, &odd, 2, NULL, NULL, &out), 0);
    cr_expect(lstat(link, &about) == 0 && S_ISLNK(about.st_mode));
    unlink(link);
    other = made(&odd, 2);
    cr_expect_str_eq(out.sha256, other.sha256);
}
