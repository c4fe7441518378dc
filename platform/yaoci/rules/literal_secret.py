"""Y803: a key or a header of a provider that seems to be a secret."""

import re
from collections.abc import Iterable
from typing import Final

from ..definitions import Provider
from ..diagnostics import Code
from ..rule import Finding, Rule, View
from ..spec import Node
from ..templating import has_template

_NAME: Final = re.compile(r"authorization|cookie|(?:.*[-_])?(?:key|token|secret|password)", re.IGNORECASE)
_SCHEME: Final = re.compile(r"(bearer|basic|token)\s+\S.*", re.IGNORECASE)
_KNOWN: Final = re.compile(r"(?:gsk|sk|pk|xox[a-z]|gh[a-z]|hf|AIza)[-_]\w.{15,}")
_RUN: Final = re.compile(r"[A-Za-z0-9+/=]{20,}")


def _see(node: Node, view: View) -> Iterable[Finding]:  # noqa: ARG001 - the signature of a rule
    provider: Provider = node.value
    if _KNOWN.fullmatch(provider.key) or _token(provider.key.replace("_", "")):
        help = "write the name of the environment variable that holds it"
        yield Finding((*node.path, "key"), "this looks like a key itself", help)
    for name, value in provider.headers.items():
        if has_template(value) or not value.strip():
            continue
        scheme = _SCHEME.fullmatch(value.strip())
        if scheme or _NAME.fullmatch(name) or _KNOWN.fullmatch(value) or _token(value):
            before = f"{scheme[1]} " if scheme else ""
            help = f'read it from the environment: `"{before}{{{{ env.NAME }}}}"`'
            yield Finding((*node.path, "headers", name), "this seems to be a secret", help)


def _token(value: str) -> bool:
    """Return whether a long run of digits and small letters stands in a text."""
    return any(re.search(r"[0-9]", run) and re.search(r"[a-z]", run) for run in _RUN.findall(value))


RULE: Final = Rule(
    code=Code("Y803", "literal-secret", "warning", "a secret that is written out"),
    about="""Secrets do not belong in files that are shared: a provider's `key` names an environment variable, and its
`headers` are templates that see `env`.""",
    wants=(Provider,),
    see=_see,
    wrong={
        "yaoci.yaml": """\
providers:
  box: {api: openai-chat, base_url: 'http://127.0.0.1:1/v1', headers: {Authorization: Bearer abc}}
""",
    },
    right={
        "yaoci.yaml": """\
providers:
  box:
    api: openai-chat
    base_url: http://127.0.0.1:1/v1
    headers: {Authorization: "Bearer {{ env.BOX_KEY }}"}
""",
    },
)
