// SPDX-License-Identifier: Apache-2.0
//
// describe: the one place that hands untrusted text to hwloc.
//
// hwloc answers every bad input with EINVAL. People need more: a file may be missing, empty, cut off, not XML, or XML of
// something else. So we read the file, recognise these mistakes, and give hwloc a buffer.
//
// hwloc 2.9 also crashes on some damaged files, so each is tried in a child process first (trial.c). And it sets no limits:
// "pu:4000000000" makes it allocate until the kernel kills the process. So the product of the counts in a synthetic description,
// and the size of a file, are bounded before hwloc sees them.
#include "topo/describe.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "topo/idset.h"
#include "topo/sysfs.h"
#include "topo/trial.h"

// The XML of the largest machines (thousands of CPUs, all caches and devices) is a few MiB.
#define XML_BYTES_MAX (64u << 20)

// A file name may contain any character, but a reason is one line.
static void without_controls(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
}

int topo_why(const struct topo_why *why, int error, const char *format, ...)
{
    if (!why->text || why->bytes == 0)
        return error;
    size_t used = 0;
    if (why->source)
        used = (size_t)snprintf(why->text, why->bytes, "%s: ", why->source);
    if (used < why->bytes) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(why->text + used, why->bytes - used, format, arguments);
        va_end(arguments);
    }
    without_controls(why->text);
    return error;
}

enum locus_topo_source topo_describe_kind(const char *source)
{
    if (!source)
        return LOCUS_TOPO_THIS_MACHINE;
    struct stat status;
    if (stat(source, &status) == 0 && S_ISDIR(status.st_mode))
        return LOCUS_TOPO_ROOT;
    size_t length = strlen(source);
    bool named_xml = length >= 4 && strcmp(source + length - 4, ".xml") == 0;
    // "[numa(memory=1GB)] ..." may contain anything but a slash, so a slash means a path.
    return named_xml || strchr(source, '/') || access(source, F_OK) == 0 ? LOCUS_TOPO_XML : LOCUS_TOPO_SYNTHETIC;
}

static int read_stream(FILE *file, char **out, size_t *out_bytes, const struct topo_why *why)
{
    size_t room = 65536;
    size_t filled = 0;
    char *text = NULL;
    for (;;) {
        char *grown = realloc(text, room);
        if (!grown) {
            free(text);
            return topo_why(why, -ENOMEM, "no memory to read it");
        }
        text = grown;
        filled += fread(text + filled, 1, room - 1 - filled, file);
        if (filled < room - 1 || room >= XML_BYTES_MAX)
            break;
        room *= 2;
    }
    int error = 0;
    if (ferror(file))
        error = topo_why(why, -errno, "cannot be read: %s", strerror(errno));
    else if (filled == room - 1)
        error = topo_why(why, -EINVAL, "larger than %u MiB: too large to describe one machine", XML_BYTES_MAX >> 20);
    text[filled] = '\0';
    *out = text;
    *out_bytes = filled + 1;
    if (error) {
        free(text);
        *out = NULL;
    }
    return error;
}

static int read_file(const char *source, char **out, size_t *out_bytes, const struct topo_why *why)
{
    *out = NULL;
    FILE *file = fopen(source, "re");
    if (!file) {
        int error = errno;
        return topo_why(why, -error, "%s", strerror(error));
    }
    int error = read_stream(file, out, out_bytes, why);
    fclose(file);
    return error;
}

// An hwloc reads the files of its own major version and of the one before.
static bool newer_xml(const char *text, const struct topo_why *why)
{
    static const char begin[] = "<topology version=\"";
    char own[16];
    const char *version = strstr(text, begin);
    if (!version)
        return false;
    version += strlen(begin);
    topo_describe_version(own, sizeof(own));
    unsigned long reads = strtoul(own, NULL, 10);
    if (reads == 0 || strtoul(version, NULL, 10) <= reads)
        return false;
    topo_why(why, -EINVAL,
             "of version %.*s, and the hwloc here (%s) reads up to %lu.x: on that machine run "
             "lstopo --export-xml-flags v%lu machine.xml",
             (int)strcspn(version, "\""), version, own, reads, reads);
    return true;
}

// hwloc refused the text: find out what is wrong in terms that people understand.
static int explain_xml(const char *text, size_t bytes, const struct topo_why *why)
{
    if (memchr(text, '\0', bytes - 1) || !strchr(text, '<'))
        return topo_why(why, -EINVAL, "not an XML file (make one with: lstopo machine.xml)");
    if (!strstr(text, "<topology"))
        return topo_why(why, -EINVAL, "XML, but not an hwloc topology (make one with: lstopo machine.xml)");
    if (!strstr(text, "</topology>"))
        return topo_why(why, -EINVAL, "cut off: the closing </topology> is missing");
    return newer_xml(text, why) ? -EINVAL : topo_why(why, -EINVAL, "hwloc cannot read this topology (damaged)");
}

struct xml {
    hwloc_topology_t topology;
    const char *text;
    size_t bytes; // with the terminator
};

static bool load_text(void *argument)
{
    const struct xml *xml = argument;
    return hwloc_topology_set_xmlbuffer(xml->topology, xml->text, (int)xml->bytes) == 0 && hwloc_topology_load(xml->topology) == 0;
}

static int load_checked(struct xml *xml, const struct topo_why *why)
{
    bool passed = false;
    if (strspn(xml->text, " \t\r\n") == xml->bytes - 1)
        return topo_why(why, -ENODATA, "the file is empty");
    int error = topo_trial(load_text, xml, &passed);
    if (error)
        return topo_why(why, error, "no child process to try it in: %s", strerror(-error));
    if (!passed || !load_text(xml))
        return explain_xml(xml->text, xml->bytes, why);
    return 0;
}

static int load_xml(hwloc_topology_t topology, const char *source, const struct topo_why *why)
{
    char *text = NULL;
    size_t bytes = 0;
    int error = read_file(source, &text, &bytes, why);
    if (error)
        return error;
    error = load_checked(&(struct xml){topology, text, bytes}, why);
    free(text);
    return error;
}

// The product of the counts ("pack:2 core:4" is 8), or TOPO_ID_MAX + 1 if it is larger. Memory and attributes, in brackets or
// parentheses, do not multiply.
static unsigned long synthetic_cpus(const char *source)
{
    unsigned long product = 1;
    int depth = 0;
    bool at_count = true;       // at the start of a word, or after its colon
    for (const char *at = source; *at; at++) {
        if (*at == '[' || *at == '(')
            depth++;
        else if (*at == ']' || *at == ')')
            depth--;
        if (depth == 0 && at_count && *at >= '0' && *at <= '9') {
            char *end = NULL;
            unsigned long count = strtoul(at, &end, 10);
            if (count > TOPO_ID_MAX || (product *= count) > TOPO_ID_MAX)
                return TOPO_ID_MAX + 1ul;
            at = end - 1;
        }
        at_count = *at == ' ' || *at == ':';
    }
    return product;
}

// Does each size ("memory=64GB") stay below 2^63 bytes? hwloc would let it wrap. A unit of a thousand counts as one of 1024.
static bool synthetic_sizes_fit(const char *source)
{
    static const char units[] = "KMGTPE";
    for (const char *equals = strchr(source, '='); equals; equals = strchr(equals + 1, '=')) {
        const char *at = equals + 1;
        uint64_t value = 0;
        if (*at < '0' || *at > '9')
            continue;
        if (topo_number_take(&at, &value))
            return false;
        const char *unit = *at ? strchr(units, toupper((unsigned char)*at)) : NULL;
        if (unit && value > (uint64_t)INT64_MAX >> 10 * (unit - units + 1))
            return false;
    }
    return true;
}

static int load_synthetic(hwloc_topology_t topology, const char *source, const struct topo_why *why)
{
    if (synthetic_cpus(source) > TOPO_ID_MAX)
        return topo_why(why, -ERANGE, "describes more than %u CPUs", TOPO_ID_MAX);
    if (!synthetic_sizes_fit(source))
        return topo_why(why, -ERANGE, "describes a size of 2^63 bytes or more");
    if (hwloc_topology_set_synthetic(topology, source) || hwloc_topology_load(topology))
        return topo_why(why, -EINVAL, "neither a file nor a description such as \"pack:2 [numa(memory=64GB)] core:4 pu:2\"");
    return 0;
}

// lstopo in the same shell would show the other machine, and what we showed would be taken for it.
int topo_describe_environment(const struct topo_why *why)
{
    static const char *const names[] = {"HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_FSROOT"};
    const char *same = getenv("HWLOC_THISSYSTEM");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (getenv(names[i]) && !(same && strcmp(same, "1") == 0))
            return topo_why(why, -EINVAL, "%s in the environment names another machine than this one: unset it", names[i]);
    return 0;
}

int topo_describe(hwloc_topology_t *out, const char *source, const struct topo_why *why)
{
    hwloc_topology_t topology = NULL;
    if (hwloc_topology_init(&topology))
        return topo_why(why, -ENOMEM, "no memory for a topology");
    hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    bool xml = topo_describe_kind(source) == LOCUS_TOPO_XML;
    int error = xml ? load_xml(topology, source, why) : load_synthetic(topology, source, why);
    if (error)
        hwloc_topology_destroy(topology);
    else
        *out = topology;
    return error;
}

void topo_describe_version(char *text, size_t bytes)
{
    hwloc_topology_t topology = NULL;
    const char *version = NULL;
    snprintf(text, bytes, "unknown");
    if (hwloc_topology_init(&topology))
        return;
    if (hwloc_topology_set_synthetic(topology, "pu:1") == 0 && hwloc_topology_load(topology) == 0)
        version = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), "hwlocVersion");
    if (version)
        snprintf(text, bytes, "%s", version);
    hwloc_topology_destroy(topology);
}
