// Brings blocks of the left matrix to a row of cores: the first core reads and multicasts, the others say that they are ready.
void kernel(
        global<T> a,
        pipe<T> pa,
        semaphore ready,
        semaphore valid,
        uint32 sends,
        uint32 start,
        uint32 k_tiles,
        uint32 block_m,
        uint32 blocks_m,
        uint32 blocks_n,
        uint32 x0,
        uint32 y0,
        uint32 x1,
        uint32 y1,
        uint32 dests,
        uint32 sender_x,
        uint32 sender_y) {
    uint32 elements = block_m * 1024;
    pa.set_frame(block_m);
    if (sends != 0) {
        valid.set(1);
    }
    for (uint32 bm = 0; bm < blocks_m; bm++) {
        for (uint32 bn = 0; bn < blocks_n; bn++) {
            for (uint32 k = 0; k < k_tiles; k++) {
                pa.reserve_back();
                if (sends != 0) {
                    uint32 tile = start + bm * block_m * k_tiles + k;
                    for (uint32 i = 0; i < block_m; i++) {
                        pa.read(i * 1024, a, tile * 1024, 1024);
                        tile += k_tiles;
                    }
                    read_barrier();
                    if (dests != 0) {
                        ready.wait(dests);
                        ready.set(0);
                        pa.write_mcast(0, pa, 0, elements, x1, y1, x0, y0, dests);
                        valid.set_mcast(valid, x1, y1, x0, y0, dests);
                    }
                } else {
                    valid.set(0);
                    ready.inc(sender_x, sender_y, 1);
                    valid.wait(1);
                }
                pa.push_back();
            }
        }
    }
    write_barrier();
}
