"""The kinds of input, each a function that draws a case."""

from __future__ import annotations

import ast
import io
import random as randomness
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import polars

from tests.fuzz import command_kinds, document, originals, tanto_kinds
from tests.fuzz.case import Case
from tests.fuzz.commands import PATTERNS, VOCABULARY, confine, draw_bench, draw_settings, draw_use
from tests.fuzz.mutation import mutate_bytes, mutate_tree, mutate_word, mutate_words
from tests.fuzz.values import draw_number, draw_scalar, draw_text, draw_value, vary

BYTES = 0.08  # of the inputs that are trees have changes in their text, too


# A size of a machine or of work as a line of YAML or in a setting, with more than one digit
_SIZES = re.compile(r"(\b(?:k|w|h|count|rows|cols|pes|cubes|connections|messages|samples)(?:: |=))(\d{2,})\b")


class Drawn(NamedTuple):
    """What a kind draws with: the source of chance, and the folder of results."""

    random: Random
    results: Path


def moderate(text: str) -> str:
    """A text whose sizes are small, or so large that no machine has them: to work for an hour is no mistake."""
    return _SIZES.sub(lambda found: f"{found[1]}{int(found[2]) % 13}" if len(found[2]) < 7 else found[0], text)


def _spoil(random: Random, tree: Any, others: list[Any], write: Callable[[Any], str] = document.write_yaml) -> bytes:
    """A file of a tree, mutated."""
    share = random.random()
    tree = document.copy(tree) if share < BYTES / 2 else mutate_tree(random, tree, others)
    text = moderate(write(tree)).encode(errors="surrogatepass")
    return mutate_bytes(random, text) if share < BYTES else text


def draw_topology(drawn: Drawn) -> Case:
    """A machine of one's own."""
    random, machines = drawn.random, originals.trees("topology")
    name = random.choice(["tiny", "tiny", "tiny", "mesh_8x8", "torus_8x8", "sip_2x4x4"])
    network = name.endswith("8x8")
    use = draw_use(random, network)
    settings = draw_settings(random, network, "topology." if use[0] == "run" else "") if random.random() < 0.3 else []
    files = {"t.yaml": _spoil(random, machines[name], list(machines.values()))}
    return Case(confine([*use, "-t", "t.yaml", *settings]), files)


def draw_sheet(drawn: Drawn) -> Case:
    """A model sheet, in place of a shipped one or beside it."""
    random, sheets = drawn.random, originals.trees("models")
    name = random.choice(list(sheets))
    content = _spoil(random, sheets[name], list(sheets.values()))
    use = [*draw_use(random), "-t", "tiny"]
    if random.random() < 0.5:
        return Case(confine(use), {f"models/{name}.yaml": content})
    kind = dict(sheets[name]).get("kind", name)
    beside = {f"models/mine.{suffix}": text for suffix, text in _class_of(random, name)}
    setting = f"{'topology.' if use[0] == 'run' else ''}parts.{kind}={random.choice(['mine', 'models/mine.yaml'])}"
    return Case(confine([*use, "--set", setting]), {"models/mine.yaml": content, **beside})


def _class_of(random: Random, name: str) -> list[tuple[str, bytes]]:
    source = originals.sources("models").get(name)
    if source is None:
        return []
    return [("py", (mutate_source(random, source) if random.random() < 0.5 else source).encode(errors="surrogatepass"))]


def draw_setting(drawn: Drawn) -> Case:
    """Settings of machine and bench: legal ones that are odd together, and ones that are not."""
    random = drawn.random
    network = random.random() < 0.25
    use = draw_use(random, network)
    prefix = "topology." if use[0] == "run" else random.choice(["", "topology."])
    words = draw_settings(random, network, prefix)
    for at in range(1, len(words), 2):
        if random.random() < 0.25:
            name, _, value = words[at].partition("=")
            words[at] = random.choice(
                [
                    mutate_word(random, words[at]),
                    f"{name}={document.write_line(draw_value(random, 1))}",
                    f"{name}={vary(random, value)}",
                ]
            )
    for at in range(3, len(use), 2):
        if use[at - 1] == "--set" and random.random() < 0.1:
            name, _, value = use[at].partition("=")
            use[at] = f"{name}={draw_scalar(random)}" if random.random() < 0.5 else f"{name}={_near(random, value)}"
    machine = ["mesh_8x8", "--set", f"{prefix}k=3"] if network else ["tiny"]
    if not network and random.random() < 0.02:
        machine = ["sip_2x4x4"]
    return Case(confine([*use, "-t", *machine, *words]))


def _near(random: Random, value: str) -> object:
    return vary(random, int(value)) if value.isdecimal() else vary(random, value)


LINES = (
    "run vector-add -t tiny --set n=1024 --json",
    "run gemm-single-pe -t tiny --mode analytic --out o",
    "run pe-to-pe -t tiny --explain --device sip:0",
    "probe -t tiny --flow host:sip0.cube0.pe1:64KiB --json",
    "probe -t mesh_8x8 --set k=3 --pattern uniform --load 0.1:0.2:0.1 --window 20 --packet-flits 2 --seed 1 --out o",
    "probe -t mesh_8x8 --set k=2 --flows f.csv --json",
    "diagram -t tiny --view pe --view cube --bandwidths --set cube.rows=2 --out o",
    "compare run other --threshold 1% --worse --column wall_s",
    "compare sweep sweep --threshold latency_ns=2% --json",
    "compare run/result.json run --column achieved_tflops",
    "list --json",
    "evaluate gemm -t tiny --data-only --set dtype=f16 --out o",
    "sweep g.yaml --workers 1 --fail-fast --json --out o",
    "--help",
    "--version",
    "run --help",
)


def draw_arguments(drawn: Drawn) -> Case:
    """The words of a command line, with the files that they name."""
    random = drawn.random
    words = mutate_words(random, random.choice(LINES).split(), VOCABULARY)
    known = originals.results(drawn.results)
    files = {"f.csv": b"src,dst,bytes,start_ns\n0,1,64,0\n", "g.yaml": b"bench: nothing\n"}
    for name in ("run", "other", "sweep"):
        if any(name in word for word in words):
            files |= {f"{name}/{file}": content for file, content in known[name].items() if "/" not in file}
    return Case(confine(_keep_small(words)), files)


def _keep_small(words: list[str]) -> list[str]:
    """Without what starts processes: a Dask cluster, several workers, trials."""
    if "sweep" not in words:
        return words
    words = ["local" if word == "processes" or word.startswith("tcp://") else word for word in words]
    return [word for word in words if word != "--dry-run"]


def _draw_grid(random: Random) -> Any:
    if random.random() < 0.5:
        return originals.parse_text(random.choice([originals.GRID, originals.TRAFFIC]))
    method = random.choice(["random", "sobol", "latin", "optimise", "grid"])
    return originals.parse_text(originals.DRAWN.format(method=method))


def draw_grid(drawn: Drawn) -> Case:
    """A grid, which is run."""
    random = drawn.random
    others = [*originals.trees("sweeps").values(), originals.parse_text(originals.GRID)]
    content = _spoil(random, _draw_grid(random), others)
    words = ["sweep", "g.yaml", "--workers", "1", *random.choice([[], ["--json"], ["--fail-fast"], ["--out", "o"]])]
    return Case(confine(words), {"g.yaml": content.replace(b"sip_2x4x4", b"tiny")})


def draw_trial(drawn: Drawn) -> Case:
    """A grid, which is tried with --dry-run."""
    case = draw_grid(drawn)
    return Case((*case.arguments, "--dry-run"), case.files)


def draw_flow(drawn: Drawn) -> Case:
    """Flows in arguments, or in a file."""
    random = drawn.random
    network = random.random() < 0.4
    known = originals.MESH_FLOWS if network else originals.FLOWS
    machine = ["mesh_8x8", "--set", f"k={random.choice([2, 3])}"] if network else ["tiny"]
    flows = [
        mutate_word(random, flow) if random.random() < 0.3 else flow
        for flow in random.choices(known, k=random.choice([1, 2, 4]))
    ]
    tail = ["-t", *machine, *random.choice([[], ["--json"], ["--out", "o"], ["--mode", "flit"]])]
    if random.random() < 0.5:
        return Case(confine(["probe", *(word for flow in flows for word in ("--flow", flow)), *tail]))
    rows: list[list[object]] = [["src", "dst", "bytes", "start_ns", "kind"]]
    ends = ["0", "1", "2", "node[0][1]"] if network else ["host", "sip0.cube0.pe0", "sip0.cube0.pe1", "sip0.cube1.sram"]
    rows += [
        [random.choice(ends), random.choice(ends), random.choice([64, 1000, "4KiB"]), random.randrange(9), "write"]
        for _ in range(random.choice([0, 1, 3, 20]))
    ]
    return Case(confine(["probe", "--flows", "f.csv", *tail]), {"f.csv": _spoil_table(random, rows)})


def _spoil_table(random: Random, rows: list[list[object]]) -> bytes:
    """A CSV file of rows, mutated."""
    rows = mutate_tree(random, rows, []) if random.random() < 0.8 else rows
    lines = [_cells(row) for row in rows] if isinstance(rows, list) else []
    mark = random.choice([",", ";", "\t", ", "]) if random.random() < 0.1 else ","
    text = "\n".join(mark.join(cells) for cells in lines) + random.choice(["\n", "\n", ""])
    content = text.encode(errors="surrogatepass")
    return mutate_bytes(random, content) if random.random() < 0.2 else content


def _cells(row: Any) -> list[str]:
    cells = row if isinstance(row, list) else [row]
    return [document.write_line(cell) if isinstance(cell, list) else str(cell) for cell in cells]


def draw_pattern(drawn: Drawn) -> Case:
    """A traffic pattern."""
    random = drawn.random
    words = [
        "probe",
        "--pattern",
        random.choice(PATTERNS),
        "-t",
        random.choice(["mesh_8x8"] * 5 + ["torus_8x8"] * 5 + ["tiny"]),
    ]
    words += ["--set", f"k={random.choice([1, 2, 3])}"]
    options = {
        "--load": ["0.1", "0.05:0.2:0.05", "0.3,0.1", "1"],
        "--window": ["2", "20"],
        "--packet-flits": ["1", "3"],
        "--seed": ["0", "7"],
    }
    odd = [option for option in options if random.random() < 0.15]
    for option, values in options.items():
        value = random.choice(values)
        words += [
            option,
            random.choice([mutate_word(random, value), str(draw_number(random)), draw_text(random)])
            if option in odd
            else value,
        ]
    words += random.choice([[], draw_settings(random, True)])
    return Case(confine([*words, *random.choice([[], ["--json"], ["--out", "o"]])]))


def draw_result(drawn: Drawn) -> Case:
    """Results to compare: other values, other shapes, other bytes."""
    random = drawn.random
    known = originals.results(drawn.results)
    files: dict[str, bytes] = {}
    same = random.choice(list(known))
    for side in "ab":
        name = same if random.random() < 0.8 else random.choice(list(known))
        one = random.choice(list(known[name])) if random.random() < 0.75 else None
        for file, content in known[name].items():
            if "/" in file:
                continue
            files[f"{side}/{file}"] = _spoil_result(random, file, content) if file == one else content
    if random.random() < 0.05:
        del files[random.choice(list(files))]
    options = [
        [],
        [],
        ["--json"],
        ["--threshold", "1%"],
        ["--threshold", "achieved_gbs=1%", "--worse"],
        ["--column", "error"],
    ]
    options += [["--column", "cost"], ["--column", "n", "--json"]]
    return Case(
        confine(
            [
                "compare",
                random.choice(["a", "a", "a", "a/result.json", "a/table.parquet"]),
                "b",
                *random.choice(options),
            ]
        ),
        files,
    )


def _spoil_result(random: Random, file: str, content: bytes) -> bytes:
    if random.random() < 0.15:
        return mutate_bytes(random, content)
    if file.endswith(".json"):
        tree = document.parse_json(content.decode())
        return _spoil(random, tree, [], document.write_json)
    return _spoil_frame(random, content)


def _spoil_frame(random: Random, content: bytes) -> bytes:
    """A parquet file with other columns, types, rows or values."""
    frame = polars.read_parquet(io.BytesIO(content))
    for _ in range(random.choice([1, 1, 2, 3])):
        if not frame.width:
            break
        name = random.choice(frame.columns)
        try:
            frame = _change_frame(random, frame, name)
        except polars.exceptions.PolarsError:  # this change is none for this column
            continue
    held = io.BytesIO()
    if random.random() < 0.05:
        frame.write_ipc(held)
    else:
        frame.write_parquet(held)
    return held.getvalue()


def _change_frame(random: Random, frame: polars.DataFrame, name: str) -> polars.DataFrame:
    column = polars.col(name)
    pick = random.randrange(12)
    if pick == 0:
        return frame.drop(name)
    if pick == 1:
        new = random.choice([draw_text(random).replace("\ud800", "?"), *frame.columns])
        return frame.rename({name: new})
    if pick == 2:
        types = [
            polars.String,
            polars.Float32,
            polars.Int8,
            polars.UInt64,
            polars.Boolean,
            polars.Binary,
            polars.Date,
            polars.Categorical,
        ]
        return frame.with_columns(column.cast(random.choice(types), strict=False))
    if pick == 3:
        return frame.with_columns(polars.lit(None, random.choice([polars.Null, frame.schema[name]])).alias(name))
    if pick == 4:
        return frame.with_columns(column.implode().over(polars.int_range(polars.len())).alias(name))
    if pick == 5:
        return frame.with_columns(polars.struct(column.alias("x")).alias(name))
    if pick == 6:
        return frame.head(random.choice([0, 1]))
    if pick == 7:
        return polars.concat([frame] * random.choice([2, 3]))
    if pick == 8:
        return frame.reverse()
    value = draw_scalar(random)
    if isinstance(value, str):
        value = value.replace("\ud800", "?")
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        value = float(value)
    if pick == 9:
        return frame.with_columns(polars.lit(value).alias(name))
    row = random.randrange(max(frame.height, 1))
    chosen = polars.int_range(polars.len()) == row
    return frame.with_columns(
        polars.when(chosen).then(polars.lit(value).cast(frame.schema[name], strict=False)).otherwise(column).alias(name)
    )


def draw_resumed(drawn: Drawn) -> Case:
    """A sweep that goes on in a directory where something else is."""
    random, files = drawn.random, _spoil_one(drawn, "sweep")
    if random.random() < 0.3:
        files[f"o/parts/{random.choice(['x', 'x.parquet', '.unfinished-1.parquet', 'damaged', 'a/b.parquet'])}"] = b"x"
    files["sweep.yaml"] = originals.SWEEP.encode()
    return Case(
        ("sweep", "sweep.yaml", "--workers", "1", "--out", "o", *random.choice([[], ["--json"], ["--retry"]])), files
    )


def draw_figures(drawn: Drawn) -> Case:
    """Figures of the table of an evaluation, which someone has edited."""
    files = _spoil_one(drawn, "gemm")
    return Case(("evaluate", "gemm", "--figures-only", "--out", "o", *drawn.random.choice([[], ["--json"]])), files)


def _spoil_one(drawn: Drawn, result: str) -> dict[str, bytes]:
    """The files of a result in the directory `o`, one of them spoiled."""
    known = originals.results(drawn.results)[result]
    one = drawn.random.choice(list(known))
    return {
        f"o/{file}": _spoil_result(drawn.random, file, content) if file == one else content
        for file, content in known.items()
    }


def mutate_source(random: Random, source: str) -> str:
    """Python with one to three changes of its tree, or of its text."""
    if random.random() < 0.1:
        return mutate_bytes(random, source.encode()).decode(errors="replace")
    tree = ast.parse(source)
    for _ in range(random.choice([1, 1, 2, 3])):
        _change_source(random, tree)
    try:
        return ast.unparse(ast.fix_missing_locations(tree))
    except (ValueError, RecursionError, TypeError):  # no text stands for that tree
        return source


def _change_source(random: Random, tree: ast.Module) -> None:
    nodes = list(ast.walk(tree))
    node = random.choice(
        [n for n in nodes if isinstance(n, ast.Constant | ast.Name | ast.arg | ast.FunctionDef | ast.Call | ast.If)]
    )
    if isinstance(node, ast.Constant):
        value = draw_scalar(random) if random.random() < 0.6 else vary(random, node.value)
        node.value = value if isinstance(value, int | float | str | None) else None
    elif isinstance(node, ast.Name):
        node.id = random.choice([n.id for n in nodes if isinstance(n, ast.Name)])
    elif isinstance(node, ast.arg):
        node.arg = random.choice(["x", "tl", "torch", "self"])
    elif isinstance(node, ast.FunctionDef):
        at = random.randrange(len(node.body))
        other = random.choice(node.body)
        node.body[at] = random.choice([other, ast.Pass(), ast.Return(ast.Constant(draw_scalar(random)))])
    elif isinstance(node, ast.Call):
        if node.args and random.random() < 0.7:
            node.args[random.randrange(len(node.args))] = random.choice([ast.Constant(draw_number(random)), *node.args])
        elif node.keywords:
            node.keywords.pop()
    else:
        node.test = ast.UnaryOp(ast.Not(), node.test)


def draw_bench_file(drawn: Drawn) -> Case:
    """A bench of one's own, with a mistake in it; the other benches must still be found."""
    random = drawn.random
    sources = originals.sources("benches")
    stem = random.choice([name for name in sources if name.replace("_", "-") in originals.BENCHES])
    name = stem.replace("_", "-")
    files = {f"benches/{stem}.py": mutate_source(random, sources[stem]).encode(errors="surrogatepass")}
    words = draw_bench(random)
    while words[1] != name and random.random() < 0.9:
        words = draw_bench(random)
    if random.random() < 0.1:
        words = ["list", *random.choice([[], ["--json"]])]
        return Case(confine(words), files)
    return Case(confine([*words, "-t", "tiny"]), files)


def draw_collective(drawn: Drawn) -> Case:
    """A configuration of collectives, or an algorithm of one's own."""
    random = drawn.random
    trees, sources = originals.trees("benches/ccl"), originals.sources("benches/ccl")
    files = {}
    algorithm = random.choice(list(sources))
    if random.random() < 0.7:
        files["ccl.yaml"] = files["benches/ccl/ccl.yaml"] = _spoil(random, trees["ccl"], [])
    if random.random() < 0.5:
        files[f"benches/ccl/{algorithm}.py"] = mutate_source(random, sources[algorithm]).encode(errors="surrogatepass")
    words = [
        "run",
        "ccl-allreduce",
        "-t",
        "tiny",
        "--set",
        "bytes_per_pe=256",
        "--set",
        f"topology.sips.count={random.choice([2, 3, 4])}",
    ]
    if random.random() < 0.7:
        words += ["--set", f"algorithm={algorithm}"]
    for name, values in {
        "sip_topology": ["ring_1d", "torus_2d", "mesh_2d_no_wrap"],
        "n_slots": [1, 2, 1000],
        "slot_size": [64, 100, 4096],
        "root": ["corner", "centre"],
        "buffer_kind": ["tcm", "sram", "hbm"],
        "cubes": [1, 2, 3],
    }.items():
        if random.random() < 0.2:
            words += ["--set", f"{name}={random.choice([*values, draw_scalar(random)])}"]
    return Case(
        confine([*words, *random.choice([[], ["--json"], ["--verify-data"], ["--mode", "analytic"], ["--live"]])]),
        files,
    )


VARIABLES = (
    "KERNBENCH_CACHE",
    "XDG_CACHE_HOME",
    "HOME",
    "TMPDIR",
    "COLUMNS",
    "LINES",
    "TERM",
    "LANG",
    "LC_ALL",
)
VARIABLES += (
    "NO_COLOR",
    "FORCE_COLOR",
    "MPLBACKEND",
    "OPENBLAS_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "TZ",
)
VARIABLES += ("KERNBENCH_CHECKED", "MPLCONFIGDIR", "SOURCE_DATE_EPOCH", "POLARS_FMT_MAX_ROWS")


def draw_environment(drawn: Drawn) -> Case:
    """Variables of the environment, in a process of its own."""
    random = drawn.random
    values = [
        str(draw_number(random)),
        draw_text(random),
        "c",
        "missing/c",
        "/dev/null/c",
        "",
        "C",
        "xterm",
        "ascii",
        "1",
        "file",
    ]
    drawn_values = {name: random.choice(values) for name in random.sample(VARIABLES, random.choice([1, 1, 2, 4]))}
    environment = {name: _settable(value) for name, value in drawn_values.items()}
    words = random.choice(
        [["list"], ["list", "--json"], ["diagram", "-t", "tiny", "--out", "o"], ["run", "x"], ["--help"]]
    )
    return Case(confine(words), {"file": b"x"}, environment, apart=True)


def _settable(value: str) -> str:
    """A value that a variable can have, and that is no directory to write into but one below the working directory."""
    value = (
        value.replace("\x00", "")
        .encode(
            errors="surrogateescape",
        )
        .decode(errors="surrogateescape")
        if "\ud800" not in value
        else "?"
    )
    return value if value.startswith("/dev/null") else value.lstrip("/").replace("..", "")


class Kind(NamedTuple):
    """How a kind is drawn, and how often among a thousand inputs; what takes seconds is drawn rarely."""

    draw: Callable[[Drawn], Case]
    share: int


KINDS = {
    "topology": Kind(draw_topology, 150),
    "sheet": Kind(draw_sheet, 150),
    "setting": Kind(draw_setting, 120),
    "arguments": Kind(draw_arguments, 150),
    "flow": Kind(draw_flow, 195),
    "pattern": Kind(draw_pattern, 15),
    "result": Kind(draw_result, 150),
    "bench": Kind(draw_bench_file, 35),
    "collective": Kind(draw_collective, 30),
    "tanto-program": Kind(tanto_kinds.draw_program, 40),
    "tanto-kernel": Kind(tanto_kinds.draw_kernel, 60),
    "show": Kind(command_kinds.draw_show, 60),
    "asked": Kind(command_kinds.draw_asked, 12),
    "graph": Kind(command_kinds.draw_graph, 20),
    "evaluation": Kind(command_kinds.draw_evaluation, 5),
    "grid": Kind(draw_grid, 12),
    "resumed": Kind(draw_resumed, 2),
    "figures": Kind(draw_figures, 1),
    "trial": Kind(draw_trial, 1),
    "environment": Kind(draw_environment, 1),
}


def draw_case(kind: str, seed: int, results: Path) -> Case:
    """The case of a kind and seed; the same in each process that has the same files and results."""
    case = KINDS[kind].draw(Drawn(randomness.Random(f"{kind} {seed}"), results))
    return replace(case, arguments=tuple(map(moderate, case.arguments)))


def draw_kind(seed: int) -> str:
    """The kind of the input of a seed, where no kind is asked for."""
    names = list(KINDS)
    return randomness.Random(f"kind {seed}").choices(names, [KINDS[name].share for name in names])[0]
