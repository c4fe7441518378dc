"""Templates and expressions as jinja2 reads them: the names they use, what they may not hold, how they run."""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias
from unicodedata import normalize

from .patterns import fault
from .sandbox import BUDGET, KEY, READ, ROUNDS, SLICE, Absent, Budget, absence, environment, joined, plain
from .values import Json, at

MAX_NESTING: Final = 3
"""How many loops may stand within each other."""


class Use(NamedTuple):
    """A name that a text uses: `("args", "city")`, with its line in the text, counted from 1.

    `guarded` is true where the text copes with its absence: `is defined`, `default(...)`,
    or a branch that such a test leads to.
    """

    path: tuple[str, ...]
    line: int
    guarded: bool


class TemplateProblem(Exception):  # noqa: N818 - a finding about a text, raised where it is read
    """A text that is no template, or that holds what templates do not have here."""

    def __init__(self, text: str, help: str, line: int) -> None:
        """Take what is wrong, what to write instead, and the line in the text, counted from 1."""
        super().__init__(f"{text}; {help}" if help else text)
        self.text = text
        self.help = help
        self.line = line


class RenderError(Exception):
    """A template that could not be filled in."""

    def __init__(self, text: str, line: int) -> None:
        """Take what went wrong, and the line in the text, counted from 1."""
        super().__init__(text)
        self.text = text
        self.line = line


# -- reading ----------------------------------------------------------------------------------------

_RAW = "braces that are text stand between `{% raw %}` and `{% endraw %}`"

_HINTS: Final[tuple[tuple[str, str, str], ...]] = (
    (r"unexpected char '&'", "`&&` is no operator", "write `and`"),
    (r"expected token 'name', got '\|'", "`||` is no operator", "write `or`"),
    (r"unexpected char '!'", "`!` is no operator", "write `not x`"),
    (r"(?:got|unexpected) '='", "`=` does not compare", "write `==`"),
    (r"unexpected char '\?'", "`?` is no operator", "write `a if condition else b`"),
    (r"unexpected char '[“”‘’]'", "a curly quote begins no text", "write a straight quote, `'`"),
    (r"(?<!un)expected 'end of print statement'", "`{{` is not closed", "end it with `}}`"),
    (r"(?<!un)expected 'end of statement block'", "`{%` is not closed", "end it with `%}`"),
    (r"end of comment tag", "there are no `{# #}` comments", "write a YAML comment outside of the text"),
    (r"needs to be closed is '(\w+)'", r"`{% \1 %}` is not closed", r"end it with `{% end\1 %}`"),
    (r"unknown tag '(\w+)'", r"there is no tag `\1`", "there are for, if, set, with, filter and raw"),
    (r"unexpected '?end of|Expected an expr|got 'end of", "an expression is missing or not finished", ""),
    (r"unexpected char '(.)'", r"`\1` has no meaning in an expression", _RAW),
    (r"got '(string|integer|float)'", r"a \1 is not expected here", _RAW),
    (r"expected token .*got '(.+)'|unexpected '(.+?)'", r"`\1\2` is not expected here", _RAW),
)
"""What jinja2 says, as a pattern; what we say; and what to do. The first that fits counts."""

_TAGS: Final = {
    "Include": "include", "Import": "import", "FromImport": "from", "Extends": "extends", "Block": "block",
    "Macro": "macro", "CallBlock": "call", "ScopedEvalContextModifier": "autoescape",
}  # fmt: skip
"""Statements of jinja2 that templates do not have here, by their node."""


_Path: TypeAlias = tuple[str, ...]
_Sure: TypeAlias = frozenset[_Path]


class Parsed(NamedTuple):
    """A text as jinja2 read it: `expression` is set where it is nothing else."""

    tree: Any
    expression: Any
    uses: tuple[Use, ...]
    chains: tuple[_Path, ...]
    """Every dotted path, those of loop variables too."""


def parse(text: str, *, bare: bool) -> Parsed:
    """Read a template, or a bare expression. Raises TemplateProblem."""
    from jinja2 import TemplateSyntaxError, nodes
    from jinja2.parser import Parser

    env = environment()
    try:
        if bare:
            expression: Any = _bare(Parser(env, text, state="variable"))
            tree = nodes.Template([nodes.Output([expression])], lineno=1)
        else:
            _no_comments(env, text)
            tree = Parser(env, text).parse()
            expression = _only_expression(tree) if text.strip().endswith("}}") else None
        tree.set_environment(env)
        walk = _Walk(env)
        walk.visit(tree, set(), frozenset())
    except TemplateSyntaxError as error:
        raise _problem(error.message or "", error.lineno, bare=bare, braces="{{" in text) from None
    except RecursionError:
        raise TemplateProblem("the text is nested too deeply", "make it simpler", 1) from None
    return Parsed(tree, expression, tuple(walk.uses), tuple(walk.chains))


def _bare(parser: Any) -> Any:
    expression = parser.parse_expression()
    if not parser.stream.eos:
        token = parser.stream.current
        parser.fail(f"unexpected '{token.value}'", token.lineno)
    return expression


def _no_comments(env: Any, text: str) -> None:
    if "{#" not in text:
        return
    for line, token, _ in env.lexer.tokeniter(text, None):
        if token == "comment_begin":  # noqa: S105 - a kind of token, no secret
            raise _problem("end of comment tag", line)


def _only_expression(tree: Any) -> Any:
    """Return the expression of a text that is one `{{ expression }}` and space around it, or None."""
    if len(tree.body) != 1 or type(tree.body[0]).__name__ != "Output":
        return None
    parts = [
        node for node in tree.body[0].nodes if type(node).__name__ != "TemplateData" or node.data.strip()
    ]
    return parts[0] if len(parts) == 1 and type(parts[0]).__name__ != "TemplateData" else None


def _problem(message: str, line: int, *, bare: bool = False, braces: bool = False) -> TemplateProblem:
    if bare and braces:
        return TemplateProblem(
            "an expression has no braces around it", "write it without `{{` and `}}`", line
        )
    for pattern, text, help_ in _HINTS:
        if found := re.search(pattern, message):
            narrow = normalize("NFKC", found[0][-2])
            if "char" in found[0] and narrow.isascii() and narrow != found[0][-2]:
                help_ = f"write `{narrow}`"  # noqa: PLW2901 - a full-width character has a better hint
            if bare and help_ is _RAW:
                help_ = "a text stands in quotes"  # noqa: PLW2901 - as above
            return TemplateProblem(found.expand(text), found.expand(help_), line)
    return TemplateProblem(message[:1].lower() + message[1:].rstrip("."), "", line)


# -- names ------------------------------------------------------------------------------------------


class _Walk:
    """Goes through a tree in the order of the text and collects what it uses.

    `local` are the names that the text itself has set so far; `sure` are the paths that
    a test around the node has found defined.
    """

    def __init__(self, env: Any) -> None:
        self.env = env
        self.uses: list[Use] = []
        self.chains: list[_Path] = []
        self.loops = 0

    def visit(self, node: Any, local: set[str], sure: _Sure) -> None:
        kind = type(node).__name__
        match kind:
            case "Name" | "Getattr" | "Getitem":
                self.chain(node, local, sure, guarded=False)
            case "Filter" | "Test":
                self.check_call(node, kind)
                guarded = node.name in ({"default", "d"} if kind == "Filter" else {"defined", "undefined"})
                if guarded and type(node.node).__name__ in {"Name", "Getattr", "Getitem"}:
                    self.chain(node.node, local, sure, guarded=True)
                    self.all(node.iter_child_nodes(exclude=("node",)), local, sure)
                else:
                    self.all(node.iter_child_nodes(), local, sure)
            case "And" | "Or":
                self.visit(node.left, local, sure)
                self.visit(node.right, local, sure | _known(node.left, kind == "And"))
            case "CondExpr" | "If":
                self.branches(node, kind, local, sure)
            case "Call" if type(node.node).__name__ == "Getattr":
                self.chains.append(_chain(node.node)[0])
                self.visit(node.node.node, local, sure)  # a method of a text or a list; mappings have none
                self.all(node.iter_child_nodes(exclude=("node",)), local, sure)
            case "For":
                self.loop(node, local, sure)
            case "Assign" | "AssignBlock":
                self.all(node.iter_child_nodes(exclude=("target",)), local, sure)
                local |= _targets(node.target)
            case "With":
                self.all(node.values, local, sure)
                self.all(node.body, local.union(*map(_targets, node.targets)), sure)
            case _ if kind in _TAGS:
                raise TemplateProblem(f"`{_TAGS[kind]}` is not available in templates", "", node.lineno)
            case _:
                self.all(node.iter_child_nodes(), local, sure)

    def all(self, nodes: Iterable[Any], local: set[str], sure: _Sure) -> None:
        for node in nodes:
            self.visit(node, local, sure)

    def branches(self, node: Any, kind: str, local: set[str], sure: _Sure) -> None:
        self.visit(node.test, local, sure)
        yes: _Sure = sure | _known(node.test, True)
        no: _Sure = sure | _known(node.test, False)
        if kind == "CondExpr":
            self.visit(node.expr1, local, yes)
            self.all(filter(None, [node.expr2]), local, no)
            return
        self.all(node.body, local, yes)
        for other in node.elif_:
            self.visit(other.test, local, no)
            self.all(other.body, local, no | _known(other.test, True))
            no |= _known(other.test, False)
        self.all(node.else_, local, no)

    def loop(self, node: Any, local: set[str], sure: _Sure) -> None:
        if self.loops == MAX_NESTING:
            raise TemplateProblem(f"loops nest more than {MAX_NESTING} deep", "", node.lineno)
        if node.recursive:
            raise TemplateProblem("`recursive` loops are not available in templates", "", node.lineno)
        self.visit(node.iter, local, sure)
        inner = local | _targets(node.target) | {"loop"}
        self.loops += 1
        self.all(filter(None, [node.test]), inner, sure)
        self.all(node.body, inner, sure | _known(node.test, True))
        self.loops -= 1
        self.all(node.else_, set(local), sure)

    def chain(self, node: Any, local: set[str], sure: _Sure, *, guarded: bool) -> None:
        path, rest = _chain(node)
        self.all(rest, local, sure)
        if not path:
            return
        self.chains.append(path)
        if path[0] == "self":
            raise TemplateProblem("`self` is no name in templates", "", node.lineno)
        if path[0] not in local and path[0] not in self.env.globals:
            known = guarded or any(path[: len(it)] == it[: len(path)] for it in sure)
            self.uses.append(Use(path, node.lineno, known))

    def check_call(self, node: Any, kind: str) -> None:
        known: Mapping[str, Any] = self.env.filters if kind == "Filter" else self.env.tests
        if node.name not in known:
            near = get_close_matches(str(node.name), known, 1)
            hint = f"did you mean `{near[0]}`?" if near else ""
            raise TemplateProblem(f"there is no {kind.lower()} `{node.name}`", hint, node.lineno)
        if (
            node.name == "matches"
            and node.args
            and isinstance(pattern := getattr(node.args[0], "value", None), str)
        ) and (wrong := fault(pattern)):
            raise TemplateProblem(wrong.text, wrong.help, node.lineno)


def _chain(node: Any) -> tuple[_Path, list[Any]]:
    """Return the dotted path of a node, as far as it is known, and the nodes that are something else."""
    steps: list[str] = []
    rest: list[Any] = []
    while True:
        match type(node).__name__:
            case "Getattr":
                steps.append(node.attr)
            case "Getitem":
                key = getattr(node.arg, "value", None)
                if isinstance(key, str | int):
                    steps.append(str(key))
                else:
                    rest.append(node.arg)
                    steps.clear()
            case "Name":
                return (node.name, *reversed(steps)), rest
            case _:
                return (), [node, *rest]
        node = node.node


def _targets(node: Any) -> set[str]:
    return {name.name for name in [node, *node.find_all(object)] if type(name).__name__ == "Name"}


def _known(test: Any, holds: bool) -> _Sure:
    """Return the paths that are defined where `test` holds, or does not."""
    match type(test).__name__:
        case "Not":
            return _known(test.node, not holds)
        case "And" | "Or" if (type(test).__name__ == "And") == holds:
            return _known(test.left, holds) | _known(test.right, holds)
        case "Test" if test.name == ("defined" if holds else "undefined"):
            path, rest = _chain(test.node)
            return frozenset() if rest else frozenset({path})
        case _:
            return frozenset()


# -- running ----------------------------------------------------------------------------------------

_VALUE: Final = "value_"
"""What the value of a text that is one expression is set to."""


class Program(NamedTuple):
    """A text, compiled."""

    template: Any
    native: bool
    """It gives the value of its one expression, not a text."""
    line: int
    chains: tuple[_Path, ...]

    def run(self, names: Mapping[str, Json]) -> Json:
        """Return what the text gives with these names. Raises RenderError."""
        context = self.template.new_context({**names, BUDGET: (budget := Budget())})
        try:
            text = joined(self.template.root_render_func(context))
            return plain(context.vars[_VALUE], budget) if self.native else text
        except Absent as absent:
            raise RenderError(self._absence(absent, names), self._line(absent)) from None
        except RecursionError as error:
            raise RenderError("a value is nested too deeply", self._line(error)) from None
        except Exception as error:  # noqa: BLE001 - an expression raises whatever values and filters raise
            raise RenderError(str(error) or type(error).__name__, self._line(error)) from None

    def _absence(self, absent: Absent, names: Mapping[str, Json]) -> str:
        from jinja2.utils import missing

        if absent.holder is missing:
            return absence((absent.name,), names)
        spots = [
            chain[: index + 1]
            for chain in self.chains
            for index in range(1, len(chain))
            if chain[index] == absent.name
        ]
        held = (spot for spot in spots if _reach(dict(names), spot[:-1]) is absent.holder)
        return absence(next(held, spots[0] if spots else (absent.name,)), absent.holder)

    def _line(self, error: BaseException) -> int:
        line, trace = self.line, error.__traceback__
        while trace is not None:
            template: Any = trace.tb_frame.f_globals.get("__jinja_template__")
            if template is self.template:
                line = template.get_corresponding_lineno(trace.tb_lineno)
            trace = trace.tb_next
        return line


def _reach(value: Json, path: _Path) -> Json:
    for step in path:
        value = at(value, (int(step) if isinstance(value, list) and step.isdecimal() else step,))
    return value


def _watch(tree: Any) -> None:
    """Put filters where jinja2 asks nobody: around loops, parts as in `x[1:2]`, comparisons and keys."""
    from jinja2 import nodes

    def through(name: str, node: Any, *args: Any) -> Any:
        return nodes.Filter(node, name, list(args), [], None, None, lineno=node.lineno)

    for node in list(tree.find_all((nodes.For, nodes.Getitem, nodes.Compare, nodes.Dict))):
        match type(node).__name__:
            case "For":
                weight = sum(len(data.data) for data in node.find_all(nodes.TemplateData))
                weight += sum(
                    8 * len(nest.items) for nest in node.find_all((nodes.List, nodes.Tuple, nodes.Dict))
                )
                node.iter = through(ROUNDS, node.iter, nodes.Const(weight))
            case "Getitem" if isinstance(node.arg, nodes.Slice):
                part, none = node.arg, nodes.Const(None)
                node.node = through(
                    SLICE, node.node, part.start or none, part.stop or none, part.step or none
                )
                node.arg = nodes.Slice(None, None, None)
            case "Compare":
                for side in (node, *node.ops):
                    side.expr = side.expr if isinstance(side.expr, nodes.Const) else through(READ, side.expr)
            case "Dict":
                for pair in node.items:
                    pair.key = pair.key if isinstance(pair.key, nodes.Const) else through(KEY, pair.key)
            case _:
                pass


@lru_cache(maxsize=512)
def program(text: str, *, bare: bool) -> Program:
    """Return a template or a bare expression, compiled. Raises TemplateProblem."""
    from jinja2 import nodes

    tree, expression, _, chains = parse(text, bare=bare)
    for node in list(tree.find_all(nodes.Concat)):  # `~` would write True and None as Python does
        node.nodes = [nodes.Filter(nodes.List(node.nodes), "join", [], [], None, None)]
    for node in list(tree.find_all(nodes.CondExpr)):  # without `else` it is null, not what is not there
        node.expr2 = node.expr2 or nodes.Const(None)
    _watch(tree)
    if expression is not None:
        line = expression.lineno
        tree = nodes.Template([nodes.Assign(nodes.Name(_VALUE, "store"), expression, lineno=line)], lineno=1)
    env = environment()
    try:
        template = env.from_string(tree.set_environment(env))
    except (SyntaxError, RecursionError, MemoryError):
        raise TemplateProblem("the text is nested too deeply", "make it simpler", 1) from None
    return Program(template, expression is not None, getattr(expression, "lineno", 1), chains)
