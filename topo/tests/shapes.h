// SPDX-License-Identifier: Apache-2.0
//
// shapes: well-known machines, scaled down to a few cores, for the tests of all layers: the input of locus_topo_open(), and its
// expected result. Made with hwloc, after the reports of such machines. The XML files are in topo/tests/fixtures: a test that
// opens them runs in the project's folder.
#ifndef SHAPES_H
#define SHAPES_H

#include "topo/topo.h"

#define SHAPES_NODES_MAX 8

struct shape_node {
    int os_index;
    enum locus_node_kind kind;
    unsigned gib;
    const char *cpus;           // as locus topo prints them; "" for none
    const char *tier;
};

struct shape {
    const char *name, *source;
    unsigned packages, cores, smt;
    struct shape_node nodes[SHAPES_NODES_MAX + 1]; // ended by one of all 0
    unsigned distances[SHAPES_NODES_MAX * SHAPES_NODES_MAX]; // by row; all 0: none are described
};

#define SHAPE_XML(name) "topo/tests/fixtures/" name ".xml"
#define DRAM LOCUS_NODE_DRAM

static const struct shape shapes[] = {
    {"one node", "[numa(memory=16GiB)] core:4 pu:2", 0, 4, 2, {{0, DRAM, 16, "0-7", NULL}}, {0}},
    {"two sockets",
     SHAPE_XML("two_sockets"),
     2,
     8,
     2,
     {{0, DRAM, 128, "0-3,8-11", NULL}, {1, DRAM, 128, "4-7,12-15", NULL}},
     {10, 21, 21, 10}},
    {"EPYC of two sockets, four nodes each (NPS4)",
     SHAPE_XML("epyc_nps4"),
     2,
     8,
     2,
     {{0, DRAM, 96, "0,8", NULL},
      {1, DRAM, 96, "1,9", NULL},
      {2, DRAM, 96, "2,10", NULL},
      {3, DRAM, 96, "3,11", NULL},
      {4, DRAM, 96, "4,12", NULL},
      {5, DRAM, 96, "5,13", NULL},
      {6, DRAM, 96, "6,14", NULL},
      {7, DRAM, 96, "7,15", NULL}},
     {10, 12, 12, 12, 32, 32, 32, 32, 12, 10, 12, 12, 32, 32, 32, 32, 12, 12, 10, 12, 32, 32,
      32, 32, 12, 12, 12, 10, 32, 32, 32, 32, 32, 32, 32, 32, 10, 12, 12, 12, 32, 32, 32, 32,
      12, 10, 12, 12, 32, 32, 32, 32, 12, 12, 10, 12, 32, 32, 32, 32, 12, 12, 12, 10}},
    {"Xeon of two sockets, two nodes each (SNC2)",
     SHAPE_XML("snc2"),
     2,
     8,
     2,
     {{0, DRAM, 128, "0-1,8-9", NULL},
      {1, DRAM, 128, "2-3,10-11", NULL},
      {2, DRAM, 128, "4-5,12-13", NULL},
      {3, DRAM, 128, "6-7,14-15", NULL}},
     {10, 12, 21, 21, 12, 10, 21, 21, 21, 21, 10, 12, 21, 21, 12, 10}},
    {"HBM in flat mode",
     SHAPE_XML("hbm_flat"),
     2,
     8,
     1,
     {{0, DRAM, 256, "0-3", NULL},
      {1, DRAM, 256, "4-7", NULL},
      {2, LOCUS_NODE_MEMORY_ONLY, 64, "", "HBM"},
      {3, LOCUS_NODE_MEMORY_ONLY, 64, "", "HBM"}},
     {10, 21, 13, 23, 21, 10, 23, 13, 13, 23, 10, 23, 23, 13, 23, 10}},
    {"CXL memory that both sockets reach",
     SHAPE_XML("cxl"),
     2,
     4,
     2,
     {{0, DRAM, 128, "0-1,4-5", NULL}, {1, DRAM, 128, "2-3,6-7", NULL}, {2, LOCUS_NODE_MEMORY_ONLY, 256, "", "CXL"}},
     {10, 21, 24, 21, 10, 34, 24, 34, 10}},
    {"nodes 4 to 7 and no others",
     SHAPE_XML("sparse_4_to_7"),
     4,
     8,
     1,
     {{4, DRAM, 16, "32-33", NULL}, {5, DRAM, 16, "34-35", NULL}, {6, DRAM, 16, "36-37", NULL}, {7, DRAM, 16, "38-39", NULL}},
     {10, 20, 20, 20, 20, 10, 20, 20, 20, 20, 10, 20, 20, 20, 20, 10}},
    {"a socket without memory",
     SHAPE_XML("cpu_only"),
     2,
     4,
     1,
     {{0, DRAM, 64, "0-1", NULL}, {1, LOCUS_NODE_CPU_ONLY, 0, "2-3", NULL}},
     {10, 20, 20, 10}},
    {"four sockets, glued in pairs, of unequal ways",
     SHAPE_XML("glued"),
     4,
     8,
     1,
     {{0, DRAM, 256, "0-1", NULL}, {1, DRAM, 256, "2-3", NULL}, {2, DRAM, 256, "4-5", NULL}, {3, DRAM, 256, "6-7", NULL}},
     {10, 15, 40, 45, 15, 10, 45, 40, 40, 44, 10, 15, 45, 40, 16, 10}},
    {"Grace with a GPU's memory, and two nodes for parts of it",
     SHAPE_XML("grace"),
     1,
     8,
     1,
     {{0, DRAM, 480, "0-7", NULL},
      {1, LOCUS_NODE_GPU_MEMORY, 96, "", NULL},
      {2, LOCUS_NODE_EMPTY, 0, "", NULL},
      {3, LOCUS_NODE_EMPTY, 0, "", NULL}},
     {10, 80, 80, 80, 80, 10, 255, 255, 80, 255, 10, 255, 80, 255, 255, 10}},
};

#undef DRAM
#define SHAPES_COUNT (sizeof shapes / sizeof *shapes)

#endif
