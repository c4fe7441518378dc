"""`yaoci run`: say something to an assistant."""

from typing import Any, Final

import click

from ._terminal import Command, Global

_EXAMPLES: Final = """
yaoci run helpdesk "Where is order A42?"         the answer streams to stdout
echo "Where is A42?" | yaoci run helpdesk        input from stdin
yaoci run helpdesk "…" --model ollama/qwen3      another model, just now
yaoci run triage "…" -o json                     the whole outcome
yaoci run helpdesk "…" -o jsonl                  one event a line
"""


@click.command(cls=Command, epilog=_EXAMPLES, help="Say something to an assistant and show its answer.")
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
@click.pass_obj
def command(
    given: Global, assistant: str, text: str | None, pairs: tuple[str, ...], whole: str | None, model: str,
    callback: str | None, output: str,
) -> int:  # fmt: skip
    """Run the assistant."""
    from ..compiler import load
    from ..errors import UsageError
    from ..registry import ASSISTANTS
    from . import _running

    registry = load(given.start)
    if (
        assistant not in registry.assistants
        and assistant in registry.processes
        and not assistant.startswith(ASSISTANTS)
    ):
        raise UsageError(f"`{assistant}` is a process: write `yaoci call {assistant} --arg name=value`")
    unit = registry.assistant(assistant.removeprefix(ASSISTANTS))
    request: dict[str, Any] = {
        "args": _running.arguments(registry.process(ASSISTANTS + unit.id), pairs, whole),
        "input": _running.given_input(text, given),
        "callback": callback,
    }
    return _running.run(_running.runner(registry, model), given, output, unit.id, **request)
