// SPDX-License-Identifier: Apache-2.0
//
// operations: a store, a load, a drop, from one transfer to the next.
//
//     store    bytes, at most FILE_PARTS_MAX transfers at a time; when all are done: header -> sync -> zeros over the header of the
//              object that is replaced, one chain
//     load     bytes; then the checksum
//     drop     zeros over the header -> sync
//
// Why the zeros over a replaced header need no sync. If they are lost, open finds two headers of the key, and the later number
// wins. The old units may be given to another store, and its header made durable: its sync covers the zeros. The key itself may be
// dropped: that drop's sync covers them, too. (A sync that fails ends all stores.)
//
// Why the number `acknowledged` is right. Numbers are given when the header is queued, so all that are given and not under way
// were acknowledged, or have ended stores and drops for good.
//
// The checksum of a store is computed when its first transfers have been submitted, so that both take their time at once.
#include "file.h"

#include <errno.h>
#include <string.h>

#include "placement/base/clock.h"
#include "placement/tier/crc.h"

#define PART_BYTES_MAX (16u << 20) // of one transfer
#define TAG_HEADER 4u              // a tag is the slot's number * 8 + the part's, or one of these
#define TAG_SYNC 5u
#define TAG_ERASE 6u
#define TAG_SYNC_BEFORE 7u
#define UNKNOWN "what is on the device is not known, so nothing more is stored or dropped"
#define BATCH 32u
#define TRIES_MAX 16u // of a transfer that the kernel put off, before that is its error: nobody waits without an end

uint64_t file_units(const struct locus_tier *tier, uint64_t bytes, uint64_t *held)
{
    uint64_t units = bytes / tier->unit_bytes + (bytes % tier->unit_bytes != 0);
    *held = bytes;
    return units <= FILE_RUNS_MAX ? units : 0;
}

static uint64_t tag_of(const struct file *file, const struct file_slot *slot, uint32_t number)
{
    return (uint64_t)(slot - file->slot) * 8 + number;
}

static struct object *object_of(struct file *file, const struct file_slot *slot)
{
    return tier_object(&file->tier, slot->op);
}

// --- bytes ---------------------------------------------------------------------------------------------------------------------

// The bytes from slot->at on that lie in one run of units, and where. Moves on to the run.
static uint64_t run_left(struct file *file, struct file_slot *slot, uint64_t *offset)
{
    uint32_t next;
    for (;;) {
        uint64_t run = (uint64_t)objects_run(&file->tier.objects, slot->unit, &next) * file->tier.unit_bytes;
        if (slot->at - slot->run_at < run) {
            *offset = file_unit_offset(file, slot->unit) + slot->at - slot->run_at;
            return run - (slot->at - slot->run_at);
        }
        slot->run_at += run;
        slot->unit = next;
    }
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// The next transfer of the bytes at slot->at. False: there is none now.
static bool part_next(struct file *file, struct file_slot *slot, struct file_part *part)
{
    const struct object *object = object_of(file, slot);
    bool load = slot->op->kind == TIER_LOAD;
    uint64_t padded = file_padded(object->held), whole = object->held / FILE_BLOCK * FILE_BLOCK;
    if (slot->at >= padded || (slot->staged && slot->under_way))
        return false;
    uint64_t bytes = least(run_left(file, slot, &part->offset), PART_BYTES_MAX), left = object->held - slot->at;
    part->placed = false;
    if (object->packed) {
        bytes = least(bytes, padded - slot->at);
        part->memory = slot->stage + slot->at;
    } else if (slot->staged) {
        bytes = least(bytes, least(padded - slot->at, file->stage_bytes));
        part->memory = slot->stage;
        part->placed = true;
    } else if (slot->at < whole) {
        part->memory = tier_run(&slot->next, least(bytes, whole - slot->at), &bytes);
    } else {
        bytes = FILE_BLOCK;
        part->memory = slot->tail;
        part->placed = true;
    }
    part->bytes = (uint32_t)bytes;
    part->last = (uint32_t)least(bytes, left);
    if (part->placed) {
        part->place = slot->next;
        if (load)
            tier_skip(&slot->next, part->last);
        else
            tier_gather(part->memory, &slot->next, part->last);
        memset(part->memory + part->last, 0, part->bytes - part->last);
    }
    slot->at += bytes;
    return true;
}

static void parts_queue(struct file *file, struct file_slot *slot)
{
    for (uint32_t i = 0; i < FILE_PARTS_MAX && !slot->error; i++) {
        struct file_part *part = &slot->part[i];
        if (part->bytes)
            continue;
        if (!part_next(file, slot, part))
            return;
        part->tries = 0;
        slot->under_way++;
        io_transfer(&file->io, slot->op->kind == TIER_STORE, part->memory, part->bytes, part->offset, tag_of(file, slot, i), false);
    }
}

static bool put_off(int result)
{
    return result == -EINTR || result == -EAGAIN;
}

// Whole blocks count. What a short transfer left is tried again, until it says why or moves nothing.
static void part_ended(struct file *file, struct file_slot *slot, uint32_t number, int result)
{
    struct file_part *part = &slot->part[number];
    uint32_t done = result > 0 ? (uint32_t)result / FILE_BLOCK * FILE_BLOCK : 0;
    part->tries = put_off(result) ? part->tries + 1 : 0;
    bool again = (put_off(result) && part->tries < TRIES_MAX) || (done > 0 && done < part->bytes);
    slot->under_way--;
    if (!again && done == 0)
        slot->error = result < 0 ? result : -EIO;
    if (part->placed && slot->op->kind == TIER_LOAD && done > 0 && !slot->error) {
        uint32_t count = (uint32_t)least(done, part->last);
        tier_scatter(&part->place, part->memory, count);
        part->last -= count;
    }
    if (!again || slot->error) {
        part->bytes = 0;
        return;
    }
    part->memory += done;
    part->offset += done;
    part->bytes -= done;
    slot->under_way++;
    io_transfer(&file->io, slot->op->kind == TIER_STORE, part->memory, part->bytes, part->offset, tag_of(file, slot, number),
                false);
}

// --- zstd ----------------------------------------------------------------------------------------------------------------------

// Compresses a store's bytes into the slot's stage where that pays, and gives the units back that are not needed then.
static void pack(struct file *file, struct file_slot *slot)
{
    struct object *object = object_of(file, slot);
    const struct locus_piece *piece = slot->op->pieces;
    if (!file->packer || object->bytes > file->pack_bytes_max || file_padded(object->bytes) == FILE_BLOCK ||
        piece->bytes < object->bytes)
        return;
    size_t most = (size_t)least(file_padded(object->bytes) - FILE_BLOCK, object->bytes - object->bytes / 10);
    size_t packed = ZSTD_compressCCtx(file->packer, slot->stage, most, piece->memory, object->bytes, file->level);
    if (ZSTD_isError(packed)) // it does not fit, so it would not pay
        return;
    object->packed = true;
    object->held = packed;
    memset(slot->stage + packed, 0, file_padded(packed) - packed);
    uint32_t units = (uint32_t)(packed / file->tier.unit_bytes + (packed % file->tier.unit_bytes != 0));
    objects_shorten(&file->tier.objects, slot->op->object, units);
}

static int load_unpack(struct file *file, struct file_slot *slot)
{
    const struct object *object = object_of(file, slot);
    if (crc32c(0, slot->stage, object->held) != object->checksum)
        return -EBADMSG;
    const struct locus_piece *piece = slot->op->pieces;
    if (piece->bytes < object->bytes)
        return -EINVAL;
    size_t bytes = ZSTD_decompressDCtx(file->unpacker, piece->memory, object->bytes, slot->stage, object->held);
    return bytes == object->bytes ? 0 : -EBADMSG;
}

// --- headers -------------------------------------------------------------------------------------------------------------------

uint32_t file_block_checksum(const void *block, const uint32_t *checksum)
{
    static const uint32_t nothing = 0;
    const char *from = block, *field = (const char *)checksum;
    size_t before = (size_t)(field - from);
    uint32_t crc = crc32c(crc32c(0, from, before), &nothing, sizeof nothing);
    return crc32c(crc, field + sizeof nothing, FILE_BLOCK - before - sizeof nothing);
}

static uint64_t acknowledged_up_to(const struct file *file)
{
    uint64_t least_under_way = file->sequence + 1;
    for (uint32_t i = 0; i < file->depth; i++)
        if (file->slot[i].op && file->slot[i].sequence)
            least_under_way = least(least_under_way, file->slot[i].sequence);
    return least_under_way - 1;
}

static void header_fill(struct file *file, struct file_slot *slot)
{
    const struct object *object = object_of(file, slot);
    struct file_header *header = slot->header;
    memset(header, 0, sizeof *header);
    header->magic = HEADER_MAGIC;
    header->version = FILE_VERSION;
    header->id = file->id;
    header->key = object->key;
    header->sequence = object->sequence;
    header->acknowledged = acknowledged_up_to(file);
    header->bytes = object->bytes;
    header->held = object->held;
    header->content = object->checksum;
    header->packed = object->packed;
    for (uint32_t unit = object->first, next; unit != OBJECT_NONE; unit = next) {
        header->runs[header->runs_count][0] = unit;
        header->runs[header->runs_count++][1] = objects_run(&file->tier.objects, unit, &next);
    }
    header->checksum = file_block_checksum(header, &header->checksum);
}

// Queues the elements of the slot's chain from number `from` on.
static void chain_queue(struct file *file, struct file_slot *slot, uint32_t from)
{
    const struct objects *objects = &file->tier.objects;
    slot->under_way = slot->chain_count - from;
    io_room(&file->io, slot->under_way);
    for (uint32_t i = from; i < slot->chain_count; i++) {
        uint64_t tag = tag_of(file, slot, slot->chain[i]);
        bool link = i + 1 < slot->chain_count, fill = slot->chain[i] == TAG_HEADER && slot->op->kind == TIER_STORE;
        uint32_t object = slot->chain[i] == TAG_ERASE ? slot->old : slot->op->object;
        if (slot->chain[i] == TAG_SYNC || slot->chain[i] == TAG_SYNC_BEFORE)
            io_sync(&file->io, tag, link);
        else
            io_transfer(&file->io, true, fill ? (char *)slot->header : file->zeros, FILE_BLOCK,
                        file_header_offset(objects->object[object].first), tag, link);
    }
}

static void header_queue(struct file *file, struct file_slot *slot)
{
    struct object *object = object_of(file, slot);
    bool store = slot->op->kind == TIER_STORE;
    slot->phase = PHASE_HEADER;
    slot->again = slot->cancelled = slot->chain_count = 0;
    slot->old = OBJECT_NONE;
    if (file->tier.refuses || file->io.chain_failed) { // the reason of the second may not have been reaped
        slot->error = -EIO;
        return;
    }
    if (store) {
        uint32_t other = objects_find(&file->tier.objects, slot->op->key);
        slot->old = other == slot->op->object ? OBJECT_NONE : other;
        slot->sequence = object->sequence = ++file->sequence;
        header_fill(file, slot);
    }
    uint32_t count = 0;
    slot->erases = file->erases;
    if (!store && file->erases != file->erases_synced)
        slot->chain[count++] = TAG_SYNC_BEFORE;
    slot->chain[count++] = TAG_HEADER;
    slot->chain[count++] = TAG_SYNC;
    if (slot->old != OBJECT_NONE)
        slot->chain[count++] = TAG_ERASE;
    slot->chain_count = slot->again = slot->cancelled = count;
    slot->tries = 0;
    chain_queue(file, slot, 0);
}

// All elements of the chain have ended. If the kernel put one off, the rest was cancelled and what came before it is done, so the
// chain goes on from there. If elements were cancelled and nothing says why, nobody knows what became of them.
static void chain_ended(struct file *file, struct file_slot *slot)
{
    uint32_t from = slot->again;
    if (from == slot->chain_count && slot->cancelled < slot->chain_count) {
        tier_refuse(&file->tier, -EIO, "the kernel cancelled a header's writes and gave no reason: " UNKNOWN);
        if (slot->chain[slot->cancelled] != TAG_ERASE && !slot->error)
            slot->error = -EIO;
    }
    if (from == slot->chain_count)
        return;
    slot->again = slot->cancelled = slot->chain_count;
    slot->tries++;
    if (file->tier.refuses) {
        if (slot->chain[from] != TAG_ERASE && !slot->error)
            slot->error = file->tier.refuses;
        return;
    }
    chain_queue(file, slot, from);
    io_submit(&file->io);
}

static void header_ended(struct file *file, struct file_slot *slot, uint32_t number, int result)
{
    static const char *const what[] = {"a header could not be written", "a sync failed", "a header could not be erased",
                                       "a sync failed"};
    bool sync = number == TAG_SYNC || number == TAG_SYNC_BEFORE;
    uint32_t at = 0;
    slot->under_way--;
    if (result == (sync ? 0 : (int)FILE_BLOCK)) {
        file->erases += number == TAG_ERASE;
        if (sync && file->erases_synced < slot->erases)
            file->erases_synced = slot->erases;
        if (number == TAG_SYNC && !slot->error) // after another's failed, it says nothing about the device
            slot->error = file->tier.refuses;
        return;
    }
    while (slot->chain[at] != number)
        at++;
    int error = result < 0 ? result : -EIO;
    if (put_off(error) && slot->tries < TRIES_MAX) {
        slot->again = at < slot->again ? at : slot->again;
        return;
    }
    if (error == -ECANCELED) { // as a rule the one before it in the chain has the reason
        slot->cancelled = at < slot->cancelled ? at : slot->cancelled;
        return;
    }
    if (number != TAG_ERASE && !slot->error)
        slot->error = error;
    tier_refuse(&file->tier, -EIO, "%s (%s): " UNKNOWN, what[number - TAG_HEADER], strerror(-error));
}

// --- operations ----------------------------------------------------------------------------------------------------------------

// Can the kernel move the pieces as they are?
static bool direct(const struct locus_tier_op *op)
{
    uint64_t left = op->bytes;
    for (const struct locus_piece *piece = op->pieces;; piece++) {
        if ((uintptr_t)piece->memory % FILE_BLOCK)
            return false;
        if (left <= piece->bytes)
            return true;
        if (piece->bytes % FILE_BLOCK)
            return false;
        left -= piece->bytes;
    }
}

static uint32_t checksum_of(const struct locus_tier_op *op)
{
    struct tier_cursor cursor = tier_cursor(op);
    uint32_t checksum = 0;
    for (uint64_t left = op->bytes, run; left > 0; left -= run) {
        const char *here = tier_run(&cursor, left, &run);
        checksum = crc32c(checksum, here, run);
    }
    return checksum;
}

static void slot_begin(struct file *file, struct file_slot *slot, struct locus_tier_op *op)
{
    slot->op = op;
    slot->at = slot->run_at = slot->sequence = 0;
    slot->under_way = 0;
    slot->error = 0;
    slot->phase = PHASE_BYTES;
    memset(slot->part, 0, sizeof slot->part);
    struct object *object = object_of(file, slot);
    file->slots_used++;
    if (op->kind == TIER_DROP) {
        header_queue(file, slot);
        io_submit(&file->io);
        return;
    }
    if (op->kind == TIER_STORE)
        pack(file, slot);
    slot->unit = object->first;
    slot->next = tier_cursor(op);
    slot->staged = !object->packed && !direct(op);
    parts_queue(file, slot);
    io_submit(&file->io);
    if (op->kind == TIER_STORE)
        object->checksum = object->packed ? crc32c(0, slot->stage, object->held) : checksum_of(op);
}

static void waiting_begin(struct file *file)
{
    for (uint32_t i = 0; i < file->depth && file->waiting && file->slots_used < file->depth; i++) {
        if (file->slot[i].op)
            continue;
        struct locus_tier_op *op = file->waiting;
        file->waiting = op->next;
        if (!file->waiting)
            file->waiting_end = &file->waiting;
        slot_begin(file, &file->slot[i], op);
    }
}

// The operation is complete: its slot is free when done() is called, so that done() can start another. Bytes that lie in the
// caller's memory are checked after the slot has its next operation, so that the device has something to do.
static void slot_end(struct file *file, struct file_slot *slot)
{
    struct locus_tier_op *op = slot->op;
    const struct object *object = object_of(file, slot);
    int error = slot->error;
    if (op->kind == TIER_LOAD && !error && object->packed)
        error = load_unpack(file, slot);
    slot->op = NULL;
    file->slots_used--;
    waiting_begin(file);
    if (op->kind == TIER_LOAD && !error && !object->packed && checksum_of(op) != object->checksum)
        error = -EBADMSG;
    if (op->kind == TIER_STORE)
        tier_store_done(&file->tier, op, error);
    else if (op->kind == TIER_LOAD)
        tier_load_done(&file->tier, op, error);
    else
        tier_drop_done(&file->tier, op, error);
}

int file_begin(struct locus_tier *tier, struct locus_tier_op *op)
{
    struct file *file = (struct file *)tier;
    *file->waiting_end = op;
    file->waiting_end = &op->next;
    waiting_begin(file);
    return 0;
}

// True: an operation was delivered.
static bool slot_go_on(struct file *file, struct file_slot *slot)
{
    if (slot->phase == PHASE_BYTES) {
        parts_queue(file, slot);
        if (!slot->under_way && !slot->error && slot->op->kind == TIER_STORE)
            header_queue(file, slot);
        io_submit(&file->io);
    }
    if (!slot->under_way && slot->phase == PHASE_HEADER)
        chain_ended(file, slot);
    if (slot->under_way)
        return false;
    slot_end(file, slot);
    return true;
}

static uint32_t results_deliver(struct file *file, const struct io_result *results, uint32_t count)
{
    uint32_t delivered = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct file_slot *slot = &file->slot[results[i].tag / 8];
        uint32_t number = results[i].tag % 8;
        if (number < FILE_PARTS_MAX)
            part_ended(file, slot, number, results[i].result);
        else
            header_ended(file, slot, number, results[i].result);
        delivered += slot_go_on(file, slot);
    }
    return delivered;
}

// Drops that could not begin have no transfer that would end them. When one ends, its slot may have the next that cannot begin.
static uint32_t refused_deliver(struct file *file)
{
    uint32_t delivered = 0;
    for (uint32_t i = 0; i < file->depth && file->tier.refuses; i++)
        while (file->slot[i].op && file->slot[i].phase == PHASE_HEADER && !file->slot[i].under_way)
            delivered += slot_go_on(file, &file->slot[i]);
    return delivered;
}

uint32_t file_poll(struct locus_tier *tier, uint64_t wait_ns)
{
    struct file *file = (struct file *)tier;
    struct io_result results[BATCH];
    uint32_t delivered = 0, count;
    uint64_t until = 0;
    do {
        delivered += refused_deliver(file);
        uint64_t now = wait_ns ? clock_now_ns() : 0;
        if (wait_ns && !until)
            until = now + wait_ns < now ? UINT64_MAX : now + wait_ns;
        count = io_reap(&file->io, results, BATCH, !delivered && now < until && file->slots_used ? until - now : 0);
        delivered += results_deliver(file, results, count);
        waiting_begin(file);
        if (!delivered && until && now >= until)
            break;
    } while (count || (!delivered && until && file->slots_used));
    return delivered;
}
