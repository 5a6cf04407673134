// SPDX-License-Identifier: Apache-2.0
//
// The bodies of the kernels, included by kernels.c once for each width of register:
//
//     KERNEL(name)       the function's name in this set, KERNEL_NAME the set's
//     KERNEL_TARGET      attribute that turns the instructions on
//     KERNEL_BYTES       of a register; PARTS of them are a line
//     KERNEL_NT(p, v)    stores one register past the caches
//     KERNEL_NT_LINE     stores the line that `a` points to at `at` past the caches
//
// Included, not inlined: gcc splits a vector that is wider than its function's target before it inlines, and all sets would be the
// narrowest. Reads go to four accumulators, because additions to one would wait for each other, and each line is loaded before it
// is added: with the memory as an operand of the addition one CPU drew a tenth less (Zen 5: 40 against 45 GB/s). SETTLE hides from
// the compiler where the pointer is: the loop stays a loop (and no call of memcpy), and the count is the loop's own.
#ifndef KERNEL
#error "included by kernels.c only"
#endif

#define ADD(sum, word)                                                                                                             \
    do {                                                                                                                           \
        vector loaded = (word);                                                                                                    \
        LOADED(loaded);                                                                                                            \
        sum += loaded;                                                                                                             \
    } while (0)

#define PARTS (TB_LINE_BYTES / KERNEL_BYTES)
#define vector KERNEL(vector)

typedef uint64_t vector __attribute__((vector_size(KERNEL_BYTES), may_alias));

KERNEL_TARGET static struct tb_moved KERNEL(read)(const void *from, uint64_t lines)
{
    const vector *at = from, *end = at + lines * PARTS;
    vector a = {0}, b = {0}, c = {0}, d = {0};
    struct tb_moved moved = {0};
    for (; end - at >= 8; at += 8) {
        ADD(a, at[0]);
        ADD(b, at[1]);
        ADD(c, at[2]);
        ADD(d, at[3]);
        ADD(a, at[4]);
        ADD(b, at[5]);
        ADD(c, at[6]);
        ADD(d, at[7]);
        SETTLE(at);
    }
    for (; at < end; at++)
        a += *at;
    a += b + c + d;
    moved.bytes = BYTES(from, at);
    for (unsigned i = 0; i < KERNEL_BYTES / sizeof(uint64_t); i++)
        moved.sum += a[i];
    return moved;
}

KERNEL_TARGET static struct tb_moved KERNEL(read_slowly)(const void *from, uint64_t lines, unsigned delay)
{
    const vector *at = from, *end = at + lines * PARTS;
    vector a = {0};
    struct tb_moved moved = {0};
    for (; at < end; at += PARTS) {
        UNROLL
        for (unsigned i = 0; i < PARTS; i++)
            a += at[i];
        for (unsigned turn = delay; turn > 0; turn--)
            SETTLE(turn);
    }
    moved.bytes = BYTES(from, at);
    for (unsigned i = 0; i < KERNEL_BYTES / sizeof(uint64_t); i++)
        moved.sum += a[i];
    return moved;
}

KERNEL_TARGET static struct tb_moved KERNEL(write)(void *to, uint64_t lines, uint64_t first, uint64_t step)
{
    vector *at = to, *end = at + lines * PARTS, value = (vector){0} + first;
    for (; at < end; at += PARTS, value += step) {
        UNROLL
        for (unsigned i = 0; i < PARTS; i++)
            at[i] = value;
        SETTLE(at);
    }
    return (struct tb_moved){.bytes = BYTES(to, at)};
}

KERNEL_TARGET static struct tb_moved KERNEL(nt_write)(void *to, uint64_t lines, uint64_t first, uint64_t step)
{
    vector *at = to, *end = at + lines * PARTS, value = (vector){0} + first;
    for (; at < end; at += PARTS, value += step) {
        UNROLL
        for (unsigned i = 0; i < PARTS; i++)
            KERNEL_NT(at + i, value);
        SETTLE(at);
    }
    FENCE();
    return (struct tb_moved){.bytes = BYTES(to, at)};
}

KERNEL_TARGET static struct tb_moved KERNEL(nt_copy)(void *to, const void *from, uint64_t lines, const void *ahead)
{
    vector *at = to, *end = at + lines * PARTS;
    const vector *a = from, *next = ahead ? ahead : from;
    for (; at < end; at += PARTS, a += PARTS, next += PARTS) {
        __builtin_prefetch(next);
        KERNEL_NT_LINE;
        SETTLE(at);
    }
    return (struct tb_moved){.bytes = BYTES(to, at) + BYTES(from, a)};
}

KERNEL_TARGET static struct tb_moved KERNEL(mix1)(void *to, const void *from, uint64_t lines, uint64_t salt)
{
    vector *at = to, *end = at + lines * PARTS, more = (vector){0} + salt;
    const vector *a = from;
    for (; at < end; at += PARTS, a += PARTS) {
        UNROLL
        for (unsigned i = 0; i < PARTS; i++)
            at[i] = a[i] + more;
        SETTLE(at);
    }
    return (struct tb_moved){.bytes = BYTES(to, at) + BYTES(from, a)};
}

KERNEL_TARGET static struct tb_moved KERNEL(mix2)(void *to, const void *from, uint64_t lines, uint64_t salt)
{
    vector *at = to, *end = at + lines * PARTS, more = (vector){0} + salt;
    const vector *a = from, *b = a + lines * PARTS;
    for (; at < end; at += PARTS, a += PARTS, b += PARTS) {
        UNROLL
        for (unsigned i = 0; i < PARTS; i++)
            at[i] = a[i] + b[i] + more;
        SETTLE(at);
    }
    return (struct tb_moved){.bytes = BYTES(to, at) + 2 * BYTES(from, a)};
}

KERNEL_TARGET static struct tb_moved KERNEL(mix3)(void *to, const void *from, uint64_t lines, uint64_t salt)
{
    vector *at = to, *end = at + lines * PARTS, more = (vector){0} + salt;
    const vector *a = from, *b = a + lines * PARTS, *c = b + lines * PARTS;
    for (; at < end; at += PARTS, a += PARTS, b += PARTS, c += PARTS) {
        UNROLL
        for (unsigned i = 0; i < PARTS; i++)
            at[i] = a[i] + b[i] + c[i] + more;
        SETTLE(at);
    }
    return (struct tb_moved){.bytes = BYTES(to, at) + 3 * BYTES(from, a)};
}

static const struct tb_kernels KERNEL(kernels) = {
    .name = KERNEL_NAME,
    .read = KERNEL(read),
    .write = KERNEL(write),
    .nt_write = KERNEL(nt_write),
    .nt_copy = KERNEL(nt_copy),
    .mix = {KERNEL(mix1), KERNEL(mix2), KERNEL(mix3)},
    .read_slowly = KERNEL(read_slowly),
};

#undef PARTS
#undef ADD
#undef vector
#undef KERNEL
#undef KERNEL_NAME
#undef KERNEL_TARGET
#undef KERNEL_BYTES
#undef KERNEL_NT
