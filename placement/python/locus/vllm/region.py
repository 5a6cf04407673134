# SPDX-License-Identifier: Apache-2.0
"""vLLM's own KV cache in memory of ours: on the worker's node, in huge pages if wished, and verified.

A plug-in of vLLM's (`vllm.general_plugins`), off by default. `LOCUS_VLLM_KV=4k` turns it on (or thp, 2m, 1g: the size of pages).
It wraps the function of vLLM's that allocates the cache.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

VARIABLE = "LOCUS_VLLM_KV"


def plugin() -> None:
    """VLLM calls it in each of its processes, before anything else."""
    page = os.environ.get(VARIABLE)
    if page:
        _wrap(page)


def _wrap(page: str) -> None:
    runner: Any = importlib.import_module("vllm.v1.worker.gpu_model_runner")

    allocate = runner.allocate_kv_cache
    if getattr(allocate, "locus", None):
        return

    def allocate_kv_cache(*given: Any, **named: Any) -> Any:
        with _zeros(page):
            return allocate(*given, **named)

    allocate_kv_cache.locus = True  # type: ignore[attr-defined]
    runner.allocate_kv_cache = allocate_kv_cache


def _zeros(page: str) -> Any:
    """Within it, this thread's torch.zeros() of bytes is a region."""
    import torch  # noqa: PLC0415
    from torch.overrides import TorchFunctionMode  # noqa: PLC0415

    class Zeros(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            wanted = dict(kwargs or {})
            if func is torch.zeros and wanted.get("dtype") is torch.int8 and len(args) == 1 and isinstance(args[0], int):
                return _region(args[0], page)
            return func(*args, **wanted)

    return Zeros()


def _region(nbytes: int, page: str) -> Any:
    import torch  # noqa: PLC0415
    from vllm.logger import init_logger  # noqa: PLC0415

    from .._core import PAGES  # noqa: PLC0415
    from .._memory import Region, choice  # noqa: PLC0415
    from .tiers import own_node  # noqa: PLC0415

    choice(PAGES, page, VARIABLE)
    node = own_node()
    region = Region(nbytes, node=node, page=page, populate=True)
    placed = region.verify()
    memory = torch.frombuffer(region.memory, dtype=torch.int8)[:nbytes]
    init_logger("vllm.locus").info(
        "vLLM's KV cache: %.2f GiB at %x in pages of %d KiB, requested on node %s, granted %s %s, verified %s pages by node",
        nbytes / (1 << 30), memory.data_ptr(), placed.page_bytes >> 10, node, placed.granted_policy, list(placed.granted_nodes),
        placed.on)
    return memory
