// Pushes what is in L1 already, frame by frame, as pipes that lie over locals have it; the second of two pipes may be the first.
param<uint32> two;

void kernel(pipe<T> first, pipe<T> second, uint32 frames, uint32 frame_tiles) {
    first.set_frame(frame_tiles);
    if (two != 0) {
        second.set_frame(frame_tiles);
    }
    for (uint32 i = 0; i < frames; i++) {
        first.reserve_back();
        first.push_back();
        if (two != 0) {
            second.reserve_back();
            second.push_back();
        }
    }
}
