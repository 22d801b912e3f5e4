// Attention for one row of query tiles at a time: scores, their softmax, and the weighted sum of values. Without keys and values
// (heads of no tiles) it is the softmax of its input alone.
param<uint32> only_softmax;

void softmax(pipe<T> px, pipe<T> scale, pipe<T> pmax, pipe<T> pexp, pipe<T> psum, pipe<T> py, uint32 tiles) {
    pmax.reserve_back();
    {
        math<T> acc;
        for (uint32 i = 0; i < tiles; i++) {
            acc.reduce_max_rows(px, scale, i, 0, 0);
        }
        acc.pack_row(0, pmax);
    }
    pmax.push_back();
    pmax.wait_front();
    pexp.reserve_back();
    for (uint32 i = 0; i < tiles; i++) {
        math<T> acc;
        acc.sub_bcast_cols(px, pmax, i, 0, 0);
        acc.exp(0);
        acc.pack(0, pexp);
    }
    pexp.push_back();
    pmax.pop_front();
    pexp.wait_front();
    psum.reserve_back();
    {
        math<T> acc;
        for (uint32 i = 0; i < tiles; i++) {
            acc.reduce_sum_rows(pexp, scale, i, 0, 0);
        }
        acc.recip(0);
        acc.pack_row(0, psum);
    }
    psum.push_back();
    psum.wait_front();
    py.reserve_back();
    for (uint32 i = 0; i < tiles; i++) {
        math<T> acc;
        acc.mul_bcast_cols(pexp, psum, i, 0, 0);
        acc.pack(0, py);
    }
    py.push_back();
    psum.pop_front();
    pexp.pop_front();
}

void product(pipe<T> a, pipe<T> b, pipe<T> c, uint32 inner, uint32 outer, bool transposed) {
    c.reserve_back();
    for (uint32 j = 0; j < outer; j++) {
        math<T> acc;
        for (uint32 k = 0; k < inner; k++) {
            acc.matmul(a, b, k, transposed ? j * inner + k : k * outer + j, 0, transposed);
        }
        acc.pack(0, c);
    }
    c.push_back();
}

void kernel(
        pipe<T> pq,
        pipe<T> pk,
        pipe<T> pv,
        pipe<T> scale,
        pipe<T> pscore,
        pipe<T> pmax,
        pipe<T> pexp,
        pipe<T> psum,
        pipe<T> pprob,
        pipe<T> py,
        uint32 rows,
        uint32 head_tiles,
        uint32 key_tiles) {
    scale.set_frame(1);
    pmax.set_frame(1);
    psum.set_frame(1);
    pexp.set_frame(key_tiles);
    pscore.set_frame(key_tiles);
    pprob.set_frame(key_tiles);
    scale.wait_front();
    if (only_softmax != 0) {
        pq.set_frame(key_tiles);
        py.set_frame(key_tiles);
        for (uint32 row = 0; row < rows; row++) {
            pq.wait_front();
            softmax(pq, scale, pmax, pexp, psum, py, key_tiles);
            pq.pop_front();
        }
        return;
    }
    pq.set_frame(head_tiles);
    pk.set_frame(head_tiles * key_tiles);
    pv.set_frame(head_tiles * key_tiles);
    py.set_frame(head_tiles);
    pk.wait_front();
    pv.wait_front();
    for (uint32 row = 0; row < rows; row++) {
        pq.wait_front();
        product(pq, pk, pscore, head_tiles, key_tiles, true);
        pq.pop_front();
        pscore.wait_front();
        softmax(pscore, scale, pmax, pexp, psum, pprob, key_tiles);
        pscore.pop_front();
        pprob.wait_front();
        product(pprob, pv, py, key_tiles, head_tiles, false);
        pprob.pop_front();
    }
    pk.pop_front();
    pv.pop_front();
}
