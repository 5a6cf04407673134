# SPDX-License-Identifier: Apache-2.0
"""Models without a download, and engines of vLLM's with and without tiers, in this process."""

from __future__ import annotations

import contextlib
import gc
import os
import pathlib
import random
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

if "engine_main" not in sys.argv[0]:
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import prometheus_client
import tokenizers
import torch
import transformers

VOCABULARY = 512
LONGEST = 4096
BLOCK = 128
_MODELS = pathlib.Path(__file__).resolve().parents[4] / "build/vllm-models"


def model(name: str = "llama", seed: int = 1) -> str:
    """The folder of a model of two layers (four, if some of them slide), with wide weights, so that tokens vary."""
    folder = _MODELS / f"{name}-{seed}"
    if not (folder / "config.json").exists():
        shape = {"hidden_size": 128, "intermediate_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
                 "vocab_size": VOCABULARY, "max_position_embeddings": 2 * LONGEST, "initializer_range": 0.15,
                 "bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
        made: Any
        if name == "sliding":
            made = transformers.Gemma3ForCausalLM(transformers.Gemma3TextConfig(
                **shape, num_hidden_layers=4, head_dim=32, sliding_window=256,
                layer_types=["sliding_attention", "full_attention"] * 2))
        else:
            made = transformers.LlamaForCausalLM(transformers.LlamaConfig(**shape, num_hidden_layers=2))
        torch.manual_seed(seed)
        for parameter in made.parameters():
            if parameter.dim() > 1:
                torch.nn.init.normal_(parameter, std=0.15)
        made.save_pretrained(folder)
        numbers = {f"t{number}": number for number in range(VOCABULARY)}
        words = tokenizers.Tokenizer(tokenizers.models.WordLevel(numbers, "t0"))
        words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
        transformers.PreTrainedTokenizerFast(tokenizer_object=words).save_pretrained(folder)
    return str(folder)


def prompt(length: int, seed: int = 0) -> list[int]:
    """Tokens."""
    return random.Random(f"{length}/{seed}").choices(range(VOCABULARY), k=length)


def transfer(*tiers: dict[str, Any], **more: Any) -> dict[str, Any]:
    """As a user writes it."""
    return {"kv_connector": "LocusConnector", "kv_connector_module_path": "locus.vllm", "kv_role": "kv_both",
            "kv_connector_extra_config": {"tiers": list(tiers), **more}}


def near(size: str = "64MiB", **more: Any) -> dict[str, Any]:
    return {"kind": "near", "size": size, **more}


def file(path: str | pathlib.Path, size: str = "256MiB") -> dict[str, Any]:
    return {"kind": "file", "path": str(path), "size": size}


class Engine:
    """vLLM's LLM, in this process."""

    def __init__(self, tiers: dict[str, Any] | None = None, *, name: str = "llama", seed: int = 1, dtype: str = "float32",
                 kv_mib: int = 32, **more: Any) -> None:
        from vllm import LLM

        self.llm = LLM(model=model(name, seed), skip_tokenizer_init=True, dtype=dtype, kv_cache_memory_bytes=kv_mib << 20,
                       max_model_len=LONGEST, enforce_eager=True, kv_transfer_config=tiers, disable_log_stats=False, **more)

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, prompts: list[list[int]], tokens: int = 64, **more: Any) -> list[Any]:
        """vLLM's outputs, greedy."""
        from vllm import SamplingParams

        how = SamplingParams(temperature=0, max_tokens=tokens, ignore_eos=True, detokenize=False, **more)
        return self.llm.generate([{"prompt_token_ids": one} for one in prompts], how, use_tqdm=False)

    def tokens(self, *prompts: list[int], count: int = 64) -> list[list[int]]:
        """Of each prompt."""
        return [list(output.outputs[0].token_ids) for output in self.run(list(prompts), count)]

    def cached(self, *prompts: list[int], count: int = 64) -> tuple[list[list[int]], list[int]]:
        """Likewise, and how many tokens of each prompt were not computed."""
        outputs = self.run(list(prompts), count)
        return [list(one.outputs[0].token_ids) for one in outputs], [one.num_cached_tokens for one in outputs]

    def forget(self) -> None:
        """vLLM's own prefix cache is empty; ours is not."""
        assert self.llm.reset_prefix_cache()

    def preemptions(self) -> int:
        """So far."""
        return sum(int(metric.value) for metric in self.llm.get_metrics() if metric.name == "vllm:num_preemptions")

    @property
    def core(self) -> Any:
        """vLLM's, in this process."""
        return self.llm.llm_engine.engine_core.engine_core

    @property
    def index(self) -> Any:
        return self.core.scheduler.connector._index

    @property
    def worker(self) -> Any:
        from vllm.distributed.kv_transfer import get_kv_transfer_group

        return get_kv_transfer_group()._worker

    def settle(self) -> None:
        """All orders are carried out, and the index knows of it."""
        import time

        for _ in range(1000):
            self.core.step_fn() if self.core.scheduler.has_requests() else None
            if not self.index.orders and not self.worker._orders and not self.worker._sinking and not self.worker._active:
                return
            time.sleep(0.002)
        raise AssertionError("orders are still under way")

    def close(self) -> None:
        if self.llm is not None:
            self.llm.llm_engine.engine_core.shutdown()
            self.llm = None
            forget_engine()


def forget_engine() -> None:
    """The next one may name its metrics as this one did."""
    gc.collect()
    for collector in list(prometheus_client.REGISTRY._names_to_collectors.values()):
        with contextlib.suppress(KeyError):
            prometheus_client.REGISTRY.unregister(collector)


@contextlib.contextmanager
def folder() -> Iterator[pathlib.Path]:
    """On a disk, where there is one."""
    disk = "/var/tmp"  # noqa: S108
    with tempfile.TemporaryDirectory(dir=disk if os.access(disk, os.W_OK) else None) as made:
        yield pathlib.Path(made)
