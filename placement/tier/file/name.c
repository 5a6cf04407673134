// SPDX-License-Identifier: Apache-2.0
//
// name: from a path to a file that is a tier's own.
//
// A file has the contents of requests, and what open reads in it is believed. So it is a file that nobody else can read, write or
// have written: regular, of the process's effective user, without rights for group and others, and with one name. The path's last
// component is no link; its folders may be, for who can change those can take any file away. What the name leads to is looked at
// before it is opened, since the open of a device may act on it, and once more after, since it may be another by then.
//
// A lock comes before a file is used or removed, and then the name must still lead to it: whoever failed to make the file has
// removed it, perhaps between our open and our lock.
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES_MAX 100 // arbitrary: of a name that leads elsewhere each time

// 0, or the error for which it is no file for a tier. `fresh`: it has just been made.
static int fault_of(const struct stat *status, const struct locus_tier_file_config *config, bool fresh)
{
    const char *path = config->path;
    unsigned user = (unsigned)status->st_uid, own = (unsigned)geteuid(), mode = (unsigned)status->st_mode & 0777;
    int error = -EPERM;
    if (S_ISLNK(status->st_mode))
        return SAY(config, "%s is a symbolic link: give the path of the file that it leads to", path), -ELOOP;
    if (S_ISDIR(status->st_mode))
        return SAY(config, "%s is a directory: give the path of a file in it", path), -EISDIR;
    if (!S_ISREG(status->st_mode))
        return SAY(config, "%s is not a regular file: give the path of one, or of one that is to be made", path), -EINVAL;
    if (fresh && (user != own || mode & 077))
        SAY(config, "%s: its file system gives a new file to user %u with mode %04o, whatever is asked for: choose another", path,
            user, mode);
    else if (user != own)
        SAY(config, "%s belongs to user %u, and user %u opens it: open it as its owner, or give another path", path, user, own);
    else if (mode & 077)
        SAY(config, "%s has mode %04o, rights for group or others: remove it, or chmod 600 it if nobody else wrote to it", path,
            mode);
    else if (status->st_nlink > 1)
        SAY(config, "%s has %llu names (hard links): remove the others, or give another path", path,
            (unsigned long long)status->st_nlink);
    else
        error = 0;
    return error;
}

static bool leads_to(const char *path, int fd)
{
    struct stat named, opened;
    return !lstat(path, &named) && !fstat(fd, &opened) && named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

// Nobody is waited for: neither a FIFO's reader nor who has a lease. A regular file that stays so makes io_uring answer -EAGAIN.
static int flags_set(struct file *file)
{
    file->granted.direct = fcntl(file->fd, F_SETFL, O_DIRECT) == 0;
    file->granted.direct_errno = file->granted.direct ? 0 : errno;
    return file->granted.direct || fcntl(file->fd, F_SETFL, 0) == 0 ? 0 : -errno;
}

// -EAGAIN: the name leads elsewhere now.
static int name_try(struct file *file, const struct locus_tier_file_config *config)
{
    struct stat status;
    int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    int error = lstat(config->path, &status) ? -errno : fault_of(&status, config, false);
    bool make = error == -ENOENT && config->bytes;
    if (error && !make)
        return error;
    file->fd = open(config->path, make ? flags | O_CREAT | O_EXCL : flags, 0600);
    if (file->fd < 0)
        return errno == (make ? EEXIST : ENOENT) ? -EAGAIN : -errno;
    file->fresh = make;
    if (make)
        fchmod(file->fd, 0600); // a umask may have taken of it; what the file system makes of it is seen next
    if (flock(file->fd, LOCK_EX | LOCK_NB)) {
        error = errno == EWOULDBLOCK ? -EBUSY : -errno;
        file->fresh &= error != -EBUSY;
        SAY(config, "%s: %s", config->path, error == -EBUSY ? "another tier has it open" : strerror(-error));
        return error;
    }
    error = fstat(file->fd, &status) ? -errno : fault_of(&status, config, make);
    if (!error && !leads_to(config->path, file->fd))
        error = -EAGAIN;
    return error ? error : flags_set(file);
}

int file_name_open(struct file *file, const struct locus_tier_file_config *config)
{
    int error = -EAGAIN;
    for (int tries = 0; tries < TRIES_MAX && error == -EAGAIN; tries++) {
        if (file->fd >= 0)
            close(file->fd);
        file->fd = -1;
        error = name_try(file, config);
    }
    return error;
}

void file_name_undo(const struct file *file, const char *path)
{
    if (file->fd >= 0 && file->fresh && leads_to(path, file->fd))
        unlink(path);
}
