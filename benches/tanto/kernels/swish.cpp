// x / (1 + exp(-x)), tile by tile: the function of the vector unit times the tile itself.
static constexpr uint32 TILES = 4;

void tile(math<T> acc, pipe<T> x, pipe<T> gate, uint32 i) {
    acc.mul(x, gate, i, i, i);
}

void kernel(pipe<T> x, pipe<T> gate, pipe<T> y, uint32 frames, uint32 frame_tiles) {
    x.set_frame(frame_tiles);
    gate.set_frame(frame_tiles);
    y.set_frame(frame_tiles);
    for (uint32 frame = 0; frame < frames; frame++) {
        x.wait_front();
        gate.reserve_back();
        for (uint32 i = 0; i < frame_tiles; i += TILES) {
            math<T> acc;
            uint32 count = frame_tiles - i < TILES ? frame_tiles - i : TILES;
            for (uint32 k = 0; k < count; k++) {
                acc.copy(x, i + k, k);
                acc.sigmoid(k);
                acc.pack(k, gate);
            }
        }
        gate.push_back();
        gate.wait_front();
        y.reserve_back();
        for (uint32 i = 0; i < frame_tiles; i++) {
            math<T> acc;
            tile(acc, x, gate, i);
            acc.pack(i, y);
        }
        y.push_back();
        gate.pop_front();
        x.pop_front();
    }
}
