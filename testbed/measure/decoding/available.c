// SPDX-License-Identifier: Apache-2.0
//
// available: the memory that a pool may have (decoding.h), in a file of its own: the measured process asks, too, and reads no
// traces.

#include <stdio.h>

#include "testbed/measure/decoding/decoding.h"
#include "topo/topo.h"

uint64_t tb_decoding_available(void)
{
    uint64_t room_bytes = 0, available_bytes = 0;
    unsigned long long kib = 0;
    char line[256];
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && !available_bytes && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            available_bytes = kib << 10;
    if (file)
        fclose(file);
    if (locus_cgroup_memory_room_bytes(&room_bytes) == 0 && room_bytes < available_bytes)
        available_bytes = room_bytes;
    return available_bytes;
}
