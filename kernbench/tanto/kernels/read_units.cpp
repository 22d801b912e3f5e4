// Reads one or two tensors unit by unit: a unit is a row of tiles and some of its columns.
param<uint32> two;

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
        uint32 width) {
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
            pb.read(0, b, tile * 1024, tiles * 1024);
        }
        read_barrier();
        pa.push_back();
        if (two != 0) {
            pb.push_back();
        }
    }
}
