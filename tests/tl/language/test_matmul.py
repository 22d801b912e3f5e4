import pytest

from kernbench.errors import KernelError
from kernbench.program.op_semantics import Constant, Epilogue
from tests.tl.rig import BASE, commands


def refused(call, kind=KernelError):
    with pytest.raises(kind) as caught:
        commands(lambda *, tl: call(tl, tl.load(BASE, (4, 8)), tl.ref(BASE, (8, 4))))
    sentence = str(caught.value)
    place = f", at tests/tl/language/test_matmul.py:{call.__code__.co_firstlineno}"
    assert place in sentence
    return sentence.replace(place, "")


def composite(**options):
    made = commands(lambda *, tl: tl.composite("gemm", tl.ref(BASE, (4, 8)), tl.ref(BASE, (8, 6)), **options))
    return made[-1]


def test_defaults():
    note = composite()
    assert (note.kind, note.shape, note.dtype, note.acc_dtype, note.tile, note.epilogue) == (
        "gemm",
        (4, 6),
        "f16",
        "f32",
        (32, 64, 32),
        (),
    )
    assert (note.out, note.out_va) == (1, None)


def test_dot_takes_matrices_in_tcm():
    assert refused(lambda tl, x, w: tl.dot(x, x)) == (
        "tl.dot got shapes (4, 8) and (4, 8), which do not multiply; give (M, K) and (K, N)"
    )
    assert refused(lambda tl, x, w: tl.dot(x, w)) == (
        "tl.dot got TensorHandle((8, 4), f16, hbm:0x100000000), which is not in TCM; "
        "load it with tl.load or stream it with tl.composite"
    )


def test_integers_are_summed_in_i32():
    made = commands(lambda *, tl: tl.dot(tl.zeros((4, 8), "i8"), tl.zeros((8, 4), "i8")))
    assert (made[-1].dtype, made[-1].acc_dtype) == ("i8", "i32")


def test_an_epilogue_s_operands_come_after_the_tensors():
    steps = [
        {"op": "dequant", "scale": 0.5, "scope": "k_tile"},
        {"op": "relu"},
        {"op": "scale", "factor": 3, "scope": "kernel"},
    ]
    note = composite(epilogue=steps, acc_dtype="f16", tile_shape=[16, 16, 16])
    assert note.epilogue == (
        Epilogue("dequant", "k_tile", 2),
        Epilogue("relu", "output_tile"),
        Epilogue("scale", "kernel", 3),
    )
    assert note.inputs[2:] == (Constant((), "f32", 0.5), Constant((), "f32", 3))
    assert (note.acc_dtype, note.tile) == ("f16", (16, 16, 16))


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        ({"op": "gelu"}, "the epilogue op 'gelu'; did you mean 'relu'? Known: abs, add, bias, cos, dequant, div, exp, exp2, floor_div, log, maximum, minimum, mod, mul, relu, rsqrt, scale, sigmoid, sin, sqrt, sub, tanh"),  # noqa: E501
        ({"op": "conv"}, "the epilogue op 'conv'; known: abs, add, bias, cos, dequant, div, exp, exp2, floor_div, log, maximum, minimum, mod, mul, relu, rsqrt, scale, sigmoid, sin, sqrt, sub, tanh"),  # noqa: E501
        ({"op": "maximum"}, "the epilogue op 'maximum' without its field 'operand'; its fields are op, operand, scope"),
        ({"op": "exp", "operand": 1}, "the epilogue op 'exp' with the field 'operand'; its fields are op, scope"),
        ({"op": "relu", "scope": "tile"}, "the epilogue scope 'tile'; did you mean 'k_tile'? Known: k_tile, kernel, output_tile"),  # noqa: E501
        ({"op": "bias"}, "the epilogue op 'bias' without its field 'bias'; its fields are op, bias, scope"),
        ({"op": "dequant", "factor": 1}, "the epilogue op 'dequant' without its field 'scale'; its fields are op, scale, scope"),  # noqa: E501
        ({"op": "relu", "slope": 1}, "the epilogue op 'relu' with the field 'slope'; its fields are op, scope"),
        ("relu", "the epilogue step 'relu'; give dicts such as {'op': 'relu'}"),
        ({"scope": "kernel"}, "the epilogue step {'scope': 'kernel'}; give dicts such as {'op': 'relu'}"),
    ],
)  # fmt: skip
def test_an_epilogue_is_refused_at_once(step, sentence):
    assert refused(lambda tl, a, b: tl.composite("gemm", a, b, epilogue=[step]), ValueError) == (
        f"tl.composite got {sentence}"
    )


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda tl, a, b: tl.composite("conv", a, b), "tl.composite got the op 'conv'; known: gemm, math"),
        (lambda tl, a, b: tl.composite("gemm", a), "tl.composite 'gemm' got b=None and math_op=None; give a and b, and no math_op"),  # noqa: E501
        (lambda tl, a, b: tl.composite("gemm", a, 3), "tl.composite got 3, a number or a pointer, where a tensor is meant; name what is at a pointer with tl.ref, or load it with tl.load"),  # noqa: E501
        (lambda tl, a, b: tl.composite("gemm", a, a), "tl.composite got shapes (4, 8) and (4, 8), which do not multiply; give (M, K) and (K, N)"),  # noqa: E501
        (lambda tl, a, b: tl.composite("math", a, math_op="expp"), "tl.composite 'math' of 1 got math_op 'expp'; did you mean 'exp'? Known: abs, cos, exp, exp2, log, rsqrt, sigmoid, sin, sqrt, tanh"),  # noqa: E501
        (lambda tl, a, b: tl.composite("math", a, b, math_op="add"), "tl.composite 'math' got shapes (4, 8) and (8, 4); make them equal"),  # noqa: E501
        (lambda tl, a, b: tl.composite("gemm", a, b, tile_shape=(4, 0, 4)), "tl.composite got the tile shape (4, 0, 4); give (tile_m, tile_k, tile_n), each at least 1"),  # noqa: E501
        (lambda tl, a, b: tl.composite("gemm", a, b, "out"), "tl.composite got the pointer 'out'; give an address, such as a tensor argument of the kernel"),  # noqa: E501
        (lambda tl, a, b: tl.composite("gemm", a, b, epilogue=[{"op": "bias", "bias": tl.zeros(5)}]), "tl.composite got an epilogue tensor of shape (5,) for a result of shape (4, 4); give a number or a shape that broadcasts to the result's"),  # noqa: E501
        (lambda tl, a, b: tl.composite("math", a, math_op="exp", epilogue=[{"op": "relu", "scope": "k_tile"}]), "tl.composite got the epilogue scope 'k_tile' for 'math'; only 'gemm' has k tiles"),  # noqa: E501
    ],
)  # fmt: skip
def test_composites_are_refused(call, sentence):
    assert refused(call) == sentence


@pytest.mark.parametrize(
    "call",
    [
        lambda tl, a, b: tl.composite("conv", a, b),
        lambda tl, a, b: tl.composite("gemm", a),
        lambda tl, a, b: tl.composite("gemm", a, b, math_op="add"),
        lambda tl, a, b: tl.composite("math", a),
        lambda tl, a, b: tl.composite("math", a, math_op="expp"),
    ],
)
def test_an_op_that_is_unknown_or_incomplete_is_a_value_error(call):
    assert refused(call, ValueError).startswith("tl.composite ")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"math_op": "exp"}, "'math' got math_op 'exp' of u8; it needs floats"),
        ({"math_op": "abs", "epilogue": [{"op": "sigmoid"}]}, "got the epilogue op 'sigmoid' in i32; it needs floats"),
        (
            {"math_op": "abs", "epilogue": [{"op": "relu"}], "acc_dtype": "u32"},
            "got the epilogue op 'relu' in u32, which has no negative numbers; leave it out, or give acc_dtype a type with "
            "a sign",
        ),
    ],
)
def test_what_means_nothing_in_whole_numbers_is_a_value_error(options, sentence):
    assert refused(lambda tl, a, b: tl.composite("math", tl.zeros((4, 4), "u8"), **options), ValueError) == (
        f"tl.composite {sentence}"
    )


def test_relu_of_an_unsigned_result_is_of_its_signed_sum():
    made = commands(
        lambda *, tl: tl.composite("math", tl.zeros((4, 4), "u8"), math_op="abs", epilogue=[{"op": "relu"}])
    )
    assert (made[-1].dtype, made[-1].acc_dtype) == ("u8", "i32")


def test_sums_are_of_the_result_s_sort():
    assert refused(lambda tl, x, w: tl.composite("gemm", x, w, acc_dtype="i32")) == (
        "tl.composite got acc_dtype='i32' for a result of f16; give a floating-point type, such as 'f32'"
    )
    assert refused(lambda tl, x, w: tl.composite("math", tl.zeros((4, 4), "i8"), math_op="abs", acc_dtype="f16")) == (
        "tl.composite got acc_dtype='f16' for a result of i8; give a whole-number type, such as 'i32'"
    )


@pytest.mark.parametrize(
    ("use", "primitive"),
    [
        (lambda tl, x: tl.store(BASE, x), "store"),
        (lambda tl, x: x + 1, "add"),
        (lambda tl, x: tl.exp(x), "exp"),
        (lambda tl, x: tl.trans(x), "trans"),
        (lambda tl, x: tl.dot(x, x), "dot"),
        (lambda tl, x: tl.composite("gemm", x, x), "composite"),
        (lambda tl, x: tl.send("E", x), "send"),
        (lambda tl, x: tl.send("E", src_addr=x.addr, shape=4), "send"),
        (lambda tl, x: tl.release(x), "release"),
    ],
)
def test_a_composite_s_result_is_there_after_the_wait(use, primitive):
    def kernel(*, tl, waits):
        done = tl.composite("gemm", tl.zeros((4, 4)), tl.zeros((4, 4)))
        if waits:
            tl.wait(done)
        use(tl, done.out)

    commands(lambda *, tl: kernel(tl=tl, waits=True))
    with pytest.raises(KernelError) as caught:
        commands(lambda *, tl: kernel(tl=tl, waits=False))
    assert str(caught.value).startswith(
        f"tl.{primitive} got TensorHandle((4, 4), f16, tcm:0x10), the result of a composite under way, at "
    )
    assert str(caught.value).endswith("; wait for it with tl.wait")
