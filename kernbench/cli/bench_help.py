"""The help of `kernbench run BENCH`: below the options, the parameters of the bench that is named."""

from __future__ import annotations

import click

from kernbench.errors import KernBenchError
from kernbench.user_modules import looking

_WORDS = "kernbench.words"  # of the command line, in the context


class BenchCommand(click.Command):
    """A command whose first argument is a bench; `--help` after one explains what `--set` may set of it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as always, and keep the words, since `--help` ends the parsing before the bench is known."""
        ctx.meta[_WORDS] = list(args)
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The parameters of the bench, if there is one on the command line."""
        name = self._bench(ctx)
        if not name:
            return
        from kernbench.cli.show_bench import parameter_rows
        from kernbench.runs.bench import find_bench

        try:
            with looking():
                found = find_bench(name)
        except KernBenchError as error:
            formatter.write_paragraph()
            formatter.write_text(f"No parameters of {name!r} can be shown: {error}")
            return
        rows = [
            (f"{row['field']}={row['default']}", f"{row['meaning']} ({row['allowed']})".strip())
            for row in parameter_rows(found)
        ]
        with formatter.section(f"Parameters of {found.name} for --set, with defaults"):
            formatter.write_dl(rows or [("none", "")])

    def _bench(self, ctx: click.Context) -> str | None:
        try:
            values, _, _ = self.make_parser(ctx).parse_args(list(ctx.meta.get(_WORDS, [])))
        except click.UsageError:
            return None
        found = values.get("bench")
        return found if isinstance(found, str) else None
