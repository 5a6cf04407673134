// SPDX-License-Identifier: Apache-2.0
//
// cpulist: parsers for the kernel's formats of sets (%*pbl and %*pb), written by hand over a counted buffer.
//
// The grammar of a list is
//
//     list  = [ range { "," range } ] [ "\n" ]
//     range = number [ "-" number ]          first <= last
//
// and nothing else: no blanks, no signs, no strides. libnuma's numa_parse_cpustring() would depend on the running machine (it
// warns and fails for CPUs that this machine lacks), prints to stderr, and accepts reversed ranges. strtoul skips blanks, takes
// signs, and needs a terminator. A list that this parser refuses did not come from a kernel, and guessing its meaning would pin
// threads to the wrong CPUs.
#include "topo/cpulist.h"

#include <errno.h>
#include <string.h>

struct cursor {
    const char *at;
    const char *end;
};

// Each digit is checked against the limit, so no number can overflow.
static int take_number(struct cursor *cursor, unsigned *out)
{
    unsigned value = 0;
    const char *first = cursor->at;
    while (cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9') {
        value = value * 10u + (unsigned)(*cursor->at - '0');
        if (value >= TOPO_ID_MAX)
            return -ERANGE;
        cursor->at++;
    }
    if (cursor->at == first)
        return -EINVAL;
    *out = value;
    return 0;
}

static int take_range(struct cursor *cursor, struct topo_idset *out)
{
    unsigned first = 0;
    int error = take_number(cursor, &first);
    if (error)
        return error;
    unsigned last = first;
    if (cursor->at < cursor->end && *cursor->at == '-') {
        cursor->at++;
        error = take_number(cursor, &last);
        if (error)
            return error;
    }
    if (last < first)
        return -EINVAL;
    for (unsigned id = first; id <= last; id++)
        topo_idset_add(out, id);
    return 0;
}

int topo_cpulist_parse(const char *text, size_t bytes, struct topo_idset *out)
{
    memset(out, 0, sizeof(*out));
    if (bytes > 0 && text[bytes - 1] == '\n')
        bytes--;
    if (bytes == 0)
        return 0;
    struct cursor cursor = {text, text + bytes};
    for (;;) {
        int error = take_range(&cursor, out);
        if (error)
            return error;
        if (cursor.at == cursor.end)
            return 0;
        if (*cursor.at != ',')
            return -EINVAL;
        cursor.at++;
    }
}

// -1: no hexadecimal digit as the kernel writes it.
static int digit_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

int topo_cpumap_parse(const char *text, size_t bytes, struct topo_idset *out)
{
    unsigned id = 0, digits = 0;        // the lowest bit of the next digit from the end, and how many digits its word has so far
    memset(out, 0, sizeof(*out));
    if (bytes > 0 && text[bytes - 1] == '\n')
        bytes--;
    while (bytes > 0) {
        char here = text[--bytes];
        int value = digit_value(here);
        if (here == ',' ? digits != 8 : digits == 8 || value < 0)
            return -EINVAL;
        digits = here == ',' ? 0 : digits + 1;
        for (; value > 0; value &= value - 1) {
            unsigned bit = id + (unsigned)__builtin_ctz((unsigned)value);
            if (bit >= TOPO_ID_MAX)
                return -ERANGE;
            topo_idset_add(out, bit);
        }
        id += here == ',' ? 0 : 4;
    }
    return digits > 0 ? 0 : -EINVAL;
}
