"""`yaoci run`: say something to an assistant."""

from typing import Any, Final

import click

from ._terminal import LEFT_OVER, Command, Global

_EXAMPLES: Final = """
yaoci run helpdesk "Where is order A42?"         the answer streams to stdout
echo "Where is A42?" | yaoci run helpdesk        input from stdin
yaoci run helpdesk "…" --model ollama/qwen3      another model, just now
yaoci run triage "…" -o json                     the whole outcome
yaoci run helpdesk "…" -o jsonl                  one event a line
"""


_HELP: Final = """Say something to an assistant and show its answer.

In a terminal the answer is written as it comes. In a pipe or a file stdout gets only text that is settled, and never
what is taken back; `-o jsonl` has each piece. All else goes to stderr: in a terminal tool calls (→), what went wrong
(✗) and notes (·); with -v also results (←) and callbacks.

Exits with 0 also where `fail` answered, with 3 if the run failed."""


@click.command(cls=Command, epilog=_EXAMPLES, help=_HELP, context_settings=LEFT_OVER)
@click.argument("assistant", metavar="<assistant>")
@click.argument("text", metavar="[<text>]", required=False)
@click.option(
    "--arg", "pairs", metavar="<name=value>", multiple=True, help="One of the assistant's `parameters`."
)
@click.option("--args", "whole", metavar="<json>", help="All of them, as a JSON object.")
@click.option(
    "--model", metavar="<model>", default="", help="Ask this model instead: local, or provider/model."
)
@click.option("--callback", metavar="<name>", help="A method or process to call with the answer.")
@click.option("-o", "--output", type=click.Choice(("text", "json", "jsonl")), metavar="<form>", default="text",
              help="text, json (the outcome) or jsonl (events).")  # fmt: skip
@click.pass_context
def command(
    ctx: click.Context, assistant: str, text: str | None, pairs: tuple[str, ...], whole: str | None, model: str,
    callback: str | None, output: str,
) -> int:  # fmt: skip
    """Run the assistant."""
    from ..compiler import load
    from ..errors import UsageError
    from ..registry import ASSISTANTS
    from . import _request, _running

    given: Global = ctx.obj
    if ctx.args:
        raise UsageError(
            f'put the text in quotes: yaoci run {assistant} "{" ".join([text or "", *ctx.args])}"'
        )
    registry = load(given.start)
    assistant = _request.bare(assistant)
    if (
        assistant not in registry.assistants
        and assistant in registry.processes
        and not assistant.startswith(ASSISTANTS)
    ):
        raise UsageError(f"`{assistant}` is a process: write `yaoci call {assistant} --arg name=value`")
    unit = registry.assistant(assistant.removeprefix(ASSISTANTS))
    process = registry.process(ASSISTANTS + unit.id)
    runner = _running.runner(registry, model)
    request: dict[str, Any] = {
        "args": _request.arguments(process, pairs, whole),
        "callback": _request.callback_of(registry, process.home, callback),
        "input": _request.given_input(text, given, id=unit.id, enough=bool(pairs or whole)),
    }
    return _running.run(runner, given, output, unit.id, **request)
