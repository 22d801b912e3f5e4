// Writes the results of units: a unit is a row of tiles and some of its columns.
void kernel(
        global<T> y, pipe<T> py, uint32 first_unit, uint32 units, uint32 stride, uint32 chunks, uint32 chunk_tiles, uint32 width) {
    py.set_frame(chunk_tiles);
    for (uint32 unit = first_unit; unit < units; unit += stride) {
        uint32 row = unit / chunks;
        uint32 column = (unit - row * chunks) * chunk_tiles;
        uint32 tiles = chunk_tiles < width - column ? chunk_tiles : width - column;
        py.wait_front();
        py.write(0, y, (row * width + column) * 1024, tiles * 1024);
        write_barrier();
        py.pop_front();
    }
}
