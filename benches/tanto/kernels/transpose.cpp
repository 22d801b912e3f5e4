// Transposes every tile of a stream.
void kernel(pipe<T> x, pipe<T> y, uint32 frames) {
    x.set_frame(1);
    y.set_frame(1);
    for (uint32 i = 0; i < frames; i++) {
        y.reserve_back();
        x.wait_front();
        math<T> acc;
        acc.transpose(x, 0, 0);
        acc.pack(0, y);
        x.pop_front();
        y.push_back();
    }
}
