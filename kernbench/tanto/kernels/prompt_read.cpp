// Brings what attention of a prompt needs, for one unit after the other: a row of tiles of queries of a head with the turns of its
// positions, and the keys up to it, or all of them.
param<uint32> causal;

uint32 least(uint32 a, uint32 b) {
    return a < b ? a : b;
}

void kernel(
        global<T> qkv,
        global<T> cosines,
        global<T> sines,
        global<T> constants,
        global<T> keys,
        pipe<T> pq,
        pipe<T> pcos,
        pipe<T> psin,
        pipe<T> pconstant,
        pipe<T> pk,
        uint32 first_unit,
        uint32 units,
        uint32 stride,
        uint32 queries,
        uint32 group,
        uint32 head_tiles,
        uint32 prompt_tiles,
        uint32 chunk,
        uint32 width) {
    pconstant.set_frame(3);
    pconstant.reserve_back();
    pconstant.read(0, constants, 0, 3072);
    read_barrier();
    pconstant.push_back();
    pq.set_frame(head_tiles);
    pcos.set_frame(head_tiles);
    psin.set_frame(head_tiles);
    pk.set_frame(chunk * head_tiles);
    uint32 heads = queries / group;
    for (uint32 unit = first_unit; unit < units; unit += stride) {
        uint32 row = unit / queries;
        uint32 head = unit - row * queries;
        uint32 sequence = row / prompt_tiles;
        uint32 place = row - sequence * prompt_tiles;
        uint32 seen = causal != 0 ? place + 1 : prompt_tiles;
        uint32 turn = place * head_tiles;
        pq.reserve_back();
        pq.read(0, qkv, (row * width + head * head_tiles) * 1024, head_tiles * 1024);
        pcos.reserve_back();
        pcos.read(0, cosines, turn * 1024, head_tiles * 1024);
        psin.reserve_back();
        psin.read(0, sines, turn * 1024, head_tiles * 1024);
        read_barrier();
        pq.push_back();
        pcos.push_back();
        psin.push_back();
        uint32 tile = (sequence * heads + head / group) * prompt_tiles * head_tiles;
        for (uint32 t = 0; t < seen; t += chunk) {
            uint32 count = least(chunk, seen - t) * head_tiles;
            pk.reserve_back();
            pk.read(0, keys, tile * 1024, count * 1024);
            tile += count;
            read_barrier();
            pk.push_back();
        }
    }
}
