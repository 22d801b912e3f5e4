// Brings the keys and values of a row of tiles and a head from the product that made them, and the turns of its positions.
void kernel(
        global<T> qkv,
        global<T> cosines,
        global<T> sines,
        global<T> swap,
        pipe<T> pkey,
        pipe<T> pvalue,
        pipe<T> pcos,
        pipe<T> psin,
        pipe<T> pswap,
        uint32 first_unit,
        uint32 units,
        uint32 stride,
        uint32 heads,
        uint32 queries,
        uint32 head_tiles,
        uint32 prompt_tiles,
        uint32 width) {
    pswap.set_frame(1);
    pswap.reserve_back();
    pswap.read(0, swap, 0, 1024);
    read_barrier();
    pswap.push_back();
    pkey.set_frame(head_tiles);
    pvalue.set_frame(head_tiles);
    pcos.set_frame(head_tiles);
    psin.set_frame(head_tiles);
    for (uint32 unit = first_unit; unit < units; unit += stride) {
        uint32 row = unit / heads;
        uint32 head = unit - row * heads;
        uint32 turn = row % prompt_tiles * head_tiles;
        uint32 tile = row * width + (queries + head) * head_tiles;
        pkey.reserve_back();
        pkey.read(0, qkv, tile * 1024, head_tiles * 1024);
        pvalue.reserve_back();
        pvalue.read(0, qkv, (tile + heads * head_tiles) * 1024, head_tiles * 1024);
        pcos.reserve_back();
        pcos.read(0, cosines, turn * 1024, head_tiles * 1024);
        psin.reserve_back();
        psin.read(0, sines, turn * 1024, head_tiles * 1024);
        read_barrier();
        pkey.push_back();
        pvalue.push_back();
        pcos.push_back();
        psin.push_back();
    }
}
