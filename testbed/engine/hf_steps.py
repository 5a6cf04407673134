# SPDX-License-Identifier: Apache-2.0
"""Decode steps of Hugging Face's transformers with one cache, and with DynamicCache, which takes turns with it.

locus-lap has this program in it and runs it as the measured process of the arms hf-locus and hf-dynamic (measure/engines/process.c):
a model of the cell's shape with random weights, a prompt, then steps. In each step both caches get the same token, in random order,
and what they say has to be equal to the bit. With hf-dynamic both are DynamicCache: what that shows is noise.

The result is struct tb_engine_result (result.h), whose layout comes by --layout.
"""

import argparse
import gc
import os
import random
import struct
import sys
import time


def fail(text: str) -> None:
    sys.exit(f"hf: {text}")


try:
    import torch
    import transformers

    import locus
    import locus.hf
except ImportError as error:
    fail(f"{sys.executable} has no {error.name}: make hf, or set LOCUS_PYTHON to a Python that has torch, transformers and locus")

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for name in ("cache", "name", "kv", "layout"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("layers", "width", "heads", "kv-heads", "head-dim", "ffn", "vocab", "prompt", "batch", "steps", "warmup", "threads",
                 "seed", "result", "bytes"):
        parser.add_argument(f"--{name}", type=int, required=True)
    return parser.parse_args()


def model_of(words: argparse.Namespace, tokens: int) -> transformers.PreTrainedModel:
    """GPT-2 as it is; every other shape as a Llama."""
    torch.manual_seed(words.seed)
    if words.name == "GPT-2":
        config = transformers.GPT2Config(n_layer=words.layers, n_head=words.heads, n_embd=words.width, vocab_size=words.vocab,
                                         n_positions=max(tokens, 1024))
        kind = transformers.GPT2LMHeadModel
    else:
        config = transformers.LlamaConfig(
            num_hidden_layers=words.layers, hidden_size=words.width, num_attention_heads=words.heads, head_dim=words.head_dim,
            num_key_value_heads=words.kv_heads, intermediate_size=words.ffn, vocab_size=words.vocab, max_position_embeddings=tokens)
        kind = transformers.LlamaForCausalLM
    return kind(config).to(TYPES[words.kv]).eval()


def waited_ns() -> int:
    """How long this process's threads have been ready to run while others had the CPU."""
    total = 0
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/schedstat") as file:
            total += int(file.read().split()[1])
    return total


def steps_of(words: argparse.Namespace, model: transformers.PreTrainedModel, caches: list) -> tuple[list[list[int]], int, int]:
    """Nanoseconds of each step with each cache; and of all steps together, and how long threads waited for a CPU in them."""
    draw = random.Random(words.seed)
    prompt = torch.randint(1, words.vocab, (words.batch, words.prompt), generator=torch.Generator().manual_seed(words.seed))
    for cache in caches:
        said = model(prompt, past_key_values=cache).logits[:, -1]
    token = said.argmax(-1, keepdim=True)
    times: list[list[int]] = [[] for _ in caches]
    gc.collect()
    gc.freeze()
    gc.disable()  # it would stop some step of either
    waited, start = waited_ns(), time.monotonic_ns()
    for _ in range(words.steps):
        said = [None] * len(caches)
        for which in draw.sample(range(len(caches)), len(caches)):
            begin = time.perf_counter_ns()
            logits = model(token, past_key_values=caches[which]).logits
            times[which].append(time.perf_counter_ns() - begin)
            said[which] = logits
        if not all(torch.equal(said[0], other) for other in said[1:]):
            fail("the caches differ in what the model says")
        token = said[0][:, -1].argmax(-1, keepdim=True)
    return [own[words.warmup:] for own in times], time.monotonic_ns() - start, waited_ns() - waited


def at(times: list[int], share: float) -> int:
    return sorted(times)[int(len(times) * share)]


def cache_of(words: argparse.Namespace, model: transformers.PreTrainedModel, tokens: int) -> tuple[object, int]:
    """The cache that is measured, and what is reserved for it."""
    if words.cache == "dynamic":
        return transformers.DynamicCache(config=model.config), 0
    memory = locus.hf.Memory(model, tokens=words.batch * tokens, sequences=words.batch)
    return locus.hf.Cache(memory), sum(group.pool.nbytes for group in memory.groups)


def remote_ratio(cache: transformers.Cache) -> float:
    """Pages of the cache that lie on another node than the CPU that this thread is on, head by head."""
    with open("/proc/self/stat") as file:
        cpu = int(file.read().rsplit(")", 1)[1].split()[36])
    here = {node.node for node in locus.topology().nodes if cpu in node.cpus}
    pages = astray = 0
    for layer in cache.layers:
        for head in (head for tensor in (layer.keys, layer.values) for sequence in tensor for head in sequence):
            found = locus.where(head)
            pages += found.pages_present
            astray += sum(count for node, count in found.on.items() if node not in here)
    return astray / pages if pages else 0


def main() -> None:
    words = asked()
    torch.set_num_threads(words.threads)
    transformers.logging.set_verbosity_error()
    tokens = words.prompt + words.steps
    model = model_of(words, tokens)
    cache, reserved = cache_of(words, model, tokens)
    beside = transformers.DynamicCache(config=model.config)
    with torch.no_grad():
        (own, other), wall, waited = steps_of(words, model, [cache, beside])
    written = 2 * words.layers * words.kv_heads * words.head_dim * TYPES[words.kv].itemsize * words.batch * tokens
    held = cache.bytes_used if reserved else sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)
    ratios = sorted(a / b for a, b in zip(own, other, strict=True))
    values = {
        "engine_tokens_per_s": words.batch * 1e9 / at(own, 0.5),
        "kv_bytes": reserved or held,
        "kv_resident_bytes": held,
        "kv_written_bytes": written,
        "kv_remote_ratio": remote_ratio(cache),
        "step_beside_p50_ratio": ratios[len(ratios) // 2],
        "step_beside_p99_ratio": at(own, 0.99) / at(other, 0.99),
    }
    version = f"transformers {transformers.__version__}, torch {torch.__version__}"[:63].encode()
    result = struct.pack("=Q64s", words.bytes, version)
    for field in words.layout.split(","):
        kind, name = field.split()
        result += struct.pack("=d" if kind == "double" else "=Q", values.get(name, 0))
    result += struct.pack("=QQII", waited, wall, words.threads, len(own)) + struct.pack(f"={len(own)}Q", *own)
    if len(result) > words.bytes:
        fail("the result's layout is another one")
    os.pwrite(words.result, result.ljust(words.bytes, b"\0"), 0)


main()
