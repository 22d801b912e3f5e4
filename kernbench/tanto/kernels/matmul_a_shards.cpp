// Brings blocks of A to a row of cores, each of which has some columns of A in its L1: the one that has a block multicasts it.
// C stays in L1, where its pipe lies over a local.
uint32 least(uint32 a, uint32 b) {
    return a < b ? a : b;
}

void kernel(
        local<T> shard,
        pipe<T> pa,
        pipe<T> pc,
        semaphore ready,
        semaphore valid,
        semaphore sent,
        uint32 m_tiles,
        uint32 k_tiles,
        uint32 n_tiles,
        uint32 block_m,
        uint32 block_k,
        uint32 block_n,
        uint32 part_tiles,
        uint32 parts,
        uint32 shard_k,
        uint32 columns,
        uint32 x0,
        uint32 x1,
        uint32 x,
        uint32 y,
        uint32 dests) {
    pa.set_frame(block_m * block_k);
    pc.set_frame(part_tiles);
    sent.set(1);
    for (uint32 m = 0; m < m_tiles; m += block_m) {
        uint32 height = least(block_m, m_tiles - m);
        for (uint32 n = 0; n < n_tiles; n += block_n) {
            uint32 sender = x0;
            uint32 first = 0;
            for (uint32 k = 0; k < k_tiles; k += block_k) {
                uint32 depth = least(block_k, k_tiles - k);
                if (k == first + shard_k) {
                    first = k;
                    sender++;
                    while ((columns >> sender & 1) == 0) {
                        sender++;
                    }
                }
                pa.reserve_back();
                if (sender == x) {
                    uint32 from = m * shard_k + k - first;
                    if (dests != 0) {
                        ready.wait(dests);
                        ready.set(0);
                    }
                    if (depth == shard_k) {
                        shard.write_mcast_with_self(from * 1024, pa, 0, height * depth * 1024, x1, y, x0, y, dests);
                    } else {
                        for (uint32 i = 0; i < height; i++) {
                            shard.write_mcast_with_self(from * 1024, pa, i * depth * 1024, depth * 1024, x1, y, x0, y, dests);
                            from += shard_k;
                        }
                    }
                    if (dests != 0) {
                        valid.set_mcast(sent, x1, y, x0, y, dests);
                    }
                    write_barrier();
                } else {
                    valid.set(0);
                    ready.inc(sender, y, 1);
                    valid.wait(1);
                }
                pa.push_back();
            }
        }
    }
    for (uint32 part = 0; part < parts; part++) {
        pc.wait_front();
        pc.pop_front();
    }
}
