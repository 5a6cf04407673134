// SPDX-License-Identifier: Apache-2.0
//
// crc: three parts side by side.
//
// A register after n zero bytes is a linear function of the register before (over GF(2)). So the register of parts A B C, each of
// PART bytes, is zeros(zeros(a) ^ b) ^ c, where a has the register before the block and b and c begin with 0. zeros() for PART
// bytes is four look-ups of a byte each. The tables are made by the slow function once. Mark Adler's crc32c.c does so with powers
// of a matrix; Sarwate's table and slicing by eight (Kounavis and Berry) are the scalar one.
#include "crc.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define POLYNOMIAL 0x82f63b78u // reflected
#define PART 1024u             // bytes: long enough that joining costs little

#define LINE 64u

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t slice[8][256];
static uint32_t zeros[4][256];
static bool has_instruction;

#if defined(__x86_64__)
#include <nmmintrin.h>
#define WITH_CRC __attribute__((target("sse4.2")))
#define STEP_8(crc, word) ((uint32_t)_mm_crc32_u64(crc, word))
#define STEP_1(crc, byte) _mm_crc32_u8(crc, byte)
#define WRITE_LINE(to, from) write_line(to, from)
#define WRITES_END() _mm_sfence() // such stores are ordered with no others
static void write_line(unsigned char *to, const unsigned char *from)
{
    for (size_t i = 0; i < LINE; i += sizeof(__m128i))
        _mm_stream_si128((__m128i *)(void *)(to + i), _mm_loadu_si128((const __m128i *)(const void *)(from + i)));
}
static bool instruction_found(void)
{
    return __builtin_cpu_supports("sse4.2");
}
#elif defined(__aarch64__)
#include <sys/auxv.h>
#define WITH_CRC
#define STEP_8(crc, word) step_8(crc, word)
#define STEP_1(crc, byte) step_1(crc, byte)
#define WRITE_LINE(to, from) memcpy(to, from, LINE)
#define WRITES_END() ((void)0)
#define HAS_CRC32 (1ul << 7) // HWCAP_CRC32 of <asm/hwcap.h>
// gcc and clang have different names for it, and want the whole file to be compiled for such CPUs.
static uint32_t step_8(uint32_t crc, uint64_t word)
{
    __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(word));
    return crc;
}
static uint32_t step_1(uint32_t crc, uint32_t byte)
{
    __asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"(byte));
    return crc;
}
static bool instruction_found(void)
{
    return (getauxval(AT_HWCAP) & HAS_CRC32) != 0;
}
#endif

static uint64_t word_at(const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static uint32_t register_scalar(uint32_t crc, const unsigned char *at, size_t count)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (; count >= 8; at += 8, count -= 8) {
        uint64_t word = word_at(at) ^ crc;
        crc = 0;
        for (unsigned i = 0; i < 8; i++)
            crc ^= slice[7 - i][word >> (8 * i) & 0xff];
    }
#endif
    for (; count > 0; count--)
        crc = crc >> 8 ^ slice[0][(crc ^ *at++) & 0xff];
    return crc;
}

#ifdef WITH_CRC
static uint32_t after_zeros(uint32_t crc)
{
    return zeros[0][crc & 0xff] ^ zeros[1][crc >> 8 & 0xff] ^ zeros[2][crc >> 16 & 0xff] ^ zeros[3][crc >> 24];
}

// The three parts jump from page to page faster than a prefetcher learns, so the next block is asked for.
#define ASK_FOR(at, i)                                                                                                             \
    do {                                                                                                                           \
        if ((i) % LINE == 0)                                                                                                       \
            for (size_t part = 3; part < 6; part++)                                                                                \
                __builtin_prefetch((at) + part * PART + (i));                                                                      \
    } while (0)

WITH_CRC static uint32_t register_rest(uint32_t crc, const unsigned char *at, size_t count)
{
    for (; count >= 8; at += 8, count -= 8)
        crc = STEP_8(crc, word_at(at));
    for (; count > 0; count--)
        crc = STEP_1(crc, *at++);
    return crc;
}

WITH_CRC static uint32_t register_fast(uint32_t crc, const unsigned char *at, size_t count)
{
    for (; count >= 3 * PART; at += 3 * PART, count -= 3 * PART) {
        uint32_t second = 0, third = 0;
        for (size_t i = 0; i < PART; i += 8) {
            ASK_FOR(at, i);
            crc = STEP_8(crc, word_at(at + i));
            second = STEP_8(second, word_at(at + PART + i));
            third = STEP_8(third, word_at(at + 2 * PART + i));
        }
        crc = after_zeros(after_zeros(crc) ^ second) ^ third;
    }
    return register_rest(crc, at, count);
}

// Each line is written when it has been summed, as a whole and past the caches where that can be said. pre: `to` is a multiple of
// 16.
WITH_CRC static uint32_t register_copy(uint32_t crc, unsigned char *to, const unsigned char *at, size_t count)
{
    for (; count >= 3 * PART; at += 3 * PART, to += 3 * PART, count -= 3 * PART) {
        uint32_t second = 0, third = 0;
        for (size_t line = 0; line < PART; line += LINE) {
            ASK_FOR(at, line);
            for (size_t i = line; i < line + LINE; i += 8) {
                crc = STEP_8(crc, word_at(at + i));
                second = STEP_8(second, word_at(at + PART + i));
                third = STEP_8(third, word_at(at + 2 * PART + i));
            }
            for (size_t part = 0; part < 3; part++)
                WRITE_LINE(to + part * PART + line, at + part * PART + line);
        }
        crc = after_zeros(after_zeros(crc) ^ second) ^ third;
    }
    memcpy(to, at, count);
    WRITES_END();
    return register_rest(crc, at, count);
}
#endif

static void prepare(void)
{
    static const unsigned char nothing[PART];
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
        slice[0][byte] = crc;
    }
    for (uint32_t byte = 0; byte < 256; byte++)
        for (unsigned i = 1; i < 8; i++)
            slice[i][byte] = slice[i - 1][byte] >> 8 ^ slice[0][slice[i - 1][byte] & 0xff];
    for (uint32_t byte = 0; byte < 256; byte++)
        for (unsigned i = 0; i < 4; i++)
            zeros[i][byte] = register_scalar(byte << (8 * i), nothing, sizeof nothing);
#ifdef WITH_CRC
    has_instruction = instruction_found();
#endif
}

uint32_t crc32c_scalar(uint32_t crc, const void *bytes, size_t count)
{
    pthread_once(&once, prepare);
    return ~register_scalar(~crc, bytes, count);
}

uint32_t crc32c(uint32_t crc, const void *bytes, size_t count)
{
    pthread_once(&once, prepare);
#ifdef WITH_CRC
    if (has_instruction)
        return ~register_fast(~crc, bytes, count);
#endif
    return ~register_scalar(~crc, bytes, count);
}

uint32_t crc32c_copy(uint32_t crc, void *to, const void *from, size_t count)
{
    pthread_once(&once, prepare);
#ifdef WITH_CRC
    if (has_instruction && (uintptr_t)to % 16 == 0)
        return ~register_copy(~crc, to, from, count);
#endif
    crc = crc32c(crc, from, count);
    memcpy(to, from, count);
    return crc;
}
