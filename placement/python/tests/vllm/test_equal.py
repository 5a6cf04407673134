# SPDX-License-Identifier: Apache-2.0
"""Tokens are those of a run that computes all: whatever tier blocks come from, and whatever vLLM does in between."""

from __future__ import annotations

import os
import time
import unittest
from typing import Any

from engines import BLOCK, Engine, file, folder, near, prompt, transfer

LONG = prompt(3900)
WHOLE = prompt(30 * BLOCK, 1)
MANY = [prompt(300 + 97 * number % 900, 100 + number) for number in range(32)]


def far(size: str = "64MiB") -> dict[str, Any]:
    """This machine may have one node, whose memory is as far as there is."""
    return {"kind": "far", "node": 0, "size": size}


def restored(tokens: int) -> int:
    """Of a prompt, what is in full blocks. (Of one that is all there, vLLM computes the last token again.)"""
    return tokens // BLOCK * BLOCK


class Restored(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        with Engine() as plain:
            cls.cold = plain.tokens(LONG) + plain.tokens(WHOLE)
            own, cached = plain.cached(LONG)
            cls.own_hit = own[0] == cls.cold[0] and cached == [restored(len(LONG))]
            plain.forget()
            cls.serial = [plain.tokens(one, count=24)[0] for one in MANY]

    def test_vllms_own_hit_gives_the_tokens_of_a_cold_run(self) -> None:
        self.assertTrue(self.own_hit)

    def check(self, *tiers: dict[str, Any], from_tier: int, small: bool = False, **more: Any) -> None:
        with Engine(transfer(*tiers), **more) as engine:
            self.assertEqual(engine.tokens(LONG) + engine.tokens(WHOLE), self.cold)
            engine.settle()
            for _ in range(2):
                engine.forget()
                tokens, cached = engine.cached(LONG, WHOLE)
                self.assertEqual(tokens, self.cold)
                self.assertEqual(cached, [restored(len(LONG)), restored(len(WHOLE))])
                engine.settle()
            stats = [tier.bytes_used() for tier in engine.worker.tiers]
            self.assertGreater(stats[from_tier], 0)
            if small:
                self.assertGreater(len(engine.index.shelves[from_tier].slots), len(engine.index.shelves[0].slots))

    def test_from_near_memory(self) -> None:
        self.check(near(), from_tier=0)

    def test_from_near_memory_by_lru(self) -> None:
        with Engine(transfer(near(), policy="lru")) as engine:
            self.assertEqual(engine.tokens(LONG), self.cold[:1])
            engine.settle()
            engine.forget()
            self.assertEqual(engine.cached(LONG), (self.cold[:1], [restored(len(LONG))]))

    def test_from_the_memory_of_a_named_node(self) -> None:
        self.check(far(), from_tier=0)

    def test_from_a_file(self) -> None:
        with folder() as place:
            self.check(file(place / "kv"), from_tier=0)

    def test_from_tiers_in_a_row_of_which_the_first_is_too_small(self) -> None:
        with folder() as place:
            self.check(near("2MiB"), far("2MiB"), file(place / "kv"), from_tier=2, small=True)

    def test_with_blocks_of_32_tokens(self) -> None:
        with Engine(transfer(near()), block_size=32) as engine:
            self.assertEqual(engine.tokens(LONG), self.cold[:1])
            engine.settle()
            engine.forget()
            self.assertEqual(engine.cached(LONG), (self.cold[:1], [len(LONG) // 32 * 32]))

    def test_while_a_prompt_is_computed_in_chunks(self) -> None:
        with Engine(transfer(near()), max_num_batched_tokens=512) as engine:
            self.assertEqual(engine.tokens(LONG, WHOLE), self.cold)
            engine.settle()
            engine.forget()
            half = LONG[: 10 * BLOCK] + prompt(600, 7)
            alone = engine.tokens(half)
            engine.settle()
            engine.forget()
            tokens, cached = engine.cached(half, LONG, WHOLE)
            self.assertEqual(tokens, alone + self.cold)
            self.assertEqual(cached[1:], [restored(len(LONG)), restored(len(WHOLE))])

    def test_32_requests_at_once_on_a_cache_of_few_blocks(self) -> None:
        with folder() as place:
            for tiers in ([near("2MiB")], [near("1MiB"), file(place / "kv", "8MiB")], [file(place / "kv2", "4MiB")]):
                with self.subTest(tiers[0]["kind"] + str(len(tiers))), Engine(transfer(*tiers), kv_mib=5) as engine:
                    for _ in range(3):
                        self.assertEqual(engine.tokens(*MANY, count=24), self.serial)
                        engine.forget()

    def test_a_block_is_held_until_its_store_has_read_it_and_waits_for_its_load(self) -> None:
        with Engine(transfer(near("16MiB")), kv_mib=5) as engine:
            put, load = engine.worker._put, engine.worker._load
            engine.worker._put = lambda *given: (time.sleep(0.03), put(*given))[1]
            engine.worker._load = lambda job: (time.sleep(0.03), load(job))[1]
            for _ in range(3):
                self.assertEqual(engine.tokens(*MANY[:20], count=24), self.serial[:20])
                engine.forget()

    def test_after_preemption_many_times(self) -> None:
        prompts = [prompt(250 + number, 200 + number) for number in range(12)]
        with Engine() as plain:
            wanted = [plain.tokens(one, count=300)[0] for one in prompts]
        with Engine(transfer(near("8MiB")), kv_mib=5) as engine:
            preempted = 0
            for _ in range(4):
                before = engine.preemptions()
                self.assertEqual(engine.tokens(*prompts, count=300), wanted)
                preempted += engine.preemptions() - before
                engine.forget()
            self.assertGreater(preempted, 10)


class Types(unittest.TestCase):
    def test_of_16_bits_give_the_tokens_of_vllms_own_hit(self) -> None:
        for dtype in ("bfloat16", "float16"):
            with self.subTest(dtype), Engine(transfer(near()), dtype=dtype) as engine:
                engine.tokens(LONG, WHOLE)
                own, cached = engine.cached(LONG, WHOLE)
                engine.settle()
                engine.forget()
                self.assertEqual(engine.cached(LONG, WHOLE), (own, cached))


class Sliding(unittest.TestCase):
    def test_layers_and_full_ones_are_restored_together(self) -> None:
        with Engine(name="sliding") as plain:
            cold = plain.tokens(LONG, WHOLE)
            many = [plain.tokens(one, count=24)[0] for one in MANY]
        with Engine(transfer(near()), name="sliding") as engine:
            groups = len(engine.index.hashes_per_block)
            self.assertGreater(groups, 1)
            self.assertEqual(engine.tokens(LONG, WHOLE), cold)
            engine.settle()
            engine.forget()
            tokens, cached = engine.cached(LONG, WHOLE)
            self.assertEqual(tokens, cold)
            self.assertGreater(min(cached), 3700)
        with Engine(transfer(near("4MiB")), name="sliding", kv_mib=10) as engine:
            for _ in range(2):
                self.assertEqual(engine.tokens(*MANY, count=24), many)
                engine.forget()


class Int8(unittest.TestCase):
    """Half of a 16-bit block's bytes, and a quarter of a float32 one's. The bound is of log probabilities."""

    BOUND = 0.25

    def logprobs(self, output: Any) -> dict[int, float]:
        return {token: value.logprob for token, value in output.outputs[0].logprobs[0].items()}

    def test_moves_what_the_model_says_by_no_more_than_is_stated(self) -> None:
        for dtype, nbytes in (("float32", 4), ("bfloat16", 2), ("float16", 2)):
            with self.subTest(dtype), Engine(transfer({"kind": "int8", "size": "8MiB"}), dtype=dtype) as engine:
                engine.tokens(LONG)
                engine.settle()
                own = self.logprobs(engine.run([LONG], 1, logprobs=20)[0])
                engine.forget()
                output = engine.run([LONG], 1, logprobs=20)[0]
                self.assertEqual(output.num_cached_tokens, restored(len(LONG)))
                moved = [abs(value - own[token]) for token, value in self.logprobs(output).items() if token in own]
                self.assertGreater(len(moved), 10)
                self.assertLess(max(moved), self.BOUND)
                self.assertGreater(max(moved), 0)
                blocks, whole = len(engine.index.shelves[0].slots), engine.worker.cache.block_bytes[0]
                self.assertAlmostEqual(engine.worker.tiers[0].bytes_used() / (blocks * whole), 66 / 64 / nbytes, 3)


class Region(unittest.TestCase):
    """vLLM's own KV cache, by the plug-in."""

    def test_is_on_the_workers_node_and_tokens_are_the_same(self) -> None:
        from vllm.v1.worker import gpu_model_runner as runner

        import locus
        from locus.vllm import region

        with Engine() as plain:
            cold = plain.tokens(LONG)
        before = runner.allocate_kv_cache
        os.environ[region.VARIABLE] = "thp"
        try:
            region.plugin()
            region.plugin()  # vLLM may load plug-ins twice
            with Engine(transfer(near())) as engine:
                self.assertEqual(engine.tokens(LONG), cold)
                found = locus.where(engine.worker.cache.tensors[0])
                self.assertEqual(found.pages, found.pages_present)
                self.assertEqual(found.elsewhere(found.on and next(iter(found.on))), 0)
                self.assertEqual(engine.worker.cache.tensors[0].data_ptr() % 4096, 0)
        finally:
            del os.environ[region.VARIABLE]
            runner.allocate_kv_cache = before

    def test_refuses_pages_that_there_are_not(self) -> None:
        from locus.vllm import region

        with self.assertRaisesRegex(OSError, "LOCUS_VLLM_KV"):
            region._region(4096, "3m")
