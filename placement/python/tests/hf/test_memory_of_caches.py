# SPDX-License-Identifier: Apache-2.0
"""Where the memory is, who shares it, that it comes home, and what is refused."""

from __future__ import annotations

import gc
import os
import threading
import unittest
from typing import Any

import torch
import transformers

import locus
import locus.hf
from models import model, prompts

NODE = next(node.node for node in locus.topology().nodes if node.allowed)
SHORT: dict[str, Any] = {"do_sample": False, "max_new_tokens": 40}


class Placed(unittest.TestCase):
    def test_every_page_is_on_the_node_and_so_is_what_attention_sees(self) -> None:
        memory = locus.hf.Memory(model("llama"), tokens=2048, node=NODE)
        cache = locus.hf.Cache(memory)
        model("llama").generate(prompts(2, 100), past_key_values=cache, **SHORT)
        for found in memory.verify():
            self.assertEqual((found.granted_nodes, found.pages_elsewhere, found.on), ((NODE,), 0, {NODE: found.pages}))
        seen = locus.where(cache.layers[0].keys[:1, :1])
        self.assertEqual(seen.on, {NODE: seen.pages})

    def test_a_tensor_outlives_cache_and_memory(self) -> None:
        memory = locus.hf.Memory(model("llama"), tokens=2048)
        cache = locus.hf.Cache(memory)
        model("llama").generate(prompts(1, 100), past_key_values=cache, **SHORT)
        keys = cache.layers[0].keys
        copy = keys.clone()
        del cache, memory
        gc.collect()
        self.assertTrue(torch.equal(keys, copy))


class Shared(unittest.TestCase):
    def test_prompts_with_a_common_beginning_share_its_blocks_and_give_the_same_tokens(self) -> None:
        of = model("llama")
        memory = locus.hf.Memory(of, tokens=8192, tokens_per_block=16, prefix=True)
        prompt = prompts(1, 200)
        alone = of.generate(prompt, past_key_values=transformers.DynamicCache(config=of.config), **SHORT)
        first = memory.cache(prompt)
        self.assertEqual(first.get_seq_length(), 0)
        self.assertTrue(torch.equal(of.generate(prompt, past_key_values=first, **SHORT), alone))
        self.assertEqual(first.publish(alone), 239 // 16)
        used = memory.bytes_used
        second = memory.cache(prompt)
        self.assertEqual((second.get_seq_length(), memory.bytes_used), (192, used))
        self.assertTrue(torch.equal(of.generate(prompt, past_key_values=second, **SHORT), alone))
        other = torch.cat([prompt[:, :100], prompts(1, 60, seed=9)], dim=1)
        self.assertEqual(memory.cache(other).get_seq_length(), 96)
        self.assertEqual(memory.cache(prompt, salt=1).get_seq_length(), 0, "another tenant finds nothing")
        beams = of.generate(prompt, past_key_values=transformers.DynamicCache(config=of.config), num_beams=4, **SHORT)
        self.assertTrue(torch.equal(of.generate(prompt, past_key_values=memory.cache(prompt), num_beams=4, **SHORT), beams))
        both = memory.cache(torch.cat([prompt[:, :160], other], dim=0))
        self.assertEqual(both.get_seq_length(), 96, "as far as all of a batch are known")

    def test_a_fork_shares_until_it_writes(self) -> None:
        of = model("llama")
        memory = locus.hf.Memory(of, tokens=8192, tokens_per_block=16)
        cache = locus.hf.Cache(memory)
        with torch.no_grad():
            of(prompts(1, 100), past_key_values=cache)
            used = memory.bytes_used
            twin = cache.fork()
            self.assertEqual(memory.bytes_used, used)
            said = [of(prompts(1, 3, seed=8), past_key_values=one).logits for one in (cache, twin)]
        self.assertTrue(torch.equal(*said))
        self.assertEqual(memory.bytes_used, used + memory.groups[0].block_bytes)

    def test_four_beams_after_the_prompt_have_little_more_than_one(self) -> None:
        of = model("llama")
        memory = locus.hf.Memory(of, tokens=16384, tokens_per_block=16)
        cache = locus.hf.Cache(memory)
        with torch.no_grad():
            of(prompts(1, 400)[:, :-1], past_key_values=cache)
        alone = cache.bytes_used
        cache.batch_repeat_interleave(4)
        self.assertEqual(cache.bytes_used, alone)
        of.generate(prompts(1, 400), past_key_values=cache, num_beams=4, **SHORT)
        self.assertLess(cache.bytes_used, 2 * alone)

    def test_what_a_cache_had_comes_home_when_it_goes(self) -> None:
        of = model("llama")
        memory = locus.hf.Memory(of, tokens=4096)
        for _ in range(20):
            cache = locus.hf.Cache(memory)
            of.generate(prompts(2, 100), past_key_values=cache, num_beams=2, do_sample=False, max_new_tokens=5)
            del cache
            gc.collect()
        with memory.owning():
            pass
        self.assertEqual(memory.bytes_used, 0)

    def test_threads_serve_from_one_memory(self) -> None:
        of = model("llama")
        memory = locus.hf.Memory(of, tokens=16384)
        alone = [of.generate(prompts(1, 50 + i, seed=i), **SHORT) for i in range(4)]
        got: list[torch.Tensor | None] = [None] * 4

        def serve(i: int) -> None:
            for _ in range(2):
                got[i] = of.generate(prompts(1, 50 + i, seed=i), past_key_values=locus.hf.Cache(memory), **SHORT)

        threads = [threading.Thread(target=serve, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertTrue(all(a is not None and torch.equal(a, b) for a, b in zip(got, alone, strict=True)))


class Refused(unittest.TestCase):
    def refuses(self, word: str, call: Any) -> None:
        with self.subTest(word), self.assertRaisesRegex(locus.Error, word):
            call()

    def test_models_that_it_cannot_serve(self) -> None:
        for config, word in (
            (transformers.T5Config(), "encoder"),
            (transformers.DeepseekV3Config(), "latent"),
            (transformers.FalconH1Config(), "layer of type"),
            (transformers.Gemma3nTextConfig(num_kv_shared_layers=2), "share K and V"),
        ):
            self.refuses(word, lambda config=config: locus.hf.Memory(config, tokens=64))

    def test_options(self) -> None:
        of = model("llama")
        self.refuses("one of them", lambda: locus.hf.Memory(of))
        self.refuses("one of them", lambda: locus.hf.Memory(of, tokens=1, blocks=1))
        self.refuses("multiple of 16", lambda: locus.hf.Memory(of, tokens=64, tokens_per_block=10))
        self.refuses("not supported", lambda: locus.hf.Memory(of, tokens=64, dtype=torch.int8))
        self.refuses("slide", lambda: locus.hf.Memory(model("mistral"), tokens=64, prefix=True))
        self.refuses("Memory's to say", lambda: locus.hf.Cache(locus.hf.Memory(of, tokens=64), node=0))
        self.refuses("prefix=True", lambda: locus.hf.Memory(of, tokens=64).cache(prompts(1, 10)))

    def test_tensors_of_another_kind(self) -> None:
        memory = locus.hf.Memory(model("llama"), tokens=256)
        half = torch.zeros(1, 2, 5, 64, dtype=torch.float16)
        self.refuses("open it with that dtype", lambda: locus.hf.Cache(memory).update(half, half, 0))
        three = torch.zeros(1, 3, 5, 64)
        self.refuses("config says 2 of 64", lambda: locus.hf.Cache(memory).update(three, three, 0))
        meta = torch.zeros(1, 2, 5, 64, device="meta")
        self.refuses("memory of the host", lambda: locus.hf.Cache(memory).update(meta, meta, 0))
        cache = locus.hf.Cache(memory)
        one = torch.zeros(1, 2, 5, 64)
        cache.update(one, one, 0)
        two = torch.zeros(2, 2, 5, 64)
        self.refuses("has 1 sequences, and the batch 2", lambda: cache.update(two, two, 1))
        self.refuses("cannot be replaced", lambda: setattr(cache.layers[0], "keys", one))

    def test_too_little_memory_leaves_the_cache_as_it_was(self) -> None:
        of, ids = model("llama"), prompts(1, 300)
        memory = locus.hf.Memory(of, tokens=256)
        cache = locus.hf.Cache(memory)
        with torch.no_grad():
            of(ids[:, :200], past_key_values=cache)
            self.refuses("too few free blocks", lambda: of(ids[:, 200:], past_key_values=cache))
            self.assertEqual(cache.get_seq_length(), 200)
            theirs = transformers.DynamicCache(config=of.config)
            of(ids[:, :200], past_key_values=theirs)
            said = [of(ids[:, 200:210], past_key_values=one).logits for one in (theirs, cache)]
        self.assertTrue(torch.equal(*said))

    def test_crop_beyond_what_a_sliding_window_kept(self) -> None:
        of = model("mistral")
        cache = locus.hf.Cache(locus.hf.Memory(of, tokens=2048, tokens_per_block=16))
        of.generate(prompts(1, 200), past_key_values=cache, **SHORT)
        self.refuses("activate_past_recording", lambda: cache.crop(-30))
        mixed = locus.hf.Cache(locus.hf.Memory(model("gemma"), tokens=2048, tokens_per_block=16))
        with torch.no_grad():
            model("gemma")(prompts(1, 200), past_key_values=mixed)
            model("gemma")(prompts(1, 60), past_key_values=mixed)
        self.refuses("activate_past_recording", lambda: mixed.crop(-100))
        self.assertEqual({rows.length for rows in mixed.rows.values()}, {260}, "no layer was cropped")

    def test_a_longer_text_than_the_model(self) -> None:
        cache = locus.hf.Cache(locus.hf.Memory(model("gpt2"), tokens=4096))
        key = torch.zeros(1, 12, 1025, 64)
        self.refuses("more than the 1024", lambda: cache.update(key, key, 0))

    def test_a_child_process(self) -> None:
        memory = locus.hf.Memory(model("llama"), tokens=256)
        child = os.fork()
        if child == 0:
            key = torch.zeros(1, 2, 5, 64)
            try:
                locus.hf.Cache(memory).update(key, key, 0)
            except locus.Error as error:
                os._exit(0 if "forked" in str(error) else 2)
            os._exit(3)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
