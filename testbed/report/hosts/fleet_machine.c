// SPDX-License-Identifier: Apache-2.0
//
// fleet_machine: which machine a log was written on, in the few words by which machines are told apart.
//
// Whether it is bare metal is what `locus doctor` found before the run. A log from before the doctor does not say, and nothing else
// in it does for sure, so it is "unknown" rather than guessed.
#include "testbed/report/hosts/fleet.h"

#include <string.h>

#include "testbed/base/json.h"
#include "testbed/host/host.h"

// A text that the host had: none of the words for what is absent.
static const char *told(const json_t *header, const char *path)
{
    static const char *const absent[] = {"ABSENT", "FORBIDDEN", "UNREADABLE"};
    const char *text = tb_member_text(header, path);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (strcmp(text, absent[i]) == 0)
            return "";
    return text;
}

static const char *kind_of(const json_t *header)
{
    static const char *const kinds[] = {"bare metal", "virtual", "emulated"};
    const char *said = tb_member_text(header, "doctor.findings.machine.now");
    if (tb_emulated(header)[0])
        return "emulated";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(said, kinds[i], strlen(kinds[i])) == 0)
            return kinds[i];
    return "unknown";
}

static size_t occurrences(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

// Adds "2 nodes"; nothing for none.
static void count(struct tb_words *words, size_t number, const char *what)
{
    if (number > 0)
        tb_say(words, "%s%zu %s%s", words->used ? ", " : "", number, what, number == 1 ? "" : "s");
}

static size_t cpus_of(const json_t *header)
{
    int count = tb_id_list_count(told(header, "env.cpu.online"));
    return count < 0 ? 0 : (size_t)count;
}

// Nodes whose list of CPUs is there and empty.
static size_t memory_nodes(const json_t *nodes)
{
    size_t found = 0;
    const char *number;
    json_t *node;
    json_object_foreach ((json_t *)nodes, number, node) {
        const char *cpus = json_string_value(json_object_get(node, "cpus"));
        found += cpus && !*cpus;
    }
    return found;
}

static void topology_of(const json_t *header, struct tb_words *words)
{
    const char *xml = told(header, "env.hwloc.xml"); // its counts are of what is online
    const json_t *nodes = tb_member(header, "env.nodes");
    size_t cores = occurrences(xml, "type=\"Core\""), cpus = cpus_of(header), bare = memory_nodes(nodes);
    count(words, occurrences(xml, "type=\"Package\""), "socket");
    count(words, json_object_size(nodes), "node");
    if (bare > 0)
        tb_say(words, " (%zu without CPUs)", bare);
    if (cores != cpus)
        count(words, cores, "core");
    count(words, cpus, "CPU");
}

json_t *tb_fleet_machine(const json_t *header)
{
    struct tb_words topology = {0};
    topology_of(header, &topology);
    const struct tb_json_member members[] = {
        {"kind", json_string(kind_of(header))},
        {"guest", tb_json_clean(tb_emulated(header))},
        {"cpu", tb_json_clean(told(header, "env.cpu.model"))},
        {"topology", tb_json_clean(topology.text)},
        {"kernel", tb_json_clean(told(header, "env.kernel.release"))},
    };
    return TB_JSON_OBJECT(members);
}
