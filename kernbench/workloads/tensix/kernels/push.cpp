// Pushes what is in L1 already.
void kernel(pipe<T> x, uint32 tiles) {
    x.set_frame(tiles);
    x.reserve_back();
    x.push_back();
}
