// SPDX-License-Identifier: Apache-2.0
//
// crc: CRC-32C (Castagnoli's polynomial, as in iSCSI, ext4, SSE 4.2 and Armv8). Not installed.
//
// Any thread. The CPU's instruction has a latency of three cycles and takes eight bytes at a time, so three parts of a block are
// computed side by side and joined: about eight bytes a cycle. The table takes a byte a cycle or two.
#ifndef LOCUS_CRC_H
#define LOCUS_CRC_H

#include <stddef.h>
#include <stdint.h>

// The checksum of what `crc` is the checksum of, with these bytes behind it. 0 is the checksum of nothing.
uint32_t crc32c(uint32_t crc, const void *bytes, size_t count);

// Copies them in the same pass, on x86-64 past the caches: for more bytes than a cache would keep.
uint32_t crc32c_copy(uint32_t crc, void *to, const void *from, size_t count);

// crc32c() by tables; for the tests, and for CPUs without the instruction.
uint32_t crc32c_scalar(uint32_t crc, const void *bytes, size_t count);

#endif
