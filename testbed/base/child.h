// SPDX-License-Identifier: Apache-2.0
//
// child: runs a program and waits for it; makes a folder durable, and removes it afterwards.
#ifndef TB_CHILD_H
#define TB_CHILD_H

#include <stdbool.h>
#include <stddef.h>

// Runs argv (NULL-terminated, found in PATH) in `folder`; what it prints goes to the file `output`, its errors too where `errors`.
// While it runs, an interrupt from the keyboard ends the child and not this process, so that the caller can clean up. 0 when it
// exited with 0, -EINTR when it was such an interrupt, -ECHILD otherwise, -errno when it could not be started.
int tb_child_run(const char *folder, const char *const argv[], const char *output, bool errors);

// Runs a tool that writes below `where`, in the current folder; what it prints goes to the file `words`. 0; -ENOSPC when it failed
// and there is no room, -ENOPKG when it is not installed, as tb_child_run() otherwise: `why` is its last line, or another sentence.
int tb_child_tool(const char *const argv[], const char *words, const char *where, char *why, size_t why_bytes);

// Makes durable whatever was written to the file system that `folder` is on. 0 or -errno.
int tb_child_sync(const char *folder);

// Removes a folder with all that is in it. 0 or -errno.
int tb_child_remove(const char *folder);

#endif
