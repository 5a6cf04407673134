// SPDX-License-Identifier: Apache-2.0
//
// int8: arrays of f16 (IEEE 754 binary16) as int8, and back.
//
// LOCUS_INT8_GROUP numbers have one scale between them. A group is stored as its largest magnitude, an f16, and then one int8 for
// each number:
//
//     scale = largest / 127        q = x / scale, to the nearest, ties to even        x' = q * scale, to the nearest f16
//
// Symmetric quantization with a scale for each group is that of GPTQ, AWQ and ggml's Q8_0. These store the scale. We store the
// largest magnitude, from which the scale follows, so that a second round trip changes nothing: the largest number comes back
// exactly, so the scale does too, and each q with it (placement/tier/quant.c has the proof).
//
//     stored     {uint16_t largest; int8_t q[LOCUS_INT8_GROUP];} without gaps, in the machine's byte order, at any address.
//                The numbers that a last group lacks are stored as 0. Equal numbers give equal bytes, with each kind of
//                instructions (scalar, AVX2 with F16C, AVX-512, NEON: the best that the CPU has is chosen at run time). So a
//                checksum of the bytes holds on every host of the same byte order.
//     parts      an array that begins at a multiple of LOCUS_INT8_GROUP numbers is an array of its own, so parts may be
//                converted by several threads, or one by one as they come from a file.
//     error      |x - x'| <= scale * (1/2 + 2^-15) + half the distance between f16 numbers at x'; for groups whose largest
//                magnitude is a normal number, less than 0.0045 of that. (2^-15: sums are rounded to float.)
//     exact      0 (-0 comes back as +0), the group's largest magnitude, and all numbers of a group that has no magnitude of
//                127 * 2^-24 or more.
//     denormals  are numbers like others, and never flushed.
//     NaN, Inf   have no int8: an array with one of them is refused. Keep it as it is.
//
// Threads: any; calls share nothing. They expect the calling thread's default rounding (to nearest), and that it flushes no
// denormals (neither FTZ nor DAZ, which -ffast-math sets).
// Memory: none is allocated; both arrays are the caller's, and must not overlap.
// Cost: O(count), one pass. Beyond the caches, bound by memory.
#ifndef LOCUS_INT8_H
#define LOCUS_INT8_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOCUS_INT8_GROUP 64u                           // numbers that share a scale
#define LOCUS_INT8_GROUP_BYTES (2 + LOCUS_INT8_GROUP)  // of a stored group

// Bytes of `count` numbers as int8: 66 for each group that has begun. SIZE_MAX: more numbers than any memory has (SIZE_MAX / 2).
size_t locus_int8_bytes(size_t count);

// `to` has locus_int8_bytes(count) bytes, which are all written. 0, or -ERANGE: one of the numbers is infinite or not a number, and
// `to` has no meaning.
int locus_int8_from_f16(void *to, const uint16_t *from, size_t count);

// 0, or -EBADMSG: a group's largest magnitude is not one that can be stored (negative, infinite or NaN), so locus_int8_from_f16()
// has not written these bytes, and `to` has no meaning. A q of -128 is not written either: where -128 * scale would be infinite it
// is refused likewise, elsewhere it is taken as it is. So no number is ever infinite, or more than 128/127 of the largest.
int locus_int8_to_f16(uint16_t *to, const void *from, size_t count);

// The same, but stores past the caches, as memcpy does for what is longer than they are: for an array that nobody reads at once, or
// that does not fit them. Then nothing is read in order to be overwritten, which costs a third of the time. Plain where `to` is not
// aligned to 32 bytes or the CPU is not x86-64. What a release store after the call publishes includes these numbers.
int locus_int8_to_f16_streamed(uint16_t *to, const void *from, size_t count);

#ifdef __cplusplus
}
#endif

#endif
