// SPDX-License-Identifier: Apache-2.0
//
// rules: the line that liblocus-checked ends with. One write, so that it stays one line beside what other threads print.
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
    (void)written; // it ends here in any case
    abort();
}
#endif
