// Attention of decode, a unit at a time: the heads of queries, at most 32, that share the keys and values of a sequence, each in a
// row. Positions are a matrix with blocks on its diagonal, so that each tile of a head is turned by a tile. The new token goes into
// the last tiles of the cache, whose row for it is zero. With `splits` a core has a part of the context of one unit: it makes a sum
// of values, the largest score and the sum of weights, and the collector of the unit brings those of all parts together.
param<uint32> subs;
param<uint32> masks;
param<uint32> splits;

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

// The sum, the largest score in all columns, and the sum of weights, as a frame for the collector.
void pack_part(
        pipe<T> psum, pipe<T> plargest, pipe<T> ptotal, pipe<T> constants, pipe<T> ppart, uint32 zero, uint32 head_tiles) {
    ppart.reserve_back();
    {
        math<T> acc;
        for (uint32 j = 0; j < head_tiles; j++) {
            acc.copy(psum, j, j);
        }
        pack(acc, ppart, head_tiles);
    }
    {
        math<T> acc;
        acc.add_bcast_cols(constants, plargest, zero, 0, 0);
        acc.pack(0, ppart);
    }
    {
        math<T> acc;
        acc.copy(ptotal, 0, 0);
        acc.pack(0, ppart);
    }
    ppart.push_back();
}

// The sum of all parts, each times the exponential of how far its largest score is below that of all, and the sum of weights.
void merge(
        pipe<T> pparts,
        pipe<T> constants,
        pipe<T> plargest,
        pipe<T> pscale,
        pipe<T> pscaled,
        pipe<T> psum,
        pipe<T> ptotal,
        uint32 parts,
        uint32 one,
        uint32 identity,
        uint32 head_tiles) {
    uint32 size = head_tiles + 2;
    pparts.wait_front();
    plargest.reserve_back();
    {
        math<T> acc;
        for (uint32 p = 0; p < parts; p++) {
            acc.reduce_max_rows(pparts, constants, p * size + head_tiles, one, 0);
        }
        acc.pack_row(0, plargest);
    }
    plargest.push_back();
    plargest.wait_front();
    pscale.reserve_back();
    for (uint32 p = 0; p < parts; p++) {
        math<T> acc;
        acc.sub_bcast_cols(pparts, plargest, p * size + head_tiles, 0, 0);
        acc.exp(0);
        acc.pack(0, pscale);
    }
    pscale.push_back();
    plargest.pop_front();
    pscale.wait_front();
    psum.reserve_back();
    for (uint32 j = 0; j <= head_tiles; j++) {
        pscaled.reserve_back();
        for (uint32 p = 0; p < parts; p++) {
            uint32 tile = j < head_tiles ? j : head_tiles + 1;
            math<T> acc;
            acc.mul(pparts, pscale, p * size + tile, p, 0);
            acc.pack(0, pscaled);
        }
        pscaled.push_back();
        pscaled.wait_front();
        if (j < head_tiles) {
            math<T> acc;
            for (uint32 p = 0; p < parts; p++) {
                acc.matmul(pscaled, constants, p, identity, 0, false);
            }
            acc.pack(0, psum);
        } else {
            ptotal.reserve_back();
            {
                math<T> acc;
                for (uint32 p = 0; p < parts; p++) {
                    acc.reduce_sum_rows(pscaled, constants, p, one, 0);
                }
                acc.recip(0);
                acc.pack_row(0, ptotal);
            }
            ptotal.push_back();
        }
        pscaled.pop_front();
    }
    psum.push_back();
    pscale.pop_front();
    pparts.pop_front();
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
        pipe<T> ppart,
        pipe<T> pparts,
        pipe<T> pscale,
        pipe<T> pscaled,
        uint32 first_unit,
        uint32 units,
        uint32 step,
        uint32 head_tiles,
        uint32 own_tiles,
        uint32 chunk,
        uint32 has_new,
        uint32 collects) {
    uint32 old = own_tiles - has_new;
    uint32 select = 2 * head_tiles;
    uint32 one = select + 1;
    uint32 mask = select + 2;
    uint32 zero = select + 3;
    uint32 identity = select + 4;
    pconstant.set_frame(select + 5);
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
    pscore.set_frame(own_tiles);
    plargest.set_frame(1);
    pweight.set_frame(own_tiles);
    ptotal.set_frame(1);
    psum.set_frame(head_tiles);
    pmean.set_frame(head_tiles);
    prows.set_frame(head_tiles);
    for (uint32 unit = first_unit; unit < units; unit += step) {
        bool keeps = unit % subs == 0;
        to_tiles(pq, pq_tiles, head_tiles);
        turn(pq_tiles, pconstant, pq_turned, 0, head_tiles);
        if (has_new != 0) {
            to_tiles(pkey, pkey_tiles, head_tiles);
            turn(pkey_tiles, pconstant, pkey_turned, head_tiles, head_tiles);
            insert(pold_key, pkey_turned, pconstant, plast_key, pnew_key, select, head_tiles, keeps);
            to_tiles(pvalue, pvalue_tiles, head_tiles);
            insert(pold_value, pvalue_tiles, pconstant, plast_value, pnew_value, select, head_tiles, keeps);
        }

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
        if (has_new != 0 && masks != 0) {
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
        } else if (has_new != 0) {
            math<T> acc;
            score(acc, pq_turned, plast_key, 0, head_tiles);
            acc.pack(0, pscore);
        }
        pscore.push_back();
        pq_turned.pop_front();
        if (has_new != 0) {
            plast_key.pop_front();
        }

        pscore.wait_front();
        plargest.reserve_back();
        {
            math<T> acc;
            for (uint32 t = 0; t < own_tiles; t++) {
                acc.reduce_max_rows(pscore, pconstant, t, one, 0);
            }
            acc.pack_row(0, plargest);
        }
        plargest.push_back();
        plargest.wait_front();
        pweight.reserve_back();
        for (uint32 t = 0; t < own_tiles; t++) {
            math<T> acc;
            acc.sub_bcast_cols(pscore, plargest, t, 0, 0);
            acc.exp(0);
            acc.pack(0, pweight);
        }
        pweight.push_back();
        if (splits == 0) {
            plargest.pop_front();
        }
        pscore.pop_front();
        pweight.wait_front();
        ptotal.reserve_back();
        {
            math<T> acc;
            for (uint32 t = 0; t < own_tiles; t++) {
                acc.reduce_sum_rows(pweight, pconstant, t, one, 0);
            }
            if (splits == 0) {
                acc.recip(0);
            }
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
            if (has_new != 0) {
                weigh(acc, pweight, plast_value, old, 1, head_tiles);
            }
            pack(acc, psum, head_tiles);
        }
        psum.push_back();
        if (has_new != 0) {
            plast_value.pop_front();
        }
        pweight.pop_front();
        psum.wait_front();
        ptotal.wait_front();
        if (splits != 0) {
            ppart.set_frame(head_tiles + 2);
            pack_part(psum, plargest, ptotal, pconstant, ppart, zero, head_tiles);
            ptotal.pop_front();
            psum.pop_front();
            plargest.pop_front();
            if (collects == 0) {
                continue;
            }
            pparts.set_frame(collects * (head_tiles + 2));
            pscale.set_frame(collects);
            pscaled.set_frame(collects);
            merge(pparts, pconstant, plargest, pscale, pscaled, psum, ptotal, collects, one, identity, head_tiles);
            psum.wait_front();
            ptotal.wait_front();
        }
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
