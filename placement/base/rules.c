// SPDX-License-Identifier: Apache-2.0
//
// rules: the line that liblocus-checked prints before it aborts. One write(), so that other threads' output cannot split it.
#include "rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef LOCUS_CHECKED
void rule_broken(const char *call, const char *format, ...)
{
    char line[512];
    size_t used = (size_t)snprintf(line, sizeof line, "liblocus-checked: %s: ", call);
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(line + used, sizeof line - used - 1, format, arguments);
    va_end(arguments);
    used += more > 0 ? (size_t)more : 0;
    used = used < sizeof line - 2 ? used : sizeof line - 2;
    line[used++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, used);
    (void)written; // we abort in any case
    abort();
}
#endif
