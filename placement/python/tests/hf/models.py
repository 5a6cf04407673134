# SPDX-License-Identifier: Apache-2.0
"""Models with weights by seed: nothing is downloaded. Their range is wide, so that what they say varies."""

from __future__ import annotations

import functools
from typing import Any

import torch
import transformers

transformers.logging.set_verbosity_error()
torch.set_num_threads(1)

SHAPES: dict[str, tuple[type[Any], type[Any], dict[str, Any]]] = {
    "gpt2": (transformers.GPT2Config, transformers.GPT2LMHeadModel, {}),  # 124 M
    "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM, {
        "vocab_size": 4096, "hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 4, "num_attention_heads": 8,
        "num_key_value_heads": 2, "max_position_embeddings": 8192, "head_dim": 64}),
    "mistral": (transformers.MistralConfig, transformers.MistralForCausalLM, {
        "vocab_size": 4096, "hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 4, "num_attention_heads": 8,
        "num_key_value_heads": 2, "max_position_embeddings": 8192, "head_dim": 64, "sliding_window": 64}),
    "gemma": (transformers.Gemma2Config, transformers.Gemma2ForCausalLM, {  # every other layer slides
        "vocab_size": 4096, "hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 4, "num_attention_heads": 8,
        "num_key_value_heads": 2, "max_position_embeddings": 8192, "head_dim": 64, "sliding_window": 64,
        "final_logit_softcapping": None, "tie_word_embeddings": False}),
    "assistant": (transformers.LlamaConfig, transformers.LlamaForCausalLM, {
        "vocab_size": 4096, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 1, "num_attention_heads": 2,
        "num_key_value_heads": 1, "max_position_embeddings": 8192, "head_dim": 32}),
}


@functools.lru_cache(maxsize=4)
def model(name: str, dtype: torch.dtype = torch.float32) -> Any:
    """One of them."""
    config, kind, shape = SHAPES[name]
    torch.manual_seed(7)
    return kind(config(**shape, initializer_range=0.15, bos_token_id=None, eos_token_id=None, pad_token_id=0)).to(dtype).eval()


def prompts(batch: int, tokens: int, seed: int = 3) -> torch.Tensor:
    """Random tokens [batch, tokens], none of which is padding."""
    return torch.randint(1, 4096, (batch, tokens), generator=torch.Generator().manual_seed(seed))
