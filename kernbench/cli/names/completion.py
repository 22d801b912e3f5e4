"""What the shell completes: names, modes, and both sides of `--set`.

A press of Tab must be quick, so numpy and the models are not imported: benches are read, not run, and the fields of a
topology are kept in the cache, under the state of all files that they follow from.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import BashComplete, CompletionItem, ZshComplete, add_completion_class

from kernbench import library
from kernbench.cli.names.catalogue import names_of
from kernbench.errors import KernBenchError
from kernbench.frontends.benches import FRONT_END
from kernbench.frontends.registry import FRONT_ENDS, find_front_end, list_programs
from kernbench.modes import Mode
from kernbench.schema.guards import is_mapping
from kernbench.user_modules import looking

TOPOLOGY = "topology."
Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
_KEPT = 16  # files of fields
_SPLITS = ("=", ":")  # at which bash splits words


class Bash(BashComplete):
    """Completion in bash, which splits words at "=" and ":": they are put together again; no space follows "=" and "."."""

    name = "bash"
    source_template = BashComplete.source_template.replace(
        "elif [[ $type == 'plain' ]]; then",
        "elif [[ $type == 'open' ]]; then\n            COMPREPLY+=($value)\n            compopt -o nospace\n"
        "        elif [[ $type == 'plain' ]]; then",
    )

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the cursor and the one at it, `path=value` as one word."""
        args, incomplete = super().get_completion_args()
        words = list[str]()
        for word in [*args, incomplete]:
            if words and (word in _SPLITS or words[-1].endswith(_SPLITS)):
                words[-1] += word
            else:
                words.append(word)
        return words[:-1], words[-1]

    def format_completion(self, item: CompletionItem) -> str:
        """The type of an item and what bash puts in place of its word, which begins behind "=" or ":"."""
        kind = "open" if item.type == "plain" and item.value.endswith(("=", ".")) else item.type
        value = re.split("[=:]", item.value, maxsplit=1)[-1]
        return f"{kind},{value or item.value}"


class Zsh(ZshComplete):
    """Completion in zsh, where no space follows "=" and "."."""

    name = "zsh"
    source_template = ZshComplete.source_template.replace(
        'elif [[ "$type" == "dir" ]]; then',
        'elif [[ "$type" == "open" ]]; then\n            compadd -U -S \'\' -V unsorted -- "$key"\n'
        '        elif [[ "$type" == "dir" ]]; then',
    )

    def format_completion(self, item: CompletionItem) -> str:
        """The type of an item, what it puts in place of its word, and no description, in three lines."""
        kind = "open" if item.type == "plain" and item.value.endswith(("=", ".")) else item.type
        return f"{kind}\n{item.value}\n_"


def register() -> None:
    """Use `Bash` for bash and `Zsh` for zsh."""
    add_completion_class(Bash)
    add_completion_class(Zsh)


def programs(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Programs of all front-ends that run, and their files."""
    runs = [one for one in FRONT_ENDS.values() if one.runs]
    suffixes = dict.fromkeys(suffix for one in runs for suffix in one.suffixes)
    named = dict.fromkeys(name for one in reversed(runs) for name in one.names())
    inside = [name for one in runs for name in one.inside(incomplete)]
    files = [item for suffix in suffixes for item in _files(incomplete, suffix)]
    return [*_items([*named, *inside], incomplete), *files]


def topologies(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Machines, and YAML files."""
    return [*_items(library.list_names("topology"), incomplete), *_files(incomplete, ".yaml")]


def sweeps(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Sweeps, and YAML files."""
    return [*_items(library.list_names("sweeps"), incomplete), *_files(incomplete, ".yaml")]


def swept(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What `kernbench sweep` takes: sweeps, programs, and files of either; patterns otherwise."""
    found = [*sweeps(context, parameter, incomplete), *programs(context, parameter, incomplete)]
    return found or patterns(context, parameter, incomplete)


def patterns(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Patterns of traffic."""
    return _items((name for one in FRONT_ENDS.values() if not one.runs for name in one.names()), incomplete)


def modes(known: Sequence[Mode]) -> Complete:
    """A function that offers these modes."""
    return lambda _context, _parameter, incomplete: _items(known, incomplete)


def shown(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What `kernbench show` takes: a name of any kind, then fields of the machine that was named."""
    given: tuple[str, ...] = context.params.get("names") or ()
    differs = bool(context.params.get("diff"))
    if given and len(given) == 1 + differs:
        return _items(_fields(given[0]), incomplete)
    kinds = ("machine", "sheet", *(() if differs else ("sweep", "collective")))
    names = [name for kind in kinds for name in names_of(kind)]
    return _items(dict.fromkeys(names if differs else [*list_programs(), *names]), incomplete)


def evaluations(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Evaluations."""
    from kernbench.api.evaluations import EVALUATIONS

    return _items(EVALUATIONS, incomplete)


def web(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Machines, and directories of results."""
    return [*_items(library.list_names("topology"), incomplete), CompletionItem(incomplete, type="dir")]


def assignments(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """`path=value`: parameters of the bench or evaluation, fields of the topology, then the values of those that take few."""
    asked = _find_asked(context)
    fields = _fields(asked.topology)
    values = {**asked.values, **{asked.prefix + path: tuple(known) for path, known in fields.items()}}
    left, equals, right = incomplete.partition("=")
    if equals:
        return [CompletionItem(f"{left}={value}") for value in values.get(left, ()) if value.startswith(right)]
    if not incomplete.startswith(TOPOLOGY) and any(path.startswith(TOPOLOGY) for path in values):
        values = {path: () for path in values if not path.startswith(TOPOLOGY)}
        return _items([*(f"{path}=" for path in values), TOPOLOGY], incomplete)
    return _items([f"{path}=" for path in values], incomplete)


def arguments(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """`name=` of the arguments of a kernel, for `--arg`."""
    return _items([f"{name}=" for name in _find_asked(context).values], incomplete)


def varied(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """`field=` of the topology, for `--vary`."""
    return _items([f"{path}=" for path in _fields(_find_asked(context).topology)], incomplete)


def _items(values: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(str(value)) for value in values if value.startswith(incomplete)]


def _files(incomplete: str, suffix: str) -> list[CompletionItem]:
    """Files with a suffix, and directories, of a path that is begun."""
    folder, begun = Path(incomplete).parent, incomplete.rpartition("/")[2]
    with suppress(OSError):
        found = [path for path in sorted(folder.iterdir()) if path.name.startswith(begun)] if incomplete else []
        return [CompletionItem(str(path)) for path in found if path.suffix == suffix and path.is_file()]
    return []


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a command line names: its machine, and the parameters of its workload with their values, if they take few."""

    topology: str
    values: Mapping[str, tuple[str, ...]]
    prefix: str = TOPOLOGY  # of the fields of the machine


def _find_asked(context: click.Context) -> _Asked:
    known = {parameter.name for parameter in context.command.params}
    if context.info_name == "show":
        return _Asked(_first(context, "names"), {})
    if context.info_name == "evaluate":
        from kernbench.api.evaluations import EVALUATIONS

        found = EVALUATIONS.get(_first(context, "name"))
        usual = found.topology.split(",")[0] if found else FRONT_END.machine
        return _Asked(_given_topology(context) or usual, dict.fromkeys(found.settings, ()) if found else {})
    if known.isdisjoint({"programs", "grid"}):
        return _Asked(str(context.params.get("topology")), {}, prefix="")
    grid: Mapping[str, object] = _read_grid(_first(context, "grid")) if "grid" in known else {}
    name = grid.get("bench") or grid.get("pattern") or _first(context, "programs" if "programs" in known else "grid")
    usual, values = _find_workload(str(name).removeprefix("bench:"))
    return _Asked(_given_topology(context) or str(grid.get("topology") or usual), values)


def _given_topology(context: click.Context) -> str | None:
    """The machine that the command line names; None if it is a default."""
    chosen = context.get_parameter_source("topology") is ParameterSource.COMMANDLINE
    return context.params.get("topology") if chosen else None


def _read_grid(name: str) -> Mapping[str, object]:
    with suppress(KernBenchError, OSError):
        from kernbench.schema.yaml import load

        tree = load(library.find("sweeps", name)).plain()
        return tree if is_mapping(tree) else {}
    return {}


def _find_workload(name: str) -> tuple[str, Mapping[str, tuple[str, ...]]]:
    """The machine that a program usually has, and its parameters; the default machine for an unknown name."""
    found = find_front_end(name)
    return found.machine, found.names().get(name) or found.parameters_of(name)


def _first(context: click.Context, argument: str) -> str:
    """The first positional word; click leaves it in `args` while the value of an option is still missing."""
    given: Any = context.params.get(argument)
    words: list[str] = [given] if isinstance(given, str) else [*(given or context.args)]
    return words[0] if words else ""


def _fields(topology: str) -> dict[str, list[str]]:
    """The fields of a topology with the values of those that take few; none for a topology that cannot be read."""
    try:
        path = library.find("topology", topology)
        file = _cache() / f"{_state(path)}.json"
    except (KernBenchError, OSError):
        return {}
    with suppress(OSError, ValueError):
        if file.stat().st_uid == os.getuid():
            return json.loads(file.read_text(encoding="utf-8"))
    found = _find_fields(path)
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        unfinished = file.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps(found), encoding="utf-8")
        unfinished.replace(file)
        for old in sorted(file.parent.glob("*.json"), key=lambda one: one.stat().st_mtime)[:-_KEPT]:
            old.unlink(missing_ok=True)
    return found


def _find_fields(path: Path) -> dict[str, list[str]]:
    from kernbench.machine.sheets.model_sheets import sheets_of_kind
    from kernbench.machine.topology import read_topology
    from kernbench.schema.described import SHEETS, describe_fields

    with suppress(KernBenchError), looking():
        family = read_topology(path, {}).family
        kinds = family.kinds()
        return {
            field.path: sheets_of_kind(kinds[field.path.removeprefix(SHEETS)])
            if field.path.startswith(SHEETS)
            else list(field.choices)
            for field in describe_fields(family.spec)
        }
    return {}


def _cache() -> Path:
    if chosen := os.environ.get("KERNBENCH_CACHE"):
        return Path(chosen) / "completion"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kernbench" / "completion"


def _state(topology: Path) -> str:
    """A hash of the names, sizes and times of all files that the fields of a topology follow from."""
    package = Path(__file__).parents[2]
    folders: list[Any] = [*library.folders("models"), *(package / one for one in ("parts", "machine", "schema"))]
    files = [topology, *(file for folder in folders for file in sorted(folder.glob("*.*")))]
    states = [(str(file), (stat := file.stat()).st_mtime_ns, stat.st_size) for file in files]
    return hashlib.sha256(json.dumps(states).encode()).hexdigest()
