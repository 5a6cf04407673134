// SPDX-License-Identifier: Apache-2.0
//
// contenders: everything in the linker section keeps the contract of contender.h. The tests distinguish only three kinds: the
// harness's own (all their blocks may be the same), floors (their blocks are exactly the schedule's) and this project's pools,
// whose size is a limit and whose handles are checked; only locus-bare checks none (contenders_library_test.c).
#include "testbed/contenders/tests/contenders_lap.h"

#include <dirent.h>

#include "testbed/measure/nodes/ops.h"

// The variables of the environment that a contender's process gets, as they are where a tool is started before it.
static void environment_of(const char *name, char *out, size_t bytes)
{
    struct tb_arm arm = {.contender = tb_contender_find(name)};
    struct tb_cell cell = {.schedule = small_schedule(POOL_BLOCKS), .laps = 1};
    struct tb_rounds rounds = {.arms = &arm, .arms_count = 1, .cells = &cell, .cells_count = 1, .count = 1};
    struct tb_sample sample;
    const char *const to_stderr[] = {"sh", "-c", "env | grep -E '^(TCMALLOC|MALLOC_CONF|LD_PRELOAD|KEPT)' | sort >&2", NULL};
    cr_assert_eq(tb_rounds_run_under(&rounds, 0, 0, to_stderr, &sample, out, bytes), 0);
    free((void *)(uintptr_t)cell.schedule);
}

Test(contenders, have_all_their_settings_instead_of_the_parents)
{
    char said[1024];
    cr_assert_eq(setenv("TCMALLOC_RELEASE_RATE", "10", 1) | setenv("KEPT", "1", 1), 0);
    environment_of("tcmalloc-tuned", said, sizeof said);
    cr_expect_str_eq(said, "KEPT=1\nTCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES=1073741824\nTCMALLOC_RELEASE_RATE=0\n"
                           "TCMALLOC_TRANSFER_NUM_OBJ=512\n");
    environment_of("tcmalloc", said, sizeof said);
    cr_expect_str_eq(said, "KEPT=1\nTCMALLOC_RELEASE_RATE=10\n");
}

Test(contenders, recycle_without_aliasing_and_keep_their_books)
{
    for
        EACH(entry)
        {
            struct play play;
            if (!play_open(&play, *entry, POOL_BLOCKS))
                continue;
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
            if (!has_generations(*entry))
                continue;
            pools++;
            if (!play_open(&play, *entry, POOL_BLOCKS))
                continue;
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
            if (!has_generations(*entry))
                continue;
            if (!play_open(&play, *entry, POOL_BLOCKS))
                continue;
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
            if (!play_open(&play, *entry, 8))
                continue;
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

Test(contenders, an_exhausted_pool_waits_for_what_is_on_its_way)
{
    for
        EACH(entry)
        {
            struct play play;
            pthread_t worker;
            if (!is_pool(*entry))
                continue;
            if (!play_open(&play, *entry, 8))
                continue;
            cr_assert_eq(play_take(&play, 0, 8), 0);
            play_retire(&play, 0);
            cr_assert_eq(pthread_create(&worker, NULL, finish_late, &play), 0);
            int error = play_take(&play, 1, 3);
            pthread_join(worker, NULL);
            struct tb_audit audit = {0};
            cr_assert_eq(error, 0, "%s: %s", (*entry)->name, strerror(-error));
            play_retire(&play, 1);
            play.ops->finish(play.context, 0, play.tables[1]);
            play.ops->drain(play.context);
            expect_home(&play, 0);
            play.ops->audit(play.context, &audit);
            cr_expect_eq(audit.waits, 1, "%s: %lu waits", (*entry)->name, audit.waits);
            play_close(&play);
        }
}

// Each waits for two seconds, so all wait at once. Besides, they take turns: an assertion is for one thread at a time.
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

// The suite of the paper lost the count of such a drain and would have waited for ever.
static void *give_up_and_keep_count(void *name)
{
    struct play play;
    pthread_mutex_lock(&turn);
    cr_assert(play_open(&play, tb_contender_find(name), 8));
    cr_assert_eq(play_take(&play, 0, 6), 0);
    cr_assert_eq(play_take(&play, 1, 2), 0);
    play_retire(&play, 0);
    play_retire(&play, 1);
    play.ops->finish(play.context, 1, play.tables[1]);
    pthread_mutex_unlock(&turn);
    int error = play_take(&play, 2, 4);
    pthread_mutex_lock(&turn);
    cr_expect_eq(error, -ETIMEDOUT, "%s: %s", (const char *)name, strerror(-error));
    cr_expect_eq(play.ops->freed(play.context), 2, "%s: what came home while it waited", (const char *)name);
    play.ops->finish(play.context, 0, play.tables[0]);
    play.ops->drain(play.context);
    expect_home(&play, 0);
    play_close(&play);
    pthread_mutex_unlock(&turn);
    return NULL;
}

Test(contenders, pools_give_up_on_a_chunk_that_never_comes, .timeout = 60)
{
    static char names[][24] = {
        "locus",          "locus-spsc",    "locus-generations",   "locus-bare",       "locus-published",       "locus-shared",
        "locus-shared-8", "locus-sharded", "locus-sharded-chunk", "locus-chunk-pool", "locus-chunk-pool-idle",
    };
    pthread_t threads[sizeof names / sizeof *names];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, give_up_and_keep_count, names[i]), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        pthread_join(threads[i], NULL);
}

// Inline dispatch: the owner is the worker, and nobody else would empty a full queue.
Test(contenders, finish_a_large_request_on_the_owner_thread, .timeout = 60)
{
    for
        EACH(entry)
        {
            struct play play;
            if (is_oracle(*entry))
                continue;
            if (!play_open(&play, *entry, 3000))
                continue;
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
    for (int ms = 0; ms < 30000 && play->ops->freed(play->context) < play->taken; ms++) {
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
            if (!play_open(&play, *entry, 4096))
                continue;
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
        cr_expect(!contender->libraries || contender->is_malloc, "%s: what is preloaded is a malloc", contender->name);
        cr_expect_eq(tb_contender_find(contender->name), contender, "%s: there is another one before", contender->name);
        cr_expect_eq(strcspn(contender->name, "@#% "), strlen(contender->name), "%s: not a word", contender->name);
    }
    cr_expect_null(tb_contender_find("no such contender"));
    cr_expect_null(tb_contender_find(""));
}

// Lines that begin with the registration, in one file. A file that is empty where a package is missing (#if) may lack
// all of its contenders, but not some.
static int entries_of(const char *folder, const char *name)
{
    char path[4096], line[512], word[64];
    int entries = 0, found = 0;
    bool optional = false;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s: %s", path, strerror(errno));
    while (fgets(line, sizeof line, file)) {
        entries += strncmp(line, "TB_CONTENDER(", strlen("TB_CONTENDER(")) == 0;
        optional |= strncmp(line, "#ifdef TB_", strlen("#ifdef TB_")) == 0 || strncmp(line, "#if __has_include", 17) == 0;
        found += sscanf(line, "    .name = \"%63[^\"]", word) == 1 && tb_contender_find(word);
    }
    fclose(file);
    return optional && found == 0 ? 0 : entries;
}

// A file that the build forgot would be missing silently.
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
