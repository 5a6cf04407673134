// SPDX-License-Identifier: Apache-2.0
//
// file: reads a whole file, and puts a finished one in its place or leaves the old one as it was.
#ifndef TB_FILE_H
#define TB_FILE_H

#include <fts.h>
#include <stddef.h>
#include <stdio.h>

// The bytes of a regular file and a NUL behind them; *data is malloc'd. 0, -EISDIR, -EINVAL (another kind of file), -errno.
int tb_file_read(const char *path, char **data, size_t *bytes);

// All of it, however often it is interrupted. 0 or -errno.
int tb_file_write(int fd, const char *bytes, size_t count);

// What lies below a folder, by name; no link is followed. NULL with errno; fts_close() it.
FTS *tb_file_walk(const char *folder);

// A new file with this text, durably; a file that is there stays as it is (-EEXIST), and one that failed is gone. 0 or -errno.
int tb_file_create(const char *path, const char *text);

// Can a file be put there? For a measurement that would otherwise end without its result. 0, or -errno of what is in the way.
int tb_output_check(const char *path);

// Through a temporary name beside the target, so that a full disk leaves the old file as it was. A link to a file stays one,
// and the rights of a file stay. What is no regular file (a terminal, /dev/null), and what this process prints to (/dev/stdout), is
// written to, never replaced. 0 or -errno; -ENOTDIR: there is no such folder.
int tb_output_replace(const char *path, const char *bytes, size_t count);

// The same with what `write` writes; it returns 0 or -errno.
typedef int tb_write_fn(FILE *stream, const void *what);
int tb_output_write(const char *path, tb_write_fn *write, const void *what);

// What these errors mean for the file, in words: those of strerror() and, where there is one, the remedy.
const char *tb_output_why(int error);

#endif
