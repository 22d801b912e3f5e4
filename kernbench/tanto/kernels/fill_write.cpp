// Writes keys and values of a row of tiles and a head into the cache.
void kernel(
        global<T> keys,
        global<T> values,
        pipe<T> pkey,
        pipe<T> pvalue,
        uint32 first_unit,
        uint32 units,
        uint32 stride,
        uint32 heads,
        uint32 head_tiles,
        uint32 prompt_tiles) {
    pkey.set_frame(head_tiles);
    pvalue.set_frame(head_tiles);
    for (uint32 unit = first_unit; unit < units; unit += stride) {
        uint32 row = unit / heads;
        uint32 head = unit - row * heads;
        uint32 sequence = row / prompt_tiles;
        uint32 tile = ((sequence * heads + head) * prompt_tiles + row - sequence * prompt_tiles) * head_tiles;
        pkey.wait_front();
        pkey.write(0, keys, tile * 1024, head_tiles * 1024);
        pvalue.wait_front();
        pvalue.write(0, values, tile * 1024, head_tiles * 1024);
        write_barrier();
        pkey.pop_front();
        pvalue.pop_front();
    }
}
