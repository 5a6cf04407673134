# SPDX-License-Identifier: Apache-2.0
"""Whose blocks a file has: what must be the same for a block to mean the same.

vLLM's key of a block says which tokens, images and salt it is made of, and nothing of what computes it: the model's weights, the
type of its numbers, and how the CPU's attention kernel packs them.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import sys
from typing import TYPE_CHECKING, Any, cast

import huggingface_hub
import vllm
from vllm.v1.attention.backends.cpu_attn import _get_attn_isa
from vllm.v1.core.kv_cache_utils import DEFAULT_NONE_HASH_SEED

from .tiers import refuse

if TYPE_CHECKING:
    import torch
    from vllm.config import VllmConfig
    from vllm.v1.kv_offload.config import OffloadingConfig

_SAMPLE_BYTES = 4096  # of each tensor
_OTHERS = (".bin", ".pt", ".pth", ".gguf")


def engine_of(vllm_config: VllmConfig, config: OffloadingConfig, block_bytes: list[int]) -> dict[str, Any]:
    """By name, for a file of this rank; an error where keys do not say enough for a file."""
    model, cache = vllm_config.model_config, vllm_config.cache_config
    algorithm = cache.prefix_caching_hash_algo
    if not algorithm.startswith("sha256"):
        raise refuse(f"vLLM's {algorithm} has another seed in each process, so nothing would be found again in a file: leave the "
                     "file out, or run vLLM with --prefix-caching-hash-algo sha256")
    if vllm_config.lora_config is not None:
        raise refuse("vLLM's keys have the name of a LoRA adapter, and nothing of its weights, so a file could give what an "
                     "adapter of the same name computed: leave the file out, or --enable-lora")
    heads, dtype = model.get_head_size(), cast("torch.dtype", model.dtype)
    return {
        "model": _weights(model.model, model.revision),
        "type": config.model.dtype,
        "tokens in a block": [group.tokens_per_block for group in config.groups],
        "bytes of a block": block_bytes,
        "kernel": _get_attn_isa(dtype, cache.block_size, heads, cache.cache_dtype),
        "layout": config.kv_cache_layout,
        "rank": f"{config.parallel.rank} of {config.parallel.world_size}",
        "keys": f"{algorithm}, Python {sys.version_info[0]}.{sys.version_info[1]}, seed "
                f"{os.environ.get('PYTHONHASHSEED') or DEFAULT_NONE_HASH_SEED}",
        "vllm": vllm.__version__,
    }


def _weights(model: str, revision: str | None) -> str:
    """A digest of the model's config, and of a sample of each of its tensors."""
    folder = pathlib.Path(model)
    if not folder.is_dir():
        folder = pathlib.Path(huggingface_hub.snapshot_download(model, revision=revision, local_files_only=True))
    digest = hashlib.sha256()
    sampled = 0
    for path in sorted(folder.iterdir()):
        sample = _sample if path.suffix == ".safetensors" else _pieces if path.suffix in _OTHERS else None
        if path.name == "config.json":
            digest.update(path.read_bytes())
        elif sample:
            sample(path, digest)
            sampled += 1
    if not sampled:
        raise refuse(f"{folder} has no weights ({', '.join(['.safetensors', *_OTHERS])}) by which a model is told, and a file's "
                     "blocks belong to one: leave the file out")
    return digest.hexdigest()


def _sample(path: pathlib.Path, digest: Any) -> None:
    """The names, shapes and places of the file's tensors, and the middle of each."""
    with path.open("rb") as file:
        header = file.read(int.from_bytes(file.read(8), "little"))
        digest.update(header)
        start = 8 + len(header)
        for name, tensor in sorted(json.loads(header).items()):
            if name != "__metadata__":
                begin, end = tensor["data_offsets"]
                file.seek(start + max(begin, (begin + end - _SAMPLE_BYTES) // 2))
                digest.update(file.read(min(_SAMPLE_BYTES, end - begin)))


def _pieces(path: pathlib.Path, digest: Any) -> None:
    """Of a file whose form is not known here: its length, and a sample in each MiB."""
    length = path.stat().st_size
    digest.update(str(length).encode())
    with path.open("rb") as file:
        for at in range(0, length, 1 << 20):
            file.seek(at)
            digest.update(file.read(_SAMPLE_BYTES))
