// Takes what is to stay in L1.
void kernel(pipe<T> y, uint32 tiles) {
    y.set_frame(tiles);
    y.wait_front();
    y.pop_front();
}
