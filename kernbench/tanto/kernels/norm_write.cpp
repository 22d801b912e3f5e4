// As `norm_tell.cpp`, with a result that goes to DRAM.
uint32 owner(uint32 number, uint32 o0, uint32 o1, uint32 o2, uint32 o3, uint32 o4, uint32 o5) {
    uint32 word = o0;
    if (number >= 15) {
        word = o5;
    } else if (number >= 12) {
        word = o4;
    } else if (number >= 9) {
        word = o3;
    } else if (number >= 6) {
        word = o2;
    } else if (number >= 3) {
        word = o1;
    }
    return word >> number % 3 * 10 & 1023;
}

void kernel(
        global<T> y,
        pipe<T> psums,
        pipe<T> py,
        semaphore ready,
        uint32 tile,
        uint32 first,
        uint32 tiles,
        uint32 own_sums,
        uint32 cores,
        uint32 o0,
        uint32 o1,
        uint32 o2,
        uint32 o3,
        uint32 o4,
        uint32 o5) {
    psums.set_frame(own_sums);
    psums.wait_front();
    for (uint32 i = 0; i < cores; i++) {
        uint32 place = owner(i, o0, o1, o2, o3, o4, o5);
        ready.inc(place >> 5, place & 31, 1);
    }
    psums.pop_front();
    py.set_frame(tiles);
    py.wait_front();
    py.write(0, y, (tile + first) * 1024, tiles * 1024);
    write_barrier();
    py.pop_front();
}
