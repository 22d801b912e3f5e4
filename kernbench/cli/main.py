"""The `kernbench` command: its sub-commands, imported when they are called.

`kernbench --help` must be fast, so it does not import the simulator: the list of commands is a table here, and the module of a
command is imported only when that command runs. This is also the only place where an exception becomes a sentence and an
exit code.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from io import TextIOWrapper
from traceback import print_exc
from typing import TextIO

import click

from kernbench.atomic_output import FULL
from kernbench.characters import check_characters
from kernbench.cli.environment import check_environment
from kernbench.cli.help_text import HelpContext
from kernbench.cli.output.screen import complain
from kernbench.cli.starter import end_with_starter
from kernbench.errors import KernBenchError, error_text, message, suggest, uncover_interruption
from kernbench.limits.memory_budget import is_out_of_memory, tell_full

# The name of each command and its line in `--help`; its module is kernbench.cli.commands.<name>, which defines `command`.
COMMANDS = {
    "run": "Run a program on a machine; say how long it takes and why.",
    "list": "List the benches, machines and sweeps that can be named.",
    "show": "Show what may be set: the fields of a machine, the parameters of a bench or a sweep.",
    "check": "Check files of kernels and programs without running them.",
    "probe": "Send traffic over a machine, flow by flow or as a pattern; no kernel.",
    "diagram": "Draw a machine to scale: one SVG a view.",
    "evaluate": "Run a fixed set of benches; keep a table and its figures.",
    "sweep": "Run a bench at every point of a grid; keep a table, say what is best and what matters.",
    "fit": "Fit uncertain figures of a machine to measured times; write the machine.",
    "web": "Show sweeps, also while they run, and machines in a browser.",
    "compare": "Show what moved between two sweeps or two runs; fail over a threshold.",
}
EARLIER = ("pto", "tanto")  # what `commands.earlier` takes for one release
COMPLETION = "_KERNBENCH_COMPLETE"  # the variable by which a shell asks for completions
SIGNALLED = 128  # plus the number of a signal: a shell's exit code of a process that it ended


class TerminatedError(KeyboardInterrupt):
    """SIGTERM has come: the command ends as it does at Ctrl-C, with another exit code."""


def stopped_code(cause: BaseException | None) -> int:
    """The exit code of a command that was stopped by a signal: 130 at Ctrl-C, 143 at SIGTERM."""
    return SIGNALLED + (signal.SIGTERM if isinstance(cause, TerminatedError) else signal.SIGINT)


@dataclass(slots=True)
class Settings:
    """The values of the options common to all commands, and the command line itself."""

    debug: bool = False
    arguments: tuple[str, ...] = ()

    @property
    def command_line(self) -> str:
        """The command as a shell takes it."""
        return shlex.join(("kernbench", *self.arguments))


def _set_debug(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(Settings).debug = True


def _debug_option() -> click.Option:
    return click.Option(
        ["--debug"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_set_debug,
        help="Show the traceback of an error.",
    )


class SuggestingGroup(click.Group):
    """A group whose error for an unknown command has the nearest known one, and whose help has a whole line of each."""

    context_class = HelpContext

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by name. Errors: UsageError for an unknown one."""
        known = self.list_commands(ctx)
        if cmd_name in known:
            return super().get_command(ctx, cmd_name)
        if ctx.resilient_parsing or cmd_name.startswith("-"):
            return None
        raise click.UsageError(f"there is no command {cmd_name!r}{suggest(cmd_name, known)}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands in `--help`, each with the first sentence of its own help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._sentence(ctx, name)) for name in self.list_commands(ctx)])

    def _sentence(self, ctx: click.Context, name: str) -> str:
        command = self.get_command(ctx, name)
        return " ".join((command.help or "").partition("\n\n")[0].split()) if command else ""


class Commands(SuggestingGroup):
    """The group of `COMMANDS`; every command it loads, and those inside it, also take `--debug`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command. Errors: as `SuggestingGroup`."""
        if cmd_name in EARLIER:
            return import_module("kernbench.cli.commands.earlier").COMMANDS[cmd_name]
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        command: click.Command = import_module(f"kernbench.cli.commands.{cmd_name}").command
        inner = command.commands.values() if isinstance(command, click.Group) else ()
        for each in (command, *inner):
            each.context_class = HelpContext
            if not any("--debug" in parameter.opts for parameter in each.params):
                each.params.append(_debug_option())
        return command

    def _sentence(self, ctx: click.Context, name: str) -> str:
        """From the table, without the module of the command."""
        return COMMANDS[name]


def _print_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        from kernbench import __version__

        click.echo(f"kernbench {__version__}")
        ctx.exit()


VERSION = click.Option(
    ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version."
)

kernbench = Commands(
    "kernbench",
    help="How fast will a kernel run on an accelerator that may not exist yet, and why?\n\n"
    "A topology wires models; a bench runs on it; a sweep varies it; results keep what came out.",
    epilog='Tab completion in bash: eval "$(_KERNBENCH_COMPLETE=bash_source kernbench)"; zsh and fish likewise.',
    params=[VERSION, _debug_option()],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    0: it worked; 1: the run or a check failed, or the output could not be written; 2: the input cannot be used; 130: Ctrl-C;
    143: SIGTERM; 141: nobody reads the output any more, as after `| head`. An error is one sentence on stderr, with a traceback
    only under `--debug`; of 141 there is no sentence.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads cost more than they save in products of tiles
    arguments = sys.argv[1:] if arguments is None else arguments
    settings = Settings(arguments=tuple(arguments))
    if COMPLETION in os.environ:
        from kernbench.cli.names.completion import register

        register()
    _open_streams()
    warnings.showwarning = partial(_show_warning, set())
    try:
        check_environment(os.environ)
        end_with_starter(os.environ)
        for argument in arguments:
            check_characters(argument, "the argument")
        with _terminable(), uncover_interruption():
            code = kernbench.main(list(arguments), prog_name="kernbench", standalone_mode=False, obj=settings)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (SystemExit, BrokenPipeError):  # SystemExit is click's word for it
        _discard_rest(sys.stdout)
        return SIGNALLED + signal.SIGPIPE
    except click.exceptions.NoArgsIsHelpError as error:
        error.show(sys.stderr)
        return error.exit_code
    except click.ClickException as error:  # wrong usage; the message is click's
        _tell(f"error: {_word_usage(error)}")
        return error.exit_code
    except (click.Abort, KeyboardInterrupt) as error:
        _tell("error: interrupted")
        return stopped_code(error.__cause__ if isinstance(error, click.Abort) else error)
    except KernBenchError as error:
        _report(message(error), settings)
        return error.exit_code
    except Exception as error:  # the last handler: a user gets a sentence, not a traceback
        if is_out_of_memory(error):
            _report(tell_full(error, "what is asked for"), settings)
            return 1
        if isinstance(error, OSError) and error.errno in FULL:
            _discard_rest(sys.stdout)
            _report(f"{error.filename or 'the output'} cannot be written: {error.strerror}", settings)
            return 1
        sentence = f"this is a bug in kernbench or in code it was given: {error_text(error)}"
        _report(sentence if settings.debug else f"{sentence}; --debug shows where", settings)
        return 1


def _word_usage(error: click.ClickException) -> str:
    """What is wrong with the words of a command, in click's sentence, and what says how it would be right."""
    sentence = error.format_message().rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    remedy = "" if context is None else f"; {context.command_path} --help says what it takes"
    return f"{sentence[:1].lower()}{sentence[1:]}{remedy}"


@contextmanager
def _terminable() -> Generator[None]:
    """Let SIGTERM raise TerminatedError, so that what has finished is kept. It stays ignored if the caller ignores it."""

    def terminate(_number: int, _frame: object) -> None:
        raise TerminatedError

    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if ours:
        signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _show_warning(told: set[str], message: Warning | str, *_: object) -> None:
    """Tell a warning, once in a command: what reads a folder twice meets the same file twice."""
    if (sentence := f"warning: {message}") not in told:
        told.add(sentence)
        _tell(sentence)


def _open_streams() -> None:
    """Make every text printable: discard it if the shell has closed a stream, print ? for characters outside its encoding."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name) or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        setattr(sys, name, stream)
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def _report(sentence: str, settings: Settings) -> None:
    if settings.debug:
        print_exc()
    _tell(f"error: {sentence}")


def _tell(sentence: str) -> None:
    """Print on stderr; if that is full or closed, the exit code has to do."""
    with suppress(OSError):
        complain(sentence)


def _discard_rest(stream: TextIO) -> None:
    """Drop what a stream that takes no more still holds, which Python would write when it ends."""
    with suppress(OSError):  # not every stream has a descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
