// SPDX-License-Identifier: Apache-2.0
//
// first.c in C++:  c++ -std=c++17 first.cpp $(pkg-config --cflags --libs locus)
#include <locus/locus.h>
#include <cstdlib>
#include <iostream>

constexpr std::uint32_t workers = 1, homes = 1, blocks = 8, block_bytes = 65536, tokens_per_block = 16;

int main()
{
    locus_pool_config memory{};
    memory.blocks = blocks;
    memory.block_bytes = block_bytes;
    memory.node = LOCUS_NODE_ANY;
    locus_owner_config role{};
    role.lanes = workers;
    auto *request = static_cast<locus_table *>(std::aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(homes, blocks)));
    locus_route *route = locus_route_new(); // a worker's return path
    locus_owner *owner;
    if (locus_pool_open(&role.pool, &memory) || locus_owner_open(&owner, &role) || locus_owner_adopt(owner) ||
        locus_route_add(route, owner, workers - 1) || locus_table_init(request, homes, blocks, tokens_per_block))
        return EXIT_FAILURE;
    locus_owner_grow(owner, request, blocks); // this thread owns the pool, and takes blocks for a request
    locus_owner_retire(owner, request);       // the request is finished ...
    locus_table_push(route, request);         // ... and a worker, any thread, sends all its blocks home at once
    std::cout << locus_owner_drain(owner) << " blocks came home\n";
}
