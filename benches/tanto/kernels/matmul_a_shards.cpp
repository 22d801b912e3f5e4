// Brings blocks of A to a row of cores, each of which has some columns of A in its L1: the one that has a block multicasts it.
uint32 least(uint32 a, uint32 b) {
    return a < b ? a : b;
}

void kernel(
        local<T> shard,
        pipe<T> pa,
        semaphore ready,
        semaphore valid,
        uint32 m_tiles,
        uint32 k_tiles,
        uint32 n_tiles,
        uint32 block_m,
        uint32 block_k,
        uint32 block_n,
        uint32 shard_k,
        uint32 columns,
        uint32 x0,
        uint32 x1,
        uint32 x,
        uint32 y,
        uint32 dests) {
    pa.set_frame(block_m * block_k);
    for (uint32 m = 0; m < m_tiles; m += block_m) {
        uint32 height = least(block_m, m_tiles - m);
        for (uint32 n = 0; n < n_tiles; n += block_n) {
            uint32 sender = x0;
            for (uint32 first = 0; first < k_tiles; first += shard_k) {
                uint32 here = least(shard_k, k_tiles - first);
                for (uint32 k = 0; k < here; k += block_k) {
                    uint32 depth = least(block_k, here - k);
                    pa.reserve_back();
                    if (sender == x) {
                        if (dests != 0) {
                            valid.set(1);
                            ready.wait(dests);
                            ready.set(0);
                        }
                        if (depth == shard_k) {
                            shard.write_mcast_with_self(
                                m * shard_k * 1024, pa, 0, height * depth * 1024, x1, y, x0, y, dests);
                        } else {
                            for (uint32 i = 0; i < height; i++) {
                                shard.write_mcast_with_self(
                                    ((m + i) * shard_k + k) * 1024, pa, i * depth * 1024, depth * 1024, x1, y, x0, y, dests);
                            }
                        }
                        if (dests != 0) {
                            valid.set_mcast(valid, x1, y, x0, y, dests);
                        }
                        write_barrier();
                    } else {
                        valid.set(0);
                        ready.inc(sender, y, 1);
                        valid.wait(1);
                    }
                    pa.push_back();
                }
                sender++;
                while (sender < x1 && (columns >> sender & 1) == 0) {
                    sender++;
                }
            }
        }
    }
}
