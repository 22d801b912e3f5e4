// Reads the scale, all keys and all values once, then rows of queries. The scale of the reductions is a tile of its own.
void once(global<T> from, pipe<T> into, uint32 tiles) {
    if (tiles == 0) {
        return;
    }
    into.set_frame(tiles);
    into.reserve_back();
    into.read(0, from, 0, tiles * 1024);
    read_barrier();
    into.push_back();
}

void kernel(
        global<T> q,
        global<T> k,
        global<T> v,
        global<T> one,
        pipe<T> pq,
        pipe<T> pk,
        pipe<T> pv,
        pipe<T> scale,
        uint32 start,
        uint32 rows,
        uint32 query_tiles,
        uint32 kept_tiles) {
    once(one, scale, 1);
    once(k, pk, kept_tiles);
    once(v, pv, kept_tiles);
    pq.set_frame(query_tiles);
    for (uint32 row = 0; row < rows; row++) {
        pq.reserve_back();
        pq.read(0, q, start, query_tiles * 1024);
        read_barrier();
        pq.push_back();
        start += query_tiles * 1024;
    }
}
