// SPDX-License-Identifier: Apache-2.0
//
// child: runs a program and waits for it; syncs a folder to disk, and removes one. No shell is involved, so arguments are passed
// as they are.
#ifndef TB_CHILD_H
#define TB_CHILD_H

#include <stdbool.h>
#include <stddef.h>

struct tb_child {
    const char *const *argv;    // NULL-terminated; the program is found in PATH
    const char *const *environment; // NULL: this process's
    const char *folder;         // working directory; NULL: this process's
    int in, out;                // its stdin and stdout; negative: none
    enum { TB_CHILD_ERRORS_DROPPED, TB_CHILD_ERRORS_SHOWN, TB_CHILD_ERRORS_PRINTED } errors; // PRINTED: to `out`
};

// 0: it exited with 0; -EINTR: an interrupt from the keyboard ended it; -ECHILD: it failed; -errno: it could not be started.
int tb_child(const struct tb_child *child);

// The same; *output is what it printed (`out` is ignored), malloc'd, with a NUL after its *bytes bytes. It is also set after
// -ECHILD; after other errors it is NULL.
int tb_child_ask(const struct tb_child *child, char **output, size_t *bytes);

// Runs argv in `folder`, with stdout in the file `output`, and stderr as well if `errors`. While it runs, an interrupt from the
// keyboard ends the child but not this process, so that the caller can clean up. Returns as tb_child().
int tb_child_run(const char *folder, const char *const argv[], const char *output, bool errors);

// Runs a tool in the current folder; it writes below `where`, and its output goes to the file `words`. 0; -ENOSPC: it failed for
// lack of room; -ENOPKG: it is not installed; otherwise as tb_child_run(). `why` is then its last line, or a sentence of ours.
int tb_child_tool(const char *const argv[], const char *words, const char *where, char *why, size_t why_bytes);

// Syncs the file system that `folder` is on. 0 or -errno.
int tb_child_sync(const char *folder);

// Removes a folder and its contents. 0 or -errno.
int tb_child_remove(const char *folder);

#endif
