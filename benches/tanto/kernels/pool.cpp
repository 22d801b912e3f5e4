// The maximum of four frames that follow each other, element by element.
void kernel(pipe<T> px, pipe<T> py, uint32 blocks, uint32 tiles) {
    px.set_frame(4 * tiles);
    py.set_frame(tiles);
    for (uint32 block = 0; block < blocks; block++) {
        px.wait_front();
        py.reserve_back();
        for (uint32 i = 0; i < tiles; i++) {
            math<T> acc;
            acc.copy(px, i, 0);
            for (uint32 tap = 1; tap < 4; tap++) {
                acc.copy(px, tap * tiles + i, 1);
                acc.max(0);
            }
            acc.pack(0, py);
        }
        py.push_back();
        px.pop_front();
    }
}
