"""Y602: a template or an expression that cannot be read."""

from collections.abc import Iterable
from typing import Final

from ..definitions import FilePrompt
from ..diagnostics import Code
from ..marks import Expression, Template
from ..rule import Finding, Rule, View
from ..spec import Node
from ..templating import TemplateProblem
from ..written import texts


def _see(node: Node, view: View) -> Iterable[Finding]:
    for text in texts(node, view):
        try:
            text.uses()
        except TemplateProblem as problem:
            label = text.said(problem.text, problem.line)
            yield Finding(text.path, label, problem.help, line=0 if text.file else problem.line)


RULE: Final = Rule(
    code=Code("Y602", "template-syntax", "error", "template cannot be read"),
    about="""Templates are Jinja: `{{ expression }}`, `{% if … %}`, `{% for … %}`. `when` holds a bare expression, without
braces. Braces that are text stand between `{% raw %}` and `{% endraw %}`.""",
    wants=(Template, Expression, FilePrompt),
    see=_see,
    wrong={"processes/p.yaml": 'methods:\n  hi: {value: "Hello {{ now.date"}\n'},
    right={"processes/p.yaml": 'methods:\n  hi: {value: "Hello {{ now.date }}"}\n'},
)
