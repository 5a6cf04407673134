// SPDX-License-Identifier: Apache-2.0
//
// file: makes a tier's file, or reads its first block, and closes it. Which file it may be: name.c.
//
// A new file gets its first block, which is synced, and so is its name in the folder; then it gets its space, then its size, and
// is synced again. So a file of at most one block is one whose making was cut off, and has no object: it is gone on with, or made
// anew. It has our first block or, if that was lost, zeros. Any other content is somebody else's, and any other size than the
// first block says is not ours to repair.
//
// Some file systems give no space beforehand (NFS before 4.2, many in user space). There zeros are written, and the size grows with
// them; so the first block says that they are being written, until they are durable.
#include "file.h"

#include "placement/base/config.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNIT_BYTES_DEFAULT (256u << 10)
#define UNIT_BYTES_MAX (64u << 20)
#define DEPTH_DEFAULT 16u
#define STAGE_BYTES (256u << 10) // for objects at odd addresses: a few of these under way keep a device busy
#define PACK_BYTES_DEFAULT (1u << 20)
#define ZEROS_BYTES (4u << 20) // of one write
#define SPACE_BYTES (16 << 20) // of one call: tmpfs gives back what a call has so far if a signal comes, as a profiler's do

static int check(struct locus_tier *tier)
{
    return tier->refuses;
}

static void file_close(struct locus_tier *tier)
{
    struct file *file = (struct file *)tier;
    while (file->slots_used || file->waiting)
        file_poll(tier, 1000000000);
    io_close(&file->io);
    if (file->fd >= 0) {
        flock(file->fd, LOCK_UN); // by name: the ring may hold the file a moment longer than the close
        close(file->fd);
    }
    objects_close(&tier->objects);
    ZSTD_freeCCtx(file->packer);
    ZSTD_freeDCtx(file->unpacker);
    free(file->buffers);
    free(file);
}

static const struct tier_kind file_kind = {
    .units = file_units,
    .store = file_begin,
    .load = file_begin,
    .drop = file_begin,
    .poll = file_poll,
    .check = check,
    .close = file_close,
};

// --- the config ----------------------------------------------------------------------------------------------------------------

static const char *config_fault(const struct locus_tier_file_config *config)
{
    uint32_t unit = config->unit_bytes;
    if (!config->path)
        return "path is NULL";
    if (unit && (unit < FILE_BLOCK || unit > UNIT_BYTES_MAX || (unit & (unit - 1))))
        return "unit_bytes is not a power of two from 4 KiB to 64 MiB";
    if (config->depth > LOCUS_TIER_DEPTH_MAX)
        return "depth is more than 64";
    if (config->zstd_level < 0 || config->zstd_level > 19)
        return "zstd_level is not from 0 to 19";
    if (config->zstd_bytes_max > FILE_PACK_BYTES_MAX)
        return "zstd_bytes_max is more than 64 MiB";
    return config->memory && !config->memory_bytes ? "memory without memory_bytes" : NULL;
}

// How many units a file of so many bytes has.
static uint64_t units_of(uint64_t bytes, uint32_t unit_bytes)
{
    uint64_t units = bytes / (unit_bytes + FILE_BLOCK);
    while (units && file_units_offset(units, unit_bytes) + units * unit_bytes > bytes)
        units--;
    return units;
}

// --- the file ------------------------------------------------------------------------------------------------------------------

static int folder_sync(const char *path)
{
    char *copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    int folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = folder < 0 || fsync(folder) ? -errno : 0;
    if (folder >= 0)
        close(folder);
    free(copy);
    return error;
}

// A write beyond the limit raises SIGXFSZ, which kills, unless the program has said otherwise: that is not ours to do.
static int limit_check(uint64_t bytes, const struct locus_tier_file_config *config)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur)
        return 0;
    SAY(config, "%s: its %llu bytes are more than RLIMIT_FSIZE, %llu: raise that (ulimit -f), or make a smaller one", config->path,
        (unsigned long long)bytes, (unsigned long long)limit.rlim_cur);
    return -EFBIG;
}

static int first_put(const struct file *file, struct file_first *first)
{
    first->checksum = file_block_checksum(first, &first->checksum);
    ssize_t written = pwrite(file->fd, first, sizeof *first, 0);
    return written == (ssize_t)sizeof *first ? 0 : written < 0 ? -errno : -EIO;
}

static uint64_t bytes_of(const struct file_first *first)
{
    return file_units_offset(first->units, first->unit_bytes) + first->units * first->unit_bytes;
}

static int first_write(const struct file *file, struct file_first *first, const struct locus_tier_file_config *config)
{
    uint32_t unit_bytes = config->unit_bytes ? config->unit_bytes : UNIT_BYTES_DEFAULT;
    memset(first, 0, sizeof *first);
    first->magic = FILE_MAGIC;
    first->version = FILE_VERSION;
    first->units = units_of(config->bytes, unit_bytes);
    first->unit_bytes = unit_bytes;
    if (first->units == 0 || first->units > OBJECTS_UNITS_MAX) {
        SAY(config, "%s: %llu bytes are %s units of %u bytes", config->path, (unsigned long long)config->bytes,
            first->units ? "too many" : "no", unit_bytes);
        return -EINVAL;
    }
    if (getrandom(&first->id, sizeof first->id, 0) != sizeof first->id ||
        getrandom(first->secret, sizeof first->secret, 0) != sizeof first->secret)
        return -EIO;
    int error = limit_check(bytes_of(first), config);
    return error ? error : first_put(file, first);
}

static int space_take(int fd, off_t bytes)
{
    for (off_t done = 0; done < bytes;) {
        off_t piece = bytes - done < SPACE_BYTES ? bytes - done : SPACE_BYTES;
        if (fallocate(fd, FALLOC_FL_KEEP_SIZE, done, piece) == 0)
            done += piece;
        else if (errno != EINTR)
            return -errno;
    }
    return 0;
}

// So a file system says that it has no such call, or a filter of system calls.
static bool is_denied(int error)
{
    return error == -EOPNOTSUPP || error == -ENOSYS || error == -EINVAL || error == -EPERM || error == -EACCES;
}

static int zeros_write(int fd, uint64_t bytes)
{
    char *zeros = aligned_alloc(FILE_BLOCK, ZEROS_BYTES);
    int error = zeros ? 0 : -ENOMEM;
    if (zeros)
        memset(zeros, 0, ZEROS_BYTES);
    for (uint64_t done = FILE_BLOCK; done < bytes && !error;) {
        ssize_t written = pwrite(fd, zeros, bytes - done < ZEROS_BYTES ? bytes - done : ZEROS_BYTES, (off_t)done);
        if (written > 0)
            done += (uint64_t)written;
        else if (written == 0 || errno != EINTR)
            error = written ? -errno : -EIO;
    }
    free(zeros);
    return error;
}

static int making_set(const struct file *file, struct file_first *first, uint32_t making)
{
    first->making = making;
    int error = first_put(file, first);
    return error ? error : fdatasync(file->fd) ? -errno : 0;
}

// The space, and then the size.
static int space_get(const struct file *file, struct file_first *first, const struct locus_tier_file_config *config)
{
    off_t bytes = (off_t)bytes_of(first);
    int error = space_take(file->fd, bytes);
    if (is_denied(error)) {
        error = making_set(file, first, 1);
        error = error ? error : zeros_write(file->fd, (uint64_t)bytes);
    }
    if (!error && (ftruncate(file->fd, bytes) || fsync(file->fd)))
        error = -errno;
    if (!error && first->making)
        error = making_set(file, first, 0);
    if (error)
        SAY(config, "%s: no %lld bytes for it: %s", config->path, (long long)bytes, strerror(-error));
    if (error && ftruncate(file->fd, 0))
        return error; // one of a block is gone on with as an empty one is
    return error;
}

// A file that has its size has a first block and a name that a loss of power leaves.
static int first_sync(const struct file *file, const struct locus_tier_file_config *config)
{
    int error = fdatasync(file->fd) ? -errno : folder_sync(config->path);
    if (error)
        SAY(config, "%s: its first block or its folder cannot be synced: %s", config->path, strerror(-error));
    return error;
}

static bool first_is_sound(const struct file_first *first)
{
    uint32_t unit = first->unit_bytes;
    return first->checksum == file_block_checksum(first, &first->checksum) && unit >= FILE_BLOCK && unit <= UNIT_BYTES_MAX &&
           !(unit & (unit - 1)) && first->units && first->units <= OBJECTS_UNITS_MAX;
}

// Was the making cut off before the file had its size?
static bool is_unfinished(const struct file_first *first, uint64_t bytes)
{
    static const struct file_first nothing;
    if (bytes > FILE_BLOCK)
        return first->magic == FILE_MAGIC && first->version == FILE_VERSION && first_is_sound(first) && first->making;
    return (first->magic == FILE_MAGIC && first->version <= FILE_VERSION) || memcmp(first, &nothing, sizeof nothing) == 0;
}

static int first_check(const struct file_first *first, uint64_t bytes, const struct locus_tier_file_config *config)
{
    if (first->magic != FILE_MAGIC) {
        SAY(config, "%s is not the file of a tier, and not empty", config->path);
        return -EINVAL;
    }
    if (first->version != FILE_VERSION) {
        SAY(config, "%s is of version %u of the format; this library knows version %u", config->path, first->version, FILE_VERSION);
        return -EPROTO;
    }
    uint32_t unit = first->unit_bytes;
    bool sound = first_is_sound(first);
    if (!sound || (bytes > FILE_BLOCK && bytes != bytes_of(first))) {
        SAY(config, "%s is damaged: %s", config->path,
            sound ? "it does not have the bytes that its first block says" : "its first block");
        return -EINVAL;
    }
    if ((config->unit_bytes && config->unit_bytes != unit) || (config->bytes && units_of(config->bytes, unit) != first->units)) {
        SAY(config, "%s has %llu units of %u bytes: it was made with other bytes or unit_bytes", config->path,
            (unsigned long long)first->units, unit);
        return -EINVAL;
    }
    return limit_check(bytes_of(first), config);
}

// Reads the first block, or makes the file. `first` is a block that O_DIRECT can use.
static int shaped(struct file *file, struct file_first *first, const struct locus_tier_file_config *config)
{
    struct stat status;
    if (fstat(file->fd, &status))
        return -errno;
    uint64_t bytes = (uint64_t)status.st_size;
    memset(first, 0, sizeof *first);
    if (pread(file->fd, first, sizeof *first, 0) < 0)
        return -errno;
    bool unfinished = is_unfinished(first, bytes);
    if (unfinished && config->bytes == 0 && !first_is_sound(first)) {
        SAY(config, "%s %s, and bytes is 0", config->path, bytes ? "was cut off while it was made" : "is empty");
        return -ENOENT;
    }
    if (unfinished && bytes > FILE_BLOCK && ftruncate(file->fd, bytes = FILE_BLOCK))
        return -errno;
    int error = unfinished && config->bytes ? first_write(file, first, config) : first_check(first, bytes, config);
    file->granted.made = unfinished;
    if (!error && unfinished)
        error = first_sync(file, config);
    if (!error && unfinished)
        error = space_get(file, first, config);
    return error;
}

// --- the tier ------------------------------------------------------------------------------------------------------------------

static int buffers_get(struct file *file, const struct locus_tier_file_config *config)
{
    uint64_t stage = STAGE_BYTES, pack = config->zstd_level ? file->pack_bytes_max : 0;
    stage = stage < file_padded(pack) ? file_padded(pack) : stage;
    stage = stage < file_padded(file->packed_most) ? file_padded(file->packed_most) : stage;
    file->stage_bytes = (uint32_t)stage;
    file->buffers_bytes = FILE_BLOCK + file->depth * (2 * FILE_BLOCK + stage);
    file->buffers = aligned_alloc(FILE_BLOCK, file->buffers_bytes);
    if (!file->buffers)
        return -ENOMEM;
    memset(file->buffers, 0, file->buffers_bytes); // on the node of the caller
    char *next = file->zeros = file->buffers;
    for (uint32_t i = 0; i < file->depth; i++) {
        file->slot[i].header = (struct file_header *)(next += FILE_BLOCK);
        file->slot[i].tail = next += FILE_BLOCK;
        file->slot[i].stage = next += FILE_BLOCK;
        next += stage - FILE_BLOCK;
    }
    file->level = config->zstd_level;
    file->packer = config->zstd_level ? ZSTD_createCCtx() : NULL;
    file->unpacker = ZSTD_createDCtx();
    return file->unpacker && (file->packer || !config->zstd_level) ? 0 : -ENOMEM;
}

static void ring_get(struct file *file, const struct locus_tier_file_config *config)
{
    struct locus_tier_file_granted *granted = &file->granted;
    granted->io_uring_errno = -io_open(&file->io, file->fd, file->depth * FILE_PARTS_MAX, config->no_io_uring);
    granted->io_uring = file->io.ring_open;
    if (!file->io.ring_open)
        return;
    int error = io_register(&file->io, file->buffers, file->buffers_bytes, config->memory, config->memory_bytes);
    granted->registered_memory = !error && config->memory;
    granted->registered_errno = -error;
    if (error && config->memory)
        error = io_register(&file->io, file->buffers, file->buffers_bytes, NULL, 0);
    granted->registered_buffers = !error;
}

static int file_get(struct file *file, const struct locus_tier_file_config *config)
{
    struct file_first *first = aligned_alloc(FILE_BLOCK, FILE_BLOCK);
    int error = first ? file_name_open(file, config) : -ENOMEM;
    if (!error)
        error = shaped(file, first, config);
    if (!error) {
        file->id = first->id;
        memcpy(file->secret, first->secret, sizeof file->secret);
        file->units_offset = file_units_offset(first->units, first->unit_bytes);
        error = tier_init(&file->tier, &file_kind, first->units, first->unit_bytes);
    }
    free(first);
    if (!error)
        error = file_scan(file, config->why, config->why_bytes);
    if (!error)
        error = buffers_get(file, config);
    if (!error)
        ring_get(file, config);
    return error;
}

int locus_tier_file_open(struct locus_tier **out, const struct locus_tier_file_config *given)
{
    struct locus_tier_file_config config;
    *out = NULL;
    int error = config_take(&config, sizeof config, given);
    if (error == -E2BIG)
        SAY(given, "%s", config_why(error));
    if (error)
        return error;
    const char *fault = config_fault(&config);
    SAY(&config, "%s", "");
    if (fault) {
        SAY(&config, "%s", fault);
        return -EINVAL;
    }
    struct file *file = aligned_alloc(COUNTERS_ALIGN_BYTES, sizeof *file);
    if (!file) {
        SAY(&config, "no memory for a tier");
        return -ENOMEM;
    }
    memset(file, 0, sizeof *file);
    file->fd = -1;
    file->waiting_end = &file->waiting;
    file->depth = config.depth ? config.depth : DEPTH_DEFAULT;
    file->pack_bytes_max = config.zstd_bytes_max ? config.zstd_bytes_max : PACK_BYTES_DEFAULT;
    error = file_get(file, &config);
    if (error) {
        if (config.why && config.why_bytes && !*config.why)
            SAY(&config, "%s: %s", config.path, strerror(-error));
        file_name_undo(file, config.path);
        file_close(&file->tier);
        return error;
    }
    *out = &file->tier;
    return 0;
}

int locus_tier_file_granted(const struct locus_tier *tier, struct locus_tier_file_granted *out)
{
    if (tier->kind != &file_kind)
        return -EINVAL;
    const struct file *file = (const struct file *)tier;
    *out = file->granted;
    if (file->io.denied) {
        out->io_uring = out->registered_buffers = out->registered_memory = false;
        out->io_uring_errno = file->io.denied;
    }
    return 0;
}

int locus_tier_file_secret(const struct locus_tier *tier, uint64_t out[2])
{
    if (tier->kind != &file_kind)
        return -EINVAL;
    memcpy(out, ((const struct file *)tier)->secret, 2 * sizeof *out);
    return 0;
}
