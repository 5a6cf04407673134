// SPDX-License-Identifier: Apache-2.0
//
// share: the files that the program needs beside itself: the sample trace, the guest's scripts, the template of a postulate.
#ifndef TB_SHARE_H
#define TB_SHARE_H

#include <stddef.h>

// The whole path of `name` ("sample.csv", "guest/boot.sh"). It is looked for in the folder that LOCUS_SHARE names, and nowhere else
// where that is set; in ../share/locus of the program's own folder (it is installed); in testbed/ of the checkout that it was built
// in; and in testbed/ of the current folder. 0, or -ENOENT with a sentence in `why` that says what is missing, and the way out.
int tb_share(const char *name, char *path, size_t path_bytes, char *why, size_t why_bytes);

#endif
