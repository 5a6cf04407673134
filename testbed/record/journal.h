// SPDX-License-Identifier: Apache-2.0
//
// journal: appends that are on the disk when the call returns.
//
// Each append is one write with O_APPEND and an fsync linked behind it, submitted together through io_uring: one system call, and
// the kernel starts the fsync only after a whole write. Where io_uring is missing (ENOSYS), forbidden (EPERM by seccomp or
// kernel.io_uring_disabled) or fails to set up, the same is done by write and fsync; journal_engine() says which. A short write or
// an error (ENOSPC, EIO) is put right: the file is truncated to its length before, so that no half line stays, and the error is
// returned. Creating a file makes the folders above it, too, and fsyncs each folder that got an entry. One thread at a time for
// each journal.
//
// A machine may go together with its disk, as an emulated one does. So where LOCUS_JOURNAL_COPY names a file, a port or a serial
// line, every append goes there as well before the call returns: "OFFSET BYTES PATH\n" and the bytes, PATH being the journal's
// absolute one; a file that is created, as an append of nothing. What cannot be copied is an error like any other.
#ifndef TB_JOURNAL_H
#define TB_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>

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
