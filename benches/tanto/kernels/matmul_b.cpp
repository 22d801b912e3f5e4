// Brings blocks of the right matrix to a column of cores, and writes the product.
void receive(semaphore ready, semaphore valid, uint32 x, uint32 y) {
    valid.set(0);
    ready.inc(x, y, 1);
    valid.wait(1);
}

void kernel(
        global<T> b,
        global<T> c,
        pipe<T> pb,
        pipe<T> pc,
        semaphore ready,
        semaphore valid,
        uint32 sends,
        uint32 start_b,
        uint32 start_c,
        uint32 k_tiles,
        uint32 n_tiles,
        uint32 block_m,
        uint32 block_n,
        uint32 blocks_m,
        uint32 blocks_n,
        uint32 x0,
        uint32 y0,
        uint32 x1,
        uint32 y1,
        uint32 dests,
        uint32 sender_x,
        uint32 sender_y) {
    pb.set_frame(block_n);
    pc.set_frame(block_m * block_n);
    if (sends != 0) {
        valid.set(1);
    }
    for (uint32 bm = 0; bm < blocks_m; bm++) {
        for (uint32 bn = 0; bn < blocks_n; bn++) {
            for (uint32 k = 0; k < k_tiles; k++) {
                pb.reserve_back();
                if (sends != 0) {
                    pb.read(0, b, (start_b + k * n_tiles + bn * block_n) * 1024, block_n * 1024);
                    read_barrier();
                    if (dests != 0) {
                        ready.wait(dests);
                        ready.set(0);
                        pb.write_mcast(0, pb, 0, block_n * 1024, x0, y0, x1, y1, dests);
                        valid.set_mcast(valid, x0, y0, x1, y1, dests);
                    }
                } else {
                    receive(ready, valid, sender_x, sender_y);
                }
                pb.push_back();
            }
            pc.wait_front();
            uint32 tile = start_c + bm * block_m * n_tiles + bn * block_n;
            for (uint32 i = 0; i < block_m; i++) {
                pc.write(i * block_n * 1024, c, tile * 1024, block_n * 1024);
                tile += n_tiles;
            }
            write_barrier();
            pc.pop_front();
        }
    }
}
