// SPDX-License-Identifier: Apache-2.0
//
// contenders_home: the differences between the contenders on the paper's pool: how many blocks a step takes home, how many fit in
// the queue, and what happens to a request that came home whole.
#include <stdatomic.h>

#include "testbed/contenders/tests/contenders_play.h"

static void send_home(struct play *play, uint32_t slot)
{
    play_retire(play, slot);
    play->ops->finish(play->context, 0, play->tables[slot]);
}

// --- batches -------------------------------------------------------------------------------------------------------------------

Test(contenders_home, a_step_takes_one_batch_and_a_drain_all)
{
    static const struct {
        const char *name;
        uint64_t batch;
    } cases[] = {{"locus-shared-8", 8}, {"locus-shared-64", 64}, {"locus-shared-256", 256}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct play play;
        cr_assert(play_open(&play, tb_contender_find(cases[i].name), 1000));
        cr_assert_eq(play_take(&play, 0, 900), 0);
        send_home(&play, 0);
        play.ops->step(play.context);
        cr_expect_eq(play.ops->freed(play.context), cases[i].batch, "%s", cases[i].name);
        play.ops->step(play.context);
        cr_expect_eq(play.ops->freed(play.context), 2 * cases[i].batch, "%s", cases[i].name);
        play.ops->drain(play.context);
        expect_home(&play, 0);
        play_close(&play);
    }
}

// A batch is taken again until one comes back short, whether what has arrived is a multiple of it or not.
Test(contenders_home, a_drain_takes_all_that_has_arrived)
{
    static const char *const names[] = {"locus-shared", "locus-shared-8", "locus-sharded"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct play play;
        cr_assert(play_open(&play, tb_contender_find(names[i]), 128));
        for (uint32_t count = 63; count <= 128; count += count < 65 ? 1 : 63) {
            cr_assert_eq(play_take(&play, 0, count), 0);
            send_home(&play, 0);
            play.ops->drain(play.context);
            cr_expect_eq(play.ops->freed(play.context), play.taken, "%s: %u", names[i], count);
        }
        expect_home(&play, 0);
        play_close(&play);
    }
}

// --- how much fits -------------------------------------------------------------------------------------------------------------

struct sender {
    struct play *play;
    _Atomic uint32_t sent;
};

static void *send_all(void *argument)
{
    struct sender *sender = argument;
    for (uint32_t slot = 0; slot < TABLES; slot++) {
        sender->play->ops->finish(sender->play->context, 1, sender->play->tables[slot]);
        atomic_store(&sender->sent, slot + 1);
    }
    return NULL;
}

// One of two workers sends four requests. On a busy machine it may be slow to send those that fit; so the test waits long enough
// for a sender that wrongly does not wait.
static uint32_t sent_without_a_drain(const char *name, uint32_t blocks, uint32_t expected)
{
    struct play play;
    struct sender sender = {.play = &play};
    pthread_t thread;
    cr_assert(play_open(&play, tb_contender_find(name), TABLES * blocks + 8));
    for (uint32_t slot = 0; slot < TABLES; slot++) {
        cr_assert_eq(play_take(&play, slot, blocks), 0);
        play_retire(&play, slot);
    }
    cr_assert_eq(pthread_create(&thread, NULL, send_all, &sender), 0);
    for (int ms = 0; ms < 20000 && atomic_load(&sender.sent) < expected; ms++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    for (int ms = 0; ms < 50 && atomic_load(&sender.sent) < TABLES; ms++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    uint32_t sent = atomic_load(&sender.sent);
    while (play.ops->freed(play.context) < play.taken)
        play.ops->drain(play.context);
    pthread_join(thread, NULL);
    play.ops->drain(play.context);
    expect_home(&play, 0);
    play_close(&play);
    return sent;
}

static void expect_sent(const char *name, uint32_t blocks, uint32_t expected)
{
    cr_expect_eq(sent_without_a_drain(name, blocks, expected), expected, "%s, %u blocks", name, blocks);
}

Test(contenders_home, a_worker_before_a_full_queue_waits_for_the_owner, .timeout = 60)
{
    expect_sent("locus-sharded", 32, 4); // 128 places for each of two workers
    expect_sent("locus-sharded", 33, 3);
    expect_sent("locus-shared", 256, 4); // 1,024 places for all
    expect_sent("locus-shared", 257, 3);
    expect_sent("locus-sharded-chunk", 1, 2); // two requests
    expect_sent("locus-sharded-chunk-8", 1000, 4); // eight requests
    expect_sent("locus-chunk-pool", 1, 2); // two requests
    expect_sent("locus-published", 1000, 4); // without bounds
}

// --- the pool of whole chunks --------------------------------------------------------------------------------------------------

static const struct tb_contender *chunk_pool(void)
{
    return tb_contender_find("locus-chunk-pool");
}

static void expect_blocks(const struct play *play, uint32_t slot, uint32_t first, const void *const expected[], uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        cr_expect_eq(play_address(play, slot, first + i), expected[i], "block %u of request %u", i, slot);
}

static void addresses(const struct play *play, uint32_t slot, const void *out[])
{
    for (uint32_t i = 0; i < play->tables[slot]->count; i++)
        out[i] = play_address(play, slot, i);
}

Test(contenders_home, a_chunk_is_given_back_whole_and_the_last_one_first)
{
    struct play play;
    const void *early[6], *late[4];
    cr_assert(play_open(&play, chunk_pool(), 16));
    cr_assert_eq(play_take(&play, 0, 6), 0);
    cr_assert_eq(play_take(&play, 1, 4), 0);
    addresses(&play, 0, early);
    addresses(&play, 1, late);
    send_home(&play, 0);
    send_home(&play, 1);
    play.ops->drain(play.context);
    cr_assert_eq(play_take(&play, 2, 4), 0);
    expect_blocks(&play, 2, 0, late, 4);
    cr_assert_eq(play_take(&play, 2, 2), 0);
    expect_blocks(&play, 2, 4, early + 4, 2); // the tail of the chunk below
    cr_assert_eq(play_take(&play, 3, 6), 0);
    expect_blocks(&play, 3, 0, early, 4);
    send_home(&play, 2);
    send_home(&play, 3);
    play.ops->drain(play.context);
    expect_home(&play, 0);
    play_close(&play);
}

Test(contenders_home, a_single_block_leaves_chunks_alone_until_there_is_no_other)
{
    struct play play;
    const void *chunk[6];
    cr_assert(play_open(&play, chunk_pool(), 8));
    cr_assert_eq(play_take(&play, 0, 6), 0);
    addresses(&play, 0, chunk);
    send_home(&play, 0);
    play.ops->drain(play.context);
    for (uint32_t i = 0; i < 8; i++) {
        cr_assert_eq(play_take(&play, 1, 1), 0);
        bool of_chunk = false;
        for (uint32_t c = 0; c < 6; c++)
            of_chunk |= play_address(&play, 1, i) == chunk[c];
        cr_expect_eq(of_chunk, i >= 2, "block %u", i);
    }
    cr_expect_eq(play_take(&play, 2, 1), -ENOMEM);
    send_home(&play, 1);
    play.ops->drain(play.context);
    expect_home(&play, 0);
    play_close(&play);
}

Test(contenders_home, a_chunk_that_is_used_up_is_in_nobodys_way)
{
    struct play play;
    cr_assert(play_open(&play, chunk_pool(), 10));
    cr_assert_eq(play_take(&play, 0, 6), 0);
    cr_assert_eq(play_take(&play, 1, 4), 0);
    send_home(&play, 0);
    send_home(&play, 1);
    play.ops->drain(play.context);
    cr_assert_eq(play_take(&play, 2, 4), 0);
    cr_expect_eq(play_take(&play, 2, 1), 0, "the free list is empty, and a chunk of six is there");
    send_home(&play, 2);
    play.ops->drain(play.context);
    expect_home(&play, 0);
    play_close(&play);
}

// Waiting counts only the free list.
Test(contenders_home, a_take_that_waits_finds_what_lies_in_chunks)
{
    struct play play;
    cr_assert(play_open(&play, chunk_pool(), 12));
    for (uint32_t slot = 0; slot < 2; slot++)
        cr_assert_eq(play_take(&play, slot, 6), 0);
    send_home(&play, 0);
    play.ops->drain(play.context);
    send_home(&play, 1);
    cr_expect_eq(play_take(&play, 2, 11), 0, "six blocks in a chunk, six on their way");
    cr_expect_eq(play_take(&play, 3, 2), -ENOMEM);
    cr_expect_eq(play.ops->freed(play.context), 12);
    send_home(&play, 2);
    play.ops->drain(play.context);
    expect_home(&play, 0);
    play_close(&play);
}

Test(contenders_home, a_handle_that_was_refused_is_in_no_chunk)
{
    struct play play;
    cr_assert(play_open(&play, chunk_pool(), 8));
    cr_assert_eq(play_take(&play, 0, 8), 0);
    play.tables[0]->blocks[2] = play.tables[0]->blocks[0];
    send_home(&play, 0);
    play.ops->drain(play.context);
    expect_home(&play, 1);
    cr_expect_eq(play_take(&play, 1, 8), -ENOMEM);
    cr_assert_eq(play_take(&play, 1, 7), 0);
    for (uint32_t i = 0; i < 7; i++)
        for (uint32_t j = 0; j < i; j++)
            cr_expect_neq(play_address(&play, 1, i), play_address(&play, 1, j));
    play_close(&play);
}
