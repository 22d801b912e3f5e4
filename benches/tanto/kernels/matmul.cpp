// Products of blocks of tiles, summed up in the slots of one math object.
void kernel(
        pipe<T> pa, pipe<T> pb, pipe<T> pc, uint32 blocks, uint32 k_tiles, uint32 block_m, uint32 block_n) {
    pa.set_frame(block_m);
    pb.set_frame(block_n);
    pc.set_frame(block_m * block_n);
    for (uint32 block = 0; block < blocks; block++) {
        math<T> acc;
        for (uint32 k = 0; k < k_tiles; k++) {
            pa.wait_front();
            pb.wait_front();
            uint32 slot = 0;
            for (uint32 i = 0; i < block_m; i++) {
                for (uint32 j = 0; j < block_n; j++) {
                    acc.matmul(pa, pb, i, j, slot, false);
                    slot++;
                }
            }
            pa.pop_front();
            pb.pop_front();
        }
        pc.reserve_back();
        for (uint32 slot = 0; slot < block_m * block_n; slot++) {
            acc.pack(slot, pc);
        }
        pc.push_back();
    }
}
