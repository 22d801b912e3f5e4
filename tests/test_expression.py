from __future__ import annotations

import pytest

from kernbench.expression import Condition, Expression

NAMES = {"M": 64, "N": 128, "dtype": "f16", "topology.hbm.channel_gbs": 32.0, "fast": True}


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("M < N", True),
        ("M * 2 == N and not M > N", True),
        ("32 <= M <= 64 < N", True),
        ("32 <= M < 64", False),
        ("(M + N) // 3 % 10 == 4", True),
        ("-M ** 2 == -4096", True),
        ("N / M == 2.0 or 1 / 0 == 0", True),
        ("topology.hbm.channel_gbs >= 32", True),
        ("dtype in ['f16', 'f32']", True),
        ("dtype not in ('f16', 'f32')", False),
        ("dtype != 'bf16'", True),
        ("cdiv(N + 1, M) == 3", True),
        ("fast", True),
        ("not fast", False),
    ],
)
def test_a_condition_holds(text: str, truth: bool) -> None:
    assert Condition(text).holds(NAMES) is truth


def test_a_condition_knows_its_names() -> None:
    assert Condition("M < 2 * topology.hbm.channel_gbs").names == {"M", "topology.hbm.channel_gbs"}


ALLOWED = "use parameter names, numbers, + - * / // % ** cdiv(), comparisons, in, and, or, not"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("__import__('os')", f"\"__import__('os')\" is not allowed in \"__import__('os')\"; {ALLOWED}"),
        ("M if N else 2", f"'M if N else 2' is not allowed in 'M if N else 2'; {ALLOWED}"),
        ("[i for i in M]", f"'[i for i in M]' is not allowed in '[i for i in M]'; {ALLOWED}"),
        ("M[0] == 1", f"'M[0]' is not allowed in 'M[0] == 1'; {ALLOWED}"),
        ("(lambda: 1)", f"'lambda: 1' is not allowed in '(lambda: 1)'; {ALLOWED}"),
        ("cdiv(M)", f"'cdiv(M)' is not allowed in 'cdiv(M)'; {ALLOWED}"),
        ("M & 1", f"'M & 1' is not allowed in 'M & 1'; {ALLOWED}"),
        ("(M + 1).real", "'(M + 1).real' is not a parameter's name in '(M + 1).real'"),
        ("M is 3", "'is' is not allowed in 'M is 3'; use =="),
        ("M <", "'M <' is not an expression (invalid syntax)"),
        ("1" + "+1" * 9000, f"'{'1' + '+1' * 9000}' is not an expression (nested too deep)"),
    ],
)
def test_what_is_not_allowed_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        Condition(text)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("M / 0 > 1", "'M / 0 > 1' cannot be evaluated with M = 64 (division by zero)"),
        ("dtype in 3", "'dtype in 3' cannot be evaluated with dtype = 'f16' (argument of type 'int' is not iterable)"),
        ("dtype * N == 1", "'dtype * N == 1' cannot be evaluated with N = 128, dtype = 'f16' ('f16' is not a number)"),
        (
            "9 ** 9 ** 9 > 1",
            "'9 ** 9 ** 9 > 1' cannot be evaluated with no names (9 ** 387420489 is too large a power)",
        ),
        (
            "(9 ** 64) ** 2 > 1",
            f"'(9 ** 64) ** 2 > 1' cannot be evaluated with no names ({9**64} ** 2 is too large a power)",
        ),
        ("M % 48", "'M % 48' is 16, neither true nor false; compare it with something"),
    ],
)
def test_a_condition_without_truth_says_why(text: str, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        Condition(text).holds(NAMES)
    assert str(caught.value) == sentence


def test_an_expression_has_a_value() -> None:
    assert Expression("M * N / 2").evaluate(NAMES) == 4096.0
    assert Expression("(M > 32) * 5 + 1").figure(NAMES) == 6
    assert Expression("dtype").evaluate(NAMES) == "f16"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("dtype", "'dtype' is 'f16', not a number"),
        ("1e308 * 10", "'1e308 * 10' is inf, not a number"),
        ("(-8) ** 0.5", "'(-8) ** 0.5' is (1.7319121124709868e-16+2.8284271247461903j), not a number"),
    ],
)
def test_a_figure_is_a_finite_number(text: str, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        Expression(text).figure(NAMES)
    assert str(caught.value) == sentence
