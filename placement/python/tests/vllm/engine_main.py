# SPDX-License-Identifier: Apache-2.0
"""One engine in vLLM's default mode, and what it says, as JSON: for test_processes.py."""

import json
import sys
import time

from engines import LONGEST, model, prompt
from vllm import LLM, SamplingParams


def main() -> None:
    wanted = json.loads(sys.argv[1])
    llm = LLM(model=model(), skip_tokenizer_init=True, dtype="float32", kv_cache_memory_bytes=32 << 20, max_model_len=LONGEST,
              enforce_eager=True, kv_transfer_config=wanted["tiers"], tensor_parallel_size=wanted.get("ranks", 1))
    how = SamplingParams(temperature=0, max_tokens=64, ignore_eos=True, detokenize=False)
    told: dict[str, list[object]] = {"tokens": [], "cached": []}
    for _ in range(3):
        output = llm.generate([{"prompt_token_ids": prompt(3900)}], how, use_tqdm=False)[0]
        told["tokens"].append(list(output.outputs[0].token_ids))
        told["cached"].append(output.num_cached_tokens)
        time.sleep(0.3)
        llm.reset_prefix_cache()
    time.sleep(1)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
