// SPDX-License-Identifier: Apache-2.0
//
// child: runs a program in a folder and waits for it, and removes a folder afterwards.
#ifndef TB_CHILD_H
#define TB_CHILD_H

#include <stdbool.h>

// Runs argv (NULL-terminated, found in PATH) in `folder`; what it prints goes to the file `output`, its errors too where `errors`.
// While it runs, an interrupt from the keyboard ends the child and not this process, so that the caller can clean up. 0 when it
// exited with 0, -EINTR when it was such an interrupt, -ECHILD otherwise, -errno when it could not be started.
int tb_child_run(const char *folder, const char *const argv[], const char *output, bool errors);

// Removes a folder with all that is in it. 0 or -errno.
int tb_child_remove(const char *folder);

#endif
