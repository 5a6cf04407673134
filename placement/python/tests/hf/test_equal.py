# SPDX-License-Identifier: Apache-2.0
"""Tokens and logits are DynamicCache's, bit for bit, in each way of generating."""

from __future__ import annotations

import contextlib
import unittest
from collections.abc import Iterator
from typing import Any

import torch
import transformers

import locus
import locus.hf
from models import model, prompts

STEPS = 128
GREEDY: dict[str, Any] = {"do_sample": False, "return_dict_in_generate": True, "output_logits": True, "max_new_tokens": STEPS}


def generated(of: Any, ids: torch.Tensor, cache: Any, **how: Any) -> Any:
    torch.manual_seed(11)
    return of.generate(ids, past_key_values=cache, **{**GREEDY, **how})


class Equal(unittest.TestCase):
    def both(self, of: Any, ids: torch.Tensor, tokens_per_block: int = 0, **how: Any) -> tuple[Any, Any, locus.hf.Cache]:
        """What the two caches give; and ours. All that it had comes home afterwards."""
        batch = ids.shape[0] * how.get("num_beams", 1)
        memory = locus.hf.Memory(of, tokens=2 * batch * (ids.shape[1] + 2 * STEPS), tokens_per_block=tokens_per_block)
        cache = locus.hf.Cache(memory)
        theirs = generated(of, ids, transformers.DynamicCache(config=of.config), **how)
        ours = generated(of, ids, cache, **how)
        self.same(theirs, ours)
        return theirs, ours, cache

    def same(self, theirs: Any, ours: Any) -> None:
        self.assertTrue(torch.equal(theirs.sequences, ours.sequences))
        self.assertEqual(len(theirs.logits), len(ours.logits))
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(theirs.logits, ours.logits, strict=True)), "logits")
        self.assertGreater(len(set(ours.sequences[0, -STEPS:].tolist())), STEPS // 8, "the tokens vary")

    def test_gpt2_at_512_in_float32(self) -> None:
        self.both(model("gpt2"), prompts(1, 512))

    def test_gpt2_at_512_in_bfloat16(self) -> None:
        self.both(model("gpt2", torch.bfloat16), prompts(1, 512))

    def test_llama_at_512_and_4096_in_float32_and_bfloat16(self) -> None:
        for dtype in (torch.float32, torch.bfloat16):
            for tokens in (512, 4096):
                with self.subTest(f"{dtype} {tokens}"):
                    self.both(model("llama", dtype), prompts(1, tokens))

    def test_sampling(self) -> None:
        self.both(model("llama"), prompts(2, 100), do_sample=True, top_k=50)

    def test_beams_fork_and_are_reordered(self) -> None:
        """transformers 46612: a cache that is not reordered gives a wrong text in silence."""
        for dtype in (torch.float32, torch.bfloat16):
            for batch in (1, 2):
                with self.subTest(f"{dtype} {batch}"):
                    _, _, cache = self.both(model("llama", dtype), prompts(batch, 100), num_beams=4)
                    rows = next(iter(cache.rows.values()))
                    held = sum(len(table) for table in rows.tables)
                    distinct = cache.bytes_used // rows.group.block_bytes
                    self.assertLess(distinct, held, "beams share blocks")

    def test_beams_that_are_sampled(self) -> None:
        self.both(model("llama"), prompts(1, 100), num_beams=3, do_sample=True, num_return_sequences=2)

    def test_an_assistant(self) -> None:
        self.both(model("llama"), prompts(1, 100), assistant_model=model("assistant"))

    def test_prompt_lookup(self) -> None:
        ids = prompts(1, 20).repeat(1, 8)
        self.both(model("llama"), ids, prompt_lookup_num_tokens=3)

    def test_a_batch_with_padding(self) -> None:
        ids = prompts(3, 60)
        mask = torch.ones_like(ids)
        for row, pads in enumerate((0, 17, 41)):
            ids[row, :pads] = 0
            mask[row, :pads] = 0
        self.both(model("llama"), ids, attention_mask=mask)
        self.both(model("gpt2"), ids, attention_mask=mask, max_new_tokens=32)

    def test_a_second_call_goes_on(self) -> None:
        of = model("llama")
        caches = [transformers.DynamicCache(config=of.config), locus.hf.Cache(locus.hf.Memory(of, tokens=4096))]
        ends = []
        for cache in caches:
            first = generated(of, prompts(1, 100), cache).sequences
            more = torch.cat([first, prompts(1, 30, seed=5)], dim=1)
            ends.append(generated(of, more, cache))
        self.same(*ends)

    def test_layers_that_slide(self) -> None:
        for tokens in (30, 64, 200):
            with self.subTest(str(tokens)):
                _, _, cache = self.both(model("mistral"), prompts(1, tokens), tokens_per_block=16)
                rows = next(iter(cache.rows.values()))
                self.assertLessEqual(cache.bytes_used // rows.group.block_bytes, 64 // 16 + 2, "what it has passed is free")

    def test_layers_of_which_some_slide(self) -> None:
        _, _, cache = self.both(model("gemma"), prompts(1, 200), tokens_per_block=16)
        used = {kind.sliding: len([block for table in rows.tables for block in table.blocks if block])
                for kind, rows in cache.rows.items()}
        self.assertEqual(used[None], -(-(200 + STEPS - 1) // 16))
        self.assertLessEqual(used[64], 64 // 16 + 2)

    def test_sliding_layers_with_beams_and_with_an_assistant(self) -> None:
        self.both(model("mistral"), prompts(1, 100), num_beams=3)
        self.both(model("gemma"), prompts(2, 100), num_beams=3)
        _, _, cache = self.both(model("mistral"), prompts(1, 100), 16, prompt_lookup_num_tokens=3)
        self.assertLessEqual(cache.bytes_used // cache.memory.groups[0].block_bytes, 64 // 16 + 2)
        self.both(model("gemma"), prompts(1, 100), assistant_model=model("assistant"))

    def test_blocks_of_a_page_and_large_ones(self) -> None:
        for tokens_per_block in (16, 256):
            self.both(model("llama"), prompts(2, 100), tokens_per_block=tokens_per_block)

    def test_float16_and_float64(self) -> None:
        for dtype in (torch.float16, torch.float64):
            self.both(model("llama", dtype), prompts(1, 50), max_new_tokens=STEPS)


class Crop(unittest.TestCase):
    """transformers 45745: crop with sliding windows."""

    @contextlib.contextmanager
    def pair(self, name: str) -> Iterator[list[Any]]:
        of = model(name)
        ours = locus.hf.Cache(locus.hf.Memory(of, tokens=4096, tokens_per_block=16))
        caches = [transformers.DynamicCache(config=of.config), ours]
        for cache in caches:
            cache.activate_past_recording()
        yield caches

    def test_what_is_cropped_and_computed_again_is_equal(self) -> None:
        for name in ("llama", "mistral", "gemma"):
            with self.subTest(name), self.pair(name) as caches, torch.no_grad():
                ids = prompts(1, 400)
                at, of = 0, model(name)
                for take, crop in ((90, 0), (10, 3), (5, 5), (40, 1), (17, 16), (33, 0), (1, 0), (64, 20)):
                    said = []
                    for cache in caches:
                        said.append(of(ids[:, at : at + take], past_key_values=cache).logits)
                        cache.crop(-crop)
                    self.assertTrue(torch.equal(*said), (name, at, take, crop))
                    at += take - crop
                    self.assertEqual(caches[1].get_seq_length(), at)
                    self.assertEqual(caches[0].get_mask_sizes(5, 0), caches[1].get_mask_sizes(5, 0))

    def test_keys_and_values_are_those_of_dynamic_cache_after_each_change(self) -> None:
        of, ids = model("llama"), prompts(3, 70)
        ours = locus.hf.Cache(locus.hf.Memory(of, tokens=8192, tokens_per_block=16))
        caches = [transformers.DynamicCache(config=of.config), ours]

        def equal() -> None:
            for a, b in zip(caches[0].layers, caches[1].layers, strict=True):
                self.assertTrue(torch.equal(a.keys, b.keys))
                self.assertTrue(torch.equal(a.values, b.values))

        with torch.no_grad():
            for cache in caches:
                of(ids, past_key_values=cache)
            equal()
            for change in (lambda c: c.reorder_cache(torch.tensor([2, 0, 0])), lambda c: c.crop(-7),
                           lambda c: c.batch_repeat_interleave(2), lambda c: c.batch_select_indices(torch.tensor([0, 3, 5])),
                           lambda c: c.crop(40),
                           lambda c: of(ids[:, 40:60], past_key_values=c), lambda c: c.reorder_cache(torch.tensor([1, 1, 1]))):
                for cache in caches:
                    change(cache)
                equal()
            for cache in caches:
                cache.reset()
            self.assertEqual((caches[1].bytes_used, caches[1].get_seq_length()), (0, 0))
            for cache in caches:
                of(ids[:1], past_key_values=cache)  # a batch of another size
            equal()
