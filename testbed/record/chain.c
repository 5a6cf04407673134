// SPDX-License-Identifier: Apache-2.0
//
// chain: one line's hash covers its bytes, the lines without a hash before it, and the hash before those, so it covers the file up
// to there. Whoever changes, takes away, adds or moves a line must write every hash after it anew, and the last one is known
// elsewhere (the ledger, a checkpoint).
//
// A hash is as long as a third of a sample and cannot be compressed, and what is written together is lost together: one hash for
// all samples of a round says no less than one for each, but where in the round a byte was changed.
//
// The hash has a fixed width and ends its line, so a line is cut into what is hashed and the hash by counting from its end, before
// anything is parsed: no byte of the file, be it a blank or the case of a hexadecimal digit, can change unnoticed.

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <liburing.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed/base/file.h"
#include "testbed/record/chain.h"

static const char tail_begin[] = ",\"h\":\"", tail_end[] = "\"}";
enum {
    TAIL_BEGIN_BYTES = sizeof tail_begin - 1,
    TAIL_END_BYTES = sizeof tail_end - 1,
    TAIL_BYTES = TAIL_BEGIN_BYTES + TB_HASH_TEXT - 1 + TAIL_END_BYTES,
};

// --- writing -------------------------------------------------------------------------------------------------------------------

int tb_chain_line(struct tb_hash *head, const json_t *object, char **line, size_t *bytes)
{
    return tb_chain_group(head, "", 0, object, line, bytes);
}

int tb_chain_group(struct tb_hash *head, const char *rows, size_t rows_bytes, const json_t *object, char **lines, size_t *bytes)
{
    if (!json_is_object(object) || json_object_size(object) == 0 || json_object_get(object, "h"))
        return -EINVAL;
    struct tb_hash next;
    char *text = json_dumps(object, JSON_COMPACT);
    size_t hashed = rows_bytes + (text ? strlen(text) - 1 : 0); // up to the closing brace
    char *all = text ? malloc(hashed + TAIL_BYTES + sizeof "\n") : NULL;
    int error = all ? 0 : -ENOMEM;
    if (all) {
        memcpy(all, rows, rows_bytes);
        memcpy(all + rows_bytes, text, hashed - rows_bytes);
        error = tb_hash_behind(head, all, hashed, &next);
    }
    free(text);
    if (error) {
        free(all);
        return error;
    }
    char hex[TB_HASH_TEXT];
    tb_hash_text(&next, hex);
    *bytes = hashed + (size_t)sprintf(all + hashed, "%s%s%s\n", tail_begin, hex, tail_end);
    *lines = all;
    *head = next;
    return 0;
}

// --- reading -------------------------------------------------------------------------------------------------------------------

// The array grows when its count is a power of two, so that its capacity need not be kept.
int tb_chain_add(struct tb_chain *chain, json_t *object, const struct tb_hash *head, size_t bytes)
{
    size_t count = chain->count;
    if ((count & (count - 1)) == 0) {
        void *grown = realloc(chain->entries, (count ? 2 * count : 1) * sizeof *chain->entries);
        if (!grown)
            return -ENOMEM;
        chain->entries = grown;
    }
    chain->entries[count] = (struct tb_chain_entry){.object = json_incref(object), .head = *head, .offset = chain->bytes};
    chain->bytes += bytes;
    chain->count++;
    return 0;
}

void tb_chain_close(struct tb_chain *chain)
{
    for (size_t i = 0; i < chain->count; i++)
        json_decref(chain->entries[i].object);
    free(chain->entries);
    *chain = (struct tb_chain){0};
}

static const char *line_end(const char *line, const char *end)
{
    return memchr(line, '\n', (size_t)(end - line));
}

// The hash that the line claims to have, without looking at what it claims it of. False: there is none.
static bool hash_claimed(const char *line, size_t length, struct tb_hash *out)
{
    char hex[TB_HASH_TEXT] = "";
    if (length <= TAIL_BYTES)
        return false;
    const char *tail = line + length - TAIL_BYTES;
    if (memcmp(tail, tail_begin, TAIL_BEGIN_BYTES) || memcmp(line + length - TAIL_END_BYTES, tail_end, TAIL_END_BYTES))
        return false;
    memcpy(hex, tail + TAIL_BEGIN_BYTES, TB_HASH_TEXT - 1);
    return tb_hash_parse(hex, out) == 0;
}

// 1 or 0, or -ENOMEM: then nobody knows.
static int follows(const struct tb_hash *before, const char *line, size_t length, const struct tb_hash *claimed)
{
    struct tb_hash computed;
    int error = tb_hash_behind(before, line, length - TAIL_BYTES, &computed);
    return error ? error : memcmp(&computed, claimed, sizeof computed) == 0;
}

// Lines with a wrong hash may directly follow another line of the file: the number of that line, or 0.
static size_t predecessor(const char *data, const char *end, const char *lines, size_t length, const struct tb_hash *claimed)
{
    const char *next;
    size_t number = 1;
    for (const char *other = data; other < end && (next = line_end(other, end)); other = next + 1, number++) {
        struct tb_hash before;
        if (hash_claimed(other, (size_t)(next - other), &before) && follows(&before, lines, length, claimed) == 1)
            return number;
    }
    return 0;
}

static void broken(struct tb_chain *chain, size_t behind, const char *what, size_t number)
{
    chain->broken_line = chain->count + 1 + behind;
    snprintf(chain->broken, sizeof chain->broken, what, number);
}

static int line_take(struct tb_chain *chain, const char *line, size_t length, bool array, const struct tb_hash *head)
{
    errno = 0; // jansson calls a lack of memory an invalid token, too; malloc() does not
    json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    int error = 0;
    if (errno == ENOMEM) {
        json_decref(object);
        return -ENOMEM;
    }
    if (array ? json_is_array(object) : json_is_object(object)) {
        json_object_del(object, "h");
        error = tb_chain_add(chain, object, head, length + 1);
    } else {
        broken(chain, 0, array ? "no JSON array, though its hash is right" : "no JSON object, though its hash is right", 0);
    }
    json_decref(object);
    return error;
}

// Behind the entries there are `rows` lines without a hash, and one with: do they follow? 1; 0: the chain is broken; -ENOMEM.
static int group_follows(struct tb_chain *chain, const char *data, const char *end, const char *last, size_t rows,
                         const struct tb_hash *head, struct tb_hash *claimed)
{
    const char *first = data + chain->bytes, *newline = line_end(last, end);
    if (!hash_claimed(last, (size_t)(newline - last), claimed)) {
        broken(chain, rows, "changed: it does not end with its hash", 0);
        return 0;
    }
    size_t length = (size_t)(newline - first);
    int right = follows(head, first, length, claimed);
    if (right)
        return right;
    size_t before = predecessor(data, end, first, length, claimed);
    if (before)
        broken(chain, 0, "out of order: it was written right after what is now line %zu", before);
    else if (rows)
        broken(chain, 0, "this line or one up to line %zu was changed, or what was before it is missing: the hash there is wrong",
               chain->count + 1 + rows);
    else
        broken(chain, 0, "changed, or what was before it is missing: its hash is wrong", 0);
    return 0;
}

static int group_take(struct tb_chain *chain, const char *data, const char *end, bool groups, struct tb_hash *head)
{
    const char *line = data + chain->bytes, *last = line, *newline;
    size_t rows = 0;
    for (; (newline = last < end ? line_end(last, end) : NULL) && groups && *last == '['; last = newline + 1)
        rows++;
    chain->torn = !newline;
    if (!newline)
        broken(chain, 0, rows ? "cut off: the file ends before the hash of this line" : "cut off: the file ends within this line",
               0);
    struct tb_hash claimed;
    int error = newline ? group_follows(chain, data, end, last, rows, head, &claimed) : 0;
    if (error != 1)
        return error;
    error = 0;
    for (; !error && !chain->broken_line && line <= last; line = newline + 1) {
        newline = line_end(line, end);
        error = line_take(chain, line, (size_t)(newline - line), line < last, &claimed);
    }
    *head = claimed;
    return error;
}

static int load(const char *path, bool groups, struct tb_chain *out)
{
    struct tb_hash head = {{0}};
    char *data;
    size_t bytes;
    *out = (struct tb_chain){0};
    int error = tb_file_read(path, &data, &bytes);
    if (error)
        return error;
    while (!error && !out->broken_line && out->bytes < bytes)
        error = group_take(out, data, data + bytes, groups, &head);
    free(data);
    if (error)
        tb_chain_close(out);
    return error;
}

int tb_chain_load(const char *path, struct tb_chain *out)
{
    return load(path, false, out);
}

int tb_chain_load_groups(const char *path, struct tb_chain *out)
{
    return load(path, true, out);
}

// --- journal --------------------------------------------------------------------------------------------------------------------
//
// One rule above all: acknowledge nothing that a power cut could take back.
//
// The write may be tried again, the fsync never: when it fails, the kernel has dropped the pages that it could not write and calls
// them clean, and the next fsync would succeed about nothing (the "fsyncgate" of 2018). So what io_uring did not write, be it all
// or the rest of a short write, is written by write(2), which also says the true reason if it cannot; but an fsync's error is
// final for its append. Then the file is cut to its length before: that gives the space back after ENOSPC, and makes the last page
// dirty again, so that the fsync after the cut is about that page. If even this fails, the journal is of no more use.

struct tb_journal {
    int fd;
    char *copied;   // its absolute path, where appends are copied; or NULL
    off_t bytes;    // of the file, all of them durable
    bool unclean;   // what is in the file is unknown
    bool ring_open;
    struct io_uring ring;
};

// --- folders -------------------------------------------------------------------------------------------------------------------

// Makes the name `path` durable: fsync of the folder that it is in.
static int name_sync(const char *path)
{
    char *copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = fd < 0 || fsync(fd) ? -errno : 0;
    if (fd >= 0)
        close(fd);
    free(copy);
    return error;
}

// The folders above the file `path`.
static int folders_make(const char *path)
{
    char *copy = strdup(path);
    int error = copy && *copy ? 0 : copy ? -ENOENT : -ENOMEM;
    char *slash = error ? NULL : strchr(copy + 1, '/');
    for (; slash && !error; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0777) == 0)
            error = name_sync(copy);
        else if (errno != EEXIST)
            error = -errno;
        *slash = '/';
    }
    free(copy);
    return error;
}

// --- the copy ------------------------------------------------------------------------------------------------------------------

#define COPY_TRIES 10000 // of a millisecond each: a virtio port is open for one process at a time

static int copy_open(void)
{
    const char *path = getenv("LOCUS_JOURNAL_COPY");
    int fd = -1;
    for (int i = 0; fd < 0 && i < COPY_TRIES; i++) {
        fd = open(path, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC);
        if (fd < 0 && errno != EBUSY && errno != EINTR)
            break;
        if (fd < 0)
            usleep(1000);
    }
    return fd < 0 ? -errno : fd;
}

static int copy(const struct tb_journal *journal, const char *data, size_t bytes)
{
    char head[PATH_MAX + 48];
    if (!journal->copied)
        return 0;
    int length = snprintf(head, sizeof head, "%lld %zu %s\n", (long long)journal->bytes, bytes, journal->copied);
    int fd = copy_open();
    int error = fd < 0 ? fd : tb_file_write(fd, head, (size_t)length);
    if (!error)
        error = tb_file_write(fd, data, bytes);
    if (fd >= 0 && close(fd) && !error) // a serial line is drained here
        error = -errno;
    return error;
}

// A name with a newline in it would end the line too early.
static int copy_begin(struct tb_journal *journal, const struct tb_journal_config *config)
{
    const char *wanted = getenv("LOCUS_JOURNAL_COPY");
    if (!wanted || !*wanted)
        return 0;
    journal->copied = realpath(config->path, NULL);
    if (!journal->copied)
        return -errno;
    if (strchr(journal->copied, '\n'))
        return -EINVAL;
    return config->create ? copy(journal, "", 0) : 0;
}

// --- open, close ---------------------------------------------------------------------------------------------------------------

static int file_open(struct tb_journal *journal, const struct tb_journal_config *config)
{
    struct stat status;
    int error = config->create ? folders_make(config->path) : 0;
    if (error)
        return error;
    journal->fd = open(config->path, O_WRONLY | O_APPEND | O_CLOEXEC | (config->create ? O_CREAT | O_EXCL : 0), 0644);
    if (journal->fd < 0)
        return -errno;
    if (config->lock && flock(journal->fd, LOCK_EX | LOCK_NB))
        error = -errno;
    if (!error && config->create)
        error = name_sync(config->path);
    if (!error && fstat(journal->fd, &status))
        error = -errno;
    if (!error && config->lock && status.st_nlink == 0) // another took its place (import.h)
        error = -EWOULDBLOCK;
    if (!error)
        journal->bytes = status.st_size;
    if (!error)
        error = copy_begin(journal, config);
    if (error && config->create && error != -EWOULDBLOCK) // then it is another's by now
        unlink(config->path);
    return error;
}

int tb_journal_open(struct tb_journal **out, const struct tb_journal_config *config)
{
    const char *wanted = getenv("LOCUS_JOURNAL");
    struct tb_journal *journal = calloc(1, sizeof *journal);
    if (!journal)
        return -ENOMEM;
    journal->fd = -1;
    int error = file_open(journal, config);
    if (error) {
        tb_journal_close(journal);
        return error;
    }
    if (!config->plain && (!wanted || strcmp(wanted, "plain")))
        journal->ring_open = io_uring_queue_init(2, &journal->ring, 0) == 0;
    *out = journal;
    return 0;
}

// The lock belongs to the open file, which close() ends only with its last reference: an fsync that is already acknowledged may
// hold one for a moment longer, in a thread of the kernel. So it is given back by name; where there
// is none, that changes nothing.
void tb_journal_close(struct tb_journal *journal)
{
    if (!journal)
        return;
    if (journal->ring_open)
        io_uring_queue_exit(&journal->ring);
    if (journal->fd >= 0) {
        flock(journal->fd, LOCK_UN);
        close(journal->fd);
    }
    free(journal->copied);
    free(journal);
}

const char *tb_journal_engine(const struct tb_journal *journal)
{
    return journal->ring_open ? "io_uring" : "write+fsync";
}

// --- appends -------------------------------------------------------------------------------------------------------------------

// Submits write and fsync, and waits for both. results[0] of the write, [1] of the fsync: -ECANCELED where it was not begun.
static int ring_run(struct tb_journal *journal, const void *data, size_t bytes, int results[2])
{
    struct io_uring *ring = &journal->ring;
    struct io_uring_sqe *write_entry = io_uring_get_sqe(ring), *sync_entry = io_uring_get_sqe(ring);
    io_uring_prep_write(write_entry, journal->fd, data, (unsigned)bytes, (__u64)journal->bytes);
    write_entry->flags |= IOSQE_IO_LINK;
    write_entry->user_data = 0;
    io_uring_prep_fsync(sync_entry, journal->fd, 0);
    sync_entry->user_data = 1;
    results[0] = results[1] = -ECANCELED;
    int error = 0, submitted = io_uring_submit_and_wait(ring, 2);
    for (int i = 0; i < submitted && !error; i++) {
        struct io_uring_cqe *cqe;
        do
            error = io_uring_wait_cqe(ring, &cqe);
        while (error == -EINTR);
        if (!error) {
            results[cqe->user_data] = cqe->res;
            io_uring_cqe_seen(ring, cqe);
        }
    }
    return submitted == 2 ? error : submitted < 0 ? submitted : -EAGAIN;
}

// *written: how much of the data is in the file. *synced: it is all there, and durable. An error is that of the fsync.
static int append_ring(struct tb_journal *journal, const void *data, size_t bytes, size_t *written, bool *synced)
{
    int results[2];
    if (ring_run(journal, data, bytes, results)) { // no ring that works: never again
        io_uring_queue_exit(&journal->ring);
        journal->ring_open = false;
    }
    *written = results[0] > 0 ? (size_t)results[0] : 0;
    *synced = *written == bytes && results[1] == 0;
    return results[1] < 0 && results[1] != -ECANCELED ? results[1] : 0;
}

static int append_calls(struct tb_journal *journal, const char *data, size_t bytes)
{
    int error = tb_file_write(journal->fd, data, bytes);
    return error ? error : fsync(journal->fd) ? -errno : 0;
}

int tb_journal_append(struct tb_journal *journal, const void *data, size_t bytes)
{
    size_t written = 0;
    bool synced = false;
    int error = 0;
    if (journal->unclean)
        return -EUCLEAN;
    if (journal->ring_open && bytes <= INT32_MAX)
        error = append_ring(journal, data, bytes, &written, &synced);
    if (!error && !synced)
        error = append_calls(journal, (const char *)data + written, bytes - written);
    if (!error)
        error = copy(journal, data, bytes);
    if (!error) {
        journal->bytes += (off_t)bytes;
        return 0;
    }
    journal->unclean = ftruncate(journal->fd, journal->bytes) || fsync(journal->fd);
    return journal->unclean ? -EUCLEAN : error;
}
