// Attention of decode, a unit at a time: the heads of queries, at most 32, that share the keys and values of a sequence, each in a
// row. Positions are a matrix with blocks on its diagonal, so that each tile of a head is turned by a tile. The new token goes into
// the last tiles of the cache, whose row for it is zero.
param<uint32> subs;
param<uint32> masks;

uint32 least(uint32 a, uint32 b) {
    return a < b ? a : b;
}

void pack(math<T> acc, pipe<T> into, uint32 count) {
    for (uint32 i = 0; i < count; i++) {
        acc.pack(i, into);
    }
}

void to_tiles(pipe<T> rows, pipe<T> tiles, uint32 count) {
    rows.wait_front();
    tiles.reserve_back();
    tilize_block(rows, count, tiles);
    tiles.push_back();
    rows.pop_front();
    tiles.wait_front();
}

void turn(pipe<T> tiles, pipe<T> constants, pipe<T> into, uint32 first, uint32 count) {
    into.reserve_back();
    {
        math<T> acc;
        for (uint32 j = 0; j < count; j++) {
            acc.matmul(tiles, constants, j, first + j, j, false);
        }
        pack(acc, into, count);
    }
    into.push_back();
    tiles.pop_front();
    into.wait_front();
}

// What is in the cache and the first row of a tensor in the row of the new token: for the products here, and for the cache.
void insert(
        pipe<T> old, pipe<T> tiles, pipe<T> constants, pipe<T> into, pipe<T> out, uint32 place, uint32 count, bool keeps) {
    old.wait_front();
    into.reserve_back();
    if (keeps) {
        out.reserve_back();
    }
    {
        math<T> acc;
        for (uint32 j = 0; j < count; j++) {
            acc.copy(old, j, j);
            acc.matmul(constants, tiles, place, j, j, false);
        }
        pack(acc, into, count);
        if (keeps) {
            pack(acc, out, count);
        }
    }
    into.push_back();
    if (keeps) {
        out.push_back();
    }
    old.pop_front();
    tiles.pop_front();
    into.wait_front();
}

void score(math<T> acc, pipe<T> q, pipe<T> k, uint32 tile, uint32 head_tiles) {
    for (uint32 j = 0; j < head_tiles; j++) {
        acc.matmul(q, k, j, tile + j, 0, true);
    }
}

// Adds to the slots the weights of some tokens times their values.
void weigh(math<T> acc, pipe<T> weights, pipe<T> v, uint32 first, uint32 tokens, uint32 head_tiles) {
    uint32 tile = 0;
    for (uint32 t = 0; t < tokens; t++) {
        for (uint32 j = 0; j < head_tiles; j++) {
            acc.matmul(weights, v, first + t, tile + j, j, false);
        }
        tile += head_tiles;
    }
}

void kernel(
        pipe<T> pq,
        pipe<T> pkey,
        pipe<T> pvalue,
        pipe<T> pconstant,
        pipe<T> pold_key,
        pipe<T> pold_value,
        pipe<T> pk,
        pipe<T> pv,
        pipe<T> pq_tiles,
        pipe<T> pq_turned,
        pipe<T> pkey_tiles,
        pipe<T> pkey_turned,
        pipe<T> pvalue_tiles,
        pipe<T> plast_key,
        pipe<T> plast_value,
        pipe<T> pnew_key,
        pipe<T> pnew_value,
        pipe<T> plast_score,
        pipe<T> pscore,
        pipe<T> plargest,
        pipe<T> pweight,
        pipe<T> ptotal,
        pipe<T> psum,
        pipe<T> pmean,
        pipe<T> prows,
        uint32 first_unit,
        uint32 units,
        uint32 step,
        uint32 head_tiles,
        uint32 context_tiles,
        uint32 chunk) {
    uint32 old = context_tiles - 1;
    uint32 select = 2 * head_tiles;
    uint32 one = select + 1;
    uint32 mask = select + 2;
    pconstant.set_frame(select + 3);
    pconstant.wait_front();
    pq.set_frame(head_tiles);
    pkey.set_frame(head_tiles);
    pvalue.set_frame(head_tiles);
    pold_key.set_frame(head_tiles);
    pold_value.set_frame(head_tiles);
    pk.set_frame(chunk * head_tiles);
    pv.set_frame(chunk * head_tiles);
    pq_tiles.set_frame(head_tiles);
    pq_turned.set_frame(head_tiles);
    pkey_tiles.set_frame(head_tiles);
    pkey_turned.set_frame(head_tiles);
    pvalue_tiles.set_frame(head_tiles);
    plast_key.set_frame(head_tiles);
    plast_value.set_frame(head_tiles);
    pnew_key.set_frame(head_tiles);
    pnew_value.set_frame(head_tiles);
    plast_score.set_frame(1);
    pscore.set_frame(context_tiles);
    plargest.set_frame(1);
    pweight.set_frame(context_tiles);
    ptotal.set_frame(1);
    psum.set_frame(head_tiles);
    pmean.set_frame(head_tiles);
    prows.set_frame(head_tiles);
    for (uint32 unit = first_unit; unit < units; unit += step) {
        bool keeps = unit % subs == 0;
        to_tiles(pq, pq_tiles, head_tiles);
        turn(pq_tiles, pconstant, pq_turned, 0, head_tiles);
        to_tiles(pkey, pkey_tiles, head_tiles);
        turn(pkey_tiles, pconstant, pkey_turned, head_tiles, head_tiles);
        insert(pold_key, pkey_turned, pconstant, plast_key, pnew_key, select, head_tiles, keeps);
        to_tiles(pvalue, pvalue_tiles, head_tiles);
        insert(pold_value, pvalue_tiles, pconstant, plast_value, pnew_value, select, head_tiles, keeps);

        pscore.reserve_back();
        for (uint32 t = 0; t < old; t += chunk) {
            uint32 count = least(chunk, old - t);
            uint32 tile = 0;
            pk.wait_front();
            for (uint32 i = 0; i < count; i++) {
                math<T> acc;
                score(acc, pq_turned, pk, tile, head_tiles);
                acc.pack(0, pscore);
                tile += head_tiles;
            }
            pk.pop_front();
        }
        if (masks != 0) {
            plast_score.reserve_back();
            {
                math<T> acc;
                score(acc, pq_turned, plast_key, 0, head_tiles);
                acc.pack(0, plast_score);
            }
            plast_score.push_back();
            plast_score.wait_front();
            {
                math<T> acc;
                acc.add_bcast_rows(plast_score, pconstant, 0, mask, 0);
                acc.pack(0, pscore);
            }
            plast_score.pop_front();
        } else {
            math<T> acc;
            score(acc, pq_turned, plast_key, 0, head_tiles);
            acc.pack(0, pscore);
        }
        pscore.push_back();
        pq_turned.pop_front();
        plast_key.pop_front();

        pscore.wait_front();
        plargest.reserve_back();
        {
            math<T> acc;
            for (uint32 t = 0; t < context_tiles; t++) {
                acc.reduce_max_rows(pscore, pconstant, t, one, 0);
            }
            acc.pack_row(0, plargest);
        }
        plargest.push_back();
        plargest.wait_front();
        pweight.reserve_back();
        for (uint32 t = 0; t < context_tiles; t++) {
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
            for (uint32 t = 0; t < context_tiles; t++) {
                acc.reduce_sum_rows(pweight, pconstant, t, one, 0);
            }
            acc.recip(0);
            acc.pack_row(0, ptotal);
        }
        ptotal.push_back();

        psum.reserve_back();
        {
            math<T> acc;
            for (uint32 t = 0; t < old; t += chunk) {
                uint32 count = least(chunk, old - t);
                pv.wait_front();
                weigh(acc, pweight, pv, t, count, head_tiles);
                pv.pop_front();
            }
            weigh(acc, pweight, plast_value, old, 1, head_tiles);
            pack(acc, psum, head_tiles);
        }
        psum.push_back();
        plast_value.pop_front();
        pweight.pop_front();
        psum.wait_front();
        ptotal.wait_front();
        pmean.reserve_back();
        {
            math<T> acc;
            for (uint32 j = 0; j < head_tiles; j++) {
                acc.mul_bcast_cols(psum, ptotal, j, 0, j);
            }
            pack(acc, pmean, head_tiles);
        }
        pmean.push_back();
        ptotal.pop_front();
        psum.pop_front();
        pmean.wait_front();
        prows.reserve_back();
        untilize_block(pmean, head_tiles, prows);
        prows.push_back();
        pmean.pop_front();
    }
    pconstant.pop_front();
}
