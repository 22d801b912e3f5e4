// Brings what attention of decode needs, for one unit after the other: the rows of queries, of the new key and of the new value of a
// sequence from the cores that have them in L1; the last tiles of the cache, which the new token goes into; the keys before them.
// With `splits` a core has a part of the context of one unit, and the collector of a unit waits for what all its parts made.
param<uint32> splits;

uint32 least(uint32 a, uint32 b) {
    return a < b ? a : b;
}

// The place of an owner, three of them in a number: x in 5 bits above y in 5 bits.
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

void pull(
        local<T> rows,
        pipe<T> into,
        uint32 row,
        uint32 feature,
        uint32 count,
        uint32 width,
        uint32 o0,
        uint32 o1,
        uint32 o2,
        uint32 o3,
        uint32 o4,
        uint32 o5) {
    uint32 done = 0;
    into.reserve_back();
    while (done < count) {
        uint32 number = (feature + done) / width;
        uint32 at = feature + done - number * width;
        uint32 some = least(width - at, count - done);
        uint32 place = owner(number, o0, o1, o2, o3, o4, o5);
        into.read(done, rows, row * width + at, some, place >> 5, place & 31);
        done += some;
    }
}

void kernel(
        local<T> rows,
        global<T> constants,
        global<T> keys,
        global<T> values,
        pipe<T> pq,
        pipe<T> pkey,
        pipe<T> pvalue,
        pipe<T> pconstant,
        pipe<T> pold_key,
        pipe<T> pold_value,
        pipe<T> pk,
        pipe<T> pparts,
        semaphore ready,
        uint32 first_unit,
        uint32 units,
        uint32 step,
        uint32 heads,
        uint32 group,
        uint32 subs,
        uint32 head_tiles,
        uint32 context_tiles,
        uint32 chunk,
        uint32 first_tile,
        uint32 old,
        uint32 has_new,
        uint32 collects,
        uint32 constant_tiles,
        uint32 width,
        uint32 o0,
        uint32 o1,
        uint32 o2,
        uint32 o3,
        uint32 o4,
        uint32 o5) {
    uint32 size = head_tiles * 32;
    uint32 queries = heads * group * size;
    pconstant.set_frame(constant_tiles);
    pconstant.reserve_back();
    pconstant.read(0, constants, 0, constant_tiles * 1024);
    read_barrier();
    pconstant.push_back();
    pq.set_frame(head_tiles);
    pkey.set_frame(head_tiles);
    pvalue.set_frame(head_tiles);
    pold_key.set_frame(head_tiles);
    pold_value.set_frame(head_tiles);
    pk.set_frame(chunk * head_tiles);
    for (uint32 unit = first_unit; unit < units; unit += step) {
        uint32 cached = unit / subs;
        uint32 sub = unit - cached * subs;
        uint32 row = cached / heads;
        uint32 head = cached - row * heads;
        uint32 lanes = least(32, group - sub * 32);
        uint32 tile = (cached * context_tiles + first_tile) * head_tiles;
        uint32 last = tile + old * head_tiles;
        pull(rows, pq, row, (head * group + sub * 32) * size, lanes * size, width, o0, o1, o2, o3, o4, o5);
        if (has_new != 0) {
            pull(rows, pkey, row, queries + head * size, size, width, o0, o1, o2, o3, o4, o5);
            pull(rows, pvalue, row, queries + (heads + head) * size, size, width, o0, o1, o2, o3, o4, o5);
            pold_key.reserve_back();
            pold_key.read(0, keys, last * 1024, head_tiles * 1024);
            pold_value.reserve_back();
            pold_value.read(0, values, last * 1024, head_tiles * 1024);
        }
        read_barrier();
        pq.push_back();
        if (has_new != 0) {
            pkey.push_back();
            pvalue.push_back();
            pold_key.push_back();
            pold_value.push_back();
        }
        for (uint32 t = 0; t < old; t += chunk) {
            uint32 count = least(chunk, old - t) * head_tiles;
            pk.reserve_back();
            pk.read(0, keys, tile * 1024, count * 1024);
            tile += count;
            read_barrier();
            pk.push_back();
        }
    }
    if (splits != 0 && collects != 0) {
        pparts.set_frame(collects * (head_tiles + 2));
        pparts.reserve_back();
        ready.wait(collects);
        pparts.push_back();
    }
}
