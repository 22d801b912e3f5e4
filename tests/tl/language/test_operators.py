"""Python's operators of tensors: jobs of the PE, or a sentence with a remedy."""

import numpy as np
import pytest

from kernbench.errors import KernelError
from kernbench.program.op_semantics import Constant
from kernbench.replay.numbers import Numbers
from tests.tl.rig import BASE, Rig, commands

X = np.array([3, -1, 4, -6], np.int32)


def refused(call):
    with pytest.raises(KernelError) as caught:
        commands(lambda *, tl: call(tl.load(BASE, 4, "i32")))
    sentence = str(caught.value)
    place = f", at tests/tl/language/test_operators.py:{call.__code__.co_firstlineno}"
    assert place in sentence
    return sentence.replace(place, "").replace("TensorHandle((4,), i32, hbm:0x100000000)", "x")


def computed(call, x=X, dtype="i32"):
    """The numbers of a call of a tensor and `tl`: the same in a live kernel and in the replay of a recorded one."""
    found = []

    def kernel(*, tl):
        found.append(call(tl.load(BASE, x.shape, dtype), tl).data.copy())

    rig = Rig()
    rig.memory.write(BASE, x)
    rig.live(kernel)
    recorded, kept = Rig(), []
    recorded.memory.write(BASE, x)
    recorded.record(lambda *, tl: kept.append(call(tl.load(BASE, x.shape, dtype), tl)))
    numbers = Numbers(recorded.memory)
    for note in recorded.notes():
        numbers.perform(note, -1)
    replayed = numbers.values[kept[0].operand]
    assert (replayed.dtype, replayed.tolist()) == (found[0].dtype, found[0].tolist())
    return found[0]


@pytest.mark.parametrize(
    "compare",
    [
        lambda a, b: a < b,
        lambda a, b: a <= b,
        lambda a, b: a > b,
        lambda a, b: a >= b,
        lambda a, b: a == b,
        lambda a, b: a != b,
    ],
)
def test_comparisons_make_masks(compare):
    for left, right in ((lambda x: x, lambda x: 3), (lambda x: 3, lambda x: x), (lambda x: x, lambda x: np.int32(3))):
        got = computed(lambda x, tl: compare(left(x), right(x)))  # noqa: B023
        assert (got.dtype, got.tolist()) == (np.uint8, compare(left(X), right(X)).astype(int).tolist())
    assert computed(lambda x, tl: compare(x, x)).tolist() == [int(compare(1, 1))] * 4
    assert computed(lambda x, tl: compare(x, 0.5)).tolist() == compare(X, 0.5).astype(int).tolist()


def test_a_comparison_is_in_the_wider_type_of_its_operands():
    assert computed(lambda x, tl: x < 300, np.array([255], np.uint8), "u8").tolist() == [1]
    halves = np.array([0.25, 0.5], np.float16)
    assert computed(lambda x, tl: x == tl.full(2, 0.5, "f32"), halves, "f16").tolist() == [0, 1]
    made = commands(lambda *, tl: tl.load(BASE, 4, "i32") == 3)
    assert (made[-1].function, made[-1].dtype, made[-1].inputs[1]) == ("equal", "u8", Constant((), "i32", 3))


def test_a_comparison_costs_the_width_of_what_it_compares():
    at = {dtype: Rig().record(lambda *, tl: tl.zeros(4096, dtype) < 1) for dtype in ("f16", "f32")}  # noqa: B023
    assert at["f32"] > at["f16"] > 0


def test_masks_choose_and_combine():
    assert computed(lambda x, tl: tl.where(x == 3, x * 10, x)).tolist() == [30, -1, 4, -6]
    assert computed(lambda x, tl: (x > 0) & (x < 4)).tolist() == [1, 0, 0, 0]
    assert computed(lambda x, tl: (x < 0) | (x == 4)).tolist() == [0, 1, 1, 1]
    assert computed(lambda x, tl: (x < 0) == 0).tolist() == [1, 0, 1, 0]


def test_where_of_two_numbers_has_their_type():
    flags = np.array([1, 0], np.uint8)
    got = computed(lambda x, tl: tl.where(x, 300, 0), flags, "u8")
    assert (got.dtype, got.tolist()) == (np.int32, [300, 0])
    got = computed(lambda x, tl: tl.where(x, 0.5, 7), flags, "u8")
    assert (got.dtype, got.tolist()) == (np.float32, [0.5, 7])


def test_operators_of_python_have_python_s_results():
    assert computed(lambda x, tl: -x).tolist() == [-3, 1, -4, 6]
    assert computed(lambda x, tl: +x + 0).tolist() == X.tolist()
    assert computed(lambda x, tl: abs(x)).tolist() == [3, 1, 4, 6]
    assert computed(lambda x, tl: x // 4).tolist() == [0, -1, 1, -2]
    assert computed(lambda x, tl: 7 // x).tolist() == [2, -7, 1, -2]
    assert computed(lambda x, tl: x % 4).tolist() == [3, 3, 0, 2]
    assert computed(lambda x, tl: 7 % x).tolist() == [1, 0, 3, -5]
    assert computed(lambda x, tl: np.float32(0.5) * x).tolist() == [1.5, -0.5, 2, -3]
    assert computed(lambda x, tl: np.int64(1) - x).tolist() == [-2, 2, -3, 7]
    assert computed(lambda x, tl: -x, np.array([2.0], np.float16), "f16").tolist() == [-2.0]


@pytest.mark.parametrize("dtype", ["i32", "i16", "i8", "u32", "u16", "u8"])
def test_a_whole_number_by_zero_is_zero(dtype):
    x = np.array([5, 0, 3, 7]).astype({"i": "int", "u": "uint"}[dtype[0]] + dtype[1:])
    for divide in (
        lambda x, tl: x / tl.zeros(4, dtype),
        lambda x, tl: x // 0,
        lambda x, tl: x % 0,
        lambda x, tl: x / 0,
    ):
        assert computed(divide, x, dtype).tolist() == [0, 0, 0, 0]


def test_division_of_whole_numbers_is_exact():
    x = np.array([2**32 - 1, 2**31], np.uint32)
    assert computed(lambda x, tl: x / 1, x, "u32").tolist() == x.tolist()
    low = np.array([-(2**31), -(2**31) + 1], np.int32)
    assert computed(lambda x, tl: x / -1, low).tolist() == [-(2**31), 2**31 - 1]
    assert computed(lambda x, tl: x / 4).tolist() == [0, 0, 1, -1]


def test_functions_of_triton():
    x = np.array([0.25, 4.0], np.float32)
    assert computed(lambda x, tl: tl.exp2(x * 4), x, "f32").tolist() == [2.0, 65536.0]
    assert computed(lambda x, tl: tl.rsqrt(x), x, "f32").tolist() == [2.0, 0.5]
    np.testing.assert_array_equal(computed(lambda x, tl: tl.tanh(x), x, "f32"), np.tanh(x))
    seen = []

    def kernel(*, tl):
        seen.extend([list(tl.range(3)), list(tl.static_range(4, 0, -2)), tl.constexpr(64), tl.multiple_of(80, 16)])

    assert commands(kernel) == []
    assert seen == [[0, 1, 2], [4, 2], 64, 80]


DATA = "read it with `.data` in a live kernel (--live)"


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda x: 3 in x, "a kernel asked whether 3 is in x; compare with x == value, and look at `.data` of that in a live kernel (--live)"),  # noqa: E501
        (lambda x: x[:, None], "a kernel took a part of x with [ ]; load a part from its own address, and a column with the shape (n, 1)"),  # noqa: E501
        (lambda x: x.__setitem__(0, 1), "a kernel set a part of x; choose elements with tl.where, or store a part at its own address"),  # noqa: E501
        (lambda x: float(x), f"a kernel took x as one number; {DATA}"),
        (lambda x: int(x), f"a kernel took x as one number; {DATA}"),
        (lambda x: range(x), f"a kernel took x as one number; {DATA}"),
        (lambda x: round(x), f"a kernel took x as one number; {DATA}"),
        (lambda x: np.asarray(x), f"a kernel made an array of numpy of x; {DATA}"),
        (lambda x: len(x), "a kernel asked for the length of x; read its shape: x.shape[0]"),
        (lambda x: list(iter(x)), "a kernel went through the elements of x; write one operation of the whole tensor"),
        (lambda x: x**2, "a kernel raised a tensor to a power with **; write x * x, or tl.exp(tl.log(x) * power)"),
        (lambda x: x << 1, "a kernel shifted a tensor; write x * 2 or x // 2, with a power of 2 for each number of bits"),
        (lambda x: x ^ x, "a kernel combined tensors with ^; write a != b for two masks"),
        (lambda x: ~x, "a kernel inverted a tensor with ~; write mask == 0 for the opposite of a mask"),
        (lambda x: (x / 0.5) & 1, "tl.bit_and got a tensor of f32; it needs whole numbers, such as the mask of a comparison"),
        (lambda x: np.ones(4) + x, "a kernel computed with a numpy array of shape (4,) and x; make a tensor of it on the host with torch.from_numpy and load that"),  # noqa: E501
        (lambda x: x + np.ones(4), "tl.add got a numpy array of shape (4,); make a tensor of it on the host with torch.from_numpy and load that"),  # noqa: E501
        (lambda x: np.exp(x), "a kernel called numpy's exp of x; call the function of `tl`"),
        (lambda x: x == None, "tl.equal got None; give a tensor, such as one from tl.load"),  # noqa: E711
        (lambda x: x.T, "a tensor has no 'T'; write tl.trans(x)"),
        (lambda x: x.item(), "a tensor has no 'item'; call a function of `tl`"),
    ],
)  # fmt: skip
def test_what_no_tensor_can_ends_in_a_remedy(call, sentence):
    assert refused(call) == sentence


@pytest.mark.parametrize(
    "call", [lambda x: max(x, 0), lambda x: min(x, x), lambda x: x in [x + 1, x], lambda x: x == 3 or x]
)
def test_a_mask_is_neither_true_nor_false(call):
    assert refused(call).endswith(
        "is true; choose with tl.where, tl.maximum or tl.minimum, or read its elements with `.data` in a live kernel (--live)"
    )
