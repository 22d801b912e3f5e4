// Brings blocks of A to cores that need the same, and writes C: a block of it when the operands of the next one have begun to come.
// The first of these cores reads A from DRAM and multicasts it to their rectangle; the receivers say that they are ready.
uint32 least(uint32 a, uint32 b) {
    return a < b ? a : b;
}

void write(
        global<T> c, pipe<T> pc, uint32 tile, uint32 height, uint32 width, uint32 part_m, uint32 part_n, uint32 all_n) {
    for (uint32 i = 0; i < height; i += part_m) {
        uint32 rows = least(part_m, height - i);
        for (uint32 j = 0; j < width; j += part_n) {
            uint32 columns = least(part_n, width - j);
            uint32 to = tile + i * all_n + j;
            pc.wait_front();
            for (uint32 row = 0; row < rows; row++) {
                pc.write(row * columns * 1024, c, to * 1024, columns * 1024);
                to += all_n;
            }
            write_barrier();
            pc.pop_front();
        }
    }
}

void kernel(
        global<T> a,
        global<T> c,
        pipe<T> pa,
        pipe<T> pc,
        semaphore ready,
        semaphore valid,
        uint32 sends,
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
        uint32 x0,
        uint32 y0,
        uint32 x1,
        uint32 y1,
        uint32 receivers,
        uint32 dests) {
    uint32 done_tile = 0;
    uint32 done_height = 0;
    uint32 done_width = 0;
    pa.set_frame(block_m * block_k);
    pc.set_frame(part_m * part_n);
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
                    uint32 tile = (start_m + m) * k_tiles + k;
                    for (uint32 i = 0; i < height; i++) {
                        pa.read(i * depth * 1024, a, tile * 1024, depth * 1024);
                        tile += k_tiles;
                    }
                    read_barrier();
                    if (dests != 0) {
                        write_barrier();
                        ready.wait(receivers);
                        ready.set(0);
                        pa.write_mcast(0, pa, 0, height * depth * 1024, x1, y1, x0, y0, dests);
                        valid.set_mcast(valid, x1, y1, x0, y0, dests);
                    }
                } else {
                    valid.set(0);
                    ready.inc(x0, y0, 1);
                    valid.wait(1);
                }
                pa.push_back();
                if (k == 0) {
                    write(c, pc, done_tile, done_height, done_width, part_m, part_n, all_n);
                }
            }
            done_tile = (start_m + m) * all_n + start_n + n;
            done_height = height;
            done_width = least(block_n, n_tiles - n);
        }
    }
    write(c, pc, done_tile, done_height, done_width, part_m, part_n, all_n);
}
