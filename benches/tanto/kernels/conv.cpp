// Convolution of 32 pixels at a time: nine taps are tilized, multiplied by the weights and summed up; the sum is made rows again.
static constexpr uint32 TAPS = 9;

param<uint32> with_relu;

void kernel(
        pipe<T> px, pipe<T> pt, pipe<T> pw, pipe<T> ps, pipe<T> py, uint32 blocks, uint32 in_tiles, uint32 out_tiles) {
    px.set_frame(in_tiles);
    pw.set_frame(TAPS * in_tiles * out_tiles);
    ps.set_frame(out_tiles);
    py.set_frame(out_tiles);
    pw.wait_front();
    for (uint32 block = 0; block < blocks; block++) {
        pt.set_frame(in_tiles);
        for (uint32 tap = 0; tap < TAPS; tap++) {
            px.wait_front();
            pt.reserve_back();
            tilize_block(px, in_tiles, pt);
            pt.push_back();
            px.pop_front();
        }
        pt.set_frame(TAPS * in_tiles);
        pt.wait_front();
        ps.reserve_back();
        {
            math<T> acc;
            uint32 weight = 0;
            for (uint32 i = 0; i < TAPS * in_tiles; i++) {
                for (uint32 k = 0; k < out_tiles; k++) {
                    acc.matmul(pt, pw, i, weight, k, false);
                    weight++;
                }
            }
            for (uint32 k = 0; k < out_tiles; k++) {
                if (with_relu != 0) {
                    acc.relu(k);
                }
                acc.pack(k, ps);
            }
        }
        ps.push_back();
        pt.pop_front();
        ps.wait_front();
        py.reserve_back();
        untilize_block(ps, out_tiles, py);
        py.push_back();
        ps.pop_front();
    }
    pw.pop_front();
}
