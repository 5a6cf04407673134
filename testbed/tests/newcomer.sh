#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all free
#
# Can a newcomer add a contender, a workload, a strategy, a policy of retention, a scenario, a view and a metric by the READMEs of
# their rooms? In a copy of the tree: one file each and make, and all are there, run, and pass their gates. LOCUS=path/to/locus
# names the build whose objects the copy starts with.
set -u
: "${LOCUS:?LOCUS must name the program}"
repository=$(realpath "$(dirname "$0")/../..")
build=$(dirname "$(realpath "$LOCUS")")
. "$(dirname "$0")/cases.bash"
tree=$scratch/tree
mkdir -p "$tree/build" && cd "$repository" || exit 1

# Timestamps are kept, so that make compiles only new files. The build needs no logs.
for path in topo placement testbed experiments postulates logs .ci Makefile README.md LICENSE; do
    cp -a "$path" "$tree/" || exit 1
done
cp -a "$build" "$tree/build/gcc" && cd "$tree" || exit 1
rm -f build/gcc/locus

# A stack of blocks with a lock: the simplest real pool.
cat >testbed/contenders/newcomer.c <<'C'
// SPDX-License-Identifier: Apache-2.0
//
// newcomer: a stack of blocks under a lock.
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "testbed/measure/driver.h"

struct newcomer {
    pthread_mutex_t lock;
    char *memory;
    locus_block *stack;
    uint32_t free, blocks;
    uint64_t taken, freed, requests;
};

static int newcomer_open(const struct tb_setup *setup, void **out)
{
    struct newcomer *pool = calloc(1, sizeof *pool);
    *out = pool;
    if (!pool)
        return -ENOMEM;
    pthread_mutex_init(&pool->lock, NULL);
    pool->blocks = setup->pool_blocks;
    pool->memory = aligned_alloc(4096, setup->pool_blocks * ((setup->block_bytes + 4095) / 4096 * 4096));
    pool->stack = calloc(setup->pool_blocks, sizeof *pool->stack);
    if (!pool->memory || !pool->stack)
        return -ENOMEM;
    for (; pool->free < pool->blocks; pool->free++)
        pool->stack[pool->free] = (uintptr_t)pool->memory + pool->free * setup->block_bytes;
    return 0;
}

static void newcomer_close(void *context)
{
    struct newcomer *pool = context;
    free(pool->memory);
    free(pool->stack);
    free(pool);
}

static locus_block newcomer_alloc(void *context)
{
    struct newcomer *pool = context;
    pthread_mutex_lock(&pool->lock);
    locus_block block = pool->free ? pool->stack[--pool->free] : 0;
    pool->taken += block != 0;
    pthread_mutex_unlock(&pool->lock);
    return block;
}

static int newcomer_take(void *context, struct locus_table *table, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        locus_block block = newcomer_alloc(context);
        if (!block)
            return -ENOMEM;
        table->blocks[table->count++] = block;
    }
    return 0;
}

static void newcomer_release(void *context, locus_block blocks[], uint32_t count)
{
    struct newcomer *pool = context;
    pthread_mutex_lock(&pool->lock);
    for (uint32_t i = 0; i < count; i++)
        pool->stack[pool->free++] = blocks[i];
    pool->freed += count;
    pthread_mutex_unlock(&pool->lock);
}

static void *newcomer_address(void *context, locus_block block)
{
    (void)context;
    return (void *)(uintptr_t)block;
}

static int newcomer_retire(void *context, struct locus_table *table)
{
    (void)context, (void)table;
    return 0;
}

static void newcomer_finish(void *context, uint32_t worker, struct locus_table *table)
{
    (void)worker;
    newcomer_release(context, table->blocks, table->count);
    ((struct newcomer *)context)->requests++;
    table->count = 0;
}

static void newcomer_drain(void *context)
{
    (void)context;
}

static uint64_t newcomer_freed(void *context)
{
    return ((struct newcomer *)context)->freed;
}

static void newcomer_audit(void *context, struct tb_audit *out)
{
    struct newcomer *pool = context;
    *out = (struct tb_audit){.allocated = pool->taken, .freed = pool->freed, .drained = pool->requests};
    out->not_home = pool->blocks - pool->free;
}

static const struct tb_ops newcomer_ops = {
    .open = newcomer_open,
    .close = newcomer_close,
    .take = newcomer_take,
    .alloc = newcomer_alloc,
    .release = newcomer_release,
    .address = newcomer_address,
    .retire = newcomer_retire,
    .finish = newcomer_finish,
    .drain = newcomer_drain,
    .freed = newcomer_freed,
    .audit = newcomer_audit,
};
TB_DRIVER(newcomer_ops);

static const struct tb_contender newcomer = {.name = "newcomer", .summary = "a stack under a lock", .driver = &newcomer_ops_driver};
TB_CONTENDER(newcomer);
C
sed 's/cycle-256/newcomers-cycle/; s/REQUESTS 8u/REQUESTS 4u/' testbed/workload/cycle.c >testbed/workload/newcomer.c

# As the READMEs say: a copy, with other names and something changed.
sed 's/"first-fit"/"newcomers-fit"/; s/"best-fit"/"newcomers-best"/; s/"compact"/"newcomers-compact"/
     s/the lowest that fits/by a newcomer/' testbed/strategies/fits.c >testbed/strategies/newcomer.c
sed 's/{"beam"/{"newcomers-beam"/; s/{"speculative"/{"newcomers-drafts"/; s/REQUESTS 2000u/REQUESTS 30u/; s/64u, 2048u/16u, 64u/' \
    testbed/workload/scenarios/generation.c >testbed/workload/scenarios/newcomer.c
# What came last leaves first.
sed 's/"fifo"/"newcomers-lifo"/; s/fifo->arrivals++/UINT64_MAX - fifo->arrivals++/' testbed/workload/cache/evict_fifo.c \
    >testbed/workload/cache/evict_newcomer.c

# A view: a command and its document.
cat >testbed/cli/newcomer.c <<'C'
// SPDX-License-Identifier: Apache-2.0
//
// locus primes: the primes below ten.
#include "testbed/cli/command.h"
#include "testbed/cli/forms.h"
#include "testbed/base/cli.h"

static error_t parse(int key, char *argument, struct argp_state *state)
{
    (void)argument;
    if (key != ARGP_KEY_INIT)
        return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = state->input;
    return 0;
}

static int command(int argc, char **argv)
{
    static const struct tb_column columns[] = {{"prime", "prime", TB_AS_IS, false}, {NULL, NULL, TB_AS_IS, false}};
    const struct argp_child children[] = {{&tb_forms_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {NULL, parse, NULL, "The primes below ten.", children, NULL, NULL};
    struct tb_forms forms = {.csv_table = "primes"};
    int status = tb_cli_parse(&argp, "primes", argc, argv, &forms);
    if (status != TB_CLI_RUN)
        return status;
    struct tb_doc *doc = tb_doc_open(NULL);
    struct tb_table *table = tb_doc_table(doc, "primes", "Primes", columns);
    for (uint64_t prime = 2; prime < 10; prime += prime == 2 ? 1 : 2) {
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_count(prime));
    }
    return tb_forms_write(&forms, doc);
}

TB_COMMAND(45, "primes", "the primes below ten", command);
C
# A metric: a line of the table, on a value that samples already have.
row='{"allocated", "allocated", false, false, false, false, false, false, NULL, "count", "handed out"},'
sed -i 's|^    {"waits", "waits".*|&\n    '"$row|" testbed/postulate/metric.c

check builds_with_one_file_each make DPDK="${DPDK-}" CC="${CC:-gcc}" build/gcc/locus
LOCUS=$tree/build/gcc/locus
holds it_is_a_program 'there is none' test -x "$LOCUS"

check the_scoreboard_is_shown locus 0 report standings --all
check the_scoreboard_names_the_workload grep -q newcomers-cycle "$out"
check the_scoreboard_names_the_contender grep -qw newcomer "$out"
check help_names_the_contender locus 0 eval --help
check the_summary_is_there grep -q 'a stack under a lock' "$out"

check help_names_the_command locus 0 --help
check its_summary_stands_there grep -q '^  primes  *the primes below ten' "$out"
check the_command_shows_text locus 0 primes
check as_a_table grep -qx ' *7' "$out"
check the_command_writes_csv locus 0 primes --csv
check line_by_line grep -qx '7' "$out"
check the_command_writes_json locus 0 primes --json
says the_rows_have_keys '.primes[3].prime == 7'
postulate() { # number, arms, cells, the rest of the claim
    sed "s/\"NNNN\"/\"$1\"/; s/^title:.*/title: Blocks/; s|^  - {id: P1.*|  - {id: P1, $4}|; s/^prior:.*/prior: nothing/
         s/^pilot:.*/pilot: none/
         s|^arms:.*|arms: {$2}|; s|^cells:.*|cells: [$3]|" testbed/postulate/TEMPLATE.md >"postulates/$1-newcomer.md"
}
postulate 9301 'A: locus, B: glibc, C: locus' churn-touch/full \
    'metric: allocated, cell: churn-touch/full, stat: max, arm: A, op: ">=", value: 1, unit: count'
check a_postulate_may_claim_the_metric locus 0 postulate check 9301

check it_runs locus 0 eval -q -W newcomers-cycle,steady-decode -c newcomer,locus -r 2 --laps 2 -d inline --json
says it_is_one_of_two_contenders_on_two_workloads '[.cells[] | .arms | length] == [2, 2]'
says every_gate_passed '[.cells[].arms[].valid] | all'
says the_workload_is_the_newcomers '.cells[0].workload == "newcomers-cycle"'
check a_lost_request_is_noticed locus 1 eval -q -W newcomers-cycle -c newcomer@drop-chunk -r 1 --laps 2 -d inline

check help_names_the_strategy locus 0 serve --help
check and_says_what_it_is grep -q 'newcomers-fit  *one piece of the exact length, by a newcomer' "$out"
check help_names_the_scenario grep -q 'newcomers-beam  *2 to 8 beams' "$out"
check all_serve_the_scenario locus 0 serve newcomers-beam --pool 8192t -q --json
says as_many_requests_as_the_newcomer_wants '.cells[0].serving.requests == 30'
says the_strategy_is_one_of_them '[.cells[0].strategies[] | select(.name == "newcomers-fit" and .ranked)] | length == 1'
says it_does_what_its_original_does \
    '[.cells[0].strategies[] | select(.name == "newcomers-fit", .name == "first-fit") | .served | del(.call_ns)] |
     length == 2 and .[0] == .[1]'
postulate 9302 'A: newcomers-fit, B: newcomers-fit' newcomers-beam/serve/16t/8192t \
    'metric: steps, cell: newcomers-beam/serve/16t/8192t, stat: max, arm: A, op: ">=", value: 1, unit: count'
check a_postulate_may_name_both locus 0 postulate check 9302

trace=testbed/workload/turns.jsonl
check policies_are_compared locus 0 serve $trace --policies --pool 51200t -q --json
says the_newcomers_policy_is_one_and_does_something_else \
    '[.policies[] | select(.policy == "newcomers-lifo", .policy == "fifo") | .hit_ratio."100"] | length == 2 and .[0] != .[1]'
check help_names_the_policy grep -q 'newcomers-lifo ' <("$LOCUS" serve --help)
postulate 9303 'A: newcomers-lifo, B: newcomers-lifo' turns/keep/100b \
    'metric: hit_ratio, cell: turns/keep/100b, stat: max, arm: A, op: ">=", value: 0, unit: ratio'
check a_postulate_may_name_the_policy locus 0 postulate check 9303

done_testing
