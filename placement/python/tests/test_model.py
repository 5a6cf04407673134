# SPDX-License-Identifier: Apache-2.0
"""Random operations of four threads on one pool, against a model: LOCUS_OPERATIONS of them (100,000).

Each thread has sequences of its own, whose tokens the model knows. They take turns as the owner. What is finished goes home by
another thread's route. At the end every block is home.
"""

from __future__ import annotations

import collections
import errno
import os
import queue
import random
import threading
import unittest

import locus

THREADS, BLOCKS, TOKENS, TOKEN_BYTES, CAPACITY = 4, 96, 16, 256, 8
OPERATIONS = int(os.environ.get("LOCUS_OPERATIONS", "100000"))
SEED = int(os.environ.get("LOCUS_SEED", "41"))
LIVE = 5


class Sequence:
    """A table, and the tokens that it should have; None: dropped."""

    def __init__(self, table: locus.Table, tokens: list[int | None]) -> None:
        self.table, self.tokens = table, tokens


class Worker(threading.Thread):
    """One of the four."""

    def __init__(self, shared: Shared, number: int) -> None:
        super().__init__(name=f"worker {number}")
        self.shared, self.number = shared, number
        self.random = random.Random(SEED * 1000 + number)
        self.route = locus.Route(shared.owner, lane=number)
        self.window = locus.Window(shared.pool, CAPACITY)
        self.sequences: list[Sequence] = []
        self.spare = [locus.Table(CAPACITY, TOKENS, tag=number + 1) for _ in range(2 * LIVE)]
        self.returned: queue.Queue[locus.Table] = queue.Queue()
        self.counts: collections.Counter[str] = collections.Counter()
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            for _ in range(OPERATIONS // THREADS):
                self.one()
            self.finish()
        except BaseException as error:
            self.error = error
            self.shared.stop.set()
            raise

    def one(self) -> None:
        if self.shared.stop.is_set():
            raise RuntimeError("another thread failed")
        if self.random.random() < 0.5:
            self.reads()
            return
        try:
            self.shared.owner.adopt()
        except locus.Error as error:
            assert error.errno == errno.EBUSY
            self.counts["busy"] += 1
            self.reads()
            return
        try:
            self.owns()
        finally:
            self.shared.owner.leave()

    def reads(self) -> None:
        """What needs no role."""
        what = self.random.randrange(4)
        if what == 0:
            self.push()
        elif what == 1:
            assert locus.where(self.shared.pool.memory[: 4 * TOKEN_BYTES]).pages_present
        elif self.sequences:
            self.check(self.random.choice(self.sequences), through_window=what == 2)

    def push(self) -> None:
        try:
            table = self.shared.finished.get_nowait()
        except queue.Empty:
            return
        self.route.push(table)
        self.counts["push"] += 1

    def check(self, sequence: Sequence, *, through_window: bool) -> None:
        """A token is where it should be."""
        kept = [i for i, token in enumerate(sequence.tokens) if token is not None]
        if not kept:
            return
        position = self.random.choice(kept)
        within = position % TOKENS * TOKEN_BYTES
        if through_window:
            self.window.show(0, sequence.table)
            found = self.window.memory[position // TOKENS * TOKENS * TOKEN_BYTES + within]
        else:
            found = self.shared.pool.view(sequence.table.at(position))[within]
        assert found == sequence.tokens[position], (found, sequence.tokens[position])
        self.counts["read"] += 1

    def owns(self) -> None:
        """What the owner does."""
        owner = self.shared.owner
        owner.drain()
        for table in owner.reclaimed():
            self.shared.workers[table.tag - 1].returned.put(table)
        while not self.returned.empty():
            self.spare.append(self.returned.get())
        what = self.random.randrange(6)
        if (what == 0 or not self.sequences) and len(self.sequences) < LIVE and self.spare:
            self.sequences.append(Sequence(self.spare.pop(), []))
        if not self.sequences:
            return
        sequence = self.random.choice(self.sequences)
        if what <= 2:
            self.write(sequence)
        elif what == 3:
            self.fork(sequence)
        elif what == 4:
            self.cut(sequence)
        else:
            self.retire(sequence)

    def write(self, sequence: Sequence) -> None:
        first, count = len(sequence.tokens), self.random.randrange(1, 3 * TOKENS)
        if first and sequence.tokens[-1] is None:
            return
        try:
            self.shared.owner.write(sequence.table, first, count)
        except locus.Error as error:
            assert error.errno in (errno.ENOMEM, errno.ENOSPC, errno.EAGAIN), error
            self.shared.owner.truncate_tokens(sequence.table, first)
            self.counts["full"] += 1
            return
        for position in range(first, first + count):
            token = self.random.randrange(256)
            self.shared.pool.view(sequence.table.at(position))[position % TOKENS * TOKEN_BYTES] = token
            sequence.tokens.append(token)
        self.counts["write"] += 1

    def fork(self, sequence: Sequence) -> None:
        if len(self.sequences) < LIVE and self.spare:
            to = self.shared.owner.fork(sequence.table, self.spare.pop())
            self.sequences.append(Sequence(to, list(sequence.tokens)))
            self.counts["fork"] += 1

    def cut(self, sequence: Sequence) -> None:
        length = len(sequence.tokens)
        if self.random.random() < 0.5:
            keep = self.random.randrange(length + 1)
            self.shared.owner.truncate_tokens(sequence.table, keep)
            del sequence.tokens[keep:]
        elif length:
            position = self.random.randrange(length)
            self.shared.owner.drop_before(sequence.table, position)
            for i in range(position // TOKENS * TOKENS):
                sequence.tokens[i] = None
        self.counts["cut"] += 1

    def retire(self, sequence: Sequence) -> None:
        self.sequences.remove(sequence)
        if self.shared.owner.retire(sequence.table):
            self.shared.finished.put(sequence.table)
        else:
            self.spare.append(sequence.table)
        self.counts["retire"] += 1

    def finish(self) -> None:
        """All of its sequences end."""
        while self.sequences:
            try:
                self.shared.owner.adopt()
            except locus.Error:
                continue
            self.retire(self.sequences[0])
            self.shared.owner.leave()


class Shared:
    """What the four have in common."""

    def __init__(self) -> None:
        self.pool = locus.Pool(BLOCKS, TOKENS * TOKEN_BYTES, shared=True, windows=True, populate=True)
        self.owner = locus.Owner(self.pool, lanes=THREADS)
        self.finished: queue.Queue[locus.Table] = queue.Queue()
        self.stop = threading.Event()
        self.workers = [Worker(self, number) for number in range(THREADS)]


class Model(unittest.TestCase):
    def test_random_operations_of_four_threads_agree_with_a_model(self) -> None:
        shared = Shared()
        for worker in shared.workers:
            worker.start()
        for worker in shared.workers:
            worker.join()
        self.assertEqual([worker.error for worker in shared.workers], [None] * THREADS)
        with shared.owner:
            while not shared.finished.empty():
                shared.workers[0].push()
            shared.owner.drain()
            list(shared.owner.reclaimed())
        stats = shared.pool.stats()
        self.assertEqual((stats.outstanding, stats.refused, stats.sharers), (0, {}, 0))
        total: collections.Counter[str] = collections.Counter()
        for worker in shared.workers:
            total += worker.counts
        print(f"# seed {SEED}, {OPERATIONS} operations: {dict(total)}")
        for kind in ("write", "fork", "cut", "retire", "push", "read", "full"):
            self.assertGreater(total[kind], OPERATIONS // 2000, kind)
