// Brings blocks of B to cores that need the same: the first reads them from DRAM and multicasts, the receivers say that they are ready.
uint32 least(uint32 a, uint32 b) {
    return a < b ? a : b;
}

void kernel(
        global<T> b,
        pipe<T> pb,
        semaphore ready,
        semaphore valid,
        uint32 sends,
        uint32 start_n,
        uint32 all_n,
        uint32 m_tiles,
        uint32 k_tiles,
        uint32 n_tiles,
        uint32 block_m,
        uint32 block_k,
        uint32 block_n,
        uint32 x0,
        uint32 y0,
        uint32 x1,
        uint32 y1,
        uint32 receivers,
        uint32 dests) {
    pb.set_frame(block_k * block_n);
    if (sends != 0) {
        valid.set(1);
    }
    for (uint32 m = 0; m < m_tiles; m += block_m) {
        for (uint32 n = 0; n < n_tiles; n += block_n) {
            uint32 width = least(block_n, n_tiles - n);
            for (uint32 k = 0; k < k_tiles; k += block_k) {
                uint32 depth = least(block_k, k_tiles - k);
                pb.reserve_back();
                if (sends != 0) {
                    uint32 tile = k * all_n + start_n + n;
                    for (uint32 i = 0; i < depth; i++) {
                        pb.read(i * width * 1024, b, tile * 1024, width * 1024);
                        tile += all_n;
                    }
                    read_barrier();
                    if (dests != 0) {
                        write_barrier();
                        ready.wait(receivers);
                        ready.set(0);
                        pb.write_mcast(0, pb, 0, depth * width * 1024, x0, y0, x1, y1, dests);
                        valid.set_mcast(valid, x0, y0, x1, y1, dests);
                    }
                } else {
                    valid.set(0);
                    ready.inc(x0, y0, 1);
                    valid.wait(1);
                }
                pb.push_back();
            }
        }
    }
    write_barrier();
}
