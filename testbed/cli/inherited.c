// SPDX-License-Identifier: Apache-2.0
//
// inherited: exec() passes on which signals are ignored or blocked, which files are open, and the file mask. A launcher that left
// one of them behind would otherwise look like a failure of ours:
//
//   SIGCHLD ignored     the kernel forgets how a child ended, and a measured process that ran well could not be waited for
//   SIGPIPE ignored     `locus report standings | head` would end with an error, and not as every filter does
//   signals blocked     neither this process nor the measured ones would hear Ctrl-C or SIGTERM
//   0, 1 or 2 closed    the next file that is opened gets the number, and what is meant for a stream is written into it
//   a mask of 0700      files that their owner may not read
//
// What is ignored on purpose stays so: SIGHUP by nohup, SIGINT and SIGQUIT by a shell for what it runs in the background. A limit
// on the size of files stays as well, but not the signal that it sends: then the write fails, and its error can name the file.

#include "testbed/cli/command.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

// Opened for reading alone: what is written to a stream that was closed has to fail.
static void open_stream(int stream)
{
    int fd = fcntl(stream, F_GETFD) < 0 ? open("/dev/null", O_RDONLY) : stream;
    if (fd != stream && fd >= 0) {
        dup2(fd, stream);
        close(fd);
    }
}

void tb_inherited_settle(void)
{
    sigset_t none;
    signal(SIGCHLD, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        open_stream(stream);
    umask(umask(0) & (S_IRWXG | S_IRWXO));
}
