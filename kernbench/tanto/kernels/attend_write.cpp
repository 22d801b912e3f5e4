// Brings the values that are in the cache, writes the tiles with the new token back to it, and the result to the cores that will
// have it in L1: the heads of a sequence in its row. With `splits` what a part of the context makes goes to the collector of its unit.
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

void kernel(
        local<T> attended,
        global<T> keys,
        global<T> values,
        pipe<T> pv,
        pipe<T> pnew_key,
        pipe<T> pnew_value,
        pipe<T> prows,
        pipe<T> ppart,
        local<T> parts,
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
        uint32 part,
        uint32 collector_x,
        uint32 collector_y,
        uint32 width,
        uint32 o0,
        uint32 o1,
        uint32 o2,
        uint32 o3,
        uint32 o4,
        uint32 o5) {
    uint32 size = head_tiles * 32;
    pv.set_frame(chunk * head_tiles);
    pnew_key.set_frame(head_tiles);
    pnew_value.set_frame(head_tiles);
    prows.set_frame(head_tiles);
    for (uint32 unit = first_unit; unit < units; unit += step) {
        uint32 cached = unit / subs;
        uint32 sub = unit - cached * subs;
        uint32 row = cached / heads;
        uint32 head = cached - row * heads;
        uint32 count = least(32, group - sub * 32) * size;
        uint32 feature = (head * group + sub * 32) * size;
        uint32 tile = (cached * context_tiles + first_tile) * head_tiles;
        for (uint32 t = 0; t < old; t += chunk) {
            uint32 tiles = least(chunk, old - t) * head_tiles;
            pv.reserve_back();
            pv.read(0, values, tile * 1024, tiles * 1024);
            tile += tiles;
            read_barrier();
            pv.push_back();
        }
        bool keeps = sub == 0 && has_new != 0;
        if (keeps) {
            pnew_key.wait_front();
            pnew_key.write(0, keys, tile * 1024, head_tiles * 1024);
            pnew_value.wait_front();
            pnew_value.write(0, values, tile * 1024, head_tiles * 1024);
        }
        if (splits != 0) {
            uint32 size_of_part = (head_tiles + 2) * 1024;
            ppart.set_frame(head_tiles + 2);
            ppart.wait_front();
            ppart.write(0, parts, part * size_of_part, size_of_part, collector_x, collector_y);
            write_barrier();
            ready.inc(collector_x, collector_y, 1);
            ppart.pop_front();
        }
        uint32 done = 0;
        if (collects == 0) {
            count = 0;
        } else {
            prows.wait_front();
        }
        while (done < count) {
            uint32 number = (feature + done) / width;
            uint32 at = feature + done - number * width;
            uint32 some = least(width - at, count - done);
            uint32 place = owner(number, o0, o1, o2, o3, o4, o5);
            prows.write(done, attended, row * width + at, some, place >> 5, place & 31);
            done += some;
        }
        write_barrier();
        if (collects != 0) {
            prows.pop_front();
        }
        if (keeps) {
            pnew_key.pop_front();
            pnew_value.pop_front();
        }
    }
}
