// SPDX-License-Identifier: Apache-2.0
//
// strategy: how the KV cache of sequences lies in one region of memory, as a table of functions. To add one, add one file.
//
// A strategy hears of sequences and tokens, never of blocks. Every strategy gets the same region, the same bytes per token and the
// same calls, and may answer that there is no room now. A scheduler (testbed/serving) makes the calls; who is admitted, who waits
// and who is thrown out follows from the answers.
//
//     admit(s, prompt, most) ... extend(s, 1) ... cut(s, n) ... release(s)
//     fork(s, t): t begins with all tokens of s, and both may be extended, cut and released in any order
//
// Sequences are numbers below setup.sequences; one that is not admitted is free to be admitted. A failed call changes nothing that
// a caller can see. Nothing here is thread-safe: one state, one thread.
#ifndef TB_STRATEGY_H
#define TB_STRATEGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "testbed/strategies/kv.h"

struct tb_strategy;

struct tb_strategy_setup {
    const struct tb_strategy *strategy;
    struct tb_kv *kv;           // the region: its tokens are the pool
    uint32_t block_tokens;      // tokens per block, where a strategy has blocks
    uint32_t sequences;         // live at once, at most
    uint32_t sequence_tokens;   // of the longest sequence, at most
    double watermark;           // part of the pool that an admission leaves free, where a strategy has a watermark
    bool executes;              // the calls are timed: do also what costs time and decides nothing
    const char *retention;      // policy of kept blocks, where a strategy keeps some; NULL: its default
};

// What a sequence begins with. Two prompts with the same id in the same place are equal up to the end of that id's tokens.
struct tb_prompt {
    uint32_t tokens;            // >= 1
    uint32_t ids_tokens;        // of these, the first ones that have ids; 0: none
    uint32_t id_tokens;         // id i stands for the tokens [i * id_tokens, (i + 1) * id_tokens), cut at ids_tokens
    const uint64_t *ids;        // chained
    uint64_t now_ns;            // on the virtual clock
};

struct tb_usage {               // in tokens of the region
    uint64_t reserved;          // held for live sequences, used or not
    uint64_t free;              // neither reserved nor kept
    uint64_t largest;           // the longest sequence that could be admitted now, by memory alone
    uint64_t holes;             // of the free ones, those in pieces shorter than `below`
    uint64_t kept;              // held for later requests, given up when the memory is needed
};

struct tb_strategy_ops {
    int (*open)(const struct tb_strategy_setup *setup, void **state);
    void (*close)(void *state);

    // Makes room for the prompt and may reserve more: the sequence will have at most `most` tokens (prompt included). *cached of
    // the prompt's tokens are there already, with their contents. -EAGAIN: not now. -ENOSPC: never, not even alone.
    int (*admit)(void *state, uint32_t sequence, const struct tb_prompt *prompt, uint32_t most, uint32_t *cached);

    // Makes room for that many tokens more. 0, or -EAGAIN.
    int (*extend)(void *state, uint32_t sequence, uint32_t tokens);

    // `to` is not live; it will have at most `most` tokens. 0, -EAGAIN, or -ENOTSUP: nothing is shared here, the caller admits and
    // copies. NULL: always -ENOTSUP.
    int (*fork)(void *state, uint32_t from, uint32_t to, uint32_t most);

    void (*cut)(void *state, uint32_t sequence, uint32_t tokens); // keeps the first `tokens` >= 1
    void (*release)(void *state, uint32_t sequence, bool keep);   // keep: a later request may begin with its prompt

    // Where the token at `position` lies; *run tokens from it on lie one after the other. Valid until the next call that may move
    // or free it.
    void *(*at)(void *state, uint32_t sequence, uint32_t position, uint32_t *run);

    void (*usage)(void *state, uint64_t below, struct tb_usage *out);

    // Do its own books agree? 0, or -EBADMSG and a sentence that names what does not.
    int (*audit)(void *state, char *why, size_t why_bytes);
};

struct tb_strategy {
    const char *name;           // "first-fit": for arms
    const char *summary;        // one line for `locus serve --help`
    const struct tb_strategy_ops *ops;
    uint64_t parameter;         // what tells the members of one file apart
    uint32_t calls_timed;       // execute only so many of a record, because each takes long; 0: all
    bool promises;              // who is admitted has room for all of `most`: no extension is refused
    bool trap;                  // a faulty listing, kept to show how it fails: never ranked
    bool needs_ids;             // makes sense only with a trace that has ids
};

// As TB_CONTENDER: the linker keeps the list.
#define TB_STRATEGY(variable)                                                                                                      \
    static const struct tb_strategy *const variable##_entry __attribute__((used, retain, section("tb_strategies"))) = &(variable)

const struct tb_strategy *tb_strategy_at(size_t i); // by name; NULL after the last
const struct tb_strategy *tb_strategy_find(const char *name);

#endif
