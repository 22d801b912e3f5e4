// Turns keys by their positions, and brings keys and values into the format of the cache. Features that turn together are
// neighbours: a tile that swaps them makes what the sines are multiplied with. Without `turns` cosines alone scale them.
param<uint32> turns;

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
        pipe<T> pkey,
        pipe<T> pvalue,
        pipe<T> pcos,
        pipe<T> psin,
        pipe<T> pswap,
        pipe<T> pswapped,
        pipe<T> pfirst,
        pipe<T> psecond,
        pipe<T> pnew_key,
        pipe<T> pnew_value,
        uint32 first_unit,
        uint32 units,
        uint32 stride,
        uint32 head_tiles) {
    pswap.set_frame(1);
    pswap.wait_front();
    pkey.set_frame(head_tiles);
    pvalue.set_frame(head_tiles);
    pcos.set_frame(head_tiles);
    psin.set_frame(head_tiles);
    pswapped.set_frame(head_tiles);
    pfirst.set_frame(head_tiles);
    psecond.set_frame(head_tiles);
    pnew_key.set_frame(head_tiles);
    pnew_value.set_frame(head_tiles);
    for (uint32 unit = first_unit; unit < units; unit += stride) {
        pkey.wait_front();
        pcos.wait_front();
        psin.wait_front();
        turn(pkey, pcos, psin, pswap, pswapped, pfirst, psecond, pnew_key, head_tiles);
        pkey.pop_front();
        pcos.pop_front();
        psin.pop_front();
        pvalue.wait_front();
        pnew_value.reserve_back();
        {
            math<T> acc;
            for (uint32 j = 0; j < head_tiles; j++) {
                acc.copy(pvalue, j, j);
            }
            pack(acc, pnew_value, head_tiles);
        }
        pnew_value.push_back();
        pvalue.pop_front();
    }
    pswap.pop_front();
}
