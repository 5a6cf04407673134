// SPDX-License-Identifier: Apache-2.0
//
// why: see why.h.

#include "testbed/workload/why.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void tb_why_set(struct tb_why *why, const char *path, uint32_t line, const char *format, ...)
{
    enum { PATH_SHOWN = 200 };
    size_t length = strlen(path);
    const char *shown = length > PATH_SHOWN ? path + length - PATH_SHOWN : path;
    const char *dots = length > PATH_SHOWN ? "..." : "";
    int at = line ? snprintf(why->text, sizeof(why->text), "%s%s:%u: ", dots, shown, line)
                  : snprintf(why->text, sizeof(why->text), "%s%s: ", dots, shown);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why->text + at, sizeof(why->text) - (size_t)at, format, arguments);
    va_end(arguments);
}
