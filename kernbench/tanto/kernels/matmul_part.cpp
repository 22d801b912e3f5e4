// As `matmul.cpp`, with what follows a product: slots begin with what is added to it, a tensor or a bias, and the last sums go through
// an activation.
static constexpr uint32
    NONE = 0,
    SILU = 1,
    GELU = 2,
    RELU = 3;

param<uint32> adds;  // 1: a tensor, 2: a bias, 3: both
param<uint32> activation;

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

// The first contents of the slots of a part; of what is added its frame has the same rows and columns.
void begin(math<T> acc, pipe<T> padded, pipe<T> pbias, uint32 column, uint32 rows, uint32 columns) {
    if (adds == 0) {
        return;
    }
    if ((adds & 1) != 0) {
        padded.wait_front();
    }
    uint32 slot = 0;
    for (uint32 i = 0; i < rows; i++) {
        for (uint32 j = 0; j < columns; j++) {
            if (adds == 1) {
                acc.copy(padded, slot, slot);
            } else if (adds == 2) {
                acc.copy(pbias, column + j, slot);
            } else {
                acc.add(padded, pbias, slot, column + j, slot);
            }
            slot++;
        }
    }
    if ((adds & 1) != 0) {
        padded.pop_front();
    }
}

void activate(math<T> acc, uint32 tiles) {
    for (uint32 slot = 0; slot < tiles; slot++) {
        if (activation == GELU) {
            acc.gelu(slot);
        } else if (activation == RELU) {
            acc.relu(slot);
        }
    }
}

void pack(math<T> acc, pipe<T> into, uint32 tiles) {
    for (uint32 slot = 0; slot < tiles; slot++) {
        acc.pack(slot, into);
    }
}

void kernel(
        pipe<T> pa,
        pipe<T> pb,
        pipe<T> sums,
        pipe<T> pc,
        pipe<T> padded,
        pipe<T> pbias,
        uint32 m_tiles,
        uint32 k_tiles,
        uint32 n_tiles,
        uint32 block_m,
        uint32 block_k,
        uint32 block_n,
        uint32 part_m,
        uint32 part_n) {
    bool is_one_part = part_m >= block_m && part_n >= block_n;
    if ((adds & 1) != 0) {
        padded.set_frame(part_m * part_n);
    }
    if ((adds & 2) != 0) {
        pbias.set_frame(n_tiles);
        pbias.wait_front();
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
                begin(acc, padded, pbias, n, height, width);
                for (uint32 k = 0; k < k_tiles; k += block_k) {
                    pa.wait_front();
                    pb.wait_front();
                    multiply(acc, pa, pb, 0, height, 0, width, least(block_k, k_tiles - k), width);
                    pa.pop_front();
                    pb.pop_front();
                }
                activate(acc, height * width);
                pc.reserve_back();
                pack(acc, pc, height * width);
                pc.push_back();
                continue;
            }
            for (uint32 k = 0; k < k_tiles; k += block_k) {
                uint32 depth = least(block_k, k_tiles - k);
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
                        } else {
                            begin(acc, padded, pbias, n + j, rows, columns);
                        }
                        multiply(acc, pa, pb, i, rows, j, columns, depth, width);
                        if (k + depth < k_tiles) {
                            sums.reserve_back();
                            pack(acc, sums, rows * columns);
                            sums.push_back();
                        } else {
                            activate(acc, rows * columns);
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
    if ((adds & 2) != 0) {
        pbias.pop_front();
    }
}
