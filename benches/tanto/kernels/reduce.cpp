// Sum or maximum of `length` tiles that follow each other, over rows, columns or all elements; the second pipe has the scale.
static constexpr uint32
    SUM = 0,
    MAX = 1;
static constexpr uint32
    ROWS = 0,
    COLS = 1,
    SCALAR = 2;

param<uint32> operation;
param<uint32> way;

void step(math<T> acc, pipe<T> x, pipe<T> scale) {
    if (operation == SUM) {
        if (way == ROWS) {
            acc.reduce_sum_rows(x, scale, 0, 0, 0);
        } else if (way == COLS) {
            acc.reduce_sum_cols(x, scale, 0, 0, 0);
        } else {
            acc.reduce_sum_scalar(x, scale, 0, 0, 0);
        }
    } else {
        if (way == ROWS) {
            acc.reduce_max_rows(x, scale, 0, 0, 0);
        } else if (way == COLS) {
            acc.reduce_max_cols(x, scale, 0, 0, 0);
        } else {
            acc.reduce_max_scalar(x, scale, 0, 0, 0);
        }
    }
}

void kernel(pipe<T> x, pipe<T> scale, pipe<T> y, uint32 count, uint32 length) {
    x.set_frame(1);
    scale.set_frame(1);
    y.set_frame(1);
    scale.wait_front();
    for (uint32 i = 0; i < count; i++) {
        y.reserve_back();
        math<T> acc;
        for (uint32 k = 0; k < length; k++) {
            x.wait_front();
            step(acc, x, scale);
            x.pop_front();
        }
        if (way == ROWS) {
            acc.pack_row(0, y);
        } else if (way == COLS) {
            acc.pack_col(0, y);
        } else {
            acc.pack_scalar(0, y);
        }
        y.push_back();
    }
    scale.pop_front();
}
