"""The help of `kernbench run PROGRAM`: below the options, the parameters of the program that is named."""

from __future__ import annotations

from typing import cast

import click

from kernbench.errors import KernBenchError
from kernbench.user_modules import looking

_WORDS = "kernbench.words"  # of the command line, in the context


class ProgramCommand(click.Command):
    """A command whose first argument is a program; `--help` after one explains what `--set` may set of it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as always, and keep the words, since `--help` ends the parsing before the program is known."""
        ctx.meta[_WORDS] = list(args)
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The parameters of the program, if there is one on the command line."""
        name = self._program(ctx)
        if not name:
            return
        from kernbench.frontends.registry import find

        try:
            with looking():
                found = find(name)
        except KernBenchError as error:
            formatter.write_paragraph()
            formatter.write_text(f"No parameters of {name!r} can be shown: {error}")
            return
        rows = [
            (f"{row['field']}={row['default']}", f"{row['meaning']} ({row['allowed']})".strip())
            for row in found.parameter_rows()
        ]
        with formatter.section(f"Parameters of {found.name} for --set, with defaults"):
            formatter.write_dl(rows or [("none", "")])

    def _program(self, ctx: click.Context) -> str | None:
        try:
            values, _, _ = self.make_parser(ctx).parse_args(list(ctx.meta.get(_WORDS, [])))
        except click.UsageError:
            return None
        found: object = values.get("programs")  # a tuple, or what click has for nothing
        return str(cast("tuple[object, ...]", found)[0]) if isinstance(found, tuple) and found else None
