// Sum, difference or product of two streams, tile by tile; the second may be broadcast by rows, columns or its first element.
static constexpr uint32
    ADD = 0,
    SUB = 1,
    MUL = 2;
static constexpr uint32
    WHOLE = 0,
    ROWS = 1,
    COLS = 2,
    SCALAR = 3;

param<uint32> operation;
param<uint32> broadcast;

void whole(math<T> acc, pipe<T> a, pipe<T> b, uint32 i) {
    if (operation == ADD) {
        acc.add(a, b, i, i, i);
    } else if (operation == SUB) {
        acc.sub(a, b, i, i, i);
    } else {
        acc.mul(a, b, i, i, i);
    }
}

void rows(math<T> acc, pipe<T> a, pipe<T> b, uint32 i) {
    if (operation == ADD) {
        acc.add_bcast_rows(a, b, i, 0, i);
    } else if (operation == SUB) {
        acc.sub_bcast_rows(a, b, i, 0, i);
    } else {
        acc.mul_bcast_rows(a, b, i, 0, i);
    }
}

void cols(math<T> acc, pipe<T> a, pipe<T> b, uint32 i) {
    if (operation == ADD) {
        acc.add_bcast_cols(a, b, i, 0, i);
    } else if (operation == SUB) {
        acc.sub_bcast_cols(a, b, i, 0, i);
    } else {
        acc.mul_bcast_cols(a, b, i, 0, i);
    }
}

void scalar(math<T> acc, pipe<T> a, pipe<T> b, uint32 i) {
    if (operation == ADD) {
        acc.add_bcast_scalar(a, b, i, 0, i);
    } else if (operation == SUB) {
        acc.sub_bcast_scalar(a, b, i, 0, i);
    } else {
        acc.mul_bcast_scalar(a, b, i, 0, i);
    }
}

void kernel(pipe<T> a, pipe<T> b, pipe<T> c, uint32 frames, uint32 frame_tiles) {
    a.set_frame(frame_tiles);
    c.set_frame(frame_tiles);
    if (broadcast == WHOLE) {
        b.set_frame(frame_tiles);
    } else {
        b.set_frame(1);
        b.wait_front();
    }
    for (uint32 frame = 0; frame < frames; frame++) {
        c.reserve_back();
        a.wait_front();
        if (broadcast == WHOLE) {
            b.wait_front();
        }
        math<T> acc;
        for (uint32 i = 0; i < frame_tiles; i++) {
            switch (broadcast) {
            case WHOLE:
                whole(acc, a, b, i);
                break;
            case ROWS:
                rows(acc, a, b, i);
                break;
            case COLS:
                cols(acc, a, b, i);
                break;
            default:
                scalar(acc, a, b, i);
            }
        }
        for (uint32 i = 0; i < frame_tiles; i++) {
            acc.pack(i, c);
        }
        a.pop_front();
        if (broadcast == WHOLE) {
            b.pop_front();
        }
        c.push_back();
    }
    if (broadcast != WHOLE) {
        b.pop_front();
    }
}
