// SPDX-License-Identifier: Apache-2.0
//
// The serving loop of serving_loop.c in C++17, on the same installed library:
//
//     c++ -std=c++17 -pthread serving_loop.cpp $(pkg-config --cflags --libs locus)
//
// The library is C: it does not throw, and a step function must not either. Here unique_ptr owns what the library opens. A
// request's table begins small, and is extended when its sequence outgrows it. At the end, blocks that did not come home would be
// listed by request.
#include <locus/locus.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <queue>
#include <random>
#include <thread>
#include <vector>

namespace
{

constexpr unsigned workers = 2, requests = 2000, live = 32, tokens_max = 500, tokens_per_block = 16;
constexpr std::size_t token_bytes = 256;
constexpr unsigned request_blocks = (tokens_max + tokens_per_block - 1) / tokens_per_block, few_blocks = 4;

[[noreturn]] void fail(const char *what, const char *why)
{
    std::fprintf(stderr, "%s: %s\n", what, why);
    std::exit(1);
}

// The library returns 0 or -errno. Here an error ends the program; an engine would refuse the request.
void check(int result, const char *what)
{
    if (result < 0)
        fail(what, std::strerror(-result));
}

struct closer {
    void operator()(locus_pool *pool) const
    {
        locus_pool_close(pool);
    }
    void operator()(locus_owner *owner) const
    {
        locus_owner_close(owner);
    }
    void operator()(locus_route *route) const
    {
        locus_route_free(route);
    }
};
using pool_ptr = std::unique_ptr<locus_pool, closer>;
using owner_ptr = std::unique_ptr<locus_owner, closer>;
using route_ptr = std::unique_ptr<locus_route, closer>;

pool_ptr open_pool()
{
    locus_pool_config config = {};
    config.size = sizeof config;
    config.blocks = live * request_blocks;
    config.block_bytes = tokens_per_block * token_bytes;
    config.node = LOCUS_NODE_ANY;
    config.tags = true;
    locus_pool *pool = nullptr;
    if (int error = locus_pool_open(&pool, &config)) {
        char why[256];
        locus_pool_why(&config, error, why, sizeof why);
        fail("pool", why);
    }
    return pool_ptr(pool);
}

owner_ptr open_owner(locus_pool *pool)
{
    locus_owner_config config = {};
    config.size = sizeof config;
    config.pool = pool;
    config.lanes = workers;
    config.wait_ns = 10000000000;
    locus_owner *owner = nullptr;
    check(locus_owner_open(&owner, &config), "owner");
    return owner_ptr(owner);
}

// A request's table in memory of its own, and the array that it was extended to.
class table
{
  public:
    explicit table(std::uint64_t tag) : memory(std::aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(1, few_blocks)), std::free)
    {
        if (!memory)
            fail("table", "no memory");
        check(locus_table_init(memory.get(), 1, few_blocks, tokens_per_block), "table");
        locus_table_set_tag(get(), tag);
    }

    locus_table *get() const
    {
        return static_cast<locus_table *>(memory.get());
    }

    void grow(locus_owner *owner)
    {
        int error = locus_owner_grow(owner, get(), 1);
        if (error == -ENOSPC) {
            std::vector<locus_block> larger(2 * get()->capacity);
            locus_block *unused;
            check(locus_table_extend(get(), larger.data(), static_cast<std::uint32_t>(larger.size()), &unused), "extend");
            array.swap(larger); // `unused` is in `larger` now
            error = locus_owner_grow(owner, get(), 1);
        }
        check(error, "grow");
    }

  private:
    std::unique_ptr<void, decltype(&std::free)> memory;
    std::vector<locus_block> array;
};

struct request {
    explicit request(std::uint64_t tag) : blocks(tag)
    {
    }
    table blocks;
    unsigned wanted = 0, decoded = 0; // tokens
    bool decoding = false;            // false from retire until the table is back
};

// How finished requests reach the workers: the engine's own, with its own lock.
class dispatch
{
  public:
    void put(request *finished)
    {
        std::lock_guard<std::mutex> hold(lock);
        queue.push(finished);
        changed.notify_one();
    }

    request *get() // nullptr: no more requests
    {
        std::unique_lock<std::mutex> hold(lock);
        changed.wait(hold, [this] { return closed || !queue.empty(); });
        if (queue.empty())
            return nullptr;
        request *next = queue.front();
        queue.pop();
        return next;
    }

    void close()
    {
        std::lock_guard<std::mutex> hold(lock);
        closed = true;
        changed.notify_all();
    }

  private:
    std::mutex lock;
    std::condition_variable changed;
    std::queue<request *> queue;
    bool closed = false;
};

class engine
{
  public:
    engine() : pool(open_pool()), owner(open_owner(pool.get()))
    {
        check(locus_owner_adopt(owner.get()), "adopt");
        for (unsigned slot = 0; slot < live; slot++)
            admit(slots.emplace_back(slot));
    }

    ~engine()
    {
        locus_owner_leave(owner.get());
    }

    int run()
    {
        std::vector<std::thread> threads;
        for (unsigned lane = 0; lane < workers; lane++)
            threads.emplace_back([this, lane] { work(lane); });
        serve();
        finished.close();
        for (std::thread &thread : threads)
            thread.join();
        return summary();
    }

  private:
    // Until the push the table belongs to the worker, which may read its blocks. After the push it must not even read the table.
    void work(unsigned lane)
    {
        route_ptr route(locus_route_new());
        check(locus_route_add_exclusive(route.get(), owner.get(), lane), "route");
        while (request *done = finished.get()) {
            std::uint64_t right = 0;
            for (unsigned token = 0; token < done->decoded; token++)
                right += *position(*done, token) == content(*done, token);
            tokens_read_back += right;
            check(locus_table_push(route.get(), done->blocks.get()), "push");
        }
    }

    unsigned char *position(const request &of, unsigned token) const
    {
        void *block = locus_pool_address(pool.get(), locus_table_at(of.blocks.get(), token));
        return static_cast<unsigned char *>(block) + token % tokens_per_block * token_bytes;
    }

    static unsigned char content(const request &of, unsigned token)
    {
        return static_cast<unsigned char>(of.wanted * 31 + token);
    }

    void admit(request &next)
    {
        next.decoding = admitted < requests;
        if (!next.decoding)
            return;
        admitted++;
        next.decoded = 0;
        next.wanted = 1 + static_cast<unsigned>(random() % tokens_max);
    }

    void decode_one_token(request &one)
    {
        unsigned token = one.decoded++;
        if (token % tokens_per_block == 0)
            one.blocks.grow(owner.get());
        std::memset(position(one, token), content(one, token), token_bytes);
        tokens++;
    }

    void serve()
    {
        while (served < requests) {
            bool busy = false;
            for (request &one : slots) {
                if (!one.decoding)
                    continue;
                busy = true;
                decode_one_token(one);
                if (one.decoded < one.wanted)
                    continue;
                check(locus_owner_retire(owner.get(), one.blocks.get()), "retire");
                one.decoding = false;
                finished.put(&one);
            }
            if (!busy)
                std::this_thread::yield(); // everything is with the workers
            locus_owner_drain(owner.get());
            for (; locus_table *home = locus_owner_next_reclaimed(owner.get()); served++)
                admit(slots[locus_table_tag(home)]);
        }
    }

    int summary() const
    {
        struct locus_pool_stats memory;
        std::uint32_t leaked = 0;
        locus_pool_stats(pool.get(), &memory);
        check(locus_pool_each_out(
                  pool.get(),
                  [](void *, locus_block, std::uint64_t tag) {
                      std::printf("a block of request %llu is still out\n", static_cast<unsigned long long>(tag));
                  },
                  nullptr, &leaked),
              "each_out");
        std::printf("liblocus %u.%u\n", locus_version() >> 16, locus_version() >> 8 & 255);
        std::printf("requests served   %u of %u\n", served, requests);
        std::printf("blocks            %llu allocated, %llu freed\n", static_cast<unsigned long long>(memory.allocated),
                    static_cast<unsigned long long>(memory.freed));
        bool right =
            served == requests && tokens_read_back == tokens && memory.allocated && leaked == 0 && memory.allocated == memory.freed;
        std::puts(right ? "all blocks came home" : "MISMATCH");
        return right ? 0 : 1;
    }

    pool_ptr pool;
    owner_ptr owner; // destroyed before the pool
    std::vector<request> slots;
    dispatch finished;
    unsigned admitted = 0, served = 0;
    std::uint64_t tokens = 0;
    std::atomic<std::uint64_t> tokens_read_back{0};
    std::minstd_rand random{41};
};

} // namespace

int main()
{
    return engine().run();
}
