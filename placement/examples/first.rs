// SPDX-License-Identifier: Apache-2.0
//
// first.c in Rust, without a crate:
//
//     bindgen "$(pkg-config --variable=declarations locus)" -o locus.rs && rustc first.rs -l locus
#[allow(warnings, clippy::all)]
mod locus;
use locus::*;
use std::alloc::{alloc, Layout};
use std::mem::{size_of, zeroed};
use std::ptr::null_mut;

const WORKERS: u32 = 1;
const HOMES: u32 = 1;
const BLOCKS: u32 = 8;
const BLOCK_BYTES: u32 = 65536;
const TOKENS_PER_BLOCK: u32 = 16;

fn main() {
    unsafe {
        let mut memory: locus_pool_config = zeroed();
        memory.size = size_of::<locus_pool_config>() as _;
        memory.blocks = BLOCKS;
        memory.block_bytes = BLOCK_BYTES as _;
        memory.node = LOCUS_NODE_ANY;
        let mut role: locus_owner_config = zeroed();
        role.size = size_of::<locus_owner_config>() as _;
        role.lanes = WORKERS;
        let bytes = locus_table_bytes(HOMES, BLOCKS) as usize;
        let request: *mut locus_table = alloc(Layout::from_size_align(bytes, LOCUS_CACHE_LINE as usize).unwrap()).cast();
        let route = locus_route_new(); // a worker's return path
        let mut owner = null_mut();
        assert_eq!(locus_pool_open(&mut role.pool, &memory), 0);
        assert_eq!(locus_owner_open(&mut owner, &role), 0);
        assert_eq!(locus_owner_adopt(owner), 0);
        assert_eq!(locus_route_add(route, owner, WORKERS - 1), 0);
        assert_eq!(locus_table_init(request.cast(), HOMES, BLOCKS, TOKENS_PER_BLOCK), 0);
        locus_owner_grow(owner, request, BLOCKS); // this thread owns the pool, and takes blocks for a request
        locus_owner_retire(owner, request); // the request is finished ...
        locus_table_push(route, request); // ... and a worker, any thread, sends all its blocks home at once
        println!("{} blocks came home", locus_owner_drain(owner));
    }
}
