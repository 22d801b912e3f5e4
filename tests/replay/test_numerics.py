import numpy as np
import pytest

from kernbench.dtypes import numpy_dtype
from kernbench.program.op_semantics import Composite, Constant, Dot, Epilogue, Math, Ref, View
from kernbench.replay.numerics import ALONG_AXIS, ELEMENTWISE, apply_epilogue, compute, compute_block, resolve
from kernbench.tl.language.epilogue import FIELDS

X = np.array([[1.0, -2.0, 0.5], [4.0, 3.0, -1.0]], np.float16)
Y = np.array([[2.0, 2.0, 0.25], [-1.0, 8.0, 1.0]], np.float16)


def math(function, *arrays, axis=None, dtype="f16"):
    return compute(Math(function, tuple(range(len(arrays))), 9, (), dtype, axis), arrays)


def test_operands_resolve():
    memory = np.arange(6, dtype=np.float16).reshape(2, 3)
    read = lambda ref: memory.reshape(ref.shape)  # noqa: E731
    assert resolve(4, {4: X}, read) is X
    assert resolve(View(4), {4: X}, read).tolist() == X.T.tolist()
    assert resolve(View(Ref(0, (3, 2), "f16")), {}, read).tolist() == memory.reshape(3, 2).T.tolist()
    assert resolve(Constant((2, 2), "i8", 7), {}, read).tolist() == [[7, 7], [7, 7]]
    assert resolve(Constant((3,), "u16", 5, 1), {}, read).tolist() == [5, 6, 7]
    assert resolve(Constant((), "bf16", 0.5), {}, read).dtype == numpy_dtype("bf16")


@pytest.mark.parametrize(
    ("function", "arrays", "expected"),
    [
        ("exp", [X], np.exp(X.astype(np.float32))),
        ("log", [np.abs(X)], np.log(np.abs(X).astype(np.float32))),
        ("sqrt", [np.abs(X)], np.sqrt(np.abs(X).astype(np.float32))),
        ("abs", [X], np.abs(X)),
        ("sigmoid", [X], 1 / (1 + np.exp(-X.astype(np.float32)))),
        ("cos", [X], np.cos(X.astype(np.float32))),
        ("sin", [X], np.sin(X.astype(np.float32))),
        ("maximum", [X, Y], [[2, 2, 0.5], [4, 8, 1]]),
        ("minimum", [X, Y], [[1, -2, 0.25], [-1, 3, -1]]),
        ("add", [X, Y], X + Y),
        ("sub", [X, Y], X - Y),
        ("mul", [X, Y], X * Y),
        ("div", [X, Y], X / Y),
        ("fma", [X, Y, X], X * Y + X),
        ("clamp", [X, np.float16(-1), np.float16(1)], [[1, -1, 0.5], [1, 1, -1]]),
        ("where", [X > 0, X, Y], [[1, 2, 0.5], [4, 3, 1]]),
    ],
)
def test_elementwise(function, arrays, expected):
    got = math(function, *[np.asarray(array) for array in arrays])
    assert got.dtype == np.float16
    np.testing.assert_array_equal(got, np.asarray(expected).astype(np.float16))


def test_reductions_keep_their_axis():
    assert math("sum", X, axis=1).tolist() == [[-0.5], [6.0]]
    assert math("max", X, axis=0).tolist() == [[4.0, 3.0, 0.5]]
    assert math("min", X, axis=1).tolist() == [[-2.0], [-1.0]]


def test_softmax_does_not_overflow():
    got = math("softmax", np.array([[600.0, 600.0], [0.0, -600.0]], np.float16), axis=1)
    assert got.tolist() == [[0.5, 0.5], [1.0, 0.0]]


def test_integers_wrap_and_divide_towards_zero():
    a, b = np.array([120, -7, 7], np.int8), np.array([10, 2, 2], np.int8)
    assert math("add", a, b, dtype="i8").tolist() == [-126, -5, 9]
    assert math("div", a, b, dtype="i8").tolist() == [12, -3, 3]


@pytest.mark.parametrize("dtype", ["i32", "i8", "u16"])
def test_a_whole_number_that_no_step_can_make_is_zero(dtype):
    sums = np.array([[5, 0, 3]], numpy_dtype(dtype))
    note = Composite("gemm", None, (0, 1), 9, None, (1, 3), dtype, dtype, (), (32, 32, 32))
    for op, operand in (
        ("div", 0),
        ("div", 0.0),
        ("floor_div", 0),
        ("mod", 0),
        ("mul", np.inf),
        ("scale", 1e30),
        ("sub", np.nan),
    ):
        note.epilogue = (Epilogue(op, "kernel", 0),)
        assert apply_epilogue(note, "kernel", sums, [np.asarray(operand)])[0, [0, 2]].tolist() == [0, 0], op


def test_overflow_is_silent():
    big = np.array([60000.0], np.float16)
    assert np.isinf(math("add", big, big)).all()
    assert np.isnan(math("log", -big)).all()


def test_a_dot_rounds_once():
    a, b = np.full((1, 4096), 1, np.float16), np.full((4096, 1), 1.0005, np.float16)
    assert compute(Dot((0, 1), 2, (1, 1), "f16", "f32"), [a, b]).tolist() == [[4100.0]]


@pytest.mark.parametrize("dtype", ["f8e4m3", "f8e5m2", "bf16", "f32", "i8", "i32"])
def test_a_dot_of_every_kind_of_type(dtype):
    a = np.array([[1, 2], [2, 4]]).astype(numpy_dtype(dtype))
    got = compute(Dot((0, 1), 2, (2, 2), dtype, "f32" if dtype[0] in "fb" else "i32"), [a, a])
    assert got.dtype == numpy_dtype(dtype)
    assert got.astype(np.float32).tolist() == [[5, 10], [10, 20]]


def compute_composite(note, arrays):
    """The whole result of a composite as one block, k tile after k tile."""
    parts = [arrays[: len(note.tensors)]]
    if note.kind == "gemm":
        (a, b), tile = parts[0], note.tile[1]
        parts = [(a[:, k : k + tile], b[k : k + tile]) for k in range(0, a.shape[1], tile)]
    whole = apply_epilogue(note, "kernel", compute_block(note, parts, arrays), arrays)
    with np.errstate(all="ignore"):
        return whole.astype(numpy_dtype(note.dtype))


def composite(arrays, epilogue, kind="gemm", function=None, tile=(32, 2, 32)):
    inputs = tuple(range(len(arrays)))
    return compute_composite(
        Composite(kind, function, inputs, 9, None, (), "f32", "f32", tuple(epilogue), tile),
        [np.asarray(array, np.float32) for array in arrays],
    )


def test_each_scope_is_applied_where_it_belongs():
    a, b = [[1, 1, 1, 1]], [[1], [1], [-3], [1]]  # partial sums 2 and -2 with k tiles of 2
    assert composite([a, b], []).tolist() == [[0]]
    assert composite([a, b], [Epilogue("relu", "k_tile")]).tolist() == [[2]]
    assert composite([a, b, 10], [Epilogue("bias", "output_tile", 2)]).tolist() == [[10]]
    assert composite([a, b, 10], [Epilogue("bias", "k_tile", 2)]).tolist() == [[20]]
    steps = [Epilogue("scale", "kernel", 3), Epilogue("bias", "output_tile", 2)]
    assert composite([a, b, 10, 2], steps).tolist() == [[20]]  # output tiles come before the kernel's end


def test_an_elementwise_composite():
    got = composite(
        [[[1, -5]], [[2, 2]], 0.5],
        [Epilogue("relu", "output_tile"), Epilogue("dequant", "kernel", 2)],
        kind="math",
        function="add",
    )
    assert got.tolist() == [[1.5, 0]]


def test_every_function_is_defined_once():
    assert not ELEMENTWISE.keys() & ALONG_AXIS.keys()


def test_a_condition_may_be_a_fraction_where_the_result_is_whole():
    condition, a, b = np.array([0.5, 0.0, -0.25], np.float32), np.array([1, 2, 3]), np.array([7, 8, 9])
    assert math("where", condition, a, b, dtype="i32").tolist() == [1, 8, 3]


@pytest.mark.parametrize(
    ("function", "values", "dtype", "number", "expected"),
    [
        ("add", [0, 1, 255], "u8", -1, [255, 0, 254]),
        ("mul", [1, 2, -128], "i8", 200, [-56, -112, 0]),
        ("minimum", [3, 100], "i8", 200, [3, 100]),
        ("maximum", [3, 250], "u8", -1, [3, 250]),
        ("div", [100, -128], "i8", 200, [0, 0]),
        ("sub", [0, 5], "u32", 1 << 40, [0, 5]),
    ],
)
def test_a_number_keeps_its_value_and_the_result_wraps(function, values, dtype, number, expected):
    operand = resolve(Constant((), dtype, number), {}, None)  # type: ignore[arg-type]
    assert math(function, np.array(values, numpy_dtype(dtype)), operand, dtype=dtype).tolist() == expected


def whole_composite(arrays, epilogue, *, tile=(1, 1, 1), dtype="i32", acc="i8", kind="gemm", function=None):
    shape = (arrays[0].shape[0], arrays[1].shape[1]) if kind == "gemm" else arrays[0].shape
    note = Composite(kind, function, tuple(range(len(arrays))), 9, None, shape, dtype, acc, epilogue, tile, 0)
    return compute_composite(note, arrays).tolist()


def test_a_composite_of_integers_wraps_in_its_accumulator():
    a, b = np.full((1, 4), 10, np.int8), np.full((4, 1), 10, np.int8)
    assert whole_composite([a, b], ()) == [[np.array(400).astype(np.int8)]]
    wrapped = Epilogue("relu", "k_tile", None)
    assert whole_composite([a, b], (wrapped,)) == [[np.array(400).astype(np.int8)]]  # four parts of 100 each
    twice = Epilogue("scale", "kernel", 2)
    assert whole_composite([a, b, np.array(2)], (twice,)) == [[np.array(800).astype(np.int8)]]
    half = Epilogue("scale", "kernel", 2)
    assert whole_composite([a, b, np.array(0.5, np.float32)], (half,), acc="i32") == [[200]]


def test_a_math_composite_of_integers_wraps_in_its_accumulator():
    x, y = np.array([100, 100], np.int8), np.array([100, -100], np.int8)
    halved = Epilogue("scale", "kernel", 2)
    found = whole_composite([x, y, np.array(0.5, np.float32)], (halved,), kind="math", function="add")
    assert found == [np.trunc(np.array(200).astype(np.int8) / 2), 0]


@pytest.mark.parametrize("acc", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("op", sorted(FIELDS))
def test_a_step_of_an_epilogue_is_its_function_rounded_once(op, acc):
    a, b = np.array([[0.5, 2.0]], np.float32), np.array([[1.0, 2.0], [0.25, 0.5]], np.float32)
    operand = np.array([1.5, 3.0], np.float32)
    step = Epilogue(op, "output_tile", None if FIELDS[op] is None else 2)
    wide = (a @ b).astype(numpy_dtype(acc)).astype(np.float32)
    function = {"dequant": np.multiply, "scale": np.multiply, "bias": np.add, "relu": lambda x: np.maximum(x, 0)}
    given = [wide] if FIELDS[op] is None else [wide, operand]
    expected = function.get(op, ELEMENTWISE.get(op))(*given).astype(numpy_dtype(acc)).astype(np.float32)
    found = whole_composite(
        [a, b, operand][: 3 if len(given) > 1 else 2], (step,), tile=(1, 2, 2), dtype="f32", acc=acc
    )
    assert found == expected.tolist()


@pytest.mark.parametrize(
    ("op", "operand", "expected"), [("div", -4, [-2, 1]), ("maximum", 3, [9, 3]), ("sub", 10, [-1, -17])]
)
def test_a_step_of_whole_numbers(op, operand, expected):
    x, nothing = np.array([9, -7], np.int8), np.zeros(2, np.int8)
    step = Epilogue(op, "output_tile", 2)
    assert whole_composite([x, nothing, np.array(operand)], (step,), kind="math", function="add") == expected


@pytest.mark.parametrize("tile", [(32, 64, 32), (7, 50, 5), (1, 50, 1), (100, 64, 100)])
def test_a_range_of_tiles_is_each_tile_by_itself_to_the_last_bit(tile):
    """Wherever the operands lie."""
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((70, 50), np.float32), rng.standard_normal((90, 50), np.float32).T
    note = Composite("gemm", None, (1, 2), 9, None, (70, 90), "f32", "f32", (), tile)
    together = compute_block(note, [(a, b)], [])
    for row in range(0, 70, tile[0]):
        for column in range(0, 90, tile[2]):
            part = np.asfortranarray(a[row : row + tile[0]]), b[:, column : column + tile[2]]
            alone = compute_block(note, [part], [])
            assert alone.tobytes() == together[row : row + tile[0], column : column + tile[2]].tobytes()


def test_a_sum_is_the_same_to_the_last_bit_wherever_its_operand_lies():
    x = np.random.default_rng(4).standard_normal((300, 200), np.float32)
    assert (
        math("sum", x, axis=1, dtype="f32").tobytes()
        == math("sum", np.asfortranarray(x), axis=1, dtype="f32").tobytes()
    )
