// SPDX-License-Identifier: Apache-2.0
//
// share: finds the files that the program needs: the sample trace, the guest's scripts, the template of a postulate, and the
// program that it measures with.
#ifndef TB_SHARE_H
#define TB_SHARE_H

#include <stddef.h>

// The full path of `name` ("sample.csv", "guest/boot.sh"). If LOCUS_SHARE is set, it is looked for only there; otherwise in
// ../share/locus of the program's folder (installed), in testbed/ of the checkout where it was built, and in testbed/ of the
// current folder. 0, or -ENOENT: the sentence in `why` says what is missing, and the remedy.
int tb_share(const char *name, char *path, size_t path_bytes, char *why, size_t why_bytes);

// The full path of locus-lap (measure/lap_main.c), the process that is measured. If LOCUS_LAP is set, it is that file; otherwise
// the one beside the program (built), or in ../libexec/locus of the program's folder (installed). 0, or -ENOENT as above. `path`
// has room for PATH_MAX bytes.
int tb_share_lap(char *path, char *why, size_t why_bytes);

#endif
