// Gathers the four pixels of 2 x 2 windows with stride 2 for 32 outputs at a time, by offsets from a table.
void kernel(
        global<uint32> offsets,
        global<T> image,
        local<uint32> table,
        pipe<T> into,
        uint32 first_block,
        uint32 blocks,
        uint32 channels) {
    into.set_frame(channels / 32);
    for (uint32 block = 0; block < blocks; block++) {
        table.read(0, offsets, (first_block + block) * 128, 128);
        read_barrier();
        for (uint32 tap = 0; tap < 4; tap++) {
            into.reserve_back();
            for (uint32 i = 0; i < 32; i++) {
                into.read(i * channels, image, table.get(tap * 32 + i), channels);
            }
            read_barrier();
            into.push_back();
        }
    }
}
