"""The page of errors and its plots, from a record alone."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from benches.accuracy.approximations import APPROXIMATIONS
from benches.accuracy.families import FAMILIES, image_of
from benches.accuracy.family import OUTLIER, Family, Point, Rule
from benches.accuracy.record import Record

DOCS = Path("docs")
PAGE = DOCS / "accuracy.md"
GENERATED = "<!-- Written by `make accuracy`; change benches/accuracy instead. -->"
INTRODUCTION = (
    "How wrong is it, and against what? Each line below compares times of KernBench with figures of others. An *error* is",
    "the simulated value over the other one, less 1; mean, median and worst are of absolute errors. *In order* is the share of",
    "pairs whose order is right. No figure of a machine is fitted to any of these cases, except those that",
    "[the calibration](machine.md#calibration) names. `make accuracy` writes this page, its plots and",
    "`results/reference/accuracy.json`, where errors are tracked; `python -m benches.accuracy --check` fails if a mean error",
    "has risen. Why a case is an outlier is a *guess* unless a repeated command with other fields of the machine shows it.",
)
APPROXIMATE = (
    "Each of these is on purpose. Its size, the *gap*, is the time with the approximation over that of a finer model, less 1.",
    "Tests assert that each gap is as large as here, so that one fails when a gap closes.",
)
BINS = 24


def write_page(record: Record) -> None:
    """Write the page and the plot of each family."""
    PAGE.write_text(make_page(record), encoding="utf-8")
    for family in FAMILIES:
        if family.name in record["families"]:
            draw(family, record["families"][family.name], DOCS / image_of(family))


def make_page(record: Record) -> str:
    """The text of the page."""
    known = [family for family in FAMILIES if family.name in record["families"]]
    rows = [
        f"| [{family.title}](#{_anchor(family.title)}) | {family.against} | {_figures(record['families'][family.name])} |"
        for family in known
    ]
    head = "| cases | against | points | mean | median | worst | in order |\n|---|---|---|---|---|---|---|"
    parts = ["# Accuracy", GENERATED, "\n".join(INTRODUCTION), "\n".join([head, *rows])]
    parts += [_section(family, record["families"][family.name]) for family in known]
    parts += ["## Declared approximations", "\n".join(APPROXIMATE), _approximations(record)]
    return "\n\n".join(parts) + "\n"


def _anchor(title: str) -> str:
    return "".join(letter for letter in title.lower().replace(" ", "-") if letter.isalnum() or letter == "-")


def _figures(found: dict[str, Any]) -> str:
    shares = " | ".join(_share(found[name]) for name in ("mean", "median", "worst", "ordered"))
    return f"{found['points']} | {shares}"


def _share(value: float) -> str:
    return f"{value:.1%}".replace("%", " %")


def _section(family: Family, found: dict[str, Any]) -> str:
    lines = [
        f"## {family.title}",
        f"*Compared:* {family.compared}, with {family.against}. *Repeat:* `{family.command}`.",
        f"{found['points']} points: mean error {_share(found['mean'])}, median {_share(found['median'])}, worst "
        f"{_share(found['worst'])}; {_share(found['ordered'])} of pairs in order.{_tell_data(family, found)}",
        f"![{family.title}: how many cases have which error]({image_of(family).as_posix()})",
        _outliers(family, found),
        f"*Not known:* {family.unknown}",
    ]
    return "\n\n".join(line for line in lines if line)


def _tell_data(family: Family, found: dict[str, Any]) -> str:
    if not family.data:
        return ""
    return f" The data are not shipped: `{family.data}=DIR make accuracy` runs them, last on {found['measured_on']}."


def _outliers(family: Family, found: dict[str, Any]) -> str:
    errors, rules = defaultdict[str, list[float]](list), dict[str, Rule]()
    for case, error in found["cases"].items():
        rule = family.find_rule(Point(case, 1 + error, 1))
        if abs(error) > OUTLIER and rule:
            errors[rule.why].append(error)
            rules[rule.why] = rule
    if not errors:
        return ""
    rows = [
        f"| {len(own)} | {min(own):+.0%} … {max(own):+.0%} | {_reason(rules[why], found)} |"
        for why, own in errors.items()
    ]
    return "\n".join([f"| errors above {OUTLIER:.0%} | from … to | why |", "|---|---|---|", *rows])


def _reason(rule: Rule, found: dict[str, Any]) -> str:
    """What a rule says, with what shows it, or as the guess that it is."""
    if not rule.changed:
        return f"a guess: {rule.why}" if rule.guess else rule.why
    fields = " ".join(f"--set topology.{name}={value}" for name, value in rule.changed.items())
    shown = found["shown"][rule.why]
    return f"{rule.why}; with `{fields}` their mean goes from {shown['as it is']:+.0%} to {shown['changed']:+.0%}"


def _approximations(record: Record) -> str:
    rows = [
        f"| {one.title} | {one.instead} | {case} | {gap:+.1%} |"
        for one in APPROXIMATIONS
        if one.name in record["approximations"]
        for case, gap in record["approximations"][one.name]["cases"].items()
    ]
    return "\n".join(["| approximation | finer model | case | gap |", "|---|---|---|---|", *rows])


def draw(family: Family, found: dict[str, Any], path: Path) -> None:
    """Draw how many cases have which error, as SVG. The bytes depend on the record alone."""
    import numpy as np
    from matplotlib.ticker import MaxNLocator

    from kernbench.report import colours
    from kernbench.report.figures import style

    errors = [100 * error for error in found["cases"].values()]
    reach = max(1.0, *(abs(error) for error in errors))
    with style.look():
        figure = style.new_figure(style.ROW)
        axes = figure.subplots()
        axes.hist(
            errors,
            bins=np.linspace(-reach, reach, BINS + 1).tolist(),
            color=colours.of_names([family.name])[family.name],
        )
        axes.axvline(0, color=colours.INK, linewidth=0.8)
        axes.set_xlabel("error (%)")
        axes.set_ylabel("cases")
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        style.head(figure, family.title)
        svg, png = style.save(figure, path.with_suffix(""))
        png.unlink()
    assert svg == path
