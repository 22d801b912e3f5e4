// The activation of sums, or gated products, of two streams: what follows a product of many tokens.
static constexpr uint32
    ADD = 0,
    GATE = 1;
static constexpr uint32
    NONE = 0,
    SILU = 1,
    GELU = 2,
    RELU = 3,
    TANH = 4;

param<uint32> operation;
param<uint32> activation;

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

void pack(math<T> acc, pipe<T> into, uint32 tiles) {
    for (uint32 i = 0; i < tiles; i++) {
        acc.pack(i, into);
    }
}

void activated(pipe<T> x, pipe<T> y, uint32 tiles) {
    y.reserve_back();
    {
        math<T> acc;
        for (uint32 i = 0; i < tiles; i++) {
            acc.copy(x, i, i);
            activate(acc, i);
        }
        pack(acc, y, tiles);
    }
    y.push_back();
}

void times(pipe<T> a, pipe<T> b, pipe<T> y, uint32 tiles) {
    y.reserve_back();
    {
        math<T> acc;
        for (uint32 i = 0; i < tiles; i++) {
            acc.mul(a, b, i, i, i);
        }
        pack(acc, y, tiles);
    }
    y.push_back();
}

void kernel(pipe<T> pa, pipe<T> pb, pipe<T> pactive, pipe<T> pscaled, pipe<T> py, uint32 units, uint32 tiles) {
    pa.set_frame(tiles);
    py.set_frame(tiles);
    pb.set_frame(tiles);
    if (operation == GATE) {
        pactive.set_frame(tiles);
        pscaled.set_frame(tiles);
    }
    for (uint32 unit = 0; unit < units; unit++) {
        pa.wait_front();
        pb.wait_front();
        if (operation == ADD) {
            py.reserve_back();
            {
                math<T> acc;
                for (uint32 i = 0; i < tiles; i++) {
                    acc.add(pa, pb, i, i, i);
                    activate(acc, i);
                }
                pack(acc, py, tiles);
            }
            py.push_back();
        } else {
            activated(pa, pactive, tiles);
            pactive.wait_front();
            if (activation == SILU) {
                times(pa, pb, pscaled, tiles);
                pscaled.wait_front();
                times(pscaled, pactive, py, tiles);
                pscaled.pop_front();
            } else {
                times(pb, pactive, py, tiles);
            }
            pactive.pop_front();
        }
        pa.pop_front();
        pb.pop_front();
    }
}
