# SPDX-License-Identifier: Apache-2.0
"""What the cache for transformers is worth, in the terms of seed 004 (PageForge), and beside gathering: table.py [STEPS].

Memory and sequences are counted and exact; times are of this machine, in turns and in random order, and no record: that is an
experiment's (arms hf-locus and hf-dynamic of testbed/engine).
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from typing import Any

import torch
import transformers

import locus
import locus.hf
from models import model, prompts

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 64
PAGES = 512
SEED_PAGE = 16  # tokens of a page of seed 004


class GatheredLayer(transformers.cache_utils.DynamicLayer):
    """Blocks of the same pool, joined by a copy in each step: what attention needs without windows."""

    def __init__(self, memory: locus.hf.Memory, layer: int) -> None:
        super().__init__()
        self.group, self.layer, self.memory = memory.groups[0], layer, memory
        self.table = locus.Table(1 << 14, self.group.tokens_per_block)
        self.length = 0

    def _of(self, block: int) -> torch.Tensor:
        """A block's part of the layer: [K and V, heads, tokens, head_dim]."""
        kind = self.group.kind
        whole = torch.frombuffer(self.group.pool.view(block), dtype=self.memory.dtype)
        return whole.view(self.group.layers, 2, kind.heads, self.group.tokens_per_block, kind.head_dim)[self.layer]

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *_args: Any, **_kwargs: Any) -> tuple[Any, Any]:
        size, count = self.group.tokens_per_block, key_states.shape[2]
        need = self.table.blocks_for(self.length + count) - len(self.table)
        if need:
            with self.memory.owning():
                self.group.owner.grow(self.table, need)
            self.parts = [self._of(block) for block in self.table.blocks]
        for token in range(count):
            at = self.length + token
            self.parts[at // size][0, :, at % size] = key_states[0, :, token]
            self.parts[at // size][1, :, at % size] = value_states[0, :, token]
        self.length += count
        used = self.parts[: self.table.blocks_for(self.length)]
        keys = torch.cat([part[0] for part in used], dim=1)[None, :, : self.length]
        values = torch.cat([part[1] for part in used], dim=1)[None, :, : self.length]
        return keys, values

    def get_seq_length(self) -> int:
        return self.length

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.length + query_length, 0


def gathered(memory: locus.hf.Memory, layers: int) -> transformers.Cache:
    """A cache of such layers. Each has a table of its own, of which it uses its part of each block."""
    return transformers.Cache(layers=[GatheredLayer(memory, layer) for layer in range(layers)])


def sequences(dtype: torch.dtype, tokens: int) -> tuple[int, int, float]:
    """How many sequences of so many tokens 512 pages hold, by opening them; a page's tokens, and MB of one sequence."""
    of = model("gpt2", dtype)
    smallest = locus.hf._smallest(64 * dtype.itemsize)
    memory = locus.hf.Memory(of, blocks=PAGES, tokens_per_block=smallest)
    group, tables = memory.groups[0], []
    with memory.owning():
        while True:
            table = locus.Table(64, smallest)
            try:
                group.owner.grow(table, table.blocks_for(tokens))
            except locus.Error:
                return len(tables), smallest, table.blocks_for(tokens) * group.block_bytes / 1e6
            tables.append(table)


def seed_table() -> None:
    print(f"{PAGES} pages, GPT-2 124 M: sequences, and MB of one; contiguous: as for 512 tokens reserved at once")
    print(f"{'':24}{'contiguous':>16}{'seed 004, fp16':>18}{'float32':>18}{'bfloat16':>18}")
    said = {10: "16 / 18.9", 60: "128 / 2.36", 512: "16 / 18.9"}
    first = {10: "512 / 0.59", 60: "128 / 2.36", 512: "16 / 18.9"}
    for tokens, what in ((10, "at the prompt (10)"), (60, "at step 50 (60)"), (512, "at the end (512)")):
        row = [sequences(dtype, tokens) for dtype in (torch.float32, torch.bfloat16)]
        cells = "".join(f"{count:>10} / {mb:5.2f}" for count, _, mb in row)
        print(f"{what:24}{said[512]:>16}{first[tokens]:>18}{cells}")
    print(f"a page: 16 tokens in seed 004; {sequences(torch.float32, 10)[1]} in float32 and {sequences(torch.bfloat16, 10)[1]} in "
          "bfloat16, which fill pages of 4 KiB")


def allocator() -> None:
    """Seed 004's stress: 500 cycles of 16 sequences; and its second batch, which gets the first one's pages."""
    pool = locus.Pool(PAGES, 4096)
    owner, tables = locus.Owner(pool), [locus.Table(64, SEED_PAGE) for _ in range(16)]
    with owner:
        begin, taken = time.perf_counter(), []
        for _ in range(500):
            for table in tables:
                owner.grow(table, 7)
            for table in tables:
                owner.truncate(table, 0)
        seconds = time.perf_counter() - begin
        for _ in range(2):
            for table in tables[:8]:
                owner.grow(table, 3)
            taken.append({block >> 32 for table in tables[:8] for block in table.blocks})
            for table in tables[:8]:
                owner.truncate(table, 0)
        stats = pool.stats()
    print(f"allocator, from Python: {500 * 16 * 14 / seconds / 1e6:.1f} million blocks a second in calls of 7 (seed 004: 1.5); "
          f"leaks {stats.outstanding} (0); a second batch gets the first one's pages: {taken[0] == taken[1]}")


def beams() -> None:
    of, memory = model("gpt2"), locus.hf.Memory(model("gpt2"), tokens=4096, tokens_per_block=16)
    prompt, how = prompts(1, 400), {"num_beams": 4, "do_sample": False, "max_new_tokens": 50}
    theirs = transformers.DynamicCache(config=of.config)
    of.generate(prompt, past_key_values=theirs, **how)
    cache = locus.hf.Cache(memory)
    of.generate(prompt, past_key_values=cache, **how)
    size = sum(layer.keys.nbytes + layer.values.nbytes for layer in theirs.layers)
    print(f"beams of 4 at 450 tokens: {cache.bytes_used / 1e6:.1f} MB beside DynamicCache's {size / 1e6:.1f}")


def times(name: str, dtype: torch.dtype, tokens: int) -> None:
    """TTFT and steps in turns: windows, gathering, DynamicCache."""
    of = model(name, dtype)
    layers = of.config.get_text_config().num_hidden_layers
    memory = locus.hf.Memory(of, tokens=4 * (tokens + STEPS))
    many = locus.hf.Memory(of, tokens=(layers + 1) * (tokens + 2 * STEPS))
    caches = {"windows": locus.hf.Cache(memory), "gathering": gathered(many, layers),
              "DynamicCache": transformers.DynamicCache(config=of.config)}
    prompt, spent = prompts(1, tokens), {kind: [] for kind in caches}
    first, draw = {}, random.Random(5)
    with torch.no_grad():
        for kind, cache in caches.items():
            begin = time.perf_counter()
            said = of(prompt, past_key_values=cache).logits[:, -1:]
            first[kind] = time.perf_counter() - begin
        for _ in range(STEPS):
            token, logits = said.argmax(-1)[:, -1:], {}
            for kind in draw.sample(sorted(caches), len(caches)):
                begin = time.perf_counter()
                logits[kind] = of(token, past_key_values=caches[kind]).logits
                spent[kind].append(time.perf_counter() - begin)
            said = logits["windows"]
            assert all(torch.equal(said, other) for other in logits.values())
    for kind in caches:
        ratios = [a / b for a, b in zip(spent[kind], spent["DynamicCache"], strict=True)]
        print(f"{name:8}{str(dtype)[6:]:10}{tokens:>6}  {kind:14} TTFT {first[kind]:7.3f} s   step P50 "
              f"{1e3 * statistics.median(spent[kind]):8.3f} ms   over DynamicCache {statistics.median(ratios):.3f}")


def main() -> None:
    seed_table()
    allocator()
    beams()
    for name, dtype, tokens in (("gpt2", torch.float32, 512), ("llama", torch.float32, 512), ("llama", torch.float32, 4096),
                                ("llama", torch.bfloat16, 4096)):
        times(name, dtype, tokens)


if __name__ == "__main__":
    main()
