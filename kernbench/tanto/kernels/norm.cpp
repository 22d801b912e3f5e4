// A norm of rows whose tiles are on several cores: sums of squares, and with `shifts` of elements, of the own tiles; those of all
// cores; then each tile times the deviation's reciprocal and the weight. The first scale is one over the length of a row, the other one.
param<uint32> shifts;
param<uint32> epsilon;

static constexpr uint32 SLOTS = 8;

uint32 least(uint32 a, uint32 b) {
    return a < b ? a : b;
}

void pack_all(math<T> acc, pipe<T> into, uint32 count) {
    for (uint32 i = 0; i < count; i++) {
        acc.pack(i, into);
    }
}

void sum_own(pipe<T> px, pipe<T> psquare, pipe<T> pscale, pipe<T> psums, uint32 tiles) {
    psquare.reserve_back();
    for (uint32 i = 0; i < tiles; i += SLOTS) {
        uint32 count = least(SLOTS, tiles - i);
        math<T> acc;
        for (uint32 j = 0; j < count; j++) {
            acc.mul(px, px, i + j, i + j, j);
        }
        pack_all(acc, psquare, count);
    }
    psquare.push_back();
    psquare.wait_front();
    psums.reserve_back();
    {
        math<T> acc;
        for (uint32 i = 0; i < tiles; i++) {
            acc.reduce_sum_rows(psquare, pscale, i, 0, 0);
        }
        acc.pack_row(0, psums);
    }
    if (shifts != 0) {
        math<T> acc;
        for (uint32 i = 0; i < tiles; i++) {
            acc.reduce_sum_rows(px, pscale, i, 0, 0);
        }
        acc.pack_row(0, psums);
    }
    psums.push_back();
    psquare.pop_front();
}

// The mean square, and the mean, of the sums of all cores; then one over the deviation.
void find_deviation(
        pipe<T> pall, pipe<T> pscale, pipe<T> pmean, pipe<T> psquared, pipe<T> pdeviation, uint32 own_sums, uint32 cores) {
    pall.wait_front();
    pmean.reserve_back();
    for (uint32 sum = 0; sum < own_sums; sum++) {
        math<T> acc;
        for (uint32 i = 0; i < cores; i++) {
            acc.reduce_sum_rows(pall, pscale, i * own_sums + sum, 1, 0);
        }
        acc.pack_row(0, pmean);
    }
    pmean.push_back();
    pall.pop_front();
    pmean.wait_front();
    if (shifts != 0) {
        psquared.reserve_back();
        {
            math<T> acc;
            acc.mul(pmean, pmean, 1, 1, 0);
            acc.pack(0, psquared);
        }
        psquared.push_back();
        psquared.wait_front();
    }
    pdeviation.reserve_back();
    {
        math<T> acc;
        if (shifts != 0) {
            acc.sub(pmean, psquared, 0, 0, 0);
        } else {
            acc.copy(pmean, 0, 0);
        }
        acc.add_scalar(0, epsilon);
        acc.rsqrt(0);
        acc.pack(0, pdeviation);
    }
    pdeviation.push_back();
    if (shifts != 0) {
        psquared.pop_front();
    }
}

void kernel(
        pipe<T> px,
        pipe<T> pscale,
        pipe<T> pweight,
        pipe<T> pshift,
        pipe<T> psquare,
        pipe<T> psums,
        pipe<T> pall,
        pipe<T> pmean,
        pipe<T> psquared,
        pipe<T> pdeviation,
        pipe<T> pscaled,
        pipe<T> py,
        uint32 tiles,
        uint32 own_sums,
        uint32 cores) {
    px.set_frame(tiles);
    pscale.set_frame(2);
    pweight.set_frame(tiles);
    psquare.set_frame(tiles);
    psums.set_frame(own_sums);
    pall.set_frame(cores * own_sums);
    pmean.set_frame(own_sums);
    pdeviation.set_frame(1);
    pscaled.set_frame(tiles);
    py.set_frame(tiles);
    px.wait_front();
    pscale.wait_front();
    sum_own(px, psquare, pscale, psums, tiles);
    find_deviation(pall, pscale, pmean, psquared, pdeviation, own_sums, cores);
    pdeviation.wait_front();
    if (shifts != 0) {
        psquare.reserve_back();
        for (uint32 i = 0; i < tiles; i++) {
            math<T> acc;
            acc.sub_bcast_cols(px, pmean, i, 1, 0);
            acc.pack(0, psquare);
        }
        psquare.push_back();
        psquare.wait_front();
    }
    pscaled.reserve_back();
    for (uint32 i = 0; i < tiles; i++) {
        math<T> acc;
        if (shifts != 0) {
            acc.mul_bcast_cols(psquare, pdeviation, i, 0, 0);
        } else {
            acc.mul_bcast_cols(px, pdeviation, i, 0, 0);
        }
        acc.pack(0, pscaled);
    }
    pscaled.push_back();
    pscaled.wait_front();
    pweight.wait_front();
    if (shifts != 0) {
        psquare.pop_front();
        psquare.reserve_back();
        for (uint32 i = 0; i < tiles; i++) {
            math<T> acc;
            acc.mul_bcast_rows(pscaled, pweight, i, i, 0);
            acc.pack(0, psquare);
        }
        psquare.push_back();
        psquare.wait_front();
        pshift.set_frame(tiles);
        pshift.wait_front();
    }
    py.reserve_back();
    for (uint32 i = 0; i < tiles; i++) {
        math<T> acc;
        if (shifts != 0) {
            acc.add_bcast_rows(psquare, pshift, i, i, 0);
        } else {
            acc.mul_bcast_rows(pscaled, pweight, i, i, 0);
        }
        acc.pack(0, py);
    }
    py.push_back();
    if (shifts != 0) {
        psquare.pop_front();
        pshift.pop_front();
    }
    pscaled.pop_front();
    pmean.pop_front();
    pdeviation.pop_front();
    pweight.pop_front();
    pscale.pop_front();
    px.pop_front();
}
