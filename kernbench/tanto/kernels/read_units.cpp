// Reads one or two tensors unit by unit: a unit is a row of tiles and some of its columns. The second may begin again after some
// tiles, as a row of a bias does.
param<uint32> two;

uint32 least(uint32 a, uint32 b) {
    return a < b ? a : b;
}

void kernel(
        global<T> a,
        global<T> b,
        pipe<T> pa,
        pipe<T> pb,
        uint32 first_unit,
        uint32 units,
        uint32 stride,
        uint32 chunks,
        uint32 chunk_tiles,
        uint32 width,
        uint32 period) {
    pa.set_frame(chunk_tiles);
    if (two != 0) {
        pb.set_frame(chunk_tiles);
    }
    for (uint32 unit = first_unit; unit < units; unit += stride) {
        uint32 row = unit / chunks;
        uint32 column = (unit - row * chunks) * chunk_tiles;
        uint32 tiles = chunk_tiles < width - column ? chunk_tiles : width - column;
        uint32 tile = row * width + column;
        pa.reserve_back();
        pa.read(0, a, tile * 1024, tiles * 1024);
        if (two != 0) {
            pb.reserve_back();
            uint32 at = tile % period;
            uint32 done = 0;
            while (done < tiles) {
                uint32 some = least(period - at, tiles - done);
                pb.read(done * 1024, b, at * 1024, some * 1024);
                done += some;
                at = 0;
            }
        }
        read_barrier();
        pa.push_back();
        if (two != 0) {
            pb.push_back();
        }
    }
}
