// SPDX-License-Identifier: Apache-2.0
//
// gnuplot: has a drawing made, a whole one or none.
#ifndef TB_GNUPLOT_H
#define TB_GNUPLOT_H

#include <stdio.h>

// Writes the script, which sends an SVG to standard output. 0 or -errno.
typedef int tb_gnuplot_script(FILE *out, const void *what);

// Puts the drawing at svg_path, as tb_output_replace(). -ENOENT: gnuplot is not installed; -ENOTDIR: there is no such folder; -EIO:
// it failed, or did not finish.
int tb_gnuplot(const char *svg_path, tb_gnuplot_script *put, const void *what);

// A string of the script.
void tb_gnuplot_quoted(FILE *out, const char *text);

#endif
