// SPDX-License-Identifier: Apache-2.0
//
// git: asks the git program. No shell, no library: what a person would type, and can repeat.
//
// The repository is the one of the folder, and its history the one that its commits name: whatever in the environment points git
// to another repository, index or object store is left out (git sets some of it itself, for hooks), and so are grafts, replacements
// and the commit-graph file, each of which can give a commit other parents than it has.
#ifndef TB_GIT_H
#define TB_GIT_H

#include <stdbool.h>
#include <stddef.h>

// Runs `git` with these arguments (NULL-terminated, without "git") in `folder` (NULL: the current one). *output is what it printed,
// malloc'd, NUL-terminated; its words on stderr are dropped. 0 when it exited with 0, -ENOENT when there is no git program,
// -ECHILD when it exited otherwise (*output is still there), -errno.
int tb_git(const char *folder, const char *const arguments[], char **output);

// The same in the current folder with `input` to read, and for an answer that may hold NULs (-z): it has *bytes bytes.
int tb_git_filter(const char *const arguments[], const char *input, char **output, size_t *bytes);

// The same with its words on stderr among the output, for a command that says there why it did not, or how it knows.
int tb_git_tell(const char *const arguments[], const char *input, char **output);

// The same for one short answer without its newline ("rev-parse HEAD"). -ENOSPC when it is longer.
int tb_git_line(const char *folder, const char *const arguments[], char *out, size_t bytes);

// True when `path` is in HEAD exactly as it is in the working tree.
bool tb_git_committed(const char *path);

// The commit that last changed `path`, or -errno.
int tb_git_commit_of(const char *path, char *out, size_t bytes);

#endif
