# SPDX-License-Identifier: Apache-2.0
"""How fast each tier gives blocks back, beside memcpy of the same pieces and fio on the same file: bandwidth.py [FOLDER].

A block is that of Llama 3.1 8B in bfloat16 (128 tokens, 32 layers, 16 MiB), and one of a small model (4 layers, 512 KiB). All take
turns in each round. What is shown is the median of the rounds, and of the ratios to memcpy in them. One thread, as a worker has.
"""

from __future__ import annotations

import json
import mmap
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from locus import Region
from locus.vllm.tiers import LOAD, STORE, Int8, Opened, TierConfig, own_node
from locus.vllm.worker import KvCache

ROUNDS = 15
SHAPES = (("8B, bf16", 32, 512 << 10, 16), ("small", 4, 128 << 10, 256))


def cache(layers: int, page: int, blocks: int, shift: int) -> KvCache:
    """vLLM's KV cache of one group, filled with numbers that bfloat16 has; on pages, or as vLLM's own beside them."""
    memory = torch.frombuffer(Region(layers * blocks * page + mmap.PAGESIZE).memory, dtype=torch.int8)
    tensors = list(memory[shift : shift + layers * blocks * page].view(layers, blocks, page))
    for tensor in tensors:
        tensor.copy_(torch.randn(blocks, page // 2).to(torch.bfloat16).view(torch.int8))
    refs = [SimpleNamespace(tensor_idx=layer, page_size_bytes=page) for layer in range(layers)]
    return KvCache(SimpleNamespace(tensors=[SimpleNamespace(tensor=one) for one in tensors], group_data_refs=[refs]))  # type: ignore[arg-type]


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def fio(path: pathlib.Path, block: int, nbytes: int) -> float | None:
    """Bytes a second, reading as the tier does: past the page cache, 16 at once."""
    program = shutil.which("fio")
    if program is None:
        return None
    done = subprocess.run([program, "--name=x", f"--filename={path}", "--readonly", "--rw=randread", f"--bs={block}", "--direct=1",
                           "--ioengine=io_uring", "--iodepth=16", f"--io_size={nbytes}", "--output-format=json"],
                          capture_output=True, text=True, check=False)
    return json.loads(done.stdout[done.stdout.index("{"):])["jobs"][0]["read"]["bw_bytes"] if done.returncode == 0 else None


def measure(name: str, layers: int, page: int, blocks: int, folder: pathlib.Path) -> None:
    kv, beside, numbers = cache(layers, page, blocks, 0), cache(layers, page, blocks, 64), np.arange(blocks)
    nbytes = layers * page * blocks
    size, node = 2 * nbytes, own_node()
    wanted = {"near": TierConfig("near", size), "near, no checksum": TierConfig("near", size, checksum=False),
              "int8": TierConfig("int8", size), "file": TierConfig("file", size, path=str(folder / name[:2]))}
    keys = [number.to_bytes(16, "little") for number in range(1, blocks + 1)]
    pieces = kv.pieces(0, numbers)
    works: dict[str, Callable[[], Any]] = {}
    for label, config in wanted.items():
        tier = Int8(config, kv.block_bytes, node, torch.bfloat16) if label == "int8" else Opened(config, kv.block_bytes, node)
        assert not tier.many(STORE, keys, pieces).any()
        works[label] = lambda tier=tier: tier.many(LOAD, keys, pieces)
        if label == "file":
            works["file, KV not on pages"] = lambda tier=tier: tier.many(LOAD, keys, beside.pieces(0, numbers))
    other = [torch.empty_like(tensor) for tensor in kv.tensors]
    works["memcpy"] = lambda: [to.copy_(tensor) for to, tensor in zip(kv.tensors, other, strict=True)]
    took: dict[str, list[float]] = {label: [] for label in works}
    took["fio"] = []
    for _ in range(ROUNDS):
        for label, work in works.items():
            took[label].append(timed(work))
        speed = fio(folder / name[:2], page, nbytes)
        if speed:
            took["fio"].append(nbytes / speed)
    print(f"\n{name}: {blocks} blocks of {layers} x {page >> 10} KiB   GB/s    of memcpy")
    for label, times in took.items():
        if times:
            ratio = statistics.median(base / one for base, one in zip(took["memcpy"], times, strict=True))
            print(f"  {label:36} {nbytes / statistics.median(times) / 1e9:7.2f} {ratio:9.2f}")


def main() -> None:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else "/var/tmp") as folder:  # noqa: S108
        for shape in SHAPES:
            measure(*shape, pathlib.Path(folder))


main()
