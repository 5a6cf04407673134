// SPDX-License-Identifier: Apache-2.0
//
// scan: which objects a file has.
//
// A sync comes first. A process that was killed may have left headers and bytes in the device's cache, where a read finds them
// and a loss of power loses them: nothing that is durable may be erased, and no object reported, on their ground.
//
// Three passes over the headers then. The first finds the largest number up to which all stores had been acknowledged. The
// second finds the newest header of each key: of those with a larger number only ones whose bytes have their checksum, which are
// read for it. The third gives each of these its units. Not in one pass, because an outdated header may name units that by now
// are another object's. What is not an object then is erased, and synced before the tier takes its first store: a torn header
// must not be there when a later header says that all before it were acknowledged.
//
// Bytes that cannot be read are no sign of a torn store, whose bytes were all written. The object is kept, and its load gives the
// error: one such sector must not keep the others from being opened. But if an older version of the key is there, too, the store of
// the newer one may not have come to its end; then the older one is kept, if its bytes have their checksum, and the newer erased.
#include "file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "placement/base/id_hash.h"
#include "placement/tier/crc.h"

#define PIECE_BLOCKS 256u // headers in one read

struct newest {
    struct locus_id key;
    uint64_t sequence;
    uint32_t unit;
    bool unreadable;
};

enum content { CONTENT_WHOLE, CONTENT_TORN, CONTENT_UNREADABLE };

struct scan {
    struct file *file;
    char *blocks, *bytes;       // PIECE_BLOCKS each,
    struct file_header *other;  // and one
    struct newest *newest;      // of each key: open addressing, sequence 0 is free
    uint64_t mask;
    uint64_t acknowledged;
    bool erased;
};

static int bytes_read(const struct file *file, void *to, uint64_t bytes, uint64_t offset)
{
    for (uint64_t done = 0; done < bytes;) {
        ssize_t result = pread(file->fd, (char *)to + done, bytes - done, (off_t)(offset + done));
        if (result == 0)
            return -EIO;
        if (result < 0 && errno != EINTR)
            return -errno;
        done += result > 0 ? (uint64_t)result : 0;
    }
    return 0;
}

static int header_erase(struct scan *scan, uint32_t unit)
{
    const struct file *file = scan->file;
    scan->erased = true;
    memset(scan->bytes, 0, FILE_BLOCK);
    ssize_t result = pwrite(file->fd, scan->bytes, FILE_BLOCK, (off_t)file_header_offset(unit));
    return result == FILE_BLOCK ? 0 : result < 0 ? -errno : -EIO;
}

// A header as one of ours has been written: the checksum alone would not say that it is of this place.
static bool is_header(const struct file *file, const struct file_header *header, uint32_t unit)
{
    uint64_t units = 0;
    if (header->magic != HEADER_MAGIC || header->version != FILE_VERSION || header->id != file->id || header->sequence == 0 ||
        header->checksum != file_block_checksum(header, &header->checksum))
        return false;
    if (header->runs_count == 0 || header->runs_count > FILE_RUNS_MAX || header->runs[0][0] != unit || header->bytes == 0)
        return false;
    for (uint32_t i = 0; i < header->runs_count; i++) {
        if (header->runs[i][1] == 0 || (uint64_t)header->runs[i][0] + header->runs[i][1] > file->tier.objects.units)
            return false;
        units += header->runs[i][1];
    }
    return header->held <= header->bytes && header->held > 0 &&
           (header->held + file->tier.unit_bytes - 1) / file->tier.unit_bytes == units &&
           (header->packed ? header->bytes <= FILE_PACK_BYTES_MAX : header->held == header->bytes);
}

static bool is_nothing(const void *block)
{
    const uint64_t *words = block;
    for (size_t i = 0; i < FILE_BLOCK / sizeof *words; i++)
        if (words[i])
            return false;
    return true;
}

static int each_header(struct scan *scan, int (*visit)(struct scan *scan, uint32_t unit, const struct file_header *header))
{
    uint32_t units = scan->file->tier.objects.units, count;
    int error = 0;
    for (uint32_t unit = 0; unit < units && !error; unit += count) {
        count = units - unit < PIECE_BLOCKS ? units - unit : PIECE_BLOCKS;
        error = bytes_read(scan->file, scan->blocks, (uint64_t)count * FILE_BLOCK, file_header_offset(unit));
        for (uint32_t i = 0; i < count && !error; i++)
            if (!is_nothing(scan->blocks + (size_t)i * FILE_BLOCK))
                error = visit(scan, unit + i, (struct file_header *)(scan->blocks + (size_t)i * FILE_BLOCK));
    }
    return error;
}

// --- the first pass ------------------------------------------------------------------------------------------------------------

static int acknowledged_find(struct scan *scan, uint32_t unit, const struct file_header *header)
{
    struct file *file = scan->file;
    if (!is_header(file, header, unit))
        return 0;
    if (header->acknowledged > scan->acknowledged)
        scan->acknowledged = header->acknowledged;
    if (header->sequence > file->sequence)
        file->sequence = header->sequence;
    return 0;
}

// --- the second ----------------------------------------------------------------------------------------------------------------

// As the kernel says it of sectors: an error of the device, a medium that lost them, a checksum of the device's own.
static bool is_unreadable(int error)
{
    return error == -EIO || error == -ENODATA || error == -EILSEQ;
}

static int content_of(struct scan *scan, const struct file_header *header, enum content *out)
{
    const struct file *file = scan->file;
    uint64_t left = header->held;
    uint32_t crc = 0;
    scan->file->granted.read_whole++;
    for (uint32_t i = 0; i < header->runs_count; i++) {
        uint64_t run = (uint64_t)header->runs[i][1] * file->tier.unit_bytes, offset = file_unit_offset(file, header->runs[i][0]);
        for (uint64_t done = 0, piece; done < run && left > 0; done += piece) {
            piece = run - done < PIECE_BLOCKS * FILE_BLOCK ? run - done : PIECE_BLOCKS * FILE_BLOCK;
            int error = bytes_read(file, scan->bytes, piece < file_padded(left) ? piece : file_padded(left), offset + done);
            if (error) {
                *out = CONTENT_UNREADABLE;
                return is_unreadable(error) ? 0 : error;
            }
            uint64_t own = piece < left ? piece : left;
            crc = crc32c(crc, scan->bytes, own);
            left -= own;
        }
    }
    *out = crc == header->content ? CONTENT_WHOLE : CONTENT_TORN;
    return 0;
}

static struct newest *newest_of(const struct scan *scan, struct locus_id key)
{
    uint64_t place = id_place(key, scan->mask + UINT64_C(1));
    while (scan->newest[place].sequence && !locus_id_equal(scan->newest[place].key, key))
        place = (place + 1) & scan->mask;
    return &scan->newest[place];
}

// The newer of two versions cannot be read. Is the older one whole? `header` is that of `unit`, which is one of the two.
static int older_wins(struct scan *scan, const struct newest *older, uint32_t unit, const struct file_header *header, bool *out)
{
    enum content content = CONTENT_UNREADABLE;
    int error = 0;
    if (!older->unreadable && older->unit != unit) {
        error = bytes_read(scan->file, scan->other, FILE_BLOCK, file_header_offset(older->unit));
        header = scan->other;
    }
    if (!older->unreadable && !error)
        error = content_of(scan, header, &content);
    *out = content == CONTENT_WHOLE;
    return error;
}

static int newest_find(struct scan *scan, uint32_t unit, const struct file_header *header)
{
    struct file *file = scan->file;
    enum content content = is_header(file, header, unit) ? CONTENT_WHOLE : CONTENT_TORN;
    int error = 0;
    if (content == CONTENT_WHOLE && header->sequence > scan->acknowledged)
        error = content_of(scan, header, &content);
    if (error)
        return error;
    if (content == CONTENT_TORN) {
        file->granted.torn++;
        return header_erase(scan, unit);
    }
    struct newest own = {header->key, header->sequence, unit, content == CONTENT_UNREADABLE};
    struct newest *place = newest_of(scan, header->key), other = *place;
    bool newer = own.sequence > other.sequence, keep_older = false;
    *place = newer ? own : other;
    if (other.sequence == 0)
        return 0;
    if (place->unreadable)
        error = older_wins(scan, newer ? &other : &own, unit, header, &keep_older);
    if (error)
        return error;
    if (keep_older)
        *place = newer ? other : own;
    file->granted.torn += keep_older;
    file->granted.outdated += !keep_older;
    return header_erase(scan, place->unit == unit ? other.unit : unit);
}

// --- the third -----------------------------------------------------------------------------------------------------------------

static int object_make(struct scan *scan, uint32_t unit, const struct file_header *header)
{
    struct file *file = scan->file;
    uint32_t number = objects_new_at(&file->tier.objects, header->runs, header->runs_count);
    if (number == OBJECT_NONE) { // its units are another object's: no order of writes leaves that
        file->granted.torn++;
        return header_erase(scan, unit);
    }
    struct object *object = &file->tier.objects.object[number];
    object->key = header->key;
    object->bytes = header->bytes;
    object->held = header->held;
    object->sequence = header->sequence;
    object->checksum = header->content;
    object->packed = header->packed;
    if (object->packed && object->held > file->packed_most)
        file->packed_most = object->held;
    tier_found(&file->tier, number);
    return 0;
}

int file_scan(struct file *file, char *why, size_t why_bytes)
{
    struct scan scan = {.file = file, .mask = 1};
    int error = -ENOMEM;
    while (scan.mask < 2 * (uint64_t)file->tier.objects.units)
        scan.mask *= 2;
    scan.newest = calloc(scan.mask--, sizeof *scan.newest);
    scan.blocks = aligned_alloc(FILE_BLOCK, PIECE_BLOCKS * FILE_BLOCK);
    scan.bytes = aligned_alloc(FILE_BLOCK, PIECE_BLOCKS * FILE_BLOCK);
    scan.other = aligned_alloc(FILE_BLOCK, FILE_BLOCK);
    const char *what = "the headers cannot be read, or torn ones cannot be erased";
    if (!scan.newest || !scan.blocks || !scan.bytes || !scan.other) {
        what = "no memory for the headers";
    } else if (fdatasync(file->fd)) {
        error = -errno;
        what = "what was written before cannot be synced";
    } else {
        error = each_header(&scan, acknowledged_find);
    }
    if (!error)
        error = each_header(&scan, newest_find);
    if (!error)
        error = each_header(&scan, object_make);
    if (!error && scan.erased && fdatasync(file->fd))
        error = -errno;
    if (error)
        tier_say(why, why_bytes, "%s: %s", what, strerror(-error));
    free(scan.newest);
    free(scan.blocks);
    free(scan.bytes);
    free(scan.other);
    return error;
}
