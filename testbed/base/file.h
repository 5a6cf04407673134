// SPDX-License-Identifier: Apache-2.0
//
// file: reads a whole file, and replaces a file completely or not at all.
#ifndef TB_FILE_H
#define TB_FILE_H

#include <fts.h>
#include <stddef.h>
#include <stdio.h>

// The bytes of a regular file, followed by a NUL; *data is malloc'd. 0, -EISDIR, -EINVAL (another kind of file), -errno.
int tb_file_read(const char *path, char **data, size_t *bytes);

// Writes all of it, also across interrupts. 0 or -errno.
int tb_file_write(int fd, const char *bytes, size_t count);

// Walks a folder in order of names and follows no links. NULL with errno; fts_close() it.
FTS *tb_file_walk(const char *folder);

// Creates a file with this text and syncs it. An existing file is left alone (-EEXIST), and a failed attempt leaves no file. 0 or
// -errno.
int tb_file_create(const char *path, const char *text);

// Can a file be written there? Asked before a measurement, whose result would otherwise be lost. 0, or -errno: the obstacle.
int tb_output_check(const char *path);

// Replaces a file by way of a temporary one beside it, so that a full disk leaves the old file intact. Symbolic links and
// permissions are kept. Anything that is not a regular file (a terminal, /dev/null), and this process's own output (/dev/stdout),
// is written to, never replaced. 0 or -errno; -ENOTDIR: no such folder.
int tb_output_replace(const char *path, const char *bytes, size_t count);

// The same, with the output of `write`, which returns 0 or -errno.
typedef int tb_write_fn(FILE *stream, const void *what);
int tb_output_write(const char *path, tb_write_fn *write, const void *what);

// What these errors mean for the file: strerror()'s words, and the remedy if there is one.
const char *tb_output_why(int error);

#endif
