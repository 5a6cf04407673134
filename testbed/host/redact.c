// SPDX-License-Identifier: Apache-2.0
//
// redact: what goes into a public log must not tell whose machine it was.
//
// A kernel parameter's value is taken away when its name or its look says that it names something: a disk, a host, an address, a
// file, a key. What tunes the kernel (isolcpus=1-7, mitigations=off, nohz_full=1-7) looks like none of these and stays. Rather too
// much than too little: the name always stays, so whoever needs the value knows that there was one. Words after a lone "--" are
// for the first process and not for the kernel.

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/host/host.h"

#define REDACTED "REDACTED"
#define HEX_RUN_MAX 11u         // a MAC address has 12 digits, UUIDs and machine ids 32; sizes and masks of 32 CPUs have fewer

static bool name_identifies(const char *word, size_t length)
{
    static const char *const exact[] = {"root", "resume", "ip", "ifname", "initrd", "init", "rdinit", "netconsole", "BOOT_IMAGE"};
    static const char *const parts[] = {"host", "user", "pass", "key", "token", "secret", "cred", "serial", "uuid", "setenv"};
    char name[64] = "";
    memcpy(name, word, length < sizeof name ? length : sizeof name - 1);
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        if (strcmp(name, exact[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcasestr(name, parts[i]))
            return true;
    return false;
}

// Three dots or more between digits (an IPv4 address), three colons or more (IPv6, MAC), a slash (a path or a URL), a long run of
// hexadecimal digits and dashes, the label of a disk.
static bool value_identifies(const char *value, size_t length)
{
    size_t dots = 0, colons = 0, run = 0;
    for (size_t i = 0; i < length; i++) {
        dots += value[i] == '.';
        colons += value[i] == ':';
        run = isxdigit((unsigned char)value[i]) ? run + 1 : value[i] == '-' ? run : 0;
        if (value[i] == '/' || dots >= 3 || colons >= 3 || run > HEX_RUN_MAX)
            return true;
    }
    return memmem(value, length, "UUID", 4) || memmem(value, length, "LABEL", 5);
}

// Length of the word at `text`; blanks between double quotes belong to it, as for the kernel.
static size_t word_length(const char *text)
{
    bool quoted = false;
    size_t i = 0;
    for (; text[i] && (quoted || !isspace((unsigned char)text[i])); i++)
        quoted ^= text[i] == '"';
    return i;
}

static char *append(char *end, const char *text, size_t length)
{
    memcpy(end, text, length);
    end[length] = '\0';
    return end + length;
}

static char *append_word(char *end, const char *word, size_t length)
{
    const char *equals = memchr(word, '=', length);
    size_t name = equals ? (size_t)(equals - word) : length;
    if (equals && (name_identifies(word, name) || value_identifies(equals + 1, length - name - 1)))
        return append(append(end, word, name + 1), REDACTED, strlen(REDACTED));
    if (!equals && value_identifies(word, length))
        return append(end, REDACTED, strlen(REDACTED));
    return append(end, word, length);
}

char *tb_redact_command_line(const char *line)
{
    // A word of one letter becomes the longest when it is taken away: one byte and a blank grow to eight and a blank.
    char *out = calloc(strlen(line) + 2, sizeof REDACTED + 1), *end = out;
    for (line += strspn(line, " \t\n"); out && *line; line += strspn(line, " \t\n")) {
        size_t length = word_length(line);
        bool last = length == 2 && memcmp(line, "--", 2) == 0;
        if (end > out)
            end = append(end, " ", 1);
        end = last ? append(end, "-- " REDACTED, strlen("-- " REDACTED)) : append_word(end, line, length);
        if (last)
            break;
        line += length;
    }
    return out;
}

// Length of the home folder's path that begins at `text`, with its last slash; 0 when none does.
static size_t home_length(const char *text)
{
    static const char *const parents[] = {"/home/", "/Users/"};
    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
        size_t length = strlen(parents[i]);
        const char *slash = strncmp(text, parents[i], length) == 0 ? strchr(text + length, '/') : NULL;
        if (slash)
            return (size_t)(slash - text) + 1;
    }
    return strncmp(text, "/root/", 6) == 0 ? 6 : 0;
}

// Length of the working folder's path, with a slash, if `text` begins with it; else 0. `folder` may be NULL, or "/".
static size_t folder_length(const char *text, const char *folder)
{
    size_t length = folder && folder[1] ? strlen(folder) : 0;
    return length && strncmp(text, folder, length) == 0 && text[length] == '/' ? length + 1 : 0;
}

char *tb_redact_paths(const char *text)
{
    char *out = calloc(strlen(text) + 1, 1), *end = out, *folder = getcwd(NULL, 0);
    bool within = false; // a path: /src does not begin in /usr/src
    while (out && *text) {
        size_t inside = within ? 0 : folder_length(text, folder), home = inside ? 0 : home_length(text);
        within = inside || *text == '/' || (within && !strchr(" \t\n=:,;\"'", *text));
        end = inside ? end : home ? append(end, "~/", 2) : append(end, text, 1);
        text += inside ? inside : home ? home : 1;
    }
    free(folder);
    return out;
}
