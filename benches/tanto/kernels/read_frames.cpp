// Reads a stretch of a global buffer into a pipe, frame by frame.
void kernel(global<T> source, pipe<T> into, uint32 start, uint32 frames, uint32 frame_tiles) {
    into.set_frame(frame_tiles);
    uint32 elements = frame_tiles * 1024;
    for (uint32 i = 0; i < frames; i++) {
        into.reserve_back();
        into.read(0, source, start, elements);
        read_barrier();
        into.push_back();
        start += elements;
    }
}
