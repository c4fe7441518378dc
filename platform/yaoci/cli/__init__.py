"""The command line: one group, whose commands are files of this folder and are imported when they are used."""

import gc
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Final, cast

import click

from ..version import __version__
from ._terminal import COLORS, Command, Context, Global, Help, coloured, guarded, open_streams

COMMANDS: Final[Mapping[str, str]] = {
    "check": "Judge the definitions, offline",
    "show": "Show what a project defines",
    "run": "Say something to an assistant",
    "call": "Run one process",
}
"""Each command and its one-line help; the command is the constant `command` of the file of its name."""

_COMPLETE: Final = "_YAOCI_COMPLETE"

_EXAMPLES: Final = """
yaoci check                                   is everything right?
yaoci show assistant/helpdesk                 how is it put together?
yaoci run helpdesk "Where is order A42?"      say something to it
yaoci call orders.find --arg id=A42           run one process
"""

_EXITS: Final = (
    ("0", "done; also where `fail` answered for a turn that failed"),
    ("1", "the definitions are wrong"),
    ("2", "wrong usage: nothing was run"),
    ("3", "the run failed, or stdout takes nothing"),
    ("5", "there was nothing to check"),
    ("70", "a bug in yaoci"),
    ("130", "interrupted"),
)
"""The codes that the program ends with, as `Exit` of `errors` has them."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code. `argv` is without the program's name."""
    gc.set_threshold(
        100_000, 50, 50
    )  # reading a project makes many values and hardly a cycle: 10 % at 1,000 files
    open_streams()
    arguments = list(sys.argv[1:] if argv is None else argv)
    if instruction := os.environ.get(_COMPLETE):
        from click.shell_completion import shell_complete

        return shell_complete(group, {}, "yaoci", _COMPLETE, instruction)
    return guarded(group, arguments)


class _Group(click.Group):
    """The commands by name; listing them imports none."""

    context_class = Context

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order a project meets them."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command called `cmd_name`."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        return cast("Command", importlib.import_module(f".{cmd_name}", __package__).command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name. Raises click's UsageError that names the nearest."""
        if args[0] not in COMMANDS and args[0][:1] != "-" and not ctx.resilient_parsing:
            from ..diagnostics import did_you_mean

            hint = did_you_mean(args[0], COMMANDS, few=10)
            raise click.UsageError(f"no command is called `{args[0]}`: {hint}", ctx)
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options before the command; without anything, show the help as wrong usage."""
        ctx.color = coloured("auto", sys.stdout)
        if not args and not ctx.resilient_parsing:
            from ..errors import Exit

            click.echo(ctx.get_help(), err=True, color=coloured("auto", sys.stderr))
            ctx.exit(Exit.USAGE)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, then the options."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))
        click.Command.format_options(self, ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as they stand, and the exit codes."""
        del ctx
        cast("Help", formatter).write_examples(_EXAMPLES)
        with formatter.section("Exit codes"):
            formatter.write_dl(_EXITS)


def _color(ctx: click.Context, _: click.Parameter, value: str) -> str:
    ctx.color = coloured(value, sys.stdout)
    return value


@click.group(
    cls=_Group,
    options_metavar="[options]",
    subcommand_metavar="<command> …",
    help="Agents declared in YAML: checked completely and offline, run by a small runner.",
)
@click.option("-C", "start", metavar="<folder>", default=".", help="Work on the project of this folder.")
@click.option(
    "--color",
    type=click.Choice(COLORS),
    metavar="<when>",
    default="auto",
    is_eager=True,
    callback=_color,
    help="auto, always or never; NO_COLOR and FORCE_COLOR are heard.",
)
@click.option("-q", "--quiet", is_flag=True, help="Only the answer, no remarks.")
@click.option("-v", "--verbose", is_flag=True, help="More remarks, and the traceback of a bug.")
@click.option("--no-input", is_flag=True, help="Wait for nobody, as without a terminal.")
@click.version_option(__version__, message="yaoci %(version)s", help="Show the version.")
@click.help_option("-h", "--help", help="Show this help; also after a command.")
@click.pass_context
def group(ctx: click.Context, start: str, color: str, quiet: bool, verbose: bool, no_input: bool) -> None:
    """Keep what the options before the command say."""
    ctx.obj = Global(folder=start, color=color, quiet=quiet, verbose=verbose, no_input=no_input)
