// SPDX-License-Identifier: Apache-2.0
//
// gguf: see gguf.h.
//
// What makes a weight is a table: 16 random bits choose one of 65536 values, evenly spaced and rounded to f16. It is made anew
// where a tensor's input is of another width than the one's before, a few times in each layer, and a look-up costs less than
// rounding. Weights are uniform within 1.7 / sqrt(width of the input), so that sums keep the size of what goes in, whatever the
// depth, and no f16 overflows.
#include "testbed/engine/gguf.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed/base/file.h"
#include "testbed/stats/random.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "GGUF is little-endian");

enum { VERSION = 3, TYPE_U32 = 4, TYPE_F32 = 6, TYPE_STRING = 8, TENSOR_F32 = 0, TENSOR_F16 = 1, FILE_MOSTLY_F16 = 1 };
enum { HALVES = 1 << 16, PIECE_BYTES = 1 << 17 }; // a piece is large beside a system call, and small beside the second-level cache

// --- the tensors ---------------------------------------------------------------------------------------------------------------

enum size { ONE, WIDTH, QUERIES, KEYS, FFN, VOCAB };

struct part {
    const char *name;
    enum size input, outputs; // a matrix has a row of `input` values for each output; a norm has one row, in f32
};

static const struct part before[] = {{"token_embd", WIDTH, VOCAB}};
static const struct part layer[] = {
    {"attn_norm", WIDTH, ONE}, {"attn_q", WIDTH, QUERIES},      {"attn_k", WIDTH, KEYS},
    {"attn_v", WIDTH, KEYS},   {"attn_output", QUERIES, WIDTH}, {"ffn_norm", WIDTH, ONE},
    {"ffn_gate", WIDTH, FFN},  {"ffn_up", WIDTH, FFN},          {"ffn_down", FFN, WIDTH},
};
static const struct part after[] = {{"output_norm", WIDTH, ONE}, {"output", WIDTH, VOCAB}};

enum { BEFORE = sizeof before / sizeof *before, LAYER = sizeof layer / sizeof *layer, AFTER = sizeof after / sizeof *after };

struct tensor {
    char name[48];
    uint64_t input, outputs, bytes; // `bytes` without the padding behind it
    bool norm;
};

static uint64_t size_of(const struct tb_model *model, enum size size)
{
    switch (size) {
    case WIDTH: return model->width;
    case QUERIES: return (uint64_t)model->heads * model->head_dim;
    case KEYS: return (uint64_t)model->kv_heads * model->head_dim;
    case FFN: return model->ffn;
    case VOCAB: return model->vocab;
    default: return 1;
    }
}

static uint64_t tensors_count(const struct tb_model *model)
{
    return BEFORE + (uint64_t)LAYER * model->layers + AFTER;
}

static struct tensor tensor_at(const struct tb_model *model, uint64_t i)
{
    const uint64_t in_layers = (uint64_t)LAYER * model->layers;
    struct tensor tensor;
    const struct part *part;
    if (i >= BEFORE && i - BEFORE < in_layers) {
        part = &layer[(i - BEFORE) % LAYER];
        snprintf(tensor.name, sizeof tensor.name, "blk.%u.%s.weight", (unsigned)((i - BEFORE) / LAYER), part->name);
    } else {
        part = i < BEFORE ? &before[i] : &after[i - BEFORE - in_layers];
        snprintf(tensor.name, sizeof tensor.name, "%s.weight", part->name);
    }
    tensor.norm = part->outputs == ONE;
    tensor.input = size_of(model, part->input);
    tensor.outputs = size_of(model, part->outputs);
    tensor.bytes = tensor.input * tensor.outputs * (tensor.norm ? sizeof(float) : sizeof(uint16_t));
    return tensor;
}

static uint64_t padded(uint64_t bytes)
{
    return (bytes + TB_GGUF_ALIGNMENT - 1) / TB_GGUF_ALIGNMENT * TB_GGUF_ALIGNMENT;
}

// --- the header ----------------------------------------------------------------------------------------------------------------

static void put_u32(FILE *out, uint32_t value)
{
    fwrite(&value, sizeof value, 1, out);
}

static void put_u64(FILE *out, uint64_t value)
{
    fwrite(&value, sizeof value, 1, out);
}

static void put_text(FILE *out, const char *text)
{
    put_u64(out, strlen(text));
    fputs(text, out);
}

static void key_u32(FILE *out, const char *key, uint32_t value)
{
    put_text(out, key);
    put_u32(out, TYPE_U32);
    put_u32(out, value);
}

static void key_text(FILE *out, const char *key, const char *value)
{
    put_text(out, key);
    put_u32(out, TYPE_STRING);
    put_text(out, value);
}

static void put_keys(FILE *out, const struct tb_model *model)
{
    const float epsilon = 1e-5f;
    key_text(out, "general.architecture", "llama");
    key_text(out, "general.name", model->name);
    key_u32(out, "general.alignment", TB_GGUF_ALIGNMENT);
    key_u32(out, "general.file_type", FILE_MOSTLY_F16);
    key_u32(out, "llama.context_length", model->context);
    key_u32(out, "llama.embedding_length", model->width);
    key_u32(out, "llama.block_count", model->layers);
    key_u32(out, "llama.feed_forward_length", model->ffn);
    key_u32(out, "llama.attention.head_count", model->heads);
    key_u32(out, "llama.attention.head_count_kv", model->kv_heads);
    key_u32(out, "llama.attention.key_length", model->head_dim); // otherwise it would be the width's share
    key_u32(out, "llama.attention.value_length", model->head_dim);
    key_u32(out, "llama.rope.dimension_count", model->head_dim);
    put_text(out, "llama.attention.layer_norm_rms_epsilon");
    put_u32(out, TYPE_F32);
    fwrite(&epsilon, sizeof epsilon, 1, out);
    key_u32(out, "llama.vocab_size", model->vocab);
    key_text(out, "tokenizer.ggml.model", "none");
}

enum { KEYS_COUNT = 16 }; // that put_keys() puts

// The header with its padding, malloc'd; `out` has the file's size. 0 or -errno.
static int header_make(const struct tb_model *model, char **bytes, size_t *count, struct tb_gguf *out)
{
    uint64_t offset = 0, parameters = 0;
    *bytes = NULL;
    FILE *stream = open_memstream(bytes, count);
    if (!stream)
        return -errno;
    fputs("GGUF", stream);
    put_u32(stream, VERSION);
    put_u64(stream, tensors_count(model));
    put_u64(stream, KEYS_COUNT);
    put_keys(stream, model);
    for (uint64_t i = 0; i < tensors_count(model); i++) {
        const struct tensor tensor = tensor_at(model, i);
        put_text(stream, tensor.name);
        put_u32(stream, tensor.norm ? 1 : 2);
        put_u64(stream, tensor.input);
        if (!tensor.norm)
            put_u64(stream, tensor.outputs);
        put_u32(stream, tensor.norm ? TENSOR_F32 : TENSOR_F16);
        put_u64(stream, offset); // from the end of the header
        offset += padded(tensor.bytes);
        parameters += tensor.input * tensor.outputs;
    }
    for (long at = ftell(stream); at % TB_GGUF_ALIGNMENT; at++)
        fputc('\0', stream);
    if (fclose(stream))
        return -ENOMEM;
    out->bytes = *count + offset;
    out->parameters = parameters;
    return 0;
}

// --- the weights ---------------------------------------------------------------------------------------------------------------

struct writer {
    int fd;
    EVP_MD_CTX *hash;
    uint64_t done_bytes, total_bytes, random;
    tb_gguf_progress *progress;
    void *context;
    uint64_t input; // that `halves` was made for
    uint16_t halves[HALVES];
    union {
        uint16_t halves[PIECE_BYTES / sizeof(uint16_t)];
        float floats[PIECE_BYTES / sizeof(float)];
        char bytes[PIECE_BYTES];
    } piece;
};

// To the nearest f16 of a finite value that is in its range. The compilers' own conversion needs types that not all of them have.
static uint16_t half_of(double value)
{
    int exponent;
    frexp(value, &exponent);
    const int step = exponent - 11 > -24 ? exponent - 11 : -24; // the exponent of the last place: 11 bits, or a subnormal number's
    const long places = lrint(ldexp(fabs(value), -step));
    return (uint16_t)((value < 0 ? 0x8000 : 0) + ((step + 24) << 10) + places);
}

static void halves_make(struct writer *writer, uint64_t input)
{
    const double step = 1.7 / sqrt((double)input) / (HALVES / 2);
    for (int i = 0; i < HALVES; i++)
        writer->halves[i] = half_of((i - HALVES / 2 + 0.5) * step);
    writer->input = input;
}

// Whole numbers of 64 bits make four weights each; what is left over of a piece's last one is dropped.
static void weights_draw(struct writer *writer, uint16_t *out, size_t count)
{
    uint64_t state = writer->random;
    for (size_t i = 0; i < count; i += 4) {
        const uint64_t drawn = tb_random_next(&state);
        for (unsigned part = 0; part < 4; part++)
            out[i + part] = writer->halves[(uint16_t)(drawn >> 16 * part)];
    }
    writer->random = state;
}

static int put(struct writer *writer, const char *bytes, size_t count)
{
    int error = EVP_DigestUpdate(writer->hash, bytes, count) ? tb_file_write(writer->fd, bytes, count) : -ENOMEM;
    writer->done_bytes += count;
    if (!error && writer->progress)
        error = writer->progress(writer->context, writer->done_bytes, writer->total_bytes);
    return error;
}

static int tensor_put(struct writer *writer, const struct tensor *tensor)
{
    if (!tensor->norm && writer->input != tensor->input)
        halves_make(writer, tensor->input);
    for (size_t i = 0; tensor->norm && i < sizeof writer->piece.floats / sizeof(float); i++)
        writer->piece.floats[i] = 1.0f;
    int error = 0;
    for (uint64_t left = tensor->bytes; left && !error;) {
        const size_t count = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES, whole = (size_t)padded(count);
        if (!tensor->norm)
            weights_draw(writer, writer->piece.halves, count / sizeof(uint16_t));
        memset(writer->piece.bytes + count, 0, whole - count); // behind the tensor's end
        error = put(writer, writer->piece.bytes, whole);
        left -= count;
    }
    return error;
}

// --- the file ------------------------------------------------------------------------------------------------------------------

static int contents_put(struct writer *writer, const struct tb_model *model, const char *header, size_t header_bytes,
                        struct tb_hash *hash)
{
    if (!writer->hash || !EVP_DigestInit_ex(writer->hash, EVP_sha256(), NULL))
        return -ENOMEM;
    // Filesystems that cannot reserve space say so, and the file is written without.
    if (fallocate(writer->fd, 0, 0, (off_t)writer->total_bytes) && (errno == ENOSPC || errno == EFBIG || errno == EDQUOT))
        return -errno;
    int error = put(writer, header, header_bytes);
    for (uint64_t i = 0; i < tensors_count(model) && !error; i++) {
        const struct tensor tensor = tensor_at(model, i);
        error = tensor_put(writer, &tensor);
    }
    if (!error && !EVP_DigestFinal_ex(writer->hash, hash->bytes, NULL))
        error = -ENOMEM;
    return error;
}

// Opens a new file beside the one that it will replace: `target`, which is what a link at `path` leads to.
static int beside_open(const char *path, char target[PATH_MAX], char temporary[PATH_MAX + 32], int *fd)
{
    struct stat about;
    int error = tb_output_check(path);
    if (!error && stat(path, &about) == 0 && !S_ISREG(about.st_mode))
        error = -EINVAL;
    if (error)
        return error;
    if (!realpath(path, target) && snprintf(target, PATH_MAX, "%s", path) >= PATH_MAX)
        return -ENAMETOOLONG;
    snprintf(temporary, PATH_MAX + 32, "%s.%d.tmp", target, (int)getpid());
    *fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return *fd < 0 ? -errno : 0;
}

static int file_write(const char *path, struct writer *writer, const struct tb_model *model, const char *header,
                      size_t header_bytes, struct tb_hash *hash)
{
    char target[PATH_MAX], temporary[PATH_MAX + 32];
    int error = beside_open(path, target, temporary, &writer->fd);
    if (error)
        return error;
    error = contents_put(writer, model, header, header_bytes, hash);
    if (close(writer->fd) && !error)
        error = -errno;
    if (!error && rename(temporary, target))
        error = -errno;
    if (error)
        unlink(temporary);
    return error;
}

int tb_gguf_write(const char *path, const struct tb_model *model, uint64_t seed, tb_gguf_progress *progress, void *context,
                  struct tb_gguf *out)
{
    char *header = NULL;
    size_t header_bytes;
    struct tb_hash hash;
    struct writer *writer = calloc(1, sizeof *writer);
    int error = writer ? header_make(model, &header, &header_bytes, out) : -ENOMEM;
    if (error)
        goto end;
    writer->hash = EVP_MD_CTX_new();
    writer->total_bytes = out->bytes;
    writer->random = seed;
    writer->progress = progress;
    writer->context = context;
    error = file_write(path, writer, model, header, header_bytes, &hash);
    if (!error)
        tb_hash_text(&hash, out->sha256);
end:
    if (writer)
        EVP_MD_CTX_free(writer->hash);
    free(writer);
    free(header);
    return error;
}
