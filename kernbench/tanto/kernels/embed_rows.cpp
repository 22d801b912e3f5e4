// Gathers rows of a table for 32 tokens at a time, some features of each: a unit is a row of tiles and some of its columns. Tokens
// begin at one and go on by `step`, modulo the rows; a sequence fills its last row of tiles up with its last token.
void kernel(
        global<T> table,
        pipe<T> rows,
        uint32 first_unit,
        uint32 units,
        uint32 stride,
        uint32 chunks,
        uint32 chunk_tiles,
        uint32 hidden,
        uint32 prompt,
        uint32 prompt_tiles,
        uint32 first_token,
        uint32 step,
        uint32 vocabulary) {
    rows.set_frame(chunk_tiles);
    for (uint32 unit = first_unit; unit < units; unit += stride) {
        uint32 row = unit / chunks;
        uint32 feature = (unit - row * chunks) * chunk_tiles * 32;
        uint32 sequence = row / prompt_tiles;
        uint32 position = (row - sequence * prompt_tiles) * 32;
        uint32 features = chunk_tiles * 32 < hidden - feature ? chunk_tiles * 32 : hidden - feature;
        rows.reserve_back();
        for (uint32 i = 0; i < 32; i++) {
            uint32 place = position + i < prompt ? position + i : prompt - 1;
            uint32 token = (first_token + (sequence * prompt + place) * step) % vocabulary;
            rows.read(i * chunk_tiles * 32, table, token * hidden + feature, features);
        }
        read_barrier();
        rows.push_back();
    }
}
