// Attention of a prompt, a unit at a time: a row of tiles of queries of one head, behind the keys and values up to it. Tokens after a
// query are masked in the last tile of scores. Without `causal` all tokens are seen, and those that fill the last tile up are masked.
param<uint32> turns;
param<uint32> causal;

static constexpr uint32
    ONE = 1,
    MASK = 2;

uint32 least(uint32 a, uint32 b) {
    return a < b ? a : b;
}

void pack(math<T> acc, pipe<T> into, uint32 count) {
    for (uint32 i = 0; i < count; i++) {
        acc.pack(i, into);
    }
}

void turn(
        pipe<T> x,
        pipe<T> cosines,
        pipe<T> sines,
        pipe<T> swap,
        pipe<T> pswapped,
        pipe<T> pfirst,
        pipe<T> psecond,
        pipe<T> y,
        uint32 count) {
    if (turns == 0) {
        y.reserve_back();
        {
            math<T> acc;
            for (uint32 j = 0; j < count; j++) {
                acc.mul(x, cosines, j, j, j);
            }
            pack(acc, y, count);
        }
        y.push_back();
        return;
    }
    pswapped.reserve_back();
    {
        math<T> acc;
        for (uint32 j = 0; j < count; j++) {
            acc.matmul(x, swap, j, 0, j, false);
        }
        pack(acc, pswapped, count);
    }
    pswapped.push_back();
    pfirst.reserve_back();
    {
        math<T> acc;
        for (uint32 j = 0; j < count; j++) {
            acc.mul(x, cosines, j, j, j);
        }
        pack(acc, pfirst, count);
    }
    pfirst.push_back();
    pswapped.wait_front();
    psecond.reserve_back();
    {
        math<T> acc;
        for (uint32 j = 0; j < count; j++) {
            acc.mul(pswapped, sines, j, j, j);
        }
        pack(acc, psecond, count);
    }
    psecond.push_back();
    pswapped.pop_front();
    pfirst.wait_front();
    psecond.wait_front();
    y.reserve_back();
    {
        math<T> acc;
        for (uint32 j = 0; j < count; j++) {
            acc.add(pfirst, psecond, j, j, j);
        }
        pack(acc, y, count);
    }
    y.push_back();
    pfirst.pop_front();
    psecond.pop_front();
}

void kernel(
        pipe<T> pq,
        pipe<T> pcos,
        pipe<T> psin,
        pipe<T> pconstant,
        pipe<T> pk,
        pipe<T> pv,
        pipe<T> pswapped,
        pipe<T> pfirst,
        pipe<T> psecond,
        pipe<T> pturned,
        pipe<T> plast,
        pipe<T> pscore,
        pipe<T> plargest,
        pipe<T> pweight,
        pipe<T> ptotal,
        pipe<T> psum,
        pipe<T> py,
        uint32 first_unit,
        uint32 units,
        uint32 stride,
        uint32 queries,
        uint32 head_tiles,
        uint32 prompt_tiles,
        uint32 chunk) {
    pconstant.set_frame(3);
    pconstant.wait_front();
    pq.set_frame(head_tiles);
    pcos.set_frame(head_tiles);
    psin.set_frame(head_tiles);
    pk.set_frame(chunk * head_tiles);
    pv.set_frame(chunk * head_tiles);
    pswapped.set_frame(head_tiles);
    pfirst.set_frame(head_tiles);
    psecond.set_frame(head_tiles);
    pturned.set_frame(head_tiles);
    plast.set_frame(1);
    pscore.set_frame(prompt_tiles);
    plargest.set_frame(1);
    pweight.set_frame(prompt_tiles);
    ptotal.set_frame(1);
    psum.set_frame(head_tiles);
    py.set_frame(head_tiles);
    for (uint32 unit = first_unit; unit < units; unit += stride) {
        uint32 seen = causal != 0 ? unit / queries % prompt_tiles + 1 : prompt_tiles;
        pq.wait_front();
        pcos.wait_front();
        psin.wait_front();
        turn(pq, pcos, psin, pconstant, pswapped, pfirst, psecond, pturned, head_tiles);
        pq.pop_front();
        pcos.pop_front();
        psin.pop_front();
        pturned.wait_front();

        pscore.reserve_back();
        for (uint32 t = 0; t < seen; t += chunk) {
            uint32 count = least(chunk, seen - t);
            uint32 tile = 0;
            pk.wait_front();
            for (uint32 i = 0; i < count; i++) {
                bool is_last = t + i + 1 == seen;
                if (is_last) {
                    plast.reserve_back();
                }
                {
                    math<T> acc;
                    for (uint32 j = 0; j < head_tiles; j++) {
                        acc.matmul(pturned, pk, j, tile + j, 0, true);
                    }
                    if (is_last) {
                        acc.pack(0, plast);
                    } else {
                        acc.pack(0, pscore);
                    }
                }
                if (is_last) {
                    plast.push_back();
                }
                tile += head_tiles;
            }
            pk.pop_front();
        }
        plast.wait_front();
        {
            math<T> acc;
            acc.add(plast, pconstant, 0, MASK, 0);
            acc.pack(0, pscore);
        }
        plast.pop_front();
        pscore.push_back();
        pturned.pop_front();

        pscore.wait_front();
        plargest.reserve_back();
        {
            math<T> acc;
            for (uint32 t = 0; t < seen; t++) {
                acc.reduce_max_rows(pscore, pconstant, t, ONE, 0);
            }
            acc.pack_row(0, plargest);
        }
        plargest.push_back();
        plargest.wait_front();
        pweight.reserve_back();
        for (uint32 t = 0; t < seen; t++) {
            math<T> acc;
            acc.sub_bcast_cols(pscore, plargest, t, 0, 0);
            acc.exp(0);
            acc.pack(0, pweight);
        }
        pweight.push_back();
        plargest.pop_front();
        pscore.pop_front();
        pweight.wait_front();
        ptotal.reserve_back();
        {
            math<T> acc;
            for (uint32 t = 0; t < seen; t++) {
                acc.reduce_sum_rows(pweight, pconstant, t, ONE, 0);
            }
            acc.recip(0);
            acc.pack_row(0, ptotal);
        }
        ptotal.push_back();

        psum.reserve_back();
        {
            math<T> acc;
            for (uint32 t = 0; t < seen; t += chunk) {
                uint32 count = least(chunk, seen - t);
                uint32 tile = 0;
                pv.wait_front();
                for (uint32 i = 0; i < count; i++) {
                    for (uint32 j = 0; j < head_tiles; j++) {
                        acc.matmul(pweight, pv, t + i, tile + j, j, false);
                    }
                    tile += head_tiles;
                }
                pv.pop_front();
            }
            pack(acc, psum, head_tiles);
        }
        psum.push_back();
        pweight.pop_front();
        psum.wait_front();
        ptotal.wait_front();
        py.reserve_back();
        {
            math<T> acc;
            for (uint32 j = 0; j < head_tiles; j++) {
                acc.mul_bcast_cols(psum, ptotal, j, 0, j);
            }
            pack(acc, py, head_tiles);
        }
        py.push_back();
        ptotal.pop_front();
        psum.pop_front();
    }
    pconstant.pop_front();
}
