"""`yaoci call`: run one process."""

from typing import Final

import click

from ._terminal import LEFT_OVER, Command, Global

_EXAMPLES: Final = """
yaoci call orders.find --arg id=A42              one argument by name
yaoci call orders.find --args '{"id": "A42"}'    all arguments, as JSON
yaoci call triage:route --arg text="Where is A42?" --model local
"""


_HELP: Final = """Run one process and show its result.

The result is on stdout, all else on stderr. Exits with 3 if the process failed."""


@click.command(cls=Command, epilog=_EXAMPLES, help=_HELP, context_settings=LEFT_OVER)
@click.argument("process", metavar="<process>")
@click.option("--arg", "pairs", metavar="<name=value>", multiple=True, help="An argument.")
@click.option("--args", "whole", metavar="<json>", help="All arguments, as a JSON object.")
@click.option("--model", metavar="<model>", default="", help="Ask this model in every assistant it calls.")
@click.option("-o", "--output", type=click.Choice(("text", "json", "jsonl")), metavar="<form>", default="text",
              help="text, json (the outcome) or jsonl (events).")  # fmt: skip
@click.pass_context
def command(
    ctx: click.Context, process: str, pairs: tuple[str, ...], whole: str | None, model: str, output: str
) -> int:
    """Run the process."""
    from ..compiler import load
    from ..errors import UsageError
    from ..keywords import properties
    from ..registry import ASSISTANTS
    from . import _request, _running

    given: Global = ctx.obj
    registry = load(given.start)
    process = _request.bare(process)
    if process in registry.assistants and process not in registry.processes:
        raise UsageError(f'`{process}` is an assistant: write `yaoci run {process} "…"`')
    if process.startswith(ASSISTANTS):
        raise UsageError(
            f'`{process}` is an assistant: write `yaoci run {process.removeprefix(ASSISTANTS)} "…"`'
        )
    found = registry.process(process)
    if ctx.args:
        raise _request.not_an_option(ctx.args, properties(found.method.parameters or {}))
    args = _request.arguments(found, pairs, whole)
    return _running.run(_running.runner(registry, model), given, output, process, args=args)
