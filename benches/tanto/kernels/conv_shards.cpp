// Gathers the windows of pixels from a part of an image in L1, whose rows have their margins with them: a row of the window is one
// move. For each block of the result the rows of the window come one after the other, each for 32 pixels at a time. The result stays in L1.
static constexpr uint32 PIXELS = 32;

void kernel(
        local<T> image,
        pipe<T> into,
        pipe<T> result,
        uint32 first_x,
        uint32 width,
        uint32 row_elements,
        uint32 channels,
        uint32 side,
        uint32 m_tiles,
        uint32 block_m,
        uint32 n_blocks,
        uint32 depth,
        uint32 part_tiles,
        uint32 parts) {
    into.set_frame(depth);
    uint32 block_x = first_x;
    uint32 block_y = 0;
    for (uint32 m = 0; m < m_tiles; m += block_m) {
        uint32 height = block_m < m_tiles - m ? block_m : m_tiles - m;
        uint32 x = 0;
        uint32 y = 0;
        for (uint32 n_row = 0; n_row < n_blocks * side; n_row++) {
            uint32 row = n_row % side;
            x = block_x;
            y = block_y;
            for (uint32 i = 0; i < height; i++) {
                into.reserve_back();
                into.move_init(side * channels);
                uint32 target = 0;
                for (uint32 pixel = 0; pixel < PIXELS; pixel++) {
                    into.move(target, image, (y + row) * row_elements + x * channels);
                    target += depth * PIXELS;
                    x++;
                    if (x == width) {
                        x = 0;
                        y++;
                    }
                }
                read_barrier();
                into.push_back();
            }
        }
        block_x = x;
        block_y = y;
    }
    result.set_frame(part_tiles);
    for (uint32 part = 0; part < parts; part++) {
        result.wait_front();
        result.pop_front();
    }
}
