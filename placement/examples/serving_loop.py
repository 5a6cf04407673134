# SPDX-License-Identifier: Apache-2.0
"""The serving loop in Python, with the package of placement/python.

    python3 serving_loop.py

Two threads send finished requests home; the main thread is the scheduler and holds the owner's role.
"""
import os
import queue
import random
import sys
import threading

import locus

WORKERS, REQUESTS, LIVE, TOKENS_PER_BLOCK, CAPACITY, BLOCK_BYTES = 2, 2000, 32, 16, 32, 4096


def work(owner, lane, finished):
    """Reads back the first byte of each block, and sends the request home."""
    route = locus.Route(owner, lane=lane, exclusive=True)
    while (request := finished.get()) is not None:
        table, mark = request
        if any(owner.pool.view(block)[0] != mark for block in table.blocks):
            print(f"request {table.tag} has lost its contents", file=sys.stderr, flush=True)
            os._exit(1)  # this thread's own end would leave the others waiting
        route.push(table)


def admit(owner, table, finished, rng):
    """A request of a random length, decoded at once."""
    mark = rng.randrange(256)
    owner.grow(table, table.blocks_for(rng.randrange(1, CAPACITY * TOKENS_PER_BLOCK)))
    for block in table.blocks:
        owner.pool.view(block)[:] = bytes([mark]) * BLOCK_BYTES
    owner.retire(table)
    finished.put((table, mark))


def main():
    owner = locus.Owner(locus.Pool(LIVE * CAPACITY, BLOCK_BYTES), lanes=WORKERS, wait_s=10)
    finished, rng = queue.Queue(), random.Random(41)
    threads = [threading.Thread(target=work, args=(owner, lane, finished)) for lane in range(WORKERS)]
    for thread in threads:
        thread.start()
    served = 0
    with owner:
        for tag in range(1, LIVE + 1):
            admit(owner, locus.Table(CAPACITY, TOKENS_PER_BLOCK, tag=tag), finished, rng)
        while served < REQUESTS:
            owner.drain()
            for table in owner.reclaimed():
                served += 1
                if served <= REQUESTS - LIVE:
                    admit(owner, table, finished, rng)
    for _ in threads:
        finished.put(None)
    for thread in threads:
        thread.join()
    stats = owner.pool.stats()
    print(f"liblocus {locus.__version__}")
    print(f"requests served   {served} of {REQUESTS}")
    print(f"blocks            {stats.allocated} allocated, {stats.freed} freed")
    right = stats.allocated == stats.freed > 0 and stats.outstanding == 0
    print("all blocks came home" if right else "MISMATCH")
    return 0 if right else 1


sys.exit(main())
