// SPDX-License-Identifier: Apache-2.0
//
// arm: the ways to run an engine that are compared, as words for the program that runs it, and its environment. To add one,
// add a line to the table in arm.c.
#ifndef TB_ENGINE_ARM_H
#define TB_ENGINE_ARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tb_engine_program {
    TB_ENGINE_LLAMA,            // locus-llama, with the cell's file
    TB_ENGINE_HF,               // hf_steps.py: transformers, with the cell's shape
    TB_ENGINE_VLLM,             // vllm_turns.py: vLLM, likewise
};

enum tb_engine_threads {
    TB_ENGINE_ALL,              // the engine's own, as many as asked for
    TB_ENGINE_OF_ONE_NODE,      // the same, but no more than the first node's CPUs
    TB_ENGINE_EACH_NODE,        // a process for each node at the same time, which share the threads
    TB_ENGINE_DEVICES,          // those of our devices; of its own the engine has one
};

struct tb_engine_arm {
    const char *name, *summary;
    const char *words[6];       // for the program, NULL-terminated
    const char *before[4];      // a program that starts it, with its words; NULL-terminated. {node} is the process's
    const char *environment[6]; // NAME=VALUE, NULL-terminated. {lib} is the folder with our libraries
    enum tb_engine_threads threads;
    enum tb_engine_program program;
};

const struct tb_engine_arm *tb_engine_arm_at(size_t i); // NULL ends the list
const struct tb_engine_arm *tb_engine_arm_find(const char *name);

// Is the program that starts it in PATH? True for one that needs none.
bool tb_engine_arm_can_start(const struct tb_engine_arm *arm);

#endif
