"""Agents declared in YAML: checked completely and offline, run by a small runner.

registry = yaoci.load(".")            # or DefinitionError, with every finding
report = yaoci.check(".")
outcome = yaoci.Runner(registry).call_sync("helpdesk", "Where is order A42?")
"""

from typing import TYPE_CHECKING, Any

from .declare import process
from .version import __version__

if TYPE_CHECKING:
    from .compiler import check, load
    from .diagnostics import DefinitionError, Diagnostic, Report
    from .errors import Failed, Failure, UsageError, YaociError
    from .events import Event
    from .messages import Message
    from .registry import Registry
    from .runner import Runner
    from .stream import Outcome, Stream

__all__ = [
    "DefinitionError", "Diagnostic", "Event", "Failed", "Failure", "Message", "Outcome", "Registry", "Report", "Runner",
    "Stream", "UsageError", "YaociError", "__version__", "check", "load", "process",
]  # fmt: skip

_WHERE = {
    "DefinitionError": "diagnostics", "Diagnostic": "diagnostics", "Event": "events", "Failed": "errors", "Failure": "errors",
    "Message": "messages", "Outcome": "stream", "Registry": "registry", "Report": "diagnostics", "Runner": "runner",
    "Stream": "stream", "UsageError": "errors", "YaociError": "errors", "check": "compiler", "load": "compiler",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Return a public name, importing what it lives in when it is first used."""
    if name not in _WHERE:
        raise AttributeError(f"module `yaoci` has no `{name}`")
    import importlib

    value = getattr(importlib.import_module(f".{_WHERE[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
