// SPDX-License-Identifier: Apache-2.0
//
// files: the page's frame and its style are files, so that they can be edited as such, and lie in the program, so that it needs
// none. The assembler takes them in, by their paths from the top of the tree, where the build runs; the Makefile knows of them.
#include "testbed/report/page/page.h"

#define TAKE_IN(name, path)                                                                                                        \
    __asm__(".pushsection .rodata\n.globl " name "\n" name ":\n.incbin \"" path "\"\n.byte 0\n.popsection\n")

TAKE_IN("tb_page_frame", "testbed/report/page/page.html");
TAKE_IN("tb_page_style", "testbed/report/page/style.css");
