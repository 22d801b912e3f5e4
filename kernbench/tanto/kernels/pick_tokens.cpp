// Brings one token of each sequence, at the same place in all, from a tensor in DRAM into the rows of the tiles of a core: a row of a tile is a row of two
// faces of 16 elements.
void kernel(
        global<T> x,
        pipe<T> y,
        uint32 first,
        uint32 tiles,
        uint32 width,
        uint32 sequences,
        uint32 prompt_tiles,
        uint32 place) {
    y.set_frame(tiles);
    y.reserve_back();
    uint32 from = place % 32 / 16 * 512 + place % 16 * 16;
    for (uint32 i = 0; i < sequences; i++) {
        uint32 to = i / 16 * 512 + i % 16 * 16;
        uint32 tile = (i * prompt_tiles + place / 32) * width + first;
        for (uint32 j = 0; j < tiles; j++) {
            y.read(j * 1024 + to, x, (tile + j) * 1024 + from, 16);
            y.read(j * 1024 + to + 256, x, (tile + j) * 1024 + from + 256, 16);
        }
    }
    read_barrier();
    y.push_back();
}
