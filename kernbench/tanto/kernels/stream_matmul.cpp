// The product of one row of tiles with the weights that a core streams, some columns at a time: as many as the slots take. The input
// comes block by block for the first columns, and is in L1 for the others. Slots begin with what is added to the product. Of two
// matrices the first is the gate of the second.
static constexpr uint32
    NONE = 0,
    SILU = 1,
    GELU = 2,
    RELU = 3,
    TANH = 4;

param<uint32> adds;  // 1: a tensor, 2: a bias, 3: both
param<uint32> gated;
param<uint32> activation;

uint32 least(uint32 a, uint32 b) {
    return a < b ? a : b;
}

void multiply(math<T> acc, pipe<T> pa, pipe<T> pb, uint32 a, uint32 depth, uint32 columns) {
    uint32 b = 0;
    for (uint32 k = 0; k < depth; k++) {
        for (uint32 j = 0; j < columns; j++) {
            acc.matmul(pa, pb, a, b + j, j, false);
        }
        a++;
        b += columns;
    }
}

void begin(math<T> acc, pipe<T> padded, pipe<T> pbias, uint32 first, uint32 columns) {
    for (uint32 j = 0; j < columns; j++) {
        if (adds == 1) {
            acc.copy(padded, first + j, j);
        } else if (adds == 2) {
            acc.copy(pbias, first + j, j);
        } else if (adds == 3) {
            acc.add(padded, pbias, first + j, first + j, j);
        }
    }
}

void activate(math<T> acc, uint32 slot) {
    if (activation == GELU) {
        acc.gelu(slot);
    } else if (activation == RELU) {
        acc.relu(slot);
    } else if (activation == TANH) {
        acc.tanh(slot);
    } else if (activation == SILU) {
        acc.sigmoid(slot);
    }
}

void pack(math<T> acc, pipe<T> into, uint32 first, uint32 count) {
    into.reserve_back();
    for (uint32 i = 0; i < count; i++) {
        acc.pack(first + i, into);
    }
    into.push_back();
}

void times(pipe<T> a, pipe<T> b, pipe<T> c, uint32 count) {
    math<T> acc;
    for (uint32 i = 0; i < count; i++) {
        acc.mul(a, b, i, i, i);
    }
    pack(acc, c, 0, count);
}

// The second matrix times the activation of the first: of SILU the sigmoid is there, and its argument is one more factor.
void gate(pipe<T> pgate, pipe<T> pup, pipe<T> pactive, pipe<T> pscaled, pipe<T> py, uint32 count) {
    pgate.wait_front();
    {
        math<T> acc;
        for (uint32 i = 0; i < count; i++) {
            acc.copy(pgate, i, i);
            activate(acc, i);
        }
        pack(acc, pactive, 0, count);
    }
    pup.wait_front();
    pactive.wait_front();
    if (activation == SILU) {
        times(pgate, pup, pscaled, count);
        pscaled.wait_front();
        times(pscaled, pactive, py, count);
        pscaled.pop_front();
    } else {
        times(pup, pactive, py, count);
    }
    pactive.pop_front();
    pup.pop_front();
    pgate.pop_front();
}

void kernel(
        pipe<T> pa,
        pipe<T> pall,
        pipe<T> pb0,
        pipe<T> pb1,
        pipe<T> padded,
        pipe<T> pbias,
        pipe<T> pgate,
        pipe<T> pup,
        pipe<T> pactive,
        pipe<T> pscaled,
        pipe<T> py,
        uint32 k_tiles,
        uint32 n_tiles,
        uint32 block_k,
        uint32 part) {
    uint32 matrices = 1 + gated;
    uint32 frame = 0;
    pa.set_frame(block_k);
    pall.set_frame((k_tiles + block_k - 1) / block_k * block_k);
    pb0.set_frame(block_k * part * matrices);
    pb1.set_frame(block_k * part * matrices);
    py.set_frame(part);
    if (gated != 0) {
        pgate.set_frame(part);
        pup.set_frame(part);
        pactive.set_frame(part);
        pscaled.set_frame(part);
    }
    if ((adds & 1) != 0) {
        padded.set_frame(n_tiles);
        padded.wait_front();
    }
    if ((adds & 2) != 0) {
        pbias.set_frame(n_tiles);
        pbias.wait_front();
    }
    for (uint32 n = 0; n < n_tiles; n += part) {
        uint32 width = least(part, n_tiles - n);
        uint32 columns = width * matrices;
        if (n == part) {
            pall.wait_front();
        }
        {
            math<T> acc;
            begin(acc, padded, pbias, n, columns);
            for (uint32 k = 0; k < k_tiles; k += block_k) {
                uint32 depth = least(block_k, k_tiles - k);
                bool odd = (frame & 1) != 0;
                if (n == 0) {
                    pa.wait_front();
                }
                if (odd) {
                    pb1.wait_front();
                } else {
                    pb0.wait_front();
                }
                if (n == 0 && odd) {
                    multiply(acc, pa, pb1, 0, depth, columns);
                } else if (n == 0) {
                    multiply(acc, pa, pb0, 0, depth, columns);
                } else if (odd) {
                    multiply(acc, pall, pb1, k, depth, columns);
                } else {
                    multiply(acc, pall, pb0, k, depth, columns);
                }
                if (odd) {
                    pb1.pop_front();
                } else {
                    pb0.pop_front();
                }
                if (n == 0) {
                    pa.pop_front();
                }
                frame++;
            }
            if (gated != 0) {
                pack(acc, pgate, 0, width);
                pack(acc, pup, width, width);
            } else {
                for (uint32 j = 0; j < width; j++) {
                    activate(acc, j);
                }
                pack(acc, py, 0, width);
            }
        }
        if (gated != 0) {
            gate(pgate, pup, pactive, pscaled, py, width);
        }
    }
    if (n_tiles <= part) {
        pall.wait_front();
    }
    pall.pop_front();
    if ((adds & 1) != 0) {
        padded.pop_front();
    }
    if ((adds & 2) != 0) {
        pbias.pop_front();
    }
}
