// Products of blocks of tiles. A block of C is made in parts that fit into the slots; between the blocks of K the sums wait in L1.
// With `tilizes` blocks of A are made of rows of elements first, which come 32 at a time.
param<uint32> tilizes;

uint32 least(uint32 a, uint32 b) {
    return a < b ? a : b;
}

// Adds to the slots the products of some rows of a block of A and some columns of one of B.
void multiply(
        math<T> acc,
        pipe<T> pa,
        pipe<T> pb,
        uint32 row,
        uint32 rows,
        uint32 column,
        uint32 columns,
        uint32 depth,
        uint32 width) {
    uint32 b = column;
    for (uint32 k = 0; k < depth; k++) {
        uint32 slot = 0;
        uint32 a = row * depth + k;
        for (uint32 i = 0; i < rows; i++) {
            for (uint32 j = 0; j < columns; j++) {
                acc.matmul(pa, pb, a, b + j, slot, false);
                slot++;
            }
            a += depth;
        }
        b += width;
    }
}

void tilize(pipe<T> rows, pipe<T> pa, uint32 height, uint32 depth) {
    pa.reserve_back();
    for (uint32 i = 0; i < height; i++) {
        rows.wait_front();
        tilize_block(rows, depth, pa);
        rows.pop_front();
    }
    pa.push_back();
}

void pack(math<T> acc, pipe<T> into, uint32 tiles) {
    for (uint32 slot = 0; slot < tiles; slot++) {
        acc.pack(slot, into);
    }
}

void kernel(
        pipe<T> rows_of_a,
        pipe<T> pa,
        pipe<T> pb,
        pipe<T> sums,
        pipe<T> pc,
        uint32 m_tiles,
        uint32 k_tiles,
        uint32 n_tiles,
        uint32 block_m,
        uint32 block_k,
        uint32 block_n,
        uint32 part_m,
        uint32 part_n) {
    bool is_one_part = tilizes == 0 && part_m >= block_m && part_n >= block_n;
    if (tilizes != 0) {
        rows_of_a.set_frame(block_k);
    }
    pa.set_frame(block_m * block_k);
    pb.set_frame(block_k * block_n);
    sums.set_frame(part_m * part_n);
    pc.set_frame(part_m * part_n);
    for (uint32 m = 0; m < m_tiles; m += block_m) {
        uint32 height = least(block_m, m_tiles - m);
        for (uint32 n = 0; n < n_tiles; n += block_n) {
            uint32 width = least(block_n, n_tiles - n);
            if (is_one_part) {
                math<T> acc;
                for (uint32 k = 0; k < k_tiles; k += block_k) {
                    pa.wait_front();
                    pb.wait_front();
                    multiply(acc, pa, pb, 0, height, 0, width, least(block_k, k_tiles - k), width);
                    pa.pop_front();
                    pb.pop_front();
                }
                pc.reserve_back();
                pack(acc, pc, height * width);
                pc.push_back();
                continue;
            }
            for (uint32 k = 0; k < k_tiles; k += block_k) {
                uint32 depth = least(block_k, k_tiles - k);
                if (tilizes != 0) {
                    tilize(rows_of_a, pa, height, depth);
                }
                pa.wait_front();
                pb.wait_front();
                for (uint32 i = 0; i < height; i += part_m) {
                    uint32 rows = least(part_m, height - i);
                    for (uint32 j = 0; j < width; j += part_n) {
                        uint32 columns = least(part_n, width - j);
                        math<T> acc;
                        if (k != 0) {
                            sums.wait_front();
                            for (uint32 slot = 0; slot < rows * columns; slot++) {
                                acc.copy(sums, slot, slot);
                            }
                            sums.pop_front();
                        }
                        multiply(acc, pa, pb, i, rows, j, columns, depth, width);
                        if (k + depth < k_tiles) {
                            sums.reserve_back();
                            pack(acc, sums, rows * columns);
                            sums.push_back();
                        } else {
                            pc.reserve_back();
                            pack(acc, pc, rows * columns);
                            pc.push_back();
                        }
                    }
                }
                pa.pop_front();
                pb.pop_front();
            }
        }
    }
}
