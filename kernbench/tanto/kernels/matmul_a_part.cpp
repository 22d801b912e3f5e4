// As `matmul_a.cpp`, of a C that has fewer rows and columns than all cores together make: what is beyond them is not written.
// What is added to C comes first: a bias for all blocks, and for each block the tiles of a tensor, part by part.
param<uint32> adds;  // 1: a tensor, 2: a bias, 3: both

uint32 least(uint32 a, uint32 b) {
    return a < b ? a : b;
}

void write(
        global<T> c,
        pipe<T> pc,
        uint32 first_m,
        uint32 first_n,
        uint32 height,
        uint32 width,
        uint32 part_m,
        uint32 part_n,
        uint32 rows_of_c,
        uint32 columns_of_c) {
    for (uint32 i = 0; i < height; i += part_m) {
        uint32 rows = least(part_m, height - i);
        for (uint32 j = 0; j < width; j += part_n) {
            uint32 columns = least(part_n, width - j);
            uint32 y = first_m + i;
            uint32 x = first_n + j;
            pc.wait_front();
            if (x < columns_of_c) {
                uint32 some = least(columns, columns_of_c - x);
                for (uint32 row = 0; row < rows; row++) {
                    if (y < rows_of_c) {
                        pc.write(row * columns * 1024, c, (y * columns_of_c + x) * 1024, some * 1024);
                    }
                    y++;
                }
                write_barrier();
            }
            pc.pop_front();
        }
    }
}

void bring(
        global<T> added,
        pipe<T> padded,
        uint32 first_m,
        uint32 first_n,
        uint32 height,
        uint32 width,
        uint32 part_m,
        uint32 part_n,
        uint32 rows_of_c,
        uint32 columns_of_c) {
    for (uint32 i = 0; i < height; i += part_m) {
        uint32 rows = least(part_m, height - i);
        for (uint32 j = 0; j < width; j += part_n) {
            uint32 columns = least(part_n, width - j);
            uint32 y = first_m + i;
            uint32 x = first_n + j;
            padded.reserve_back();
            if (x < columns_of_c) {
                uint32 some = least(columns, columns_of_c - x);
                for (uint32 row = 0; row < rows; row++) {
                    if (y < rows_of_c) {
                        padded.read(row * columns * 1024, added, (y * columns_of_c + x) * 1024, some * 1024);
                    }
                    y++;
                }
                read_barrier();
            }
            padded.push_back();
        }
    }
}

void kernel(
        global<T> a,
        global<T> c,
        pipe<T> pa,
        pipe<T> pc,
        global<T> added,
        global<T> bias,
        pipe<T> padded,
        pipe<T> pbias,
        semaphore ready,
        semaphore valid,
        uint32 sends,
        uint32 start_m,
        uint32 start_n,
        uint32 rows_of_c,
        uint32 columns_of_c,
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
    uint32 done_m = 0;
    uint32 done_n = 0;
    uint32 done_height = 0;
    uint32 done_width = 0;
    pa.set_frame(block_m * block_k);
    pc.set_frame(part_m * part_n);
    if ((adds & 1) != 0) {
        padded.set_frame(part_m * part_n);
    }
    if ((adds & 2) != 0) {
        pbias.set_frame(n_tiles);
        pbias.reserve_back();
        if (start_n < columns_of_c) {
            pbias.read(0, bias, start_n * 1024, least(n_tiles, columns_of_c - start_n) * 1024);
        }
        read_barrier();
        pbias.push_back();
    }
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
                        if (start_m + m + i < rows_of_c) {
                            pa.read(i * depth * 1024, a, tile * 1024, depth * 1024);
                        }
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
                    write(c, pc, done_m, done_n, done_height, done_width, part_m, part_n, rows_of_c, columns_of_c);
                    if ((adds & 1) != 0) {
                        uint32 width = least(block_n, n_tiles - n);
                        uint32 first = start_n + n;
                        bring(added, padded, start_m + m, first, height, width, part_m, part_n, rows_of_c, columns_of_c);
                    }
                }
            }
            done_m = start_m + m;
            done_n = start_n + n;
            done_height = height;
            done_width = least(block_n, n_tiles - n);
        }
    }
    write(c, pc, done_m, done_n, done_height, done_width, part_m, part_n, rows_of_c, columns_of_c);
}
