// SPDX-License-Identifier: Apache-2.0
//
// output: puts a finished file in its place, or leaves the old one as it was.
#ifndef TB_OUTPUT_H
#define TB_OUTPUT_H

#include <stddef.h>

// Through a temporary name beside the target, so that a full disk leaves the old file as it was. A link stays a link. What is no
// regular file (a terminal, /dev/null) is written to, never replaced. 0 or -errno; -ENOTDIR: there is no such folder.
int tb_output_replace(const char *path, const char *bytes, size_t count);

#endif
