"""Y205: a prompt file that is not there, or not in the project."""

from collections.abc import Iterable
from typing import Final

from ..diagnostics import Code, did_you_mean
from ..marks import Ref
from ..rule import Finding, Rule, View
from ..spec import Node

_MAX = 1024 * 1024


def _see(node: Node, view: View) -> Iterable[Finding]:
    name: str = node.value
    folder = view.path.parent
    path = folder / name
    if not path.resolve().is_relative_to(view.root.resolve()):
        yield Finding(node.path, f"`{name}` is outside the project", "move it beside this file")
    elif path.is_dir():
        yield Finding(node.path, f"`{name}` is a folder", "name a text file in it")
    elif not path.is_file():
        beside = [p.name for p in path.parent.iterdir() if p.is_file()] if path.parent.is_dir() else []
        yield Finding(
            node.path, f"there is no file `{name}` beside this one", did_you_mean(path.name, beside, few=4)
        )
    elif path.stat().st_size > _MAX:
        yield Finding(
            node.path, f"`{name}` has more than {_MAX} bytes", "a prompt is a text that a model reads whole"
        )
    else:
        try:
            path.read_text("utf-8")
        except UnicodeDecodeError as error:
            yield Finding(
                node.path, f"`{name}` is not UTF-8 from byte {error.start + 1} on", "save it as UTF-8"
            )
        except OSError as error:
            yield Finding(node.path, f"`{name}` cannot be opened: {error.strerror}")


RULE: Final = Rule(
    code=Code("Y205", "unknown-file", "error", "file not usable"),
    about="""A prompt's `file` is a path from the folder of the YAML file, to a UTF-8 text inside the project.""",
    wants=(Ref("file"),),
    see=_see,
    wrong={
        "assistants/a/assistant.yaml": "model: local\nprompts: [{file: promt.md}]\n",
        "assistants/a/prompt.md": "Be kind.",
    },
    right={
        "assistants/a/assistant.yaml": "model: local\nprompts: [{file: prompt.md}]\n",
        "assistants/a/prompt.md": "Be kind.",
    },
)
