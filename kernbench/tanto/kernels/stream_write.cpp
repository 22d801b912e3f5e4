// Brings the odd frames of the weights, and the input: its blocks from the cores that have them in L1, once; they stay. Each core
// begins with the columns of another one, so that all are read at once. With `to_dram` it also writes the result, a part of it when
// the first operands of the next one are under way.
param<uint32> to_dram;

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

void write(global<T> y, pipe<T> py, uint32 tile, uint32 width) {
    if (width == 0) {
        return;
    }
    py.wait_front();
    py.write(0, y, tile * 1024, width * 1024);
    write_barrier();
    py.pop_front();
}

void kernel(
        local<T> x,
        global<T> weights,
        global<T> y,
        pipe<T> pa,
        pipe<T> pall,
        pipe<T> pb,
        pipe<T> py,
        uint32 bank,
        uint32 banks,
        uint32 first,
        uint32 own,
        uint32 first_owner,
        uint32 k_tiles,
        uint32 n_tiles,
        uint32 matrices,
        uint32 block_k,
        uint32 part,
        uint32 page_tiles,
        uint32 o0,
        uint32 o1,
        uint32 o2,
        uint32 o3,
        uint32 o4,
        uint32 o5) {
    uint32 elements = page_tiles * 1024;
    uint32 page = bank;
    uint32 frame = 0;
    uint32 done_tile = 0;
    uint32 done_width = 0;
    uint32 number = first_owner;
    uint32 at = 0;
    pa.set_frame(block_k);
    pb.set_frame(block_k * part * matrices);
    py.set_frame(part);
    for (uint32 n = 0; n < n_tiles; n += part) {
        uint32 width = least(part, n_tiles - n);
        uint32 pages = block_k * width * matrices / page_tiles;
        for (uint32 k = 0; k < k_tiles; k += block_k) {
            bool odd = (frame & 1) != 0;
            if (n == 0) {
                uint32 depth = least(block_k, k_tiles - k);
                uint32 done = 0;
                pa.reserve_back();
                while (done < depth) {
                    uint32 there = least(own, k_tiles - number * own);
                    uint32 count = least(there - at, depth - done);
                    uint32 place = owner(number, o0, o1, o2, o3, o4, o5);
                    pa.read(done * 1024, x, at * 1024, count * 1024, place >> 5, place & 31);
                    done += count;
                    at += count;
                    if (at == there) {
                        at = 0;
                        number = (number + 1) * own < k_tiles ? number + 1 : 0;
                    }
                }
            }
            if (odd) {
                pb.reserve_back();
                for (uint32 i = 0; i < pages; i++) {
                    pb.read(i * elements, weights, page * elements, elements);
                    page += banks;
                }
            } else {
                page += pages * banks;
            }
            if (n == 0 || odd) {
                read_barrier();
            }
            if (n == 0) {
                pa.push_back();
            }
            if (odd) {
                pb.push_back();
                if (to_dram != 0) {
                    write(y, py, done_tile, done_width);
                    done_width = 0;
                }
            }
            frame++;
        }
        if (n == 0) {
            pall.set_frame((k_tiles + block_k - 1) / block_k * block_k);
            pall.reserve_back();
            pall.push_back();
        }
        if (to_dram != 0) {
            write(y, py, done_tile, done_width);
        }
        done_tile = first + n;
        done_width = width;
    }
    if (to_dram != 0) {
        write(y, py, done_tile, done_width);
    } else {
        for (uint32 n = 0; n < n_tiles; n += part) {
            py.wait_front();
            py.pop_front();
        }
    }
}
