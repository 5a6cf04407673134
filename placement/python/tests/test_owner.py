# SPDX-License-Identifier: Apache-2.0
"""Owners, tables and routes, with several threads and with everything that may go wrong."""

import errno
import gc
import os
import threading
import time
import unittest

import locus

PAGE = 4096
TOKENS = 16


class Role(unittest.TestCase):
    def setUp(self) -> None:
        self.pool = locus.Pool(8, PAGE, shared=True)
        self.owner = locus.Owner(self.pool, lanes=4, wait_s=5)
        self.table = locus.Table(8, TOKENS, tag=41)

    def test_a_call_without_the_role_is_refused_and_changes_nothing(self) -> None:
        for call in (lambda: self.owner.grow(self.table, 1), lambda: self.owner.truncate(self.table, 0), self.owner.leave,
                     lambda: self.owner.retire(self.table), lambda: self.owner.fork(self.table)):
            with self.assertRaisesRegex(locus.Error, "does not hold the owner's role") as caught:
                call()
            self.assertEqual(caught.exception.errno, errno.EPERM)
        self.assertEqual(self.pool.stats().outstanding, 0)

    def test_one_thread_at_a_time_has_it(self) -> None:
        said = []

        def other() -> None:
            try:
                self.owner.adopt()
            except locus.Error as error:
                said.append(str(error))

        with self.owner:
            self.assertTrue(self.owner.held_here)
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
        self.assertEqual(said, ["Owner.adopt: a thread holds the role"])
        self.assertFalse(self.owner.held_here)

    def test_a_pool_has_one_owner(self) -> None:
        with self.assertRaises(locus.Error) as caught:
            locus.Owner(self.pool)
        self.assertEqual(caught.exception.errno, errno.EBUSY)
        self.owner.close()
        del self.owner
        gc.collect()
        locus.Owner(self.pool)

    def test_a_grow_that_waits_lets_other_threads_run(self) -> None:
        route = locus.Route(self.owner, lane=1)
        with self.owner:
            self.owner.grow(self.table, 8)
            self.assertTrue(self.owner.retire(self.table))
            pusher = threading.Timer(0.2, route.push, (self.table,))
            pusher.start()
            began = time.monotonic()
            second = locus.Table(8, TOKENS)
            self.owner.grow(second, 4)
            self.assertGreater(time.monotonic() - began, 0.1)
            self.assertEqual(list(self.owner.reclaimed()), [self.table])
        self.assertEqual(self.owner.stats().waits, 1)

    def test_a_pushed_table_is_its_owners(self) -> None:
        route = locus.Route(self.owner, lane=1)
        with self.owner:
            self.assertFalse(self.owner.retire(self.table), "an empty table goes nowhere")
            self.owner.grow(self.table, 2)
            with self.assertRaisesRegex(locus.Error, "was not retired"):
                route.push(self.table)
            self.owner.retire(self.table)
            route.push(self.table)
            for call in (lambda: route.push(self.table), lambda: len(self.table), lambda: self.owner.grow(self.table, 1)):
                with self.assertRaisesRegex(locus.Error, "was pushed"):
                    call()
            self.assertEqual(self.owner.drain(), 2)
            self.assertEqual(list(self.owner.reclaimed()), [self.table])
            self.assertEqual((len(self.table), self.table.tag), (0, 41))

    def test_errors_name_what_to_do(self) -> None:
        with self.owner:
            with self.assertRaisesRegex(locus.Error, "extend"):
                self.owner.grow(self.table, 9)
            self.owner.grow(self.table, 8)
            with self.assertRaisesRegex(locus.Error, "too few free blocks"):
                self.owner.grow(locus.Table(8, TOKENS), 1)
        with self.assertRaisesRegex(locus.Error, "no lane 9"):
            locus.Route(self.owner, lane=9)
        with self.assertRaisesRegex(locus.Error, "1 or more"):
            locus.Table(0, TOKENS)

    def test_a_spawned_thread_runs_steps_and_what_a_step_raises_comes_out_of_join(self) -> None:
        counts = []

        def step(owner: locus.Owner) -> int:
            table = locus.Table(8, TOKENS)
            owner.grow(table, 2)
            owner.truncate(table, 0)
            counts.append(owner.held_here)
            return len(counts) == 3

        self.owner.spawn(step)
        self.assertEqual((self.owner.join(), counts), (1, [True] * 3))

        def broken(owner: locus.Owner) -> None:
            raise KeyError("a step's own error")

        self.owner.spawn(broken)
        with self.assertRaisesRegex(locus.Error, "not joined"):
            self.owner.close()
        with self.assertRaisesRegex(KeyError, "a step's own error"):
            self.owner.join()
        with self.owner:
            self.owner.grow(self.table, 8)


class Sharing(unittest.TestCase):
    def setUp(self) -> None:
        self.pool = locus.Pool(16, PAGE, shared=True, windows=True)
        self.owner = locus.Owner(self.pool)
        self.table = locus.Table(8, TOKENS)

    def test_a_fork_shares_and_a_write_copies_what_is_shared(self) -> None:
        with self.owner:
            self.owner.write(self.table, 0, 40)
            for block in self.table.blocks:
                self.pool.view(block)[:] = b"a" * PAGE
            twin = self.owner.fork(self.table)
            self.assertEqual(twin.blocks, self.table.blocks)
            self.assertEqual(self.owner.holders(twin.at(39)), 2)
            self.owner.write(twin, 40, 1)
            self.assertEqual(twin.blocks[:2], self.table.blocks[:2])
            self.assertNotEqual(twin.blocks[2], self.table.blocks[2])
            self.assertEqual(bytes(self.pool.view(twin.blocks[2])[: PAGE // 2]), b"a" * (PAGE // 2))
            self.owner.truncate_tokens(twin, 32)
            self.owner.drop_before(twin, 16)
            self.assertEqual((twin.blocks[0], twin.dropped), (0, 1))
            self.assertEqual(self.pool.stats().outstanding, 3)

    def test_a_pool_that_is_not_shared_says_so(self) -> None:
        owner = locus.Owner(locus.Pool(2, PAGE))
        with owner:
            owner.grow(self.table, 1)
            with self.assertRaisesRegex(locus.Error, "shared=True"):
                owner.fork(self.table)

    def test_extend_keeps_the_blocks(self) -> None:
        with self.owner:
            self.owner.grow(self.table, 8)
            before = self.table.blocks
            self.table.extend(16)
            self.owner.grow(self.table, 8)
        self.assertEqual((self.table.blocks[:8], len(self.table), self.table.capacity), (before, 16, 16))

    def test_a_window_shows_blocks_as_one_array(self) -> None:
        window = locus.Window(self.pool, 8, rows=2)
        with self.owner:
            self.owner.grow(self.table, 3)
            other = self.owner.fork(self.table)
            self.owner.grow(other, 2)
        for i, block in enumerate(other.blocks):
            self.pool.view(block)[:] = bytes([i]) * PAGE
        window.show(0, self.table)
        window.show(1, other)
        self.assertEqual(bytes(window.memory[0 : 3 * PAGE : PAGE]), b"\0\1\2")
        self.assertEqual(bytes(window.memory[window.row_bytes : window.row_bytes + 5 * PAGE : PAGE]), b"\0\1\2\3\4")
        window.memory[PAGE] = 99
        self.assertEqual(window.memory[window.row_bytes + PAGE], 99, "they share the page")
        self.assertEqual(window.stats().mapped, 8)
        window.show(0, None)
        self.assertEqual(window.stats().unmapped, 3)
        big = locus.Table(16, TOKENS)
        with self.owner:
            self.owner.grow(big, 9)
        with self.assertRaisesRegex(locus.Error, "room for 8 blocks"):
            window.show(0, big)
        with self.assertRaisesRegex(locus.Error, "whole pages"):
            locus.Window(self.pool, 8, planes=2)

    def test_what_a_window_shows_outlives_the_pool(self) -> None:
        window = locus.Window(self.pool, 8)
        with self.owner:
            self.owner.grow(self.table, 1)
        window.show(0, self.table)
        view = window.memory
        window.close()
        self.owner.close()
        self.pool.close()
        del window, self.owner, self.pool
        gc.collect()
        view[5] = 5
        self.assertEqual(view[5], 5)


class Refused(unittest.TestCase):
    def setUp(self) -> None:
        self.pool = locus.Pool(4, PAGE)
        self.owner = locus.Owner(self.pool)
        self.table, self.twin = locus.Table(4, TOKENS, tag=7), locus.Table(4, TOKENS, tag=8)

    def misuse(self) -> None:
        """Two tables with the same block: the second one's is refused."""
        from locus._native import lib

        self.owner.grow(self.table, 1)
        lib.locus_table_append(self.twin.pointer, self.table.blocks[0])
        self.owner.truncate(self.table, 0)
        self.owner.truncate(self.twin, 0)

    def test_the_callback_hears_and_its_exception_comes_out_of_the_call(self) -> None:
        heard = []
        self.pool.on_refused(lambda kind, block, tag: heard.append((kind, tag)))
        with self.owner:
            self.misuse()
        self.assertEqual((heard, self.pool.stats().refused), ([("double", 8)], {"double": 1}))

        def broken(kind: str, block: int, tag: int) -> None:
            raise ZeroDivisionError(kind)

        self.pool.on_refused(broken)
        with self.owner:
            with self.assertRaisesRegex(ZeroDivisionError, "double"):
                self.misuse()
            self.assertEqual(self.pool.stats().outstanding, 0, "the call was done")
            self.owner.grow(self.table, 4)


class Forked(unittest.TestCase):
    def test_a_child_gets_a_sentence_and_opens_its_own(self) -> None:
        pool = locus.Pool(4, PAGE, populate=True)
        owner, table = locus.Owner(pool), locus.Table(4, TOKENS)
        with owner:
            owner.grow(table, 1)
        said, tell = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(tell, in_child(pool, owner, table).encode())
            finally:
                os._exit(0)
        os.close(tell)
        with os.fdopen(said) as file:
            words = file.read()
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(words.count("before this process was forked"), 4, words)
        self.assertTrue(words.endswith("own pool 1"), words)
        with owner:
            owner.grow(table, 3)
        self.assertEqual(pool.stats().outstanding, 4)


def in_child(pool: locus.Pool, owner: locus.Owner, table: locus.Table) -> str:
    said = []
    for call in (lambda: pool.memory, owner.adopt, lambda: len(table), lambda: locus.Window(pool, 1)):
        try:
            call()
        except locus.Error as error:
            said.append(str(error))
    mine = locus.Pool(1, PAGE)
    with locus.Owner(mine) as own:
        fresh = locus.Table(1, TOKENS)
        own.grow(fresh, 1)
        mine.view(fresh.blocks[0])[0] = 1
    return "; ".join(said) + f"; own pool {mine.stats().outstanding}"
