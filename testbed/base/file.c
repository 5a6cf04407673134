// SPDX-License-Identifier: Apache-2.0
//
// file: writes a temporary file beside the target, then renames it. A missing folder is -ENOTDIR, because -ENOENT means a missing
// program.
#include "testbed/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int tb_file_read(const char *path, char **data, size_t *bytes)
{
    struct stat status;
    char *read_data = NULL;
    size_t done = 0;
    int error = 0, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a FIFO would wait for its writer
    if (fd < 0 || fstat(fd, &status))
        error = -errno;
    else if (!S_ISREG(status.st_mode))
        error = S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
    else if (!(read_data = malloc((size_t)status.st_size + 1)))
        error = -ENOMEM;
    while (!error && done < (size_t)status.st_size) {
        ssize_t n = read(fd, read_data + done, (size_t)status.st_size - done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0)
            break;
        else if (errno != EINTR)
            error = -errno;
    }
    if (fd >= 0)
        close(fd);
    if (error) {
        free(read_data);
        return error;
    }
    read_data[done] = '\0';
    *data = read_data;
    *bytes = done;
    return 0;
}

static int by_name(const FTSENT **one, const FTSENT **other)
{
    return strcmp((*one)->fts_name, (*other)->fts_name);
}

FTS *tb_file_walk(const char *folder)
{
    char *const roots[] = {(char *)(uintptr_t)folder, NULL};
    return fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
}

int tb_file_create(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;
    int rc = tb_file_write(fd, text, strlen(text));
    if (!rc && fsync(fd))
        rc = -errno;
    close(fd);
    if (rc)
        unlink(path); // half a file would block the next attempt
    return rc;
}

int tb_output_check(const char *path)
{
    char folder[4096];
    struct stat about;
    if (!*path)
        return -ENOENT;
    if (stat(path, &about) == 0) {
        if (S_ISDIR(about.st_mode))
            return -EISDIR;
        if (access(path, W_OK) < 0)
            return -errno;
        if (!S_ISREG(about.st_mode))
            return 0;
    }
    const char *slash = strrchr(path, '/');
    if (snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".") >= (int)sizeof folder)
        return -ENAMETOOLONG;
    if (access(folder, W_OK | X_OK) == 0)
        return 0;
    return errno == ENOENT ? -ENOTDIR : -errno;
}

int tb_file_write(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(fd, bytes, count);
        if (written < 0 && errno != EINTR)
            return -errno;
        bytes += written > 0 ? written : 0;
        count -= written > 0 ? (size_t)written : 0;
    }
    return 0;
}

// Is it this process's own output, such as /dev/stdout? Replacing that would lose the rest of the output.
static bool is_printed_to(const struct stat *about, int fd)
{
    struct stat own;
    return fstat(fd, &own) == 0 && own.st_dev == about->st_dev && own.st_ino == about->st_ino;
}

int tb_output_replace(const char *path, const char *bytes, size_t count)
{
    char resolved[PATH_MAX], temporary[PATH_MAX + 32];
    struct stat about;
    bool exists = stat(path, &about) == 0, special = exists && !S_ISREG(about.st_mode);
    if (exists && is_printed_to(&about, STDOUT_FILENO))
        return fflush(stdout) ? -errno : tb_file_write(STDOUT_FILENO, bytes, count);
    if (exists && is_printed_to(&about, STDERR_FILENO))
        return tb_file_write(STDERR_FILENO, bytes, count);
    const char *target = realpath(path, resolved) ? resolved : path; // a link stays a link
    int length = snprintf(temporary, sizeof temporary, special ? "%s" : "%s.%d.tmp", target, (int)getpid());
    if (length >= (int)sizeof temporary)
        return -ENAMETOOLONG;
    int fd = open(temporary, O_WRONLY | O_CLOEXEC | (special ? 0 : O_CREAT | O_EXCL), 0666);
    if (fd < 0)
        return errno == ENOENT ? -ENOTDIR : -errno;
    int rc = tb_file_write(fd, bytes, count);
    if (rc == 0 && exists && !special && fchmod(fd, about.st_mode & 07777) < 0)
        rc = -errno;
    if (close(fd) < 0 && rc == 0)
        rc = -errno;
    if (rc == 0 && !special && rename(temporary, target) < 0)
        rc = -errno;
    if (rc < 0 && !special)
        unlink(temporary);
    return rc;
}

int tb_output_write(const char *path, tb_write_fn *write, const void *what)
{
    char *bytes = NULL;
    size_t count = 0;
    FILE *stream = open_memstream(&bytes, &count);
    if (!stream)
        return -errno;
    int rc = write(stream, what);
    bool composed = !ferror(stream); // fclose() does not tell of an earlier failure
    if ((fclose(stream) || !composed) && !rc)
        rc = -ENOMEM;
    if (!rc)
        rc = tb_output_replace(path, bytes, count);
    free(bytes);
    return rc;
}

const char *tb_output_why(int error)
{
    switch (-error) {
    case ENOTDIR: return "there is no such folder. Create it, or name another";
    case EFBIG: return "File too large: the limit on file sizes is too low (ulimit -f)";
    case EUCLEAN: return "a line could not be written whole, nor taken back: see what `locus verify` says";
    default: return strerror(-error);
    }
}
