"""Benches: programs dropped into a folder, found by name and run.

A bench file holds one function or more under `@bench(name, description)`. Each takes the torch-shaped context and keyword
parameters, whose defaults are the documentation of what `--set` may change and give the type of each. The files of
`./benches` come first and hide shipped benches of the same name; within one folder a name stands for one bench.

A file that does not load is skipped with a warning. It is an error for the bench that it was to hold: the one that its file is
named after, or one that is found nowhere else. A bench that is asked for by its name runs the file that declares it; others
are read for that, not run.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG
from typing import Any, TypeVar

import numpy as np

from kernbench import library
from kernbench.characters import check_characters
from kernbench.errors import InputError, KernBenchError, LimitError, RunError, error_text, shorten, suggest
from kernbench.limits.time_limit import REMEDY, TimeLimitReached
from kernbench.python_text import Written
from kernbench.runs.declared_benches import NAMED, TANTO, TL, DeclaredBench, DeclaredFile, read_declared
from kernbench.runs.parameter_docs import split_docstring
from kernbench.schema.scalars import Scalar, read_parameter
from kernbench.triton.language.modules import importable
from kernbench.units import unit_of
from kernbench.user_modules import execute, imports_module, is_read, line_of, looking, raised

TRITON_FOLDER = "benches/triton"  # benches of kernels of Triton, which have names and commands like all others
_KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_ATTRIBUTE = "__bench__"
_loading: list[Bench] = []  # what the file being loaded has registered so far
_loaded: dict[tuple[Path, int, int], tuple[Bench, ...]] = {}  # by file, mtime and size


@dataclass(frozen=True, slots=True, repr=False)
class Bench:
    """One bench: its name, parameters and file."""

    name: str
    description: str
    parameters: Mapping[str, Scalar]  # defaults
    file: Path
    run: Callable[..., object]
    live: bool = False  # its kernels branch on data, so they run while the machine does
    fields: Callable[..., Mapping[str, object]] | None = None  # of the topology, from the parameters
    choices: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict[str, tuple[Scalar, ...]])
    docs: tuple[str | None, str | None] = (None, None)  # docstrings of its file and its function
    line: int | None = None  # of its function
    system: str = TL  # that its kernels are written in

    def __repr__(self) -> str:
        return f"<Bench {self.name}: {self.description}; .parameters, .text, .file>"

    @property
    def text(self) -> str:
        """What its file and its function say, without the parameters."""
        return "\n\n".join(text for one in self.docs if (text := split_docstring(one)[0]))

    @property
    def meanings(self) -> dict[str, str]:
        """What parameters mean, by the section `Parameters:` of the function's docstring; not all need be there."""
        return split_docstring(self.docs[1])[1]

    @property
    def files(self) -> list[Path]:
        """The Python files that its runs may run: its own, kernels beside it and, if it may use collectives, all algorithms."""
        if self.is_tanto:
            return [self.file, *sorted((self.file.parent / "kernels").glob("*.py"))]
        if not library.is_file(self.file) or b"distributed" not in self.file.read_bytes():
            return [self.file]
        from kernbench.ccl.config import list_files

        return [self.file, *list_files()]

    @property
    def is_tanto(self) -> bool:
        """Whether it makes a Tanto program, and so runs on chips of family `tensix`."""
        return self.system == TANTO

    def shape(self, parameters: Mapping[str, object], overrides: Mapping[str, object]) -> dict[str, object]:
        """The overrides of a run's topology: what the parameters set, then what the user does. Errors: InputError."""
        if self.fields is None:
            return dict(overrides)
        try:
            fields: dict[Any, object] = dict(self.fields(**parameters))
        except KernBenchError:
            raise
        except (Exception, SystemExit) as error:  # a user's function may raise anything
            at = line_of(error, self.file)
            raise InputError(f"{at}: fields of bench {self.name!r} raised {error_text(error)}") from error
        for name in fields:
            if not isinstance(name, str):
                raise InputError(
                    f"{library.show_path(self.file)}: fields of bench {self.name!r} gave {shorten(repr(name))} as the name "
                    "of a field of the topology; give texts"
                )
        return fields | dict(overrides)

    def call(self, torch: object, parameters: Mapping[str, object]) -> None:
        """Run the function. Errors: RunError with the line that raised, LimitError; a KernBenchError stays as it is."""
        try:
            with np.errstate(all="ignore"):  # overflow gives inf, as on the device
                self.run(torch, **parameters)
        except KernBenchError:
            raise
        except TimeLimitReached as reached:
            raise LimitError(f"bench {self.name!r}, at {line_of(reached, self.file)}: {reached}; {REMEDY}") from reached
        except (Exception, SystemExit) as error:  # a user's bench may raise anything
            raise self.raised(f"bench {self.name!r}", error) from error

    def raised(self, what: str, error: BaseException) -> RunError:
        """The error of a run in which something of the bench raised."""
        return raised(what, error, line_of(error, self.file))

    @property
    def place(self) -> str:
        """`file:line` of its function."""
        return _place(self.file, self.line)

    def to_dict(self) -> dict[str, object]:
        """Plain values, for `kernbench list --json`."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters),
            "choices": {name: list(values) for name, values in self.choices.items()},
            "file": str(self.file),
            "live": self.live,
        }


Function = TypeVar("Function", bound=Callable[..., object])


def bench(
    name: str,
    description: str = "",
    *,
    live: bool = False,
    fields: Callable[..., Mapping[str, object]] | None = None,
    choices: Mapping[str, Sequence[Scalar]] | None = None,
    system: str = TL,
) -> Callable[[Function], Function]:
    """Register a function as a bench under a kebab-case name; `live` for kernels that branch on data.

    `fields(**parameters)` gives the topology fields that parameters set, by dotted path, for benches that shape their machine.
    `choices` has the values of parameters that take no others. `system` is "tl", or "tanto" for a function that makes a
    Tanto program and takes its context. A section `Parameters:` of the function's docstring, with
    lines `name: meaning`, explains them.

    Errors: InputError for a name that is not kebab-case, for no description, for a function that does not take the context,
    for a parameter without a default of type int, float, str or bool, and for choices without the default.
    """
    if callable(name):
        raise InputError(
            f"{_place(_file(name), _line(name))}: @bench has no name; write @bench('a-name', 'what it does')"
        )

    def register(function: Function) -> Function:
        file, line = _file(function), _line(function)
        given = list(inspect.signature(function).parameters.values())
        defaults = {one.name: one.default for one in given[1:]}
        listed = {parameter: tuple(values) for parameter, values in (choices or {}).items()}
        docs = (getattr(function, "__globals__", {}).get("__doc__"), function.__doc__)
        found = Bench(name, description, defaults, file, function, live, fields, listed, docs, line, system)
        _check(found, takes_context=bool(given) and given[0].kind in _POSITIONAL)
        _loading.append(found)
        setattr(function, _ATTRIBUTE, found)
        return function

    return register


def _is_kebab(name: object) -> bool:
    return isinstance(name, str) and _KEBAB.fullmatch(name) is not None


def _check(b: Bench, *, takes_context: bool) -> None:
    """Errors: InputError for what a bench may not declare."""
    if not _is_kebab(b.name):
        raise InputError(f"{b.place}: bench name {b.name!r} is not kebab-case; write it as 'vector-add'")
    if not b.description.strip():
        raise InputError(f"{b.place}: bench {b.name!r} has no description; write @bench({b.name!r}, 'what it does')")
    if b.system not in (TL, TANTO):
        raise InputError(f"{b.place}: system of bench {b.name!r} is {b.system!r}{suggest(str(b.system), (TL, TANTO))}")
    if not takes_context:
        raise InputError(
            f"{b.place}: the function of bench {b.name!r} does not take the context; write it as run(torch, ...)"
        )
    defaults = dict[str, object](b.parameters)  # as its function has them
    for parameter, default in defaults.items():
        if not isinstance(default, bool | int | float | str):
            raise InputError(
                f"{b.place}: parameter {parameter!r} of bench {b.name!r} has no plain default; "
                f"give it one, such as {parameter}=512"
            )
    for parameter, values in b.choices.items():
        default = b.parameters.get(parameter)
        if default not in values and not isinstance(default, Written):
            raise InputError(
                f"{b.place}: choices of bench {b.name!r} for {parameter!r} lack its default; "
                "name a parameter, and all values that it takes"
            )


@dataclass(frozen=True, slots=True)
class _Skipped:
    """Why something in a folder cannot be used, and the name of the bench that it would be."""

    sentence: str
    name: str


def list_benches() -> list[Bench]:
    """All benches by name: those of `./benches`, then shipped ones that no local name hides.

    A file that does not load or registers nothing is skipped with a warning, and so are two benches of one name in a folder.
    """
    found, skipped = _search()
    _warn(skipped)
    return [found[name] for name in sorted(found)]


def list_tanto_benches() -> list[Bench]:
    """All benches of Tanto programs by name, as `list_benches`; they have a folder of their own, `benches/tanto`."""
    found, skipped = _search("benches/tanto")
    _warn(skipped)
    return [found[name] for name in sorted(found)]


def replaces_shipped(b: Bench) -> bool:
    """Whether a bench has the name of one that came with KernBench, and its file is another."""
    ours = (library.shipped() / "benches").resolve()
    if b.file.parent in (ours, ours / "triton") or not ours.is_dir():
        return False
    shipped = [path for folder in (ours, ours / "triton") for path in sorted(folder.glob("[!_.]*.py"))]
    return any(library.differs(b.file, path) for path in shipped if _declares(path, b.name))


def _search(kind: str = "benches", name: str | None = None) -> tuple[dict[str, Bench], list[_Skipped]]:
    """The benches of a kind by name, and what is skipped. With a name, files that do not declare it are not run."""
    found: dict[str, Bench] = {}
    skipped: list[_Skipped] = []
    kinds = ("benches", TRITON_FOLDER) if kind == "benches" else (kind,)
    places = (folder.resolve() for one in kinds for folder in library.folders(one))
    for folder in dict.fromkeys(places):
        benches, unusable = _in_folder(folder, name)
        found = benches | found
        skipped += unusable
    return found, skipped


def _in_folder(folder: Path, only: str | None = None) -> tuple[dict[str, Bench], list[_Skipped]]:
    found: dict[str, list[Bench]] = {}
    skipped: list[_Skipped] = []
    for path in sorted(folder.glob("*.py")):
        if path.name[0] in "_.":
            continue
        try:
            for b in _benches_of(path, only):
                found.setdefault(b.name, []).append(b)
        except KernBenchError as error:
            skipped.append(_Skipped(str(error), path.stem.replace("_", "-")))
    for name, (first, *others) in found.items():
        if others:
            skipped.append(_Skipped(_registered_twice(first, others[0]), name))
    return {name: benches[0] for name, benches in found.items() if len(benches) == 1}, skipped


def _warn(skipped: Iterable[_Skipped]) -> None:
    for one in skipped:
        warnings.warn(f"skipped: {one.sentence}", stacklevel=3)


def _by_name(benches: Iterable[Bench]) -> dict[str, Bench]:
    found: dict[str, Bench] = {}
    for b in benches:
        if b.name in found:
            raise InputError(_registered_twice(found[b.name], b))
        found[b.name] = b
    return found


def _registered_twice(first: Bench, second: Bench) -> str:
    return f"bench {first.name!r} is registered twice, at {first.place} and {second.place}; rename one"


def load_file(path: Path) -> tuple[Bench, ...]:
    """The benches of one file, which is run once for each version of it.

    Errors: InputError for a file that cannot be read, raises, registers nothing or one name twice.
    """
    path = Path(check_characters(str(path), "the bench file")).resolve()
    try:
        stat = path.stat()
    except OSError as error:
        raise InputError(f"cannot read bench file {path}: {error.strerror}") from error
    if not S_ISREG(stat.st_mode):
        raise InputError(f"bench file {library.show_path(path)} is no file; remove it, or give a Python file")
    key = (path, stat.st_mtime_ns, stat.st_size)
    if key not in _loaded:
        if is_read(path):
            return read_file(path)
        _loaded[key] = _execute(path)
    return _loaded[key]


def read_file(path: Path) -> tuple[Bench, ...]:
    """The benches that a file declares in its text, without running it; defaults that this does not give are `Written`.

    Errors: InputError for a file that cannot be read, is no Python, or has a bench that cannot be or whose name is not there.
    """
    return _benches_in(read_declared(path))


def _benches_in(found: DeclaredFile) -> tuple[Bench, ...]:
    """The benches that a text declares. Errors: InputError as `read_file`."""
    path = found.path
    if found.unread:
        raise InputError(
            f"{_place(path, found.unread[0])}: the text does not give the name of this bench, and looking runs nothing; "
            f"kernbench run {library.show_path(path)} runs it"
        )
    if not found.benches:
        raise _without_bench(path)
    benches = [_read(path, found.doc, one) for one in found.benches]
    for b, one in zip(benches, found.benches, strict=True):
        _check(b, takes_context=one.takes_context)
    return tuple(_by_name(benches).values())


def _read(path: Path, doc: str, one: DeclaredBench) -> Bench:
    docs = (doc, one.doc)
    return Bench(one.name, one.description, one.parameters, path, _refuse, one.live, None, one.choices, docs, one.line,
                 one.system)  # fmt: skip


def _refuse(*_: object, **__: object) -> None:
    """Stands for the function of a bench whose text was read. Errors: InputError."""
    raise InputError("a bench that was looked at cannot run")


def _declares(path: Path, name: str) -> bool:
    with suppress(InputError):
        return name in [one.name for one in read_declared(path).benches]
    return False


def _benches_of(path: Path, only: str | None) -> tuple[Bench, ...]:
    """The benches of a file. One that does not declare the bench `only` is read and not run.

    To run it says what is wrong with a file that declares nothing that can be read. Errors: InputError as `load_file`.
    """
    if is_read(path):
        return read_file(path)
    if only is not None:
        found = None
        with suppress(InputError):
            found = read_declared(path)
        if found and found.benches and not found.unread and only not in [one.name for one in found.benches]:
            return _benches_in(found)
    return load_file(path)


def _execute(path: Path) -> tuple[Bench, ...]:
    before = len(_loading)
    try:
        with importable() if imports_module(path, "triton") else nullcontext():
            execute(path, "benches", "bench file")
    finally:
        registered = tuple(_loading[before:])
        del _loading[before:]
    if not registered:
        raise _without_bench(path)
    return tuple(_by_name(registered).values())


def _without_bench(path: Path) -> InputError:
    return InputError(
        f"{library.show_path(path)} registers no bench; put @bench(name, description) on its function, or remove the file"
    )


def find_bench(which: str | int | Path | Callable[..., object]) -> Bench:
    """A bench by name, by index in `list_benches()`, by path (`file.py`, `file.py:name`), or the decorated function.

    Errors: InputError with the nearest known name.
    """
    if callable(which):
        found = getattr(which, _ATTRIBUTE, None)
        if found is None:
            raise InputError(
                f"{getattr(which, '__name__', which)!r} is no bench; decorate it with @bench(name, description)"
            )
        return found
    text = str(which)
    file, _, name = text.rpartition(":") if NAMED.search(text) else (text, "", "")
    if file.endswith(".py"):
        return _in_file(library.find("benches", file), name)
    if re.fullmatch(r"-?\d{1,9}", text):
        with looking():
            found, _ = _search()
        return find_bench(_at([found[name] for name in sorted(found)], int(text)).name)
    found, skipped = _search(name=text)
    if text not in found:
        more, unusable = _search("benches/tanto", text)
        found, skipped = more | found, skipped + unusable
    missed = next((one.sentence for one in skipped if one.name == text), None)
    if missed:
        raise InputError(missed)
    if text not in found:
        raise InputError(f"unknown bench {shorten(text)!r}{suggest(text, found)}{_tell_skipped(skipped)}")
    _warn(skipped)
    return found[text]


def _tell_skipped(skipped: Sequence[_Skipped]) -> str:
    """The tail of a sentence on an unknown bench: the files that may hold it."""
    if not skipped:
        return ""
    return f"; it may be in what was skipped ({'; '.join(one.sentence for one in skipped)})"


def _in_file(path: Path, name: str) -> Bench:
    benches = _by_name(load_file(path))
    if name in benches:
        return benches[name]
    if name:
        raise InputError(f"{library.show_path(path)} has no bench {name!r}{suggest(name, benches)}")
    if len(benches) > 1:
        raise InputError(
            f"{library.show_path(path)} has {len(benches)} benches; say which: {', '.join(f'{path.name}:{n}' for n in benches)}"
        )
    return next(iter(benches.values()))


def _at(benches: list[Bench], index: int) -> Bench:
    if 0 <= index < len(benches):
        return benches[index]
    raise InputError(f"there is no bench {index}; `kernbench list` shows 0 to {len(benches) - 1}")


def typed_parameters(b: Bench, given: Mapping[str, object]) -> dict[str, Scalar]:
    """The parameters of a run: the defaults, overridden; text is read as the type of the default.

    Errors: InputError for a parameter the bench lacks or a value of another type.
    """
    parameters = dict(b.parameters)
    for name, value in given.items():
        if name not in parameters:
            raise InputError(f"bench {b.name!r} has no parameter {name!r}{suggest(name, parameters)}")
        parameters[name] = _typed(b, name, value)
    return parameters


def _typed(b: Bench, name: str, value: object) -> Scalar:
    described = f"parameter {name!r} of bench {b.name!r}"
    found = read_parameter(described, b.parameters[name], value, unit_of(name))
    if name in b.choices and found not in b.choices[name]:
        known = [str(choice) for choice in b.choices[name]]
        raise InputError(f"{described} cannot be {shorten(repr(found))}{suggest(str(found), known)}")
    return found


def _file(function: Callable[..., object]) -> Path:
    return Path(inspect.getsourcefile(function) or "<unknown>")


def _line(function: Callable[..., object]) -> int | None:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code.co_firstlineno if code else None


def _place(file: Path, line: int | None) -> str:
    return f"{library.show_path(file)}:{line}" if line else library.show_path(file)
