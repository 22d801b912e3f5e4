// Brings all weights to each core once, by multicast from the first, and writes the outputs.
void kernel(
        global<T> weights,
        global<T> output,
        pipe<T> pw,
        pipe<T> from,
        semaphore ready,
        semaphore valid,
        uint32 sends,
        uint32 weight_tiles,
        uint32 frame_tiles,
        uint32 start,
        uint32 blocks,
        uint32 x0,
        uint32 y0,
        uint32 x1,
        uint32 y1,
        uint32 dests,
        uint32 sender_x,
        uint32 sender_y) {
    pw.set_frame(weight_tiles);
    pw.reserve_back();
    if (sends != 0) {
        pw.read(0, weights, 0, weight_tiles * 1024);
        read_barrier();
        if (dests != 0) {
            valid.set(1);
            ready.wait(dests);
            pw.write_mcast(0, pw, 0, weight_tiles * 1024, x0, y0, x1, y1, dests);
            valid.set_mcast(valid, x0, y0, x1, y1, dests);
        }
    } else {
        ready.inc(sender_x, sender_y, 1);
        valid.wait(1);
    }
    pw.push_back();
    from.set_frame(frame_tiles);
    for (uint32 block = 0; block < blocks; block++) {
        from.wait_front();
        from.write(0, output, start, frame_tiles * 1024);
        write_barrier();
        from.pop_front();
        start += frame_tiles * 1024;
    }
}
