# SPDX-License-Identifier: Apache-2.0
"""first.c in Python, by cffi, on the installed library:  python3 first.py"""
import pathlib
import sys

import cffi  # type: ignore[import-untyped]

WORKERS, HOMES, BLOCKS, BLOCK_BYTES, TOKENS_PER_BLOCK = 1, 1, 8, 65536, 16

ffi = cffi.FFI()
ffi.cdef(pathlib.Path(__file__).parents[1].joinpath("locus-declarations.h").read_text())
ffi.cdef("void *aligned_alloc(size_t alignment, size_t bytes);")
locus, libc = ffi.dlopen("liblocus.so"), ffi.dlopen(None)

memory = ffi.new("struct locus_pool_config *", {"blocks": BLOCKS, "block_bytes": BLOCK_BYTES, "node": locus.LOCUS_NODE_ANY})
memory.size = ffi.sizeof(memory[0])
role = ffi.new("struct locus_owner_config *", {"lanes": WORKERS})
role.size = ffi.sizeof(role[0])
request = ffi.cast("struct locus_table *", libc.aligned_alloc(locus.LOCUS_CACHE_LINE, locus.locus_table_bytes(HOMES, BLOCKS)))
route = locus.locus_route_new()  # a worker's return path
pool, owner = ffi.new("struct locus_pool **"), ffi.new("struct locus_owner **")
if locus.locus_pool_open(pool, memory):
    sys.exit("no pool")
role.pool = pool[0]
if (locus.locus_owner_open(owner, role) or locus.locus_owner_adopt(owner[0]) or
        locus.locus_route_add(route, owner[0], WORKERS - 1) or
        locus.locus_table_init(request, HOMES, BLOCKS, TOKENS_PER_BLOCK)):
    sys.exit("no owner, route or table")
locus.locus_owner_grow(owner[0], request, BLOCKS)  # this thread owns the pool, and takes blocks for a request
locus.locus_owner_retire(owner[0], request)        # the request is finished ...
locus.locus_table_push(route, request)             # ... and a worker, any thread, sends all its blocks home at once
print(locus.locus_owner_drain(owner[0]), "blocks came home")
