// Takes the frames of a pipe that lies over a local, where they stay.
void kernel(pipe<T> from, uint32 frames, uint32 frame_tiles) {
    from.set_frame(frame_tiles);
    for (uint32 i = 0; i < frames; i++) {
        from.wait_front();
        from.pop_front();
    }
}
