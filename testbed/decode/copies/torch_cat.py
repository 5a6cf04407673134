#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# torch_cat.py: decode steps of one sequence in PyTorch, with the cache of Hugging Face's DynamicCache: in each step and layer K and V
# grow by torch.cat, and attention reads the results. Prints a line of JSON for each round: what a step took, and of it the two
# cats and attention of all layers, in ns (P50 and P99 of the round's steps).
#
#   torch_cat.py [--type f32|bf16] [--tokens N] [--steps N] [--rounds N] [--threads N] [--clock wall|thread]
#                [--layers L --heads H --size D] [--wait]
#
# The shape is GPT-2's by default. Each round starts anew with N tokens. --clock thread: the CPU time of the thread that calls, which
# is all there is with one thread. --wait: a round begins with a line of stdin, and stdin's end is the end. Exit status: 77 without
# PyTorch.
import argparse
import json
import math
import sys
import time

try:
    import torch
except ImportError:
    print("torch_cat.py: PyTorch is not installed for this Python", file=sys.stderr)
    sys.exit(77)


class Cache:
    def __init__(self, layers, shape, kind):
        self.keys = [torch.randn(shape).to(kind) for _ in range(layers)]
        self.values = [torch.randn(shape).to(kind) for _ in range(layers)]

    def update(self, layer, key, value):
        self.keys[layer] = torch.cat([self.keys[layer], key], dim=-2)
        self.values[layer] = torch.cat([self.values[layer], value], dim=-2)
        return self.keys[layer], self.values[layer]


# What scaled_dot_product_attention computes, which PyTorch has from 2.0 on.
def attend(query, key, value):
    weights = torch.softmax(torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(query.shape[-1]), dim=-1)
    return torch.matmul(weights, value)


def step(cache, news, clock):
    cat_ns = attend_ns = 0
    begin = clock()
    for layer, (query, key, value) in enumerate(news):
        start = clock()
        keys, values = cache.update(layer, key, value)
        middle = clock()
        attend(query, keys, values)
        attend_ns += clock() - middle
        cat_ns += middle - start
    return clock() - begin, cat_ns, attend_ns


def quantile(values, share):  # the smallest value that `share` of all do not exceed
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1]


def round_run(options):
    kind = {"f32": torch.float32, "bf16": torch.bfloat16}[options.type]
    one = (1, options.heads, 1, options.size)
    cache = Cache(options.layers, (1, options.heads, options.tokens, options.size), kind)
    news = [tuple(torch.randn(one).to(kind) for _ in range(3)) for _ in range(options.layers)]
    clock = {"wall": time.perf_counter_ns, "thread": time.thread_time_ns}[options.clock]
    took = [step(cache, news, clock) for _ in range(options.steps)]
    result = {"torch": torch.__version__, "type": options.type, "threads": torch.get_num_threads(), "clock": options.clock,
              "steps": options.steps, "tokens": cache.keys[0].shape[-2], "layers": options.layers}
    for name, values in zip(("step", "cat", "attend"), zip(*took)):
        result[name + "_ns"] = {"p50": quantile(values, 0.5), "p99": quantile(values, 0.99)}
    print(json.dumps(result), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--type", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--clock", choices=("wall", "thread"), default="wall")
    for name, value in (("tokens", 64), ("steps", 100), ("rounds", 1), ("threads", 1), ("layers", 12), ("heads", 12), ("size", 64)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--wait", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    with torch.no_grad():
        if options.wait:
            for _ in sys.stdin:
                round_run(options)
        else:
            for _ in range(options.rounds):
                round_run(options)


if __name__ == "__main__":
    main()
