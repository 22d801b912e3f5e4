// Brings blocks of B from DRAM to a column of cores, and writes C: a block of it when the next one has begun.
uint32 least(uint32 a, uint32 b) {
    return a < b ? a : b;
}

// Writes a block of C, part by part; one that stays in L1 is there when it was pushed.
void write(
        global<T> c, pipe<T> pc, uint32 tile, uint32 height, uint32 width, uint32 part_m, uint32 part_n, uint32 all_n, uint32 keeps) {
    for (uint32 i = 0; i < height; i += part_m) {
        uint32 rows = least(part_m, height - i);
        for (uint32 j = 0; j < width; j += part_n) {
            uint32 columns = least(part_n, width - j);
            pc.wait_front();
            if (keeps == 0) {
                uint32 to = tile + i * all_n + j;
                for (uint32 row = 0; row < rows; row++) {
                    pc.write(row * columns * 1024, c, to * 1024, columns * 1024);
                    to += all_n;
                }
                write_barrier();
            }
            pc.pop_front();
        }
    }
}

void kernel(
        global<T> b,
        global<T> c,
        pipe<T> pb,
        pipe<T> pc,
        semaphore ready,
        semaphore valid,
        uint32 sends,
        uint32 keeps,
        uint32 start_m,
        uint32 start_n,
        uint32 all_n,
        uint32 m_tiles,
        uint32 k_tiles,
        uint32 n_tiles,
        uint32 block_m,
        uint32 block_k,
        uint32 block_n,
        uint32 part_m,
        uint32 part_n,
        uint32 x,
        uint32 y0,
        uint32 y1,
        uint32 dests) {
    uint32 done_tile = 0;
    uint32 done_height = 0;
    uint32 done_width = 0;
    pb.set_frame(block_k * block_n);
    pc.set_frame(part_m * part_n);
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
                        ready.wait(dests);
                        ready.set(0);
                        pb.write_mcast(0, pb, 0, depth * width * 1024, x, y0, x, y1, dests);
                        valid.set_mcast(valid, x, y0, x, y1, dests);
                    }
                } else {
                    valid.set(0);
                    ready.inc(x, y0, 1);
                    valid.wait(1);
                }
                pb.push_back();
                if (k == 0) {
                    write(c, pc, done_tile, done_height, done_width, part_m, part_n, all_n, keeps);
                }
            }
            done_tile = (start_m + m) * all_n + start_n + n;
            done_height = least(block_m, m_tiles - m);
            done_width = width;
        }
    }
    write(c, pc, done_tile, done_height, done_width, part_m, part_n, all_n, keeps);
    write_barrier();
}
