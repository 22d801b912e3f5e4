// Gathers the pixels of a 3 x 3 window for 32 outputs at a time: from DRAM for each of the nine taps, or from a band of rows that
// is read into a local first. A pixel outside of the image comes from a local of zeros; its coordinate wraps around below zero.
static constexpr uint32
    TAPS = 3,
    PIXELS = 32;

param<uint32> keep_band;

void kernel(
        global<T> image,
        local<T> band,
        local<T> zeros,
        pipe<T> into,
        uint32 height,
        uint32 width,
        uint32 channels,
        uint32 first_pixel,
        uint32 blocks,
        uint32 first_row,
        uint32 band_rows) {
    into.set_frame(channels / 32);
    for (uint32 c = 0; c < channels; c++) {
        zeros.set(c, 0);
    }
    if (keep_band != 0) {
        band.read(0, image, first_row * width * channels, band_rows * width * channels);
        read_barrier();
    }
    uint32 pixel = first_pixel;
    for (uint32 block = 0; block < blocks; block++) {
        for (uint32 dy = 0; dy < TAPS; dy++) {
            for (uint32 dx = 0; dx < TAPS; dx++) {
                into.reserve_back();
                if (keep_band != 0) {
                    into.move_init(channels);
                }
                uint32 y = pixel / width;
                uint32 x = pixel % width;
                uint32 target = 0;
                for (uint32 i = 0; i < PIXELS; i++) {
                    uint32 from_y = y + dy - 1;
                    uint32 from_x = x + dx - 1;
                    bool inside = from_y < height && from_x < width;
                    if (keep_band != 0) {
                        if (inside) {
                            into.move(target, band, ((from_y - first_row) * width + from_x) * channels);
                        } else {
                            into.move(target, zeros, 0);
                        }
                    } else {
                        if (inside) {
                            into.read(target, image, (from_y * width + from_x) * channels, channels);
                        } else {
                            into.read(target, zeros, 0, channels);
                        }
                    }
                    target += channels;
                    x++;
                    if (x == width) {
                        x = 0;
                        y++;
                    }
                }
                read_barrier();
                into.push_back();
            }
        }
        pixel += PIXELS;
    }
}
