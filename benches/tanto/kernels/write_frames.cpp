// Writes the frames of a pipe to a stretch of a global buffer.
void kernel(global<T> target, pipe<T> from, uint32 start, uint32 frames, uint32 frame_tiles) {
    from.set_frame(frame_tiles);
    uint32 elements = frame_tiles * 1024;
    for (uint32 i = 0; i < frames; i++) {
        from.wait_front();
        from.write(0, target, start, elements);
        write_barrier();
        from.pop_front();
        start += elements;
    }
}
