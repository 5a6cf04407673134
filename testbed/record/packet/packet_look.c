// SPDX-License-Identifier: Apache-2.0
//
// packet_look: what a packet says of the machine: topology, hwloc's XML, and the doctor's findings in their short form, as in the
// header of a log. What the doctor's commands say of devices and processes stays on the host.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/host/doctor/doctor.h"
#include "testbed/host/host.h"
#include "testbed/host/topology/topo_view.h"
#include "testbed/record/packet/packet.h"
#include "topo/topo.h"

static char *dumped(json_t *object)
{
    char *text = object ? json_dumps(object, JSON_INDENT(1)) : NULL;
    json_decref(object);
    return text;
}

static char *topo_text(void)
{
    struct locus_topo *topo = NULL;
    struct tb_topo_host host = {.numa_balancing = -1};
    if (locus_topo_open(&topo, NULL, NULL, 0))
        return NULL;
    tb_topo_host_probe(topo, &host);
    char *text = dumped(tb_topo_json(topo, NULL, &host));
    locus_topo_close(topo);
    return text;
}

static char *xml_text(void)
{
    struct tb_host host = {.root = ""};
    json_t *hwloc = tb_environment_hwloc(&host);
    const char *xml = tb_member_text(hwloc, "xml");
    char *text = strncmp(xml, "<?xml", 5) == 0 ? strdup(xml) : NULL;
    json_decref(hwloc);
    return text;
}

static char *doctor_text(char kind[16])
{
    static const char *const kinds[][2] = {{"emulated", "emulated"}, {"virtual", "virtual"}, {"bare metal", "hardware"}};
    struct tb_doctor *doctor = calloc(1, sizeof *doctor);
    char *text = NULL;
    if (doctor && tb_doctor_look("", doctor) == 0) {
        const struct tb_finding *machine = tb_doctor_find(doctor, "machine");
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds && machine; i++)
            if (strncmp(machine->now, kinds[i][0], strlen(kinds[i][0])) == 0)
                snprintf(kind, 16, "%s", kinds[i][1]);
        text = dumped(tb_doctor_header(doctor));
        tb_doctor_close(doctor);
    }
    free(doctor);
    return text;
}

void tb_packet_look(struct tb_packet_part parts[TB_PACKET_LOOKS], char kind[16])
{
    snprintf(kind, 16, "unknown");
    parts[0] = (struct tb_packet_part){"topo.json", topo_text()};
    parts[1] = (struct tb_packet_part){"topo.xml", xml_text()};
    parts[2] = (struct tb_packet_part){"doctor.json", doctor_text(kind)};
}
