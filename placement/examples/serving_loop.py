# SPDX-License-Identifier: Apache-2.0
"""The serving loop from a language that reads no C header: Python, by ctypes, on the installed liblocus.so.

    python3 serving_loop.py [liblocus.so]

What such a binding has to know is here: the config structs, each with its size first, and the statistics. Everything else is a
pointer, and what is inline in C is a symbol of the library as well. Two threads send finished requests home; the main thread
is the scheduler and holds the owner's role.
"""
import ctypes as c
import os
import queue
import random
import sys
import threading

WORKERS, REQUESTS, LIVE, TOKENS_PER_BLOCK, CAPACITY = 2, 2000, 32, 16, 32
NODES_MAX, CACHE_LINE, ANY_NODE = 1024, 64, -1


class PoolConfig(c.Structure):
    _fields_ = [("size", c.c_size_t), ("home", c.c_uint32), ("blocks", c.c_uint32), ("block_bytes", c.c_size_t),
                ("stride_bytes", c.c_size_t), ("backing", c.c_int), ("reuse", c.c_int), ("page", c.c_int), ("policy", c.c_int),
                ("node", c.c_int), ("nodes", c.c_ulong * (NODES_MAX // 8 // c.sizeof(c.c_ulong))), ("populate", c.c_bool),
                ("tags", c.c_bool), ("shared", c.c_bool), ("fetch_ahead", c.c_bool), ("generations", c.c_uint32), ("memory", c.c_void_p), ("memory_bytes", c.c_size_t)]


class OwnerConfig(c.Structure):
    _fields_ = [("size", c.c_size_t), ("pool", c.c_void_p), ("lanes", c.c_uint32), ("backpressure", c.c_bool),
                ("wait_ns", c.c_uint64)]


class PoolStats(c.Structure):
    _fields_ = [("allocated", c.c_uint64), ("freed", c.c_uint64), ("refused", c.c_uint64 * 7), ("blocks", c.c_uint32),
                ("blocks_free", c.c_uint32), ("blocks_worn", c.c_uint32), ("outstanding", c.c_uint32),
                ("outstanding_high", c.c_uint32), ("distinct_high", c.c_uint32), ("blocks_cached", c.c_uint32),
                ("sharers", c.c_uint64)]


P, U32, U64 = c.c_void_p, c.c_uint32, c.c_uint64
SIGNATURES = {
    "locus_version": (U32,),
    "locus_pool_open": (c.c_int, c.POINTER(P), c.POINTER(PoolConfig)),
    "locus_pool_why": (None, c.POINTER(PoolConfig), c.c_int, c.c_char_p, c.c_size_t),
    "locus_pool_close": (None, P),
    "locus_pool_stats": (None, P, c.POINTER(PoolStats)),
    "locus_pool_address": (P, P, U64),
    "locus_owner_open": (c.c_int, c.POINTER(P), c.POINTER(OwnerConfig)),
    "locus_owner_close": (c.c_int, P),
    "locus_owner_adopt": (c.c_int, P),
    "locus_owner_leave": (c.c_int, P),
    "locus_owner_grow": (c.c_int, P, P, U32),
    "locus_owner_retire": (c.c_int, P, P),
    "locus_owner_drain": (U32, P),
    "locus_owner_next_reclaimed": (P, P),
    "locus_route_new": (P,),
    "locus_route_free": (None, P),
    "locus_route_add_exclusive": (c.c_int, P, P, U32),
    "locus_table_push": (c.c_int, P, P),
    "locus_table_bytes": (c.c_size_t, U32, U32),
    "locus_table_init": (c.c_int, P, U32, U32, U32),
    "locus_table_at": (U64, P, U64),
    "locus_table_count": (U32, P),
    "locus_table_tag": (U64, P),
    "locus_table_set_tag": (None, P, U64),
    "locus_table_blocks_for": (U64, P, U64),
}


def load(path):
    library = c.CDLL(path)
    for name, (result, *arguments) in SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def check(result, what):
    if result < 0:  # also in a worker, whose own end would leave the others waiting
        print(f"{what}: {os.strerror(-result)}", file=sys.stderr, flush=True)
        os._exit(1)


def open_pool(locus):
    pool = P()
    config = PoolConfig(size=c.sizeof(PoolConfig), blocks=LIVE * CAPACITY, block_bytes=4096, node=ANY_NODE)
    error = locus.locus_pool_open(c.byref(pool), c.byref(config))
    if error:
        why = c.create_string_buffer(256)
        locus.locus_pool_why(c.byref(config), error, why, len(why))
        sys.exit("pool: " + why.value.decode())
    return pool


def open_owner(locus, pool):
    owner = P()
    config = OwnerConfig(size=c.sizeof(OwnerConfig), pool=pool, lanes=WORKERS, wait_ns=10_000_000_000)
    check(locus.locus_owner_open(c.byref(owner), c.byref(config)), "owner")
    return owner


def new_table(locus, libc, tag):
    table = libc.aligned_alloc(CACHE_LINE, locus.locus_table_bytes(1, CAPACITY))
    check(locus.locus_table_init(table, 1, CAPACITY, TOKENS_PER_BLOCK), "table")
    locus.locus_table_set_tag(table, tag)
    return table


def work(locus, owner, lane, finished):
    """Reads back the first byte of each block, and sends the request home."""
    route = locus.locus_route_new()
    check(locus.locus_route_add_exclusive(route, owner, lane), "route")
    while (request := finished.get()) is not None:
        pool, table, mark = request
        for i in range(locus.locus_table_count(table)):
            address = locus.locus_pool_address(pool, locus.locus_table_at(table, i * TOKENS_PER_BLOCK))
            if c.cast(address, c.POINTER(c.c_ubyte))[0] != mark:
                os.abort()
        check(locus.locus_table_push(route, table), "push")
    locus.locus_route_free(route)


def admit(locus, pool, owner, table, finished, rng):
    """A request of a random length, decoded at once."""
    mark = rng.randrange(256)
    blocks = locus.locus_table_blocks_for(table, rng.randrange(1, CAPACITY * TOKENS_PER_BLOCK))
    check(locus.locus_owner_grow(owner, table, blocks), "grow")
    for i in range(blocks):
        c.memset(locus.locus_pool_address(pool, locus.locus_table_at(table, i * TOKENS_PER_BLOCK)), mark, 4096)
    check(locus.locus_owner_retire(owner, table), "retire")
    finished.put((pool, table, mark))


def main():
    locus, libc = load(sys.argv[1] if len(sys.argv) > 1 else "liblocus.so"), c.CDLL(None)
    libc.aligned_alloc.restype, libc.aligned_alloc.argtypes = P, (c.c_size_t, c.c_size_t)
    libc.free.argtypes = (P,)
    pool = open_pool(locus)
    owner = open_owner(locus, pool)
    check(locus.locus_owner_adopt(owner), "adopt")
    finished, rng = queue.Queue(), random.Random(41)
    threads = [threading.Thread(target=work, args=(locus, owner, lane, finished)) for lane in range(WORKERS)]
    for thread in threads:
        thread.start()
    tables = [new_table(locus, libc, tag) for tag in range(LIVE)]
    for table in tables:
        admit(locus, pool, owner, table, finished, rng)
    admitted, served = LIVE, 0
    while served < REQUESTS:
        locus.locus_owner_drain(owner)
        while table := locus.locus_owner_next_reclaimed(owner):
            served += 1
            if tables[locus.locus_table_tag(table)] == table and admitted < REQUESTS:
                admit(locus, pool, owner, table, finished, rng)
                admitted += 1
    for thread in threads:
        finished.put(None)
    for thread in threads:
        thread.join()
    stats = PoolStats()
    locus.locus_pool_stats(pool, c.byref(stats))
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
