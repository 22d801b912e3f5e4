// Brings the values that a unit of attention of a prompt needs, and writes its result.
param<uint32> causal;

uint32 least(uint32 a, uint32 b) {
    return a < b ? a : b;
}

void kernel(
        global<T> values,
        global<T> y,
        pipe<T> pv,
        pipe<T> py,
        uint32 first_unit,
        uint32 units,
        uint32 stride,
        uint32 queries,
        uint32 group,
        uint32 head_tiles,
        uint32 prompt_tiles,
        uint32 chunk) {
    pv.set_frame(chunk * head_tiles);
    py.set_frame(head_tiles);
    uint32 heads = queries / group;
    for (uint32 unit = first_unit; unit < units; unit += stride) {
        uint32 row = unit / queries;
        uint32 head = unit - row * queries;
        uint32 sequence = row / prompt_tiles;
        uint32 place = row - sequence * prompt_tiles;
        uint32 seen = causal != 0 ? place + 1 : prompt_tiles;
        uint32 tile = (sequence * heads + head / group) * prompt_tiles * head_tiles;
        for (uint32 t = 0; t < seen; t += chunk) {
            uint32 count = least(chunk, seen - t) * head_tiles;
            pv.reserve_back();
            pv.read(0, values, tile * 1024, count * 1024);
            tile += count;
            read_barrier();
            pv.push_back();
        }
        py.wait_front();
        py.write(0, y, (row * queries + head) * head_tiles * 1024, head_tiles * 1024);
        write_barrier();
        py.pop_front();
    }
}
