// SPDX-License-Identifier: Apache-2.0
//
// arm: see arm.h.
//
// Under numactl weights are read and not mapped, because a mapped file's pages stay where they were first read.

#include "testbed/engine/arm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICES(how) .words = {"--split", how, NULL}, .threads = TB_ENGINE_DEVICES
#define BACKEND "GGML_BACKEND_PATH={lib}/libggml-locus.so"
#define PRELOAD "LD_PRELOAD={lib}/liblocus-kv.so"

static const struct tb_engine_arm arms[] = {
    {.name = "stock", .summary = "llama.cpp as it comes", .words = {NULL}},
    {.name = "stock-plain", .summary = "the same, with weights as they lie in the file, as on our devices", .words = {"--plain"}},
    {.name = "stock-billed",
     .summary = "stock-plain, and the steps once more for the parts of a step",
     .words = {"--plain", "--bill"}},
    {.name = "distribute", .summary = "its own --numa distribute: threads on all nodes in turn", .words = {"--numa", "distribute"}},
    {.name = "isolate", .summary = "its own --numa isolate: threads on the node where it starts", .words = {"--numa", "isolate"}},
    {.name = "numactl-interleave",
     .summary = "numactl --interleave=all, weights read and not mapped",
     .words = {"--read", "--numa", "numactl"},
     .before = {"numactl", "--interleave=all"}},
    {.name = "numactl-membind",
     .summary = "numactl with CPUs and memory of the first node, weights read",
     .words = {"--read", "--numa", "numactl"},
     .before = {"numactl", "--cpunodebind={node}", "--membind={node}"},
     .threads = TB_ENGINE_OF_ONE_NODE},
    {.name = "numactl-each",
     .summary = "the same on every node at once, a process each; the tokens of all",
     .words = {"--read", "--numa", "numactl"},
     .before = {"numactl", "--cpunodebind={node}", "--membind={node}"},
     .threads = TB_ENGINE_EACH_NODE},
    {.name = "kv-interleave",
     .summary = "distribute, and the KV cache alone interleaved over the nodes",
     .words = {"--numa", "distribute"},
     .environment = {PRELOAD, "LOCUS_KV_POLICY=interleave", "LOCUS_PAGES=4k"}},
    {.name = "kv-first-touch",
     .summary = "distribute, and a cell of the cache lies where it was first written",
     .words = {"--numa", "distribute"},
     .environment = {PRELOAD, "LOCUS_KV_POLICY=first-touch", "LOCUS_PAGES=4k"}},
    {.name = "layer",
     .summary = "a device for each node, and layers divided among them",
     DEVICES("layer"),
     .environment = {BACKEND}},
    {.name = "tensor", .summary = "a device for each node, and each layer divided", DEVICES("tensor"), .environment = {BACKEND}},
    {.name = "tensor-generic",
     .summary = "tensor, with the engine's own sum over the nodes",
     DEVICES("tensor"),
     .environment = {BACKEND, "LOCUS_SUM=generic"}},
    {.name = "tensor-static",
     .summary = "tensor, and the whole cache is written when it is opened",
     DEVICES("tensor"),
     .environment = {BACKEND, "LOCUS_KV=static"}},
    {.name = "tensor-populated",
     .summary = "tensor, and the whole cache is in memory from the start",
     DEVICES("tensor"),
     .environment = {BACKEND, "LOCUS_KV=populated"}},
    {.name = "hf-locus",
     .summary = "Hugging Face's transformers with locus.hf.Cache, in turns with its DynamicCache (make hf)",
     .words = {"--cache", "locus"},
     .program = TB_ENGINE_HF},
    {.name = "hf-dynamic",
     .summary = "the same with DynamicCache for both, which shows the noise",
     .words = {"--cache", "dynamic"},
     .program = TB_ENGINE_HF},
    {.name = "vllm-none", .summary = "recorded conversations on vLLM, as it comes (make vllm)", .program = TB_ENGINE_VLLM},
    {.name = "vllm-more",
     .summary = "the same with as much memory for vLLM's own cache as vllm-near has in all",
     .words = {"--more-mib", "48"},
     .program = TB_ENGINE_VLLM},
    {.name = "vllm-near",
     .summary = "with a tier in the node's memory",
     .words = {"--tiers", "near=48"},
     .program = TB_ENGINE_VLLM},
    {.name = "vllm-near-lru",
     .summary = "the same, and what was used longest ago leaves first",
     .words = {"--tiers", "near=48", "--policy", "lru"},
     .program = TB_ENGINE_VLLM},
    {.name = "vllm-int8",
     .summary = "with as much memory for a tier as int8",
     .words = {"--tiers", "int8=48", "--policy", "lru"},
     .program = TB_ENGINE_VLLM},
    {.name = "vllm-file", .summary = "with a tier in a file", .words = {"--tiers", "file=512"}, .program = TB_ENGINE_VLLM},
    {.name = "vllm-row",
     .summary = "with both, one after the other",
     .words = {"--tiers", "near=48,file=512"},
     .program = TB_ENGINE_VLLM},
    {.name = "vllm-row-again",
     .summary = "the same, and another engine goes on in the middle",
     .words = {"--tiers", "near=48,file=512", "--restart"},
     .program = TB_ENGINE_VLLM},
    {.name = "vllm-none-again",
     .summary = "vllm-none, and another engine goes on in the middle",
     .words = {"--restart"},
     .program = TB_ENGINE_VLLM},
    {.name = "tensor-4k", .summary = "tensor, in pages of 4 KiB", DEVICES("tensor"), .environment = {BACKEND, "LOCUS_PAGES=4k"}},
};

const struct tb_engine_arm *tb_engine_arm_at(size_t i)
{
    return i < sizeof(arms) / sizeof(arms[0]) ? &arms[i] : NULL;
}

const struct tb_engine_arm *tb_engine_arm_find(const char *name)
{
    for (size_t i = 0; tb_engine_arm_at(i); i++)
        if (strcmp(arms[i].name, name) == 0)
            return &arms[i];
    return NULL;
}

bool tb_engine_arm_can_start(const struct tb_engine_arm *arm)
{
    const char *path = getenv("PATH");
    for (const char *at = path ? path : ""; arm->before[0] && *at;) {
        char file[4096];
        size_t length = strcspn(at, ":");
        snprintf(file, sizeof(file), "%.*s/%s", (int)length, at, arm->before[0]);
        if (access(file, X_OK) == 0)
            return true;
        at += length + (at[length] == ':');
    }
    return !arm->before[0];
}
