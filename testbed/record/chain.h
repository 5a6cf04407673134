// SPDX-License-Identifier: Apache-2.0
//
// chain: JSON Lines in which a hash covers all lines before it.
//
//     {"t":"hdr", ... ,"h":"<64 hex>"}\n
//     [0,12,7.5]\n
//     {"t":"round","rows":1,"h":"<64 hex>"}\n
//
// A line without a hash begins with '[': it is an array. The hash of the k-th line that has one is h_k = SHA-256(h_(k-1) || the
// lines without a hash before it, newlines included || its own bytes before `,"h":`), h_(-1) = 32 zero bytes. In a ledger and in a
// log of version 1 every line has one. The hash is the last member of its line. Raw bytes are hashed, so no canonical form of JSON
// is needed, and whoever has sha256sum can check a file. In any POSIX shell, this names each line whose hash is wrong, and prints
// nothing when all are right:
//
//     check() {
//         before=$(printf %064d 0) rows=
//         while IFS= read -r line; do
//             case $line in '['*) rows="$rows$line
//     " && continue ;; esac
//             hash=$({ printf %s "$before" | tr a-f A-F | basenc --base16 -d
//                 printf %s "$rows${line%,\"h\":*}"; } | sha256sum | cut -c 1-64)
//             [ "$line" = "${line%,\"h\":*},\"h\":\"$hash\"}" ] || printf '%s\n' "$line"
//             before=$hash rows=
//         done
//         [ -z "$rows" ] || printf %s "$rows"
//     }
//     check <LOG
//
// A file is only ever appended to, by a journal (below). Functions of chains are pure: any thread.
#ifndef TB_CHAIN_H
#define TB_CHAIN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "testbed/base/sha256.h"

// The next line: `object` (borrowed, without "h") in compact form with its hash and a newline. *head is the hash before it, and
// becomes the one after. *line is malloc'd. 0, -ENOMEM, -EINVAL (not an object, an empty one, or it has an "h").
int tb_chain_line(struct tb_hash *head, const json_t *object, char **line, size_t *bytes);

// The same behind lines without a hash: `rows` are their bytes, each line an array that ends with a newline. *lines is all of them.
int tb_chain_group(struct tb_hash *head, const char *rows, size_t rows_bytes, const json_t *object, char **lines, size_t *bytes);

struct tb_chain_entry {
    json_t *object;         // owned by the chain; without "h". Of a line without a hash it is an array
    struct tb_hash head;    // after this line, or after the one whose hash covers it
    size_t offset;          // of the line in the file
};

// A file as far as its chain holds, one entry a line. `broken_line` (from 1; 0: all is well) is the first line that is not what was
// written: changed, missing before it, out of order, cut off or no JSON; `broken` says so in words. Where a hash covers several
// lines and is wrong, it is the first of them, or one that has no form at all. `torn`: the file ends within that line or before the
// hash that covers it, as a crash leaves it.
struct tb_chain {
    struct tb_chain_entry *entries;
    size_t count;
    size_t bytes;           // of the file that hold: entries[count] would begin here
    size_t broken_line;
    bool torn;
    char broken[200];
};

// Reads the file. 0 also when the chain is broken (see broken_line), -errno when it cannot be read at all. An empty file is a
// chain of no entries. tb_chain_load() takes a line without a hash for a broken one, tb_chain_load_groups() does not.
int tb_chain_load(const char *path, struct tb_chain *out);
int tb_chain_load_groups(const char *path, struct tb_chain *out);
void tb_chain_close(struct tb_chain *chain);

// For who appends to what was read: one more entry, a line of `bytes` bytes. Takes a reference to `object`. 0 or -ENOMEM.
int tb_chain_add(struct tb_chain *chain, json_t *object, const struct tb_hash *head, size_t bytes);

// --- on the disk ----------------------------------------------------------------------------------------------------------------

// journal: appends that are on the disk when the call returns.
//
// Each append is one write with O_APPEND and an fsync linked to it, submitted together through io_uring: one system call, and
// the kernel starts the fsync only after a whole write. Where io_uring is missing (ENOSYS), forbidden (EPERM by seccomp or
// kernel.io_uring_disabled) or fails to set up, the same is done by write and fsync; journal_engine() says which. A short write or
// an error (ENOSPC, EIO) is put right: the file is truncated to its length before, so that no half line stays, and the error is
// returned. Creating a file makes the folders above it, too, and fsyncs each folder that got an entry. One thread at a time for
// each journal.
//
// A machine may go together with its disk, as an emulated one does. So where LOCUS_JOURNAL_COPY names a file, a port or a serial
// line, every append goes there as well before the call returns: "OFFSET BYTES PATH\n" and the bytes, PATH being the journal's
// absolute one; a file that is created, as an append of nothing. What cannot be copied is an error like any other.
struct tb_journal;

struct tb_journal_config {
    const char *path;
    bool create;            // it must not exist yet (-EEXIST); otherwise it must
    bool lock;              // flock, exclusive, held until close; -EWOULDBLOCK while another process holds it
    bool plain;             // write and fsync, even where io_uring works (tests, and LOCUS_JOURNAL=plain in the environment)
};

int tb_journal_open(struct tb_journal **out, const struct tb_journal_config *config);
void tb_journal_close(struct tb_journal *journal); // NULL is allowed

// Appends all bytes and returns when they are durable: 0 or -errno (then nothing of them is in the file, or -EUCLEAN when even
// that could not be ensured; every later append fails likewise).
int tb_journal_append(struct tb_journal *journal, const void *data, size_t bytes);

const char *tb_journal_engine(const struct tb_journal *journal); // "io_uring" or "write+fsync"

#endif
