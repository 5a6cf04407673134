# SPDX-License-Identifier: Apache-2.0
"""The serving loop from a language that reads no C header: Python, by cffi, on the installed liblocus.so and its declarations.

    python3 serving_loop.py [liblocus.so [locus-declarations.h]]

A config struct has its size first (locus/version.h). What is inline in C is a symbol of the library as well. Two threads send
finished requests home; the main thread is the scheduler and holds the owner's role.
"""
import os
import pathlib
import queue
import random
import sys
import threading

import cffi  # type: ignore[import-untyped]

WORKERS, REQUESTS, LIVE, TOKENS_PER_BLOCK, CAPACITY, BLOCK_BYTES = 2, 2000, 32, 16, 32, 4096

DEFAULTS = ["liblocus.so", str(pathlib.Path(__file__).parents[1] / "locus-declarations.h")]  # as they are installed
library, declarations = sys.argv[1:] + DEFAULTS[len(sys.argv) - 1:]
ffi = cffi.FFI()
ffi.cdef(pathlib.Path(declarations).read_text())
ffi.cdef("void *aligned_alloc(size_t alignment, size_t bytes); void free(void *memory);")
locus, libc = ffi.dlopen(library), ffi.dlopen(None)


def check(result, what):
    if result < 0:  # also in a worker, whose own end would leave the others waiting
        print(f"{what}: {os.strerror(-result)}", file=sys.stderr, flush=True)
        os._exit(1)


def config(name, **fields):
    struct = ffi.new(f"struct {name} *", fields)
    struct.size = ffi.sizeof(struct[0])
    return struct


def open_pool():
    pool = ffi.new("struct locus_pool **")
    wanted = config("locus_pool_config", blocks=LIVE * CAPACITY, block_bytes=BLOCK_BYTES, node=locus.LOCUS_NODE_ANY)
    error = locus.locus_pool_open(pool, wanted)
    if error:
        why = ffi.new("char[400]")
        locus.locus_pool_why(wanted, error, why, len(why))
        sys.exit("pool: " + ffi.string(why).decode())
    return pool[0]


def open_owner(pool):
    owner = ffi.new("struct locus_owner **")
    check(locus.locus_owner_open(owner, config("locus_owner_config", pool=pool, lanes=WORKERS, wait_ns=10_000_000_000)), "owner")
    return owner[0]


def new_table(tag):
    table = libc.aligned_alloc(locus.LOCUS_CACHE_LINE, locus.locus_table_bytes(1, CAPACITY))
    check(locus.locus_table_init(table, 1, CAPACITY, TOKENS_PER_BLOCK), "table")
    table = ffi.cast("struct locus_table *", table)
    locus.locus_table_set_tag(table, tag)
    return table


def block(pool, table, i):
    """The bytes of a table's block i."""
    address = locus.locus_pool_address(pool, locus.locus_table_at(table, i * TOKENS_PER_BLOCK))
    return ffi.buffer(address, BLOCK_BYTES)


def work(owner, lane, finished):
    """Reads back the first byte of each block, and sends the request home."""
    route = locus.locus_route_new()
    check(locus.locus_route_add_exclusive(route, owner, lane), "route")
    while (request := finished.get()) is not None:
        pool, table, mark = request
        if any(block(pool, table, i)[0] != mark for i in range(locus.locus_table_count(table))):
            os.abort()
        check(locus.locus_table_push(route, table), "push")
    locus.locus_route_free(route)


def admit(pool, owner, table, finished, rng):
    """A request of a random length, decoded at once."""
    mark = rng.randbytes(1)
    blocks = locus.locus_table_blocks_for(table, rng.randrange(1, CAPACITY * TOKENS_PER_BLOCK))
    check(locus.locus_owner_grow(owner, table, blocks), "grow")
    for i in range(blocks):
        block(pool, table, i)[:] = mark * BLOCK_BYTES
    check(locus.locus_owner_retire(owner, table), "retire")
    finished.put((pool, table, mark))


def main():
    pool = open_pool()
    owner = open_owner(pool)
    check(locus.locus_owner_adopt(owner), "adopt")
    finished, rng = queue.Queue(), random.Random(41)
    threads = [threading.Thread(target=work, args=(owner, lane, finished)) for lane in range(WORKERS)]
    for thread in threads:
        thread.start()
    tables = [new_table(tag) for tag in range(LIVE)]
    for table in tables:
        admit(pool, owner, table, finished, rng)
    admitted, served = LIVE, 0
    while served < REQUESTS:
        locus.locus_owner_drain(owner)
        while table := locus.locus_owner_next_reclaimed(owner):
            served += 1
            if tables[locus.locus_table_tag(table)] == table and admitted < REQUESTS:
                admit(pool, owner, table, finished, rng)
                admitted += 1
    for _ in threads:
        finished.put(None)
    for thread in threads:
        thread.join()
    stats = ffi.new("struct locus_pool_stats *")
    locus.locus_pool_stats(pool, stats)
    version = locus.locus_version()
    print(f"liblocus {version >> 16}.{version >> 8 & 255}")
    print(f"requests served   {served} of {REQUESTS}")
    print(f"blocks            {stats.allocated} allocated, {stats.freed} freed")
    right = stats.allocated == stats.freed > 0 and stats.outstanding == 0
    check(locus.locus_owner_leave(owner), "leave")
    check(locus.locus_owner_close(owner), "close")
    locus.locus_pool_close(pool)
    for table in tables:
        libc.free(table)
    print("all blocks came home" if right else "MISMATCH")
    return 0 if right else 1


sys.exit(main())
