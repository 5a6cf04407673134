// SPDX-License-Identifier: Apache-2.0
//
// maps: reads smaps for sizes, names and huge pages, and numa_maps for nodes and policies.
//
// numa_maps has a line for each mapping, without its end: "7f00 bind:0 file=/a\040b anon=3 N0=3 kernelpagesize_kB=4". Pages are
// counted in that page size, so those of hugetlb in huge pages; transparent huge pages are counted in base pages. A policy may
// have a blank in it ("prefer (many):0", "weighted interleave:0-1"). A mapping without pages has neither counts nor page size.
//
// The two files are read one after the other while the process runs, so either may have a mapping that the other lacks.
#include "testbed/host/process/maps.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KIB 1024u

uint64_t tb_mapping_present(const struct tb_mapping *mapping)
{
    uint64_t bytes = mapping->elsewhere_bytes;
    if (!mapping->placed)
        return mapping->rss_bytes + mapping->hugetlb_bytes;
    for (unsigned n = 0; n < TB_PROCESS_NODES_MAX; n++)
        bytes += mapping->on_bytes[n];
    return bytes;
}

int tb_process_node_at(const struct tb_process *process, int node)
{
    for (unsigned n = 0; n < process->nodes_count; n++)
        if (process->node[n] == node)
            return (int)n;
    return -1;
}

void tb_maps_close(struct tb_maps *maps)
{
    for (size_t i = 0; i < maps->count; i++)
        free(maps->mapping[i].name);
    free(maps->mapping);
    *maps = (struct tb_maps){0};
}

static struct tb_mapping *mapping_add(struct tb_maps *maps, uint64_t start)
{
    if (maps->count == maps->room) {
        size_t room = maps->room ? 2 * maps->room : 256;
        struct tb_mapping *larger = realloc(maps->mapping, room * sizeof *larger);
        if (!larger)
            return NULL;
        maps->mapping = larger;
        maps->room = room;
    }
    maps->mapping[maps->count] = (struct tb_mapping){.start = start, .end = start};
    return &maps->mapping[maps->count++];
}

static int by_start(const void *left, const void *right)
{
    const struct tb_mapping *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

// --- smaps ---------------------------------------------------------------------------------------------------------------------

// "7f00-7f10 rw-p 00000000 00:00 0     [heap]". 1: it is one, 0: it is a line of another kind.
static int header_read(const char *line, struct tb_maps *maps)
{
    uint64_t start, end;
    char access[8] = "";
    int after = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*x %*x:%*x %*u%n", &start, &end, access, &after) < 3 || !after || end < start)
        return 0;
    const char *name = line + after + strspn(line + after, " \t");
    struct tb_mapping *mapping = mapping_add(maps, start);
    if (!mapping)
        return -ENOMEM;
    mapping->end = end;
    mapping->barred = strncmp(access, "---", 3) == 0;
    mapping->name = *name && *name != '\n' ? strndup(name, strcspn(name, "\n")) : NULL;
    return *name && *name != '\n' && !mapping->name ? -ENOMEM : 1;
}

static void field_read(const char *line, struct tb_mapping *mapping)
{
    struct {
        const char *name;
        uint64_t *bytes;
    } fields[] = {
        {"Rss", &mapping->rss_bytes},
        {"KernelPageSize", &mapping->page_bytes},
        {"AnonHugePages", &mapping->huge_bytes},
        {"ShmemPmdMapped", &mapping->huge_bytes},
        {"FilePmdMapped", &mapping->huge_bytes},
        {"Shared_Hugetlb", &mapping->hugetlb_bytes},
        {"Private_Hugetlb", &mapping->hugetlb_bytes},
    };
    char name[32];
    uint64_t kib;
    if (sscanf(line, "%31[A-Za-z_]: %" SCNu64 " kB", name, &kib) != 2)
        return;
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
        if (strcmp(name, fields[f].name) == 0)
            *fields[f].bytes += kib * KIB;
}

static int smaps_line(char *line, const struct tb_process *nodes, struct tb_maps *maps)
{
    (void)nodes;
    int header = header_read(line, maps);
    if (header == 0 && maps->count > 0)
        field_read(line, &maps->mapping[maps->count - 1]);
    return header < 0 ? header : 0;
}

// --- numa_maps -----------------------------------------------------------------------------------------------------------------

// The mapping of that start among those of smaps, or a new one.
static struct tb_mapping *mapping_of(struct tb_maps *maps, uint64_t start)
{
    const struct tb_mapping key = {.start = start};
    struct tb_mapping *found = maps->known ? bsearch(&key, maps->mapping, maps->known, sizeof key, by_start) : NULL;
    return found ? found : mapping_add(maps, start);
}

// "\040" is how the kernel writes a blank in a name. 0: there is no such thing at `text`.
static int octal_at(const char *text)
{
    bool octal =
        text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] >= '0' && text[2] <= '7' && text[3] >= '0' && text[3] <= '7';
    return octal ? (text[1] - '0') * 64 + (text[2] - '0') * 8 + text[3] - '0' : 0;
}

static char *name_read(const char *escaped)
{
    char *name = strdup(escaped), *to = name;
    for (const char *from = escaped; name && *from; to++) {
        int code = octal_at(from);
        *to = code ? (char)code : *from;
        from += code ? 4 : 1;
    }
    if (name)
        *to = '\0';
    return name;
}

static int word_read(const char *word, const struct tb_process *nodes, struct tb_mapping *mapping, uint64_t pages[],
                     uint64_t *elsewhere)
{
    int node;
    uint64_t count, kib;
    if (sscanf(word, "N%d=%" SCNu64, &node, &count) == 2) {
        int at = tb_process_node_at(nodes, node);
        *(at < 0 ? elsewhere : &pages[at]) += count;
    } else if (sscanf(word, "kernelpagesize_kB=%" SCNu64, &kib) == 1) {
        mapping->page_bytes = kib * KIB;
    } else if (!mapping->name && strncmp(word, "file=", 5) == 0) {
        mapping->name = name_read(word + 5);
        return mapping->name ? 0 : -ENOMEM;
    } else if (!mapping->name && strcmp(word, "heap") == 0) {
        mapping->name = strdup("[heap]");
        return mapping->name ? 0 : -ENOMEM;
    }
    return 0;
}

static bool policy_goes_on(const char *policy, const char *word)
{
    return (strcmp(policy, "prefer") == 0 && word[0] == '(') ||
           (strcmp(policy, "weighted") == 0 && strncmp(word, "interleave", 10) == 0);
}

static int numa_line_of(char *rest, uint64_t start, const struct tb_process *nodes, struct tb_maps *maps)
{
    uint64_t pages[TB_PROCESS_NODES_MAX] = {0}, elsewhere = 0;
    struct tb_mapping *mapping = mapping_of(maps, start);
    char *more = NULL, *word = strtok_r(rest, " \n", &more);
    int error = mapping ? 0 : -ENOMEM;
    if (error)
        return error;
    snprintf(mapping->policy, sizeof mapping->policy, "%s", word ? word : "");
    while (!error && (word = strtok_r(NULL, " \n", &more))) {
        size_t used = strlen(mapping->policy);
        if (policy_goes_on(mapping->policy, word))
            snprintf(mapping->policy + used, sizeof mapping->policy - used, " %s", word);
        else
            error = word_read(word, nodes, mapping, pages, &elsewhere);
    }
    uint64_t page_bytes = mapping->page_bytes ? mapping->page_bytes : (uint64_t)sysconf(_SC_PAGESIZE);
    for (unsigned n = 0; n < nodes->nodes_count; n++)
        mapping->on_bytes[n] = pages[n] * page_bytes;
    mapping->elsewhere_bytes = elsewhere * page_bytes;
    mapping->placed = true;
    return error;
}

static int numa_line(char *line, const struct tb_process *nodes, struct tb_maps *maps)
{
    char *end;
    uint64_t start = strtoull(line, &end, 16);
    if (end == line || *end != ' ' || !isalpha((unsigned char)end[1])) {
        maps->lines_bad++;
        return 0;
    }
    return numa_line_of(end + 1, start, nodes, maps);
}

// --- both ----------------------------------------------------------------------------------------------------------------------

typedef int line_reader(char *line, const struct tb_process *nodes, struct tb_maps *maps);

// *file_errno is why the file could not be read to its end.
static int file_read(const struct tb_host *host, uint64_t pid, const char *name, line_reader *read, const struct tb_process *nodes,
                     struct tb_maps *maps, int *file_errno)
{
    char path[TB_HOST_PATH], *line = NULL;
    size_t room = 0;
    int error = 0;
    snprintf(path, sizeof path, "%s/proc/%" PRIu64 "/%s", host->root, pid, name);
    FILE *file = fopen(path, "re");
    *file_errno = file ? 0 : errno;
    if (!file)
        return 0;
    errno = 0;
    while (!error && getline(&line, &room, file) > 0)
        error = read(line, nodes, maps);
    if (!error && !feof(file))
        *file_errno = errno ? errno : EIO;
    free(line);
    fclose(file);
    return error;
}

// A kernel may be built without smaps; maps has the same headers.
int tb_maps_read(const struct tb_host *host, uint64_t pid, const struct tb_process *nodes, struct tb_maps *out)
{
    *out = (struct tb_maps){0};
    int error = file_read(host, pid, "smaps", smaps_line, nodes, out, &out->smaps_errno);
    if (!error && out->smaps_errno == ENOENT)
        error = file_read(host, pid, "maps", smaps_line, nodes, out, &out->smaps_errno);
    out->known = out->count;
    if (!error)
        error = file_read(host, pid, "numa_maps", numa_line, nodes, out, &out->numa_errno);
    if (!error && out->count > 0)
        qsort(out->mapping, out->count, sizeof *out->mapping, by_start);
    return error;
}
