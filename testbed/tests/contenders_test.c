// SPDX-License-Identifier: Apache-2.0
//
// contenders: whatever is in the linker section keeps the contract of contender.h. The tests do not know the contenders, apart
// from three kinds: the harness' own (their blocks may be one and the same), the oracle (its blocks are those of the schedule and
// no others) and the pools of this project, whose handles are checked and whose size is a limit.
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "testbed/driver_ops.h"
#include "testbed/nodes/ops.h"

#define BLOCK_BYTES 4096u
#define POOL_BLOCKS 64u
#define TABLES 4u

// Those that run on one node.
#define EACH(contender)                                                                                                            \
    (const struct tb_contender *const *contender = __start_tb_contenders; contender < __stop_tb_contenders;                        \
     contender++) if ((*contender)->driver)

// One contender, opened, and some tables that the test plays the driver with.
struct play {
    const struct tb_contender *contender;
    const struct tb_ops *ops;
    void *context;
    struct tb_schedule *schedule;
    struct locus_table *tables[TABLES];
    uint64_t taken, retired;
};

// Two requests at once, one that grows, one that comes after a retirement; everything is home at the end of the lap.
static struct tb_schedule *small_schedule(uint32_t pool_blocks)
{
    static const struct {
        enum tb_op_kind kind;
        uint32_t slot, count;
    } ops[] = {
        {TB_OP_TAKE, 0, 3}, {TB_OP_TAKE, 1, 2}, {TB_OP_DRAIN, 0, 0},  {TB_OP_RETIRE, 0, 0}, {TB_OP_DRAIN, 0, 0},
        {TB_OP_TAKE, 2, 4}, {TB_OP_TAKE, 1, 1}, {TB_OP_RETIRE, 1, 0}, {TB_OP_RETIRE, 2, 0}, {TB_OP_DRAIN, 0, 0},
    };
    struct tb_builder *builder;
    struct tb_schedule *schedule;
    cr_assert_eq(tb_builder_open(&builder), 0);
    cr_assert_eq(tb_builder_mark_lap(builder), 0);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        cr_assert_eq(tb_builder_add(builder, ops[i].kind, ops[i].slot, ops[i].count), 0);
    cr_assert_eq(tb_builder_mark_epilogue(builder), 0);
    cr_assert_eq(tb_builder_pack(builder, "small", pool_blocks, &schedule), 0);
    tb_builder_close(builder);
    return schedule;
}

static void play_open(struct play *play, const struct tb_contender *contender, uint32_t pool_blocks)
{
    *play = (struct play){.contender = contender, .ops = contender->driver->ops, .schedule = small_schedule(pool_blocks)};
    struct tb_setup setup = {.schedule = play->schedule, .block_bytes = BLOCK_BYTES, .pool_blocks = pool_blocks, .workers = 2};
    int error = play->ops->open(&setup, &play->context);
    cr_assert_eq(error, 0, "%s: open: %s", contender->name, strerror(-error));
    for (uint32_t i = 0; i < TABLES; i++) {
        play->tables[i] = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(1, pool_blocks));
        cr_assert_eq(locus_table_init(play->tables[i], 1, pool_blocks, 1), 0);
    }
}

static void play_close(struct play *play)
{
    play->ops->close(play->context);
    for (uint32_t i = 0; i < TABLES; i++)
        free(play->tables[i]);
    free(play->schedule);
}

static int play_take(struct play *play, uint32_t slot, uint32_t count)
{
    int error = play->ops->take(play->context, play->tables[slot], count);
    play->taken += error ? 0 : count;
    return error;
}

static void play_retire(struct play *play, uint32_t slot)
{
    int error = play->ops->retire(play->context, play->tables[slot]);
    cr_assert_eq(error, 0, "%s: retire: %s", play->contender->name, strerror(-error));
    play->retired++;
}

static void *play_address(const struct play *play, uint32_t slot, uint32_t i)
{
    return play->ops->address(play->context, play->tables[slot]->blocks[i]);
}

static void expect_home(struct play *play, uint64_t refused)
{
    const char *name = play->contender->name;
    struct tb_audit audit = {0};
    for (uint32_t i = 0; i < TABLES; i++)
        cr_expect(play->tables[i]->count == 0 && play->tables[i]->state == LOCUS_TABLE_LIVE, "%s: table %u is not back", name, i);
    cr_expect_eq(play->ops->freed(play->context), play->taken - refused, "%s: freed()", name);
    play->ops->audit(play->context, &audit);
    cr_expect_eq(audit.allocated, play->taken, "%s: allocated %lu of %lu", name, audit.allocated, play->taken);
    cr_expect_eq(audit.freed, play->taken - refused, "%s: freed %lu of %lu", name, audit.freed, play->taken);
    cr_expect_eq(audit.drained, play->retired, "%s: drained %lu of %lu", name, audit.drained, play->retired);
    cr_expect_eq(audit.refused, refused, "%s: refused %lu", name, audit.refused);
    cr_expect_eq(audit.not_home, refused, "%s: not home %lu", name, audit.not_home);
}

static bool is_oracle(const struct tb_contender *contender)
{
    return strcmp(contender->name, "oracle") == 0;
}

static bool is_pool(const struct tb_contender *contender)
{
    return strncmp(contender->name, "locus", 5) == 0;
}

// Two live blocks are at least a block apart.
static void expect_apart(const struct play *play)
{
    for (uint32_t a = 0; a < TABLES * POOL_BLOCKS; a++) {
        for (uint32_t b = 0; b < a; b++) {
            if (a % POOL_BLOCKS >= play->tables[a / POOL_BLOCKS]->count || b % POOL_BLOCKS >= play->tables[b / POOL_BLOCKS]->count)
                continue;
            char *one = play_address(play, a / POOL_BLOCKS, a % POOL_BLOCKS);
            char *other = play_address(play, b / POOL_BLOCKS, b % POOL_BLOCKS);
            cr_assert_geq(one < other ? other - one : one - other, BLOCK_BYTES, "%s: live blocks overlap", play->contender->name);
        }
    }
}

static void play_lap(struct play *play)
{
    for (uint64_t i = 0; i < play->schedule->ops_count; i++) {
        struct tb_op op = tb_schedule_ops(play->schedule)[i];
        struct locus_table *table = play->tables[op.slot];
        if (op.kind == TB_OP_DRAIN) {
            play->ops->drain(play->context);
        } else if (op.kind == TB_OP_TAKE) {
            uint32_t first = table->count;
            cr_assert_eq(play_take(play, op.slot, op.count), 0, "%s: take", play->contender->name);
            cr_assert_eq(table->count, first + op.count, "%s: take gave another number", play->contender->name);
            for (uint32_t b = first; b < table->count; b++)
                memset(play_address(play, op.slot, b), tb_tag(op.slot), BLOCK_BYTES);
            if (!play->contender->harness)
                expect_apart(play);
        } else {
            for (uint32_t b = 0; b < table->count && !play->contender->harness; b++)
                cr_assert(tb_intact(play_address(play, op.slot, b), BLOCK_BYTES, op.slot), "%s: overwritten",
                          play->contender->name);
            play_retire(play, op.slot);
            play->ops->finish(play->context, 0, table);
        }
    }
}

Test(contenders, recycle_without_aliasing_and_keep_their_books)
{
    for
        EACH(entry)
        {
            struct play play;
            play_open(&play, *entry, POOL_BLOCKS);
            for (int lap = 0; lap < 3; lap++)
                play_lap(&play);
            expect_home(&play, 0);
            play_close(&play);
        }
}

Test(contenders, pools_refuse_a_double_free_and_keep_the_rest)
{
    uint32_t pools = 0;
    for
        EACH(entry)
        {
            struct play play;
            if (!is_pool(*entry))
                continue;
            pools++;
            play_open(&play, *entry, POOL_BLOCKS);
            cr_assert_eq(play_take(&play, 0, 5), 0);
            play_retire(&play, 0);
            play.tables[0]->blocks[1] = play.tables[0]->blocks[0];
            play.ops->finish(play.context, 1, play.tables[0]);
            play.ops->drain(play.context);
            expect_home(&play, 1);
            cr_expect_eq(play_take(&play, 1, POOL_BLOCKS), -ENOMEM, "%s: one block is lost", (*entry)->name);
            play_close(&play);
        }
    cr_assert_geq(pools, 3, "locus, locus-published and locus-shared at least");
}

Test(contenders, pools_refuse_the_handle_of_an_older_use)
{
    for
        EACH(entry)
        {
            struct play play;
            if (!is_pool(*entry))
                continue;
            play_open(&play, *entry, POOL_BLOCKS);
            cr_assert_eq(play_take(&play, 0, 1), 0);
            locus_block old = play.tables[0]->blocks[0];
            for (int use = 0; use < 2; use++) {
                play_retire(&play, 0);
                play.ops->finish(play.context, 0, play.tables[0]);
                play.ops->drain(play.context);
                cr_assert_eq(play_take(&play, 0, 1), 0);
                cr_assert_neq(play.tables[0]->blocks[0], old, "%s: the same handle twice", (*entry)->name);
            }
            play.tables[0]->blocks[0] = old;
            play_retire(&play, 0);
            play.ops->finish(play.context, 0, play.tables[0]);
            play.ops->drain(play.context);
            expect_home(&play, 1);
            play_close(&play);
        }
}

Test(contenders, an_exhausted_pool_answers_at_once_when_nothing_is_on_its_way)
{
    for
        EACH(entry)
        {
            struct play play;
            if (!is_pool(*entry))
                continue;
            play_open(&play, *entry, 8);
            cr_assert_eq(play_take(&play, 0, 8), 0);
            cr_expect_eq(play_take(&play, 1, 1), -ENOMEM, "%s", (*entry)->name);
            cr_expect_eq(play.tables[1]->count, 0, "%s: a failed take left blocks", (*entry)->name);
            play_retire(&play, 0);
            cr_expect_eq(play_take(&play, 1, 9), -ENOSPC, "%s: more than a table holds", (*entry)->name);
            play.ops->finish(play.context, 0, play.tables[0]);
            play.ops->drain(play.context);
            expect_home(&play, 0);
            play_close(&play);
        }
}

static void *finish_late(void *argument)
{
    struct play *play = argument;
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    play->ops->finish(play->context, 1, play->tables[0]);
    return NULL;
}

Test(contenders, an_exhausted_pool_waits_for_what_is_on_its_way)
{
    for
        EACH(entry)
        {
            struct play play;
            pthread_t worker;
            if (!is_pool(*entry))
                continue;
            play_open(&play, *entry, 8);
            cr_assert_eq(play_take(&play, 0, 8), 0);
            play_retire(&play, 0);
            cr_assert_eq(pthread_create(&worker, NULL, finish_late, &play), 0);
            int error = play_take(&play, 1, 3);
            pthread_join(worker, NULL);
            cr_assert_eq(error, 0, "%s: %s", (*entry)->name, strerror(-error));
            play_retire(&play, 1);
            play.ops->finish(play.context, 0, play.tables[1]);
            play.ops->drain(play.context);
            expect_home(&play, 0);
            play_close(&play);
        }
}

// The suite of the paper lost the count of such a drain and would have waited for ever.
static void gives_up_and_keeps_count(const char *name)
{
    struct play play;
    play_open(&play, tb_contender_find(name), 8);
    cr_assert_eq(play_take(&play, 0, 6), 0);
    cr_assert_eq(play_take(&play, 1, 2), 0);
    play_retire(&play, 0);
    play_retire(&play, 1);
    play.ops->finish(play.context, 1, play.tables[1]);
    cr_expect_eq(play_take(&play, 2, 4), -ETIMEDOUT, "%s", name);
    cr_expect_eq(play.ops->freed(play.context), 2, "%s: what came home while it waited", name);
    play.ops->finish(play.context, 0, play.tables[0]);
    play.ops->drain(play.context);
    expect_home(&play, 0);
    play_close(&play);
}

Test(contenders, locus_gives_up_on_a_chunk_that_never_comes, .timeout = 20)
{
    gives_up_and_keeps_count("locus");
}

Test(contenders, locus_published_gives_up_on_a_chunk_that_never_comes, .timeout = 20)
{
    gives_up_and_keeps_count("locus-published");
}

Test(contenders, locus_shared_gives_up_on_a_chunk_that_never_comes, .timeout = 20)
{
    gives_up_and_keeps_count("locus-shared");
}

// Inline dispatch: the owner is the worker, and nobody else would empty a full queue.
Test(contenders, finish_a_large_request_on_the_owner_thread, .timeout = 20)
{
    for
        EACH(entry)
        {
            struct play play;
            if (is_oracle(*entry))
                continue;
            play_open(&play, *entry, 3000);
            for (int lap = 0; lap < 2; lap++) {
                cr_assert_eq(play_take(&play, 0, 2900), 0, "%s", (*entry)->name);
                play_retire(&play, 0);
                play.ops->finish(play.context, 0, play.tables[0]);
                play.ops->drain(play.context);
            }
            expect_home(&play, 0);
            play_close(&play);
        }
}

struct lane {
    struct play *play;
    uint32_t number;
    pthread_t thread;
};

static void *finish_lane(void *argument)
{
    struct lane *lane = argument;
    lane->play->ops->finish(lane->play->context, lane->number, lane->play->tables[lane->number]);
    return NULL;
}

static void drain_until_freed(struct play *play)
{
    for (int ms = 0; ms < 10000 && play->ops->freed(play->context) < play->taken; ms++) {
        play->ops->drain(play->context);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

// More blocks than a bounded queue holds, from two workers at once.
Test(contenders, finish_on_two_threads_while_the_owner_drains, .timeout = 60)
{
    for
        EACH(entry)
        {
            struct play play;
            if (is_oracle(*entry))
                continue;
            play_open(&play, *entry, 4096);
            for (int lap = 0; lap < 3; lap++) {
                struct lane lanes[2] = {{.play = &play, .number = 0}, {.play = &play, .number = 1}};
                for (uint32_t i = 0; i < 2; i++) {
                    cr_assert_eq(play_take(&play, i, 2000), 0, "%s", (*entry)->name);
                    play_retire(&play, i);
                    cr_assert_eq(pthread_create(&lanes[i].thread, NULL, finish_lane, &lanes[i]), 0);
                }
                drain_until_freed(&play);
                cr_assert_eq(play.ops->freed(play.context), play.taken, "%s: not all came home", (*entry)->name);
                for (uint32_t i = 0; i < 2; i++)
                    pthread_join(lanes[i].thread, NULL);
            }
            expect_home(&play, 0);
            play_close(&play);
        }
}

Test(contenders, have_a_name_of_their_own_a_summary_and_a_driver)
{
    for (const struct tb_contender *const *entry = __start_tb_contenders; entry < __stop_tb_contenders; entry++) {
        const struct tb_contender *contender = *entry;
        cr_assert(contender->name && contender->summary && (contender->driver || contender->nodes));
        cr_assert(!contender->driver || contender->driver->ops);
        cr_assert(!contender->nodes || contender->nodes->ops);
        cr_expect_eq(tb_contender_find(contender->name), contender, "%s: there is another one before", contender->name);
        cr_expect_eq(strcspn(contender->name, "@#% "), strlen(contender->name), "%s: not a word", contender->name);
    }
    cr_expect_null(tb_contender_find("no such contender"));
    cr_expect_null(tb_contender_find(""));
}

// Lines that begin with the registration, in one file.
static int entries_of(const char *folder, const char *name)
{
    char path[4096], line[512];
    int entries = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s: %s", path, strerror(errno));
    while (fgets(line, sizeof line, file))
        entries += strncmp(line, "TB_CONTENDER(", strlen("TB_CONTENDER(")) == 0;
    fclose(file);
    return entries;
}

// A file that the build forgot would be missing without a sound.
Test(contenders, in_the_program_are_those_in_the_sources)
{
    char folder[2048];
    const char *repository = getenv("REPO");
    int entries = 0;
    snprintf(folder, sizeof folder, "%s/testbed/contenders", repository ? repository : ".");
    DIR *directory = opendir(folder);
    if (!directory)
        cr_skip_test("the sources are not here; set REPO to the root of the repository");
    for (struct dirent *file; (file = readdir(directory));) {
        size_t length = strlen(file->d_name);
        if (length > 2 && strcmp(file->d_name + length - 2, ".c") == 0)
            entries += entries_of(folder, file->d_name);
    }
    closedir(directory);
    cr_assert_eq(__stop_tb_contenders - __start_tb_contenders, entries, "%d in the sources", entries);
}
