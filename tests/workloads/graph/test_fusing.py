"""What ends another operator, and what may not."""

from __future__ import annotations

from kernbench.workloads.graph.builder import Builder
from kernbench.workloads.graph.form import join_steps
from kernbench.workloads.graph.fusing import EXTRAS, follow, fuse
from kernbench.workloads.graph.view import whole


def product(b: Builder, out: int = 8):
    x = b.input("x", (4, 6), "f16")
    return b.matmul(x, b.constant("w", (6, out), "f16"))


def kinds(b: Builder) -> list[str]:
    fuse(b.graph)
    return [one.kind for one in b.graph.operators]


def test_a_bias_and_an_activation_end_a_product():
    b = Builder("net")
    y = b.elementwise((("add", 0, 1),), [product(b), b.constant("bias", (8,), "f16")])
    b.output("y", b.elementwise((("max", 0, 0.0),), [y]))
    assert kinds(b) == ["product"]
    (one,) = b.graph.operators
    assert one.steps == (("add", 0, 1), ("max", 2, 0.0))
    assert one.output.base == b.graph.outputs["y"].base


def test_a_result_that_two_read_is_kept():
    b = Builder("net")
    y = product(b)
    b.output("a", b.elementwise((("max", 0, 0.0),), [y]))
    b.output("b", b.elementwise((("exp", 0),), [y]))
    assert kinds(b) == ["product", "elementwise", "elementwise"]


def test_an_output_is_kept():
    b = Builder("net")
    y = product(b)
    b.output("y", y)
    b.output("z", b.elementwise((("exp", 0),), [y]))
    assert kinds(b) == ["product", "elementwise"]


def test_a_sum_of_two_results_ends_the_later():
    b = Builder("net")
    x = b.input("x", (4, 6), "f16")
    first, second = (b.matmul(x, b.constant(name, (6, 8), "f16")) for name in "vw")
    b.output("y", b.elementwise((("add", 0, 1),), [first, second]))
    assert kinds(b) == ["product", "product"]
    assert [len(one.extras) for one in b.graph.operators] == [0, 1]


def test_what_reads_elements_in_another_order_joins_if_strides_allow_it():
    b = Builder("net")
    y = product(b).transpose((1, 0))
    b.output("y", b.elementwise((("add", 0, 1),), [y, b.input("z", (8, 4), "f16")]))
    assert kinds(b) == ["product"]


def test_a_broadcast_result_is_no_step():
    b = Builder("net")
    mean = b.along(b.input("x", (4, 6), "f16"), [1], "mean")
    b.output("y", b.elementwise((("sub", 0, 1),), [b.graph.inputs["x"], mean]))
    assert kinds(b) == ["reduction", "elementwise"]


def test_a_kernel_takes_no_more_operands_than_it_has():
    b = Builder("net")
    y = product(b)
    for at in range(EXTRAS + 1):
        y = b.elementwise((("add", 0, 1),), [y, b.input(f"z{at}", (4, 8), "f16")])
    b.output("y", y)
    assert kinds(b) == ["product", "elementwise"]


def test_moved_results_are_written_to_their_place():
    b = Builder("net")
    y = b.result((4, 16), "f16")
    b.move(product(b), y.slice(1, 8, 8))
    b.move(b.input("z", (4, 8), "f16"), y.slice(1, 0, 8))
    b.output("y", y)
    assert kinds(b) == ["product", "move"]
    assert b.graph.operators[0].output.first == 8


def test_steps_are_joined_by_their_places():
    first, then = (("mul", 0, 1),), (("add", 0, 1), ("exp", 2))
    assert join_steps(first, 3, then, [-1, 2]) == (("mul", 0, 1), ("add", 3, 2), ("exp", 4))


def test_axes_follow_those_of_the_same_memory():
    made, look = whole("y", (6, 20)), whole("y", (2, 3, 4, 5))
    other = whole("z", (2, 3, 4, 5))
    assert follow(other, look, made) == whole("z", (6, 20))
    assert follow(other.transpose((0, 1, 3, 2)), look, made) is None
