// One function of the vector unit on every tile of a stream: `function` counts the methods by name, `operand` is that of some.
param<uint32> function;
param<uint32> operand;

void apply(math<T> acc, uint32 i) {
    switch (function) {
    case 0:
        acc.abs(i);
        break;
    case 1:
        acc.acos(i);
        break;
    case 2:
        acc.add_scalar(i, operand);
        break;
    case 3:
        acc.asin(i);
        break;
    case 4:
        acc.atan(i);
        break;
    case 5:
        acc.cos(i);
        break;
    case 6:
        acc.div_scalar(i, operand);
        break;
    case 7:
        acc.elu(i, operand);
        break;
    case 8:
        acc.eqz(i);
        break;
    case 9:
        acc.erf(i);
        break;
    case 10:
        acc.erfc(i);
        break;
    case 11:
        acc.erfinv(i);
        break;
    case 12:
        acc.exp(i);
        break;
    case 13:
        acc.exp2(i);
        break;
    case 14:
        acc.expm1(i);
        break;
    case 15:
        acc.gelu(i);
        break;
    case 16:
        acc.gez(i);
        break;
    case 17:
        acc.gtz(i);
        break;
    case 18:
        acc.heaviside(i, operand);
        break;
    case 19:
        acc.i0(i);
        break;
    case 20:
        acc.isfinite(i);
        break;
    case 21:
        acc.isinf(i);
        break;
    case 22:
        acc.isnan(i);
        break;
    case 23:
        acc.isneginf(i);
        break;
    case 24:
        acc.isposinf(i);
        break;
    case 25:
        acc.leaky_relu(i, operand);
        break;
    case 26:
        acc.lez(i);
        break;
    case 27:
        acc.log(i);
        break;
    case 28:
        acc.log_with_base(i, operand);
        break;
    case 29:
        acc.logical_not(i);
        break;
    case 30:
        acc.ltz(i);
        break;
    case 31:
        acc.mul_scalar(i, operand);
        break;
    case 32:
        acc.nez(i);
        break;
    case 33:
        acc.power(i, operand);
        break;
    case 34:
        acc.recip(i);
        break;
    case 35:
        acc.relu(i);
        break;
    case 36:
        acc.relu_max(i, operand);
        break;
    case 37:
        acc.relu_min(i, operand);
        break;
    case 38:
        acc.rsqrt(i);
        break;
    case 39:
        acc.rsub_scalar(i, operand);
        break;
    case 40:
        acc.sigmoid(i);
        break;
    case 41:
        acc.sign(i);
        break;
    case 42:
        acc.signbit(i);
        break;
    case 43:
        acc.sin(i);
        break;
    case 44:
        acc.sqrt(i);
        break;
    case 45:
        acc.square(i);
        break;
    case 46:
        acc.sub_scalar(i, operand);
        break;
    case 47:
        acc.tan(i);
        break;
    case 48:
        acc.tanh(i);
        break;
    }
}

void kernel(pipe<T> x, pipe<T> y, uint32 frames, uint32 frame_tiles) {
    x.set_frame(frame_tiles);
    y.set_frame(frame_tiles);
    for (uint32 frame = 0; frame < frames; frame++) {
        y.reserve_back();
        x.wait_front();
        math<T> acc;
        for (uint32 i = 0; i < frame_tiles; i++) {
            acc.copy(x, i, i);
            apply(acc, i);
            acc.pack(i, y);
        }
        x.pop_front();
        y.push_back();
    }
}
