// SPDX-License-Identifier: Apache-2.0
//
// share: the files that the program needs beside itself: the sample trace, the guest's scripts, the template of a postulate, and
// the program that it measures with.
#ifndef TB_SHARE_H
#define TB_SHARE_H

#include <stddef.h>

// The whole path of `name` ("sample.csv", "guest/boot.sh"). It is looked for in the folder that LOCUS_SHARE names, and nowhere else
// where that is set; in ../share/locus of the program's own folder (it is installed); in testbed/ of the checkout that it was built
// in; and in testbed/ of the current folder. 0, or -ENOENT with a sentence in `why` that says what is missing, and the way out.
int tb_share(const char *name, char *path, size_t path_bytes, char *why, size_t why_bytes);

// The whole path of locus-lap (testbed/lap_main.c), the process that is measured: the file that LOCUS_LAP names, and no other where
// that is set; else the one beside the program (it was built); else the one in ../libexec/locus of the program's own folder (it is
// installed). 0, or -ENOENT as above. `path` holds PATH_MAX bytes.
int tb_share_lap(char *path, char *why, size_t why_bytes);

#endif
