// Brings rows of 32 x 32n elements into n tiles, or tiles into rows.
param<uint32> to_tiles;

void kernel(pipe<T> x, pipe<T> y, uint32 frames, uint32 block) {
    x.set_frame(block);
    y.set_frame(block);
    for (uint32 i = 0; i < frames; i++) {
        x.wait_front();
        y.reserve_back();
        if (to_tiles != 0) {
            tilize_block(x, block, y);
        } else {
            untilize_block(x, block, y);
        }
        y.push_back();
        x.pop_front();
    }
}
