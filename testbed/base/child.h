// SPDX-License-Identifier: Apache-2.0
//
// child: runs a program and waits for it; makes a folder durable, and removes it. Without a shell: an argument is never read as
// anything else.
#ifndef TB_CHILD_H
#define TB_CHILD_H

#include <stdbool.h>
#include <stddef.h>

struct tb_child {
    const char *const *argv;    // NULL-terminated; the program is found in PATH
    const char *const *environment; // NULL: this process's
    const char *folder;         // where it runs; NULL: here
    int in, out;                // what it reads and prints to; negative: nothing
    enum { TB_CHILD_ERRORS_DROPPED, TB_CHILD_ERRORS_SHOWN, TB_CHILD_ERRORS_PRINTED } errors; // PRINTED: to `out`
};

// 0 when it exited with 0, -EINTR when an interrupt from the keyboard ended it, -ECHILD otherwise, -errno when it could not be
// started.
int tb_child(const struct tb_child *child);

// The same; *output is what it printed (`out` is not looked at), malloc'd, with a NUL behind its *bytes bytes. After -ECHILD it is
// there as well, after other errors it is NULL.
int tb_child_ask(const struct tb_child *child, char **output, size_t *bytes);

// Runs argv in `folder`; what it prints goes to the file `output`, its errors too where `errors`. While it runs, an interrupt from
// the keyboard ends the child and not this process, so that the caller can clean up. As tb_child().
int tb_child_run(const char *folder, const char *const argv[], const char *output, bool errors);

// Runs a tool that writes below `where`, in the current folder; what it prints goes to the file `words`. 0; -ENOSPC when it failed
// and there is no room, -ENOPKG when it is not installed, as tb_child_run() otherwise: `why` is its last line, or another sentence.
int tb_child_tool(const char *const argv[], const char *words, const char *where, char *why, size_t why_bytes);

// Makes durable whatever was written to the file system that `folder` is on. 0 or -errno.
int tb_child_sync(const char *folder);

// Removes a folder with all that is in it. 0 or -errno.
int tb_child_remove(const char *folder);

#endif
