// Depthwise convolution: each tap is multiplied by its row of weights, and the products are added up through a pipe.
static constexpr uint32 TAPS = 9;

void kernel(pipe<T> px, pipe<T> pt, pipe<T> pw, pipe<T> pm, pipe<T> ps, pipe<T> py, uint32 blocks, uint32 tiles) {
    px.set_frame(tiles);
    pt.set_frame(tiles);
    pw.set_frame(TAPS * tiles);
    pm.set_frame(tiles);
    ps.set_frame(tiles);
    py.set_frame(tiles);
    pw.wait_front();
    for (uint32 block = 0; block < blocks; block++) {
        for (uint32 tap = 0; tap < TAPS; tap++) {
            px.wait_front();
            pt.reserve_back();
            tilize_block(px, tiles, pt);
            pt.push_back();
            px.pop_front();
            pt.wait_front();
            pm.reserve_back();
            for (uint32 i = 0; i < tiles; i++) {
                math<T> acc;
                acc.mul_bcast_rows(pt, pw, i, tap * tiles + i, 0);
                acc.pack(0, pm);
            }
            pm.push_back();
            pt.pop_front();
            pm.wait_front();
            if (tap != 0) {
                ps.wait_front();
            }
            ps.reserve_back();
            for (uint32 i = 0; i < tiles; i++) {
                math<T> acc;
                if (tap == 0) {
                    acc.copy(pm, i, 0);
                } else {
                    acc.add(pm, ps, i, i, 0);
                }
                acc.pack(0, ps);
            }
            if (tap != 0) {
                ps.pop_front();
            }
            ps.push_back();
            pm.pop_front();
        }
        ps.wait_front();
        py.reserve_back();
        untilize_block(ps, tiles, py);
        py.push_back();
        ps.pop_front();
    }
    pw.pop_front();
}
