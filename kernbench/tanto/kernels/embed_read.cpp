// Gathers the features of a core from the rows of a table, one for each token: the first, and each `step` further, modulo the rows.
void kernel(
        global<T> table,
        pipe<T> rows,
        uint32 first_feature,
        uint32 features,
        uint32 hidden,
        uint32 tokens,
        uint32 first_token,
        uint32 step,
        uint32 vocabulary,
        uint32 width) {
    uint32 token = first_token;
    rows.set_frame(width / 32);
    rows.reserve_back();
    for (uint32 i = 0; i < tokens; i++) {
        rows.read(i * width, table, token * hidden + first_feature, features);
        token = (token + step) % vocabulary;
    }
    read_barrier();
    rows.push_back();
}
