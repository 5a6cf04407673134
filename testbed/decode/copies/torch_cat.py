#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# torch_cat.py: decode steps of one sequence in PyTorch, with the cache of Hugging Face's DynamicCache: in each step and layer K and V
# grow by torch.cat, and attention reads the results. Prints a line of JSON for each round: what a step took, and of it the two
# cats and attention of all layers, in ns (P50 and P99 of the round's steps).
#
#   torch_cat.py [--type f32|bf16] [--tokens N] [--steps N] [--rounds N] [--threads N] [--clock wall|thread]
#                [--layers L --heads H --size D] [--wait]
#   torch_cat.py --serve --type f32|f16|bf16 --threads N --layers L --heads H --kv-heads K --size D --batch B
#
# The shape is GPT-2's by default. Each round starts anew with N tokens. --clock thread: the CPU time of the thread that calls, which
# is all there is with one thread. --wait: a round begins with a line of stdin, and stdin's end is the end. Exit status: 77 without
# PyTorch.
#
# --serve: the act torch-cat (../acts/torch.c), which describes the memory at file descriptor 3. A byte from the socket at 0 asks for
# something, and goes back when it is done. Before that the socket gets the version and the type that is used: where this PyTorch
# cannot compute with a type on a CPU, that is f32. After an error it gets "x" and the reason, which is the end.
import argparse
import gc
import json
import math
import mmap
import os
import sys
import time

try:
    import torch
except ImportError:
    if "--serve" not in sys.argv:  # who starts that one says it
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


KINDS = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


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
    kind = KINDS[options.type]
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


# --- serve ----------------------------------------------------------------------------------------------------------------------


def computed(kind):  # the type that is used for this one
    try:
        one = torch.ones(1, 1, 1, dtype=kind)
        attend(one, one, one)
        return kind
    except RuntimeError:
        return torch.float32


class Server:
    def __init__(self, options):
        self.options = options
        self.kind, self.used = KINDS[options.type], computed(KINDS[options.type])
        self.memory = mmap.mmap(3, 0)
        self.words = memoryview(self.memory)[: (8 + options.batch) * 4].cast("I")
        self.caches = {}
        layers, heads, batch, size = options.layers, options.kv_heads, options.batch, options.size
        numbers = batch * options.heads * size
        query_at = (8 + batch + 15) // 16 * 64
        out_at = query_at + numbers * 4
        self.rows_at = out_at + layers * numbers * 4
        group = options.heads // heads
        self.queries = self.tensor(torch.float32, query_at, (batch, heads, group, size))
        self.outs = list(map(list, self.tensor(torch.float32, out_at, (layers, batch, heads, group, size))))
        rows = self.tensor(self.kind, self.rows_at, (batch, layers, 2, heads, 1, size))
        self.news = [[tuple(pair) for pair in sequence] for sequence in rows]

    def tensor(self, kind, at, shape):
        return torch.frombuffer(self.memory, dtype=kind, offset=at, count=math.prod(shape)).view(shape)

    def begin(self):
        self.caches[self.words[8]] = Cache(self.options.layers, (self.options.kv_heads, 0, self.options.size), self.used)

    def append(self):
        tokens = self.words[2]
        key, value = self.tensor(self.kind, self.rows_at, (2, self.options.kv_heads, tokens, self.options.size)).to(self.used)
        self.caches[self.words[8]].update(self.words[1], key, value)

    def step(self):
        count, rows = self.words[0], 0
        caches = [self.caches[slot] for slot in self.words[8 : 8 + count]]
        queries = list(self.queries[:count].to(self.used))
        for layer in range(self.options.layers):
            for i in range(count):
                key, value = self.news[i][layer]
                keys, values = caches[i].update(layer, key.to(self.used), value.to(self.used))
                self.outs[layer][i].copy_(attend(queries[i], keys, values))
                rows += keys.shape[-2]
        rows *= self.options.kv_heads
        self.words[4], self.words[5] = rows & 0xFFFFFFFF, rows >> 32

    def run(self):
        name = {kind: name for name, kind in KINDS.items()}[self.used]
        os.write(0, f"torch {'.'.join(torch.__version__.split('.')[:2])} {name}".encode())
        does = {b"n": self.begin, b"a": self.append, b"s": self.step, b"e": lambda: None}
        gc.disable()  # nothing here is a circle, and a collection would be in somebody's 99th percentile
        while command := os.read(0, 1):
            does[command]()
            os.write(0, command)


def serve(options):
    try:
        Server(options).run()
    except Exception as error:
        os.write(0, f"x{type(error).__name__}: {error}".splitlines()[0].encode())
        raise


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--type", choices=("f32", "bf16", "f16"), default="f32")
    parser.add_argument("--clock", choices=("wall", "thread"), default="wall")
    for name, value in (("tokens", 64), ("steps", 100), ("rounds", 1), ("threads", 1), ("layers", 12), ("heads", 12), ("size", 64),
                        ("kv-heads", 12), ("batch", 1)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--wait", action="store_true")
    parser.add_argument("--serve", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    with torch.no_grad():
        if options.serve:
            serve(options)
        elif options.wait:
            for _ in sys.stdin:
                round_run(options)
        else:
            for _ in range(options.rounds):
                round_run(options)


if __name__ == "__main__":
    main()
