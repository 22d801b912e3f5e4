// Brings the tiles of a core into rows, or rows into tiles.
param<uint32> to_tiles;

void kernel(pipe<T> x, pipe<T> y, uint32 tiles) {
    x.set_frame(tiles);
    y.set_frame(tiles);
    x.wait_front();
    y.reserve_back();
    if (to_tiles != 0) {
        tilize_block(x, tiles, y);
    } else {
        untilize_block(x, tiles, y);
    }
    y.push_back();
    x.pop_front();
}
