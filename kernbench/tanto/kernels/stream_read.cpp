// Streams the weights of a core from its own bank of DRAM: pages that follow each other there are `banks` apart. This kernel brings
// the even frames, the writer the odd ones, so that the bank has requests while either waits for its frame. What is added to the
// product comes first: a tensor in L1, a bias from DRAM.
param<uint32> adds;  // 1: a tensor, 2: a bias, 3: both

uint32 least(uint32 a, uint32 b) {
    return a < b ? a : b;
}

void kernel(
        global<T> weights,
        global<T> bias,
        pipe<T> pb,
        pipe<T> padded,
        pipe<T> pbias,
        uint32 bank,
        uint32 banks,
        uint32 first,
        uint32 k_tiles,
        uint32 n_tiles,
        uint32 matrices,
        uint32 block_k,
        uint32 part,
        uint32 page_tiles) {
    if ((adds & 1) != 0) {
        padded.set_frame(n_tiles);
        padded.reserve_back();
        padded.push_back();
    }
    if ((adds & 2) != 0) {
        pbias.set_frame(n_tiles);
        pbias.reserve_back();
        pbias.read(0, bias, first * 1024, n_tiles * 1024);
        read_barrier();
        pbias.push_back();
    }
    uint32 elements = page_tiles * 1024;
    uint32 page = bank;
    uint32 frame = 0;
    pb.set_frame(block_k * part * matrices);
    for (uint32 n = 0; n < n_tiles; n += part) {
        uint32 pages = block_k * least(part, n_tiles - n) * matrices / page_tiles;
        for (uint32 k = 0; k < k_tiles; k += block_k) {
            if ((frame & 1) == 0) {
                pb.reserve_back();
                for (uint32 i = 0; i < pages; i++) {
                    pb.read(i * elements, weights, page * elements, elements);
                    page += banks;
                }
                read_barrier();
                pb.push_back();
            } else {
                page += pages * banks;
            }
            frame++;
        }
    }
}
