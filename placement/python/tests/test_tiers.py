# SPDX-License-Identifier: Apache-2.0
"""Tiers and prefix caches: bytes come back, also after a restart, and what fails loses nothing."""

import array
import asyncio
import contextlib
import errno
import gc
import os
import pathlib
import tempfile
import threading
import time
import unittest

import numpy as np

import locus
from locus._native import ffi, lib

PAGE = 4096
TOKENS = 16


class Tiers(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "tier"

    def opened(self) -> list[locus.Tier]:
        return [locus.Tier.far(1 << 20), locus.Tier.file(self.path, 16 << 20)]

    def test_many_objects_in_pieces_take_one_call(self) -> None:
        count, layers, nbytes = 12, 3, PAGE
        memory = np.arange(layers * count * nbytes // 4, dtype=np.uint32).reshape(layers, count, nbytes // 4)
        want = memory.copy()
        pieces = np.empty((count, layers, 2), dtype=np.uint64)
        for layer in range(layers):
            pieces[:, layer, 0] = [memory[layer, one].ctypes.data for one in range(count)]
        pieces[:, :, 1] = nbytes
        keys = [one.to_bytes(16, "little") for one in range(1, count + 1)]
        results = np.full(count, 99, dtype=np.int32)

        def many(pointer: object, what: int, joined: bytes) -> list[int]:
            out = ffi.from_buffer("int32_t[]", results)
            given = ffi.from_buffer("struct locus_piece[]", pieces)
            named = ffi.from_buffer("struct locus_id[]", joined)
            self.assertEqual(lib.locus_py_many(pointer, what, named, count, given, layers, out), 0)
            return results.tolist()

        for tier in self.opened():
            pointer = tier.take()
            self.assertEqual(many(pointer, 0, b"".join(keys)), [0] * count)
            memory[:] = 0
            self.assertEqual(many(pointer, 1, b"".join(keys)), [0] * count)
            self.assertTrue((memory == want).all())
            out = ffi.new("struct locus_id[]", count)
            self.assertEqual(lib.locus_py_keys(pointer, out, count - 1), count, "how many there are, not how many fit")
            self.assertEqual(bytes(ffi.buffer(out))[-16:], bytes(16))
            lib.locus_py_keys(pointer, out, count)
            listed = bytes(ffi.buffer(out))
            self.assertEqual(sorted(listed[at : at + 16] for at in range(0, 16 * count, 16)), sorted(keys))
            self.assertEqual(many(pointer, 2, b"".join(keys)), [0] * count)
            self.assertEqual(many(pointer, 1, b"".join(keys)), [-errno.ENOENT] * count)
            pointer = None

    def test_what_is_stored_comes_back(self) -> None:
        numbers = np.arange(10000, dtype=np.float32)
        for tier in self.opened():
            tier.store(b"0123456789abcdef", numbers).result()
            back = np.zeros_like(numbers)
            tier.load(b"0123456789abcdef", back).result()
            self.assertTrue((back == numbers).all())
            tier.drop(b"0123456789abcdef").result()
            self.assertIsNone(tier.find(b"0123456789abcdef"))

    def test_int8_keeps_half_of_the_bytes(self) -> None:
        tier = locus.Tier.int8(1 << 20)
        numbers = np.linspace(-1, 1, 6400, dtype=np.float16)
        tier.store(1, numbers).result()
        back = np.zeros_like(numbers)
        tier.load(1, back).result()
        self.assertLess(float(np.abs(back - numbers).max()), 0.5 / 127 + 0.001)
        self.assertLess(tier.stats().bytes_held, 0.52 * numbers.nbytes)
        with self.assertRaisesRegex(locus.Error, "infinite"):
            tier.store(2, np.full(64, np.inf, np.float16)).result()
        with self.assertRaisesRegex(locus.Error, "even number"):
            tier.store(2, bytes(3)).result()

    def test_a_file_finds_its_objects_after_a_restart(self) -> None:
        tier = locus.Tier.file(self.path, 16 << 20)
        tier.store(5, b"kept").result()
        tier.close()
        del tier
        gc.collect()
        again, back = locus.Tier.file(self.path), bytearray(4)
        again.load(5, back).result()
        self.assertEqual(bytes(back), b"kept")

    def test_coroutines_wait_for_a_file_while_others_run(self) -> None:
        tier = locus.Tier.file(self.path, 64 << 20)
        given = [os.urandom(200_000) for _ in range(20)]
        taken = [bytearray(200_000) for _ in given]

        async def wait(completion: locus.Completion) -> None:
            await completion

        gate, opened = threading.Event(), []
        tier._thread.requests.put(lambda: opened.append(gate.wait(5)))  # the tier does nothing until then

        async def both() -> None:
            stores = [asyncio.ensure_future(wait(tier.store(key, data))) for key, data in enumerate(given)]
            await asyncio.sleep(0)  # now they wait, or else this loop would stand still
            gate.set()
            await asyncio.gather(*stores)
            await asyncio.gather(*(wait(tier.load(key, into)) for key, into in enumerate(taken)))

        asyncio.run(both())
        self.assertEqual(opened, [True], "a coroutine ran while others waited")
        self.assertEqual([bytes(into) for into in taken], given)

    def test_a_completions_callback_may_ask_and_its_exception_harms_nobody(self) -> None:
        tier, heard = locus.Tier.file(self.path, 16 << 20), []

        def callback(done: object) -> None:
            heard.append(tier.find(1))
            raise ZeroDivisionError(done)

        with self.assertLogs("concurrent.futures", "ERROR"):
            completion = tier.store(1, bytes(300_000))
            completion.add_done_callback(callback)
            completion.result()
            while not heard:
                time.sleep(0.001)
            tier.store(2, b"on it goes").result()
        self.assertEqual((heard, tier.find(2)), ([300_000], 10))

    def test_what_is_asked_for_beside_a_close_is_done_or_refused(self) -> None:
        for _ in range(20):
            tier = locus.Tier.file(self.path, 64 << 20)
            asked: list[locus.Completion] = []

            def ask(tier: locus.Tier = tier, asked: list[locus.Completion] = asked) -> None:
                with contextlib.suppress(locus.Error):
                    for key in range(100):
                        asked.append(tier.store(key, bytes(5000)))

            thread = threading.Thread(target=ask)
            thread.start()
            tier.close()
            thread.join()
            for completion in asked:
                completion.result(timeout=10)
            del tier, ask
            gc.collect()

    def test_four_threads_may_use_one(self) -> None:
        tier, failed = locus.Tier.file(self.path, 64 << 20), []

        def work(first: int) -> None:
            for key in range(first, first + 50):
                data, back = os.urandom(5000), bytearray(5000)
                tier.store(key, data).result()
                tier.load(key, back).result()
                if bytes(back) != data:
                    failed.append(key)

        threads = [threading.Thread(target=work, args=(1000 * i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((failed, tier.stats().objects), ([], 200))

    def test_an_object_that_nobody_waits_for_is_stored_all_the_same(self) -> None:
        tier = locus.Tier.file(self.path, 16 << 20)
        tier.store(9, bytearray(b"x" * 100_000))  # its only reference goes at once
        gc.collect()
        tier.close()
        del tier
        gc.collect()
        self.assertEqual(locus.Tier.file(self.path).find(9), 100_000)

    def test_a_child_leaves_the_parents_file_alone(self) -> None:
        tier = locus.Tier.file(self.path, 16 << 20)
        pending = tier.store(1, bytes(100_000))
        child = os.fork()
        if child == 0:
            try:
                tier.find(1)
            except locus.Error as error:
                os._exit(0 if "forked" in str(error) else 2)
            os._exit(3)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        pending.result()
        self.assertEqual(tier.find(1), 100_000)

    def test_what_is_refused_is_a_sentence(self) -> None:
        tier = locus.Tier.far(1 << 20)
        tier.store(1, bytes(100)).result()
        for call, word in (
            (lambda: tier.load(2, bytearray(100)).result(), "none of this key"),
            (lambda: tier.load(1, bytearray(10)).result(), "larger than the room"),
            (lambda: tier.load(1, bytes(100)), "read-only"),
            (lambda: tier.load(1, np.zeros((100, 2), np.uint8)[:, 0]), "strided"),
            (lambda: tier.store(1, bytes(2 << 20)).result(), "larger than the tier"),
            (lambda: tier.store(-1, b"x"), "below 2"),
            (lambda: tier.store(b"short", b"x"), "16 bytes"),
            (lambda: tier.store(1, b"").result(), "an object has bytes"),
            (lambda: locus.Tier.far(0), "bytes"),
            (lambda: locus.Tier.file(self.path), "No such file"),
            (lambda: locus.Tier.file(self.path.parent), "folder|directory"),
        ):
            with self.subTest(word), self.assertRaisesRegex(locus.Error, word):
                call()
        self.assertEqual(tier.find(1), 100)

    def test_what_is_copied_within_the_call_is_done_at_once(self) -> None:
        done = locus.Tier.far(1 << 20).store(1, b"x")
        self.assertTrue(done.done())
        self.assertIsNone(done.exception())


class Prefixes(unittest.TestCase):
    def setUp(self) -> None:
        self.pool = locus.Pool(8, PAGE, shared=True)
        self.owner = locus.Owner(self.pool)

    def test_a_prompt_finds_what_an_earlier_one_computed(self) -> None:
        prefix = None
        with self.owner:
            prefix = locus.Prefix(self.owner, tokens_per_block=TOKENS)
            first, second, third = (locus.Table(8, TOKENS) for _ in range(3))
            prompt = list(range(40))
            self.owner.write(first, 0, 40)
            self.assertEqual(prefix.publish(first, prompt), 2)
            self.assertEqual(prefix.match(second, [*prompt[:20], 7, *prompt[21:]]), 1)
            self.assertEqual(second.blocks, first.blocks[:1])
            self.assertEqual(prefix.match(third, prompt, salt=1), 0)
            for table in (first, second):
                self.owner.truncate(table, 0)
            self.assertEqual((prefix.stats().cached, prefix.evict(9)), (2, 2))

    def test_evicted_blocks_go_to_tiers_and_come_back(self) -> None:
        far, folder = locus.Tier.far(1 << 20), tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        slow = locus.Tier.file(pathlib.Path(folder.name) / "t", 16 << 20)
        offload = locus.Offload(self.pool, [(far, 2), (slow, 40)])
        with self.assertRaisesRegex(locus.Error, "Offload has it"):
            far.find(1)
        with self.owner:
            prefix = locus.Prefix(self.owner, tokens_per_block=TOKENS, offload=offload, key=bytes(16))
            table, prompt = locus.Table(8, TOKENS), list(range(8 * TOKENS))
            self.owner.write(table, 0, len(prompt))
            for i, block in enumerate(table.blocks):
                self.pool.view(block)[:] = bytes([i]) * PAGE
            prefix.publish(table, prompt)
            self.owner.truncate(table, 0)
            self.assertEqual(prefix.evict(8), 8)
            self.assertEqual(prefix.match(table, prompt), 0)
            while prefix.poll(0.01):
                pass
            self.assertEqual(prefix.load(table, prompt), 8)
            self.assertEqual([self.pool.view(block)[PAGE - 1] for block in table.blocks], list(range(8)))
            self.owner.truncate(table, 0)
            self.assertEqual(offload.stats().lost, 0)

    def test_what_is_refused_is_a_sentence(self) -> None:
        plain = locus.Owner(locus.Pool(2, PAGE))
        with plain, self.assertRaisesRegex(locus.Error, "shared=True"):
            locus.Prefix(plain, tokens_per_block=TOKENS)
        with self.owner:
            for options, word in (({"evict": "best"}, "chain, lru"), ({"key": b"short"}, "16 bytes")):
                with self.assertRaisesRegex(locus.Error, word):
                    locus.Prefix(self.owner, tokens_per_block=TOKENS, **options)
            prefix, table = locus.Prefix(self.owner, tokens_per_block=TOKENS), locus.Table(8, TOKENS)
            with self.assertRaisesRegex(locus.Error, "Prefix.publish"):
                prefix.publish(table, array.array("I", range(TOKENS)))
        with self.assertRaisesRegex(locus.Error, "one tier or two"):
            locus.Offload(self.pool, [])
