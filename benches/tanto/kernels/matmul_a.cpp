// Brings blocks of A to a row of cores: the first core reads them from DRAM and multicasts, the others say that they are ready.
uint32 least(uint32 a, uint32 b) {
    return a < b ? a : b;
}

void kernel(
        global<T> a,
        pipe<T> pa,
        semaphore ready,
        semaphore valid,
        uint32 sends,
        uint32 start,
        uint32 m_tiles,
        uint32 k_tiles,
        uint32 n_tiles,
        uint32 block_m,
        uint32 block_k,
        uint32 block_n,
        uint32 x0,
        uint32 x1,
        uint32 y,
        uint32 dests) {
    pa.set_frame(block_m * block_k);
    if (sends != 0) {
        valid.set(1);
    }
    for (uint32 m = 0; m < m_tiles; m += block_m) {
        uint32 height = least(block_m, m_tiles - m);
        for (uint32 n = 0; n < n_tiles; n += block_n) {
            for (uint32 k = 0; k < k_tiles; k += block_k) {
                uint32 depth = least(block_k, k_tiles - k);
                pa.reserve_back();
                if (sends != 0) {
                    uint32 tile = (start + m) * k_tiles + k;
                    for (uint32 i = 0; i < height; i++) {
                        pa.read(i * depth * 1024, a, tile * 1024, depth * 1024);
                        tile += k_tiles;
                    }
                    read_barrier();
                    if (dests != 0) {
                        write_barrier();
                        ready.wait(dests);
                        ready.set(0);
                        pa.write_mcast(0, pa, 0, height * depth * 1024, x1, y, x0, y, dests);
                        valid.set_mcast(valid, x1, y, x0, y, dests);
                    }
                } else {
                    valid.set(0);
                    ready.inc(x0, y, 1);
                    valid.wait(1);
                }
                pa.push_back();
            }
        }
    }
    write_barrier();
}
