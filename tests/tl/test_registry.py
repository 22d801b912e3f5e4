import pytest

from kernbench.tl.registry import clear_registry, get_kernel, register_kernel, replace_kernel


@pytest.fixture(autouse=True)
def _empty():
    clear_registry()
    yield
    clear_registry()


def first(*, tl):
    """A kernel."""


def second(*, tl):
    """Another."""


def test_a_name_is_given_once():
    register_kernel("gemm", first)
    with pytest.raises(ValueError, match=r"^a kernel named 'gemm' is registered already; give this one another name$"):
        register_kernel("gemm", second)
    assert get_kernel("gemm") is first


def test_a_launch_takes_the_name():
    register_kernel("gemm", first)
    replace_kernel("gemm", second)
    assert get_kernel("gemm") is second


def test_an_unknown_name_lists_the_known():
    register_kernel("gemm", first)
    with pytest.raises(KeyError) as caught:
        get_kernel("gem")
    assert caught.value.args == ("no kernel is named 'gem'; did you mean 'gemm'? Known: gemm",)


def test_an_emptied_registry_knows_no_kernel():
    register_kernel("gemm", first)
    clear_registry()
    with pytest.raises(KeyError):
        get_kernel("gemm")
    register_kernel("gemm", second)
    assert get_kernel("gemm") is second
