// Reads a stretch of two global buffers. The frame of the second is read once and kept, or for each frame of the first.
param<uint32> keep_second;

void kernel(
        global<T> first,
        global<T> second,
        pipe<T> into_first,
        pipe<T> into_second,
        uint32 start,
        uint32 frames,
        uint32 frame_tiles,
        uint32 second_tiles) {
    into_first.set_frame(frame_tiles);
    into_second.set_frame(second_tiles);
    if (keep_second != 0) {
        into_second.reserve_back();
        into_second.read(0, second, 0, second_tiles * 1024);
        read_barrier();
        into_second.push_back();
    }
    uint32 elements = frame_tiles * 1024;
    for (uint32 i = 0; i < frames; i++) {
        into_first.reserve_back();
        into_first.read(0, first, start, elements);
        if (keep_second == 0) {
            into_second.reserve_back();
            into_second.read(0, second, start, elements);
        }
        read_barrier();
        into_first.push_back();
        if (keep_second == 0) {
            into_second.push_back();
        }
        start += elements;
    }
}
