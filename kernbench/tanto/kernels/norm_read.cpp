// As `norm_gather.cpp`, of a tensor in DRAM: some columns of a row of tiles.
param<uint32> shifts;

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
        global<T> x,
        global<T> scale,
        global<T> weight,
        global<T> shift,
        local<T> sums,
        pipe<T> px,
        pipe<T> pscale,
        pipe<T> pweight,
        pipe<T> pshift,
        pipe<T> pall,
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
    px.set_frame(tiles);
    px.reserve_back();
    px.read(0, x, (tile + first) * 1024, tiles * 1024);
    pscale.set_frame(2);
    pscale.reserve_back();
    pscale.read(0, scale, 0, 2048);
    read_barrier();
    px.push_back();
    pscale.push_back();
    pweight.set_frame(tiles);
    pweight.reserve_back();
    pweight.read(0, weight, first * 1024, tiles * 1024);
    if (shifts != 0) {
        pshift.set_frame(tiles);
        pshift.reserve_back();
        pshift.read(0, shift, first * 1024, tiles * 1024);
    }
    read_barrier();
    pweight.push_back();
    if (shifts != 0) {
        pshift.push_back();
    }
    pall.set_frame(cores * own_sums);
    pall.reserve_back();
    ready.wait(cores);
    for (uint32 i = 0; i < cores; i++) {
        uint32 place = owner(i, o0, o1, o2, o3, o4, o5);
        pall.read(i * own_sums * 1024, sums, 0, own_sums * 1024, place >> 5, place & 31);
    }
    read_barrier();
    pall.push_back();
}
