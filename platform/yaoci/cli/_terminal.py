"""What the commands share: the options before them, colour, help, and what becomes of an error."""

import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TextIO

import click

if TYPE_CHECKING:  # what `--help` does without is imported where it is used
    from pathlib import Path

COLORS: Final = ("auto", "always", "never")
"""What `--color` may be."""

_PIPE: Final = 141
"""What a shell shows of a program whose reader went away: 128 and SIGPIPE."""

_WIDTH: Final = 100

LEFT_OVER: Final = {"allow_extra_args": True}
"""Settings of a command that says itself what to do with words too many: they are in the context's `args`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Global:
    """What the options before the command say; a command gets it by `click.pass_obj`."""

    folder: str = "."
    """The folder to look for the project from."""
    color: str = "auto"
    quiet: bool = False
    verbose: bool = False
    no_input: bool = False

    @property
    def start(self) -> "Path":
        """The folder to look for the project from. Raises UsageError where it is none."""
        from pathlib import Path

        from ..errors import UsageError

        start = Path(self.folder)
        if not start.is_dir():
            why = "this is no folder" if start.exists() else "there is no such folder"
            raise UsageError(f"`-C {self.folder}`: {why}")
        return Path(os.path.abspath(start))  # noqa: PTH100 - takes `..` away and leaves links, as shells do

    def paints(self, stream: TextIO) -> bool:
        """Return whether what is written to `stream` may have colours."""
        return coloured(self.color, stream)

    @property
    def interactive(self) -> bool:
        """Whether a person may be asked something."""
        return not self.no_input and is_terminal(sys.stdin) and is_terminal(sys.stderr)

    def remark(self, text: str) -> None:
        """Write a line to stderr, unless `-q` was given."""
        if not self.quiet:
            print(click.style(text, dim=True) if self.paints(sys.stderr) else text, file=sys.stderr)


def is_terminal(stream: Any) -> bool:
    """Return whether a stream is a terminal; a closed one or None is not."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def coloured(choice: str, stream: TextIO) -> bool:
    """Return whether a stream gets colours: `--color`, else NO_COLOR, FORCE_COLOR, CLICOLOR, else if a terminal.

    NO_COLOR counts when it is not empty (no-color.org), FORCE_COLOR and CLICOLOR_FORCE also when not `0`.
    """
    if choice != "auto":
        return choice == "always"
    environ = os.environ
    if environ.get("NO_COLOR"):
        return False
    if any(environ.get(name, "0") not in {"", "0"} for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    if environ.get("CLICOLOR") == "0" or environ.get("TERM") == "dumb":
        return False
    return is_terminal(stream)


def width_of(stream: TextIO) -> int:
    """Return how wide a text for `stream` may be: the terminal's width, at most 120; 100 elsewhere."""
    try:
        found = int(os.environ.get("COLUMNS", "0")) or os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError, AttributeError):
        return _WIDTH
    return max(40, min(found, 120))


def open_streams() -> None:
    """Make stdout and stderr write UTF-8 whatever the locale; what it cannot hold is shown as an escape.

    In the place of one that was closed before the start, stdin is empty, stderr goes nowhere, and stdout
    refuses what is written: an answer must not be lost in silence.
    """
    for name, mode, flags in (
        ("stdin", "r", os.O_RDONLY),
        ("stdout", "w", os.O_RDONLY),
        ("stderr", "w", os.O_WRONLY),
    ):
        if getattr(sys, name) is None:
            # the lowest free number is the stream's own, so that no file of the project gets it
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), mode, encoding="utf-8"))
    if isinstance(getattr(sys.stdout, "buffer", None), io.FileIO):
        # PYTHONUNBUFFERED: in a buffer is still to be seen what could not be written, see `_unwritable`
        sys.stdout = open(sys.stdout.fileno(), "w", closefd=False)  # noqa: SIM115 - as long as the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


# -- help ---------------------------------------------------------------------------------------------


class Help(click.HelpFormatter):
    """Help with bold headings and examples that keep their lines."""

    def __init__(
        self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None
    ) -> None:
        super().__init__(indent_increment, width or min(width_of(sys.stdout), max_width or _WIDTH))

    def write_heading(self, heading: str) -> None:
        """Write a heading in bold."""
        self.write(click.style(f"{heading}:", bold=True) + "\n")

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the usage line."""
        super().write_usage(prog, args, click.style(prefix or "Usage:", bold=True) + " ")

    def write_examples(self, text: str) -> None:
        """Write lines of examples: a command, and behind two or more spaces what it is for.

        Where one is too long for the width, that stands below, so that no terminal breaks the lines.
        """
        self.write_paragraph()
        self.write_heading("Examples")
        lines = text.strip().splitlines()
        below = any(len(line) + 2 > self.width for line in lines)
        for line in lines:
            command, gap, aim = line.partition("  ")
            if aim and below:
                gap, aim = "\n", click.wrap_text(aim.strip(), self.width, " " * 6, " " * 6)
            self.write(f"  {command}{gap}{click.style(aim, dim=True) if aim else ''}\n")


class Context(click.Context):
    """A context whose help is written by `Help`."""

    formatter_class = Help


def _also_here(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Hear an option of the group where it is written behind the command."""
    if value and isinstance(ctx.obj, Global):
        ctx.obj = replace(ctx.obj, **{str(param.name): value})
        if param.name == "color":
            ctx.color = coloured(value, sys.stdout)


def _options_of_group() -> list[click.Parameter]:
    flags = (("-q", "--quiet"), ("-v", "--verbose"), ("--no-input",))
    common: dict[str, Any] = {"hidden": True, "expose_value": False, "callback": _also_here}
    return [
        click.Option(["-C", "folder"], **common),
        click.Option(["--color"], type=click.Choice(COLORS), **common),
        *(click.Option(names, is_flag=True, **common) for names in flags),
    ]


class Command(click.Command):
    """A command whose `epilog` holds examples, one a line; it takes the group's options, too."""

    context_class = Context

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("options_metavar", "[options]")
        given: dict[str, Any] = kwargs.pop("context_settings", {})
        kwargs["context_settings"] = {"help_option_names": ["-h", "--help"], **given}
        super().__init__(*args, **kwargs)
        self.params = [*self.params, *_options_of_group()]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as they stand."""
        del ctx
        if self.epilog and isinstance(formatter, Help):
            formatter.write_examples(self.epilog)


# -- errors -------------------------------------------------------------------------------------------


def guarded(group: click.Group, arguments: Sequence[str]) -> int:
    """Run a command and return the exit code; whatever goes wrong is told on stderr."""
    ctx: click.Context | None = None
    try:
        ctx = group.make_context("yaoci", list(arguments))
        with ctx:
            code = group.invoke(ctx)
        sys.stdout.flush()
        return int(code or 0)
    except click.exceptions.Exit as error:
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return _interrupted()
    except BrokenPipeError:
        return _reader_gone()
    except Exception as error:  # noqa: BLE001 - the last place where an error can be told
        given = ctx.obj if ctx is not None and isinstance(ctx.obj, Global) else Global()
        return _told(error, given, arguments)


def _told(error: Exception, given: Global, arguments: Sequence[str]) -> int:
    from ..diagnostics import DefinitionError
    from ..errors import Exit, Failed, UsageError

    match error:
        case click.UsageError():
            text, help = _usage(error)
            say(given, "error", text, help=help)
            return Exit.USAGE
        case OSError() if why := _unwritable():
            say(given, "error", f"cannot write to stdout: {why}")
            return Exit.FAILED
        case DefinitionError():
            _definitions(error.report, given)
            return Exit.WRONG
        case UsageError():
            say(given, "error", str(error))
            return Exit.USAGE
        case Failed():
            failure = error.failure
            say(given, f"error[{failure.kind}]", failure.text, place=failure.place)
            return Exit.FAILED
        case PermissionError(filename=str(name), strerror=str(why)):
            say(given, "error", f"`{name}` cannot be used: {why.lower()}")
            return Exit.USAGE
        case _:
            _bug(error, given, arguments)
            return Exit.BUG


def _definitions(report: Any, given: Global) -> None:
    """Write the errors of a report to stderr: what stops the command is enough; `check` tells the rest."""
    from ..render import text

    errors = tuple(found for found in report.findings if found.severity == "error")
    shown = replace(report, findings=errors)
    print(text(shown, color=given.paints(sys.stderr), width=width_of(sys.stderr)), file=sys.stderr)


def say(given: Global, head: str, text: str, *, place: str = "", help: str = "") -> None:
    """Write an error to stderr, in the form that findings have; each line of `help` gets a `=`."""
    from ..render import visible

    color = given.paints(sys.stderr)

    def paint(part: str, **style: Any) -> str:
        return click.style(part, **style) if color else part

    print(
        f"{paint(head, fg='red', bold=True)}{paint(': ' + visible(text, breaks=True), bold=True)}",
        file=sys.stderr,
    )
    if place:
        print(f" {paint('-->', fg='blue', bold=True)} {visible(place)}", file=sys.stderr)
    for line in help.splitlines():
        print(f"  {paint('=', fg='blue', bold=True)} {line}", file=sys.stderr)


def _usage(error: click.UsageError) -> tuple[str, str]:
    """Return what click found wrong with the arguments in our words, and what to do."""
    path = error.ctx.command_path if error.ctx is not None else "yaoci"
    help = f"help: `{path} --help` tells more"
    if isinstance(error, click.NoSuchOption) and error.ctx is not None:
        from ..diagnostics import did_you_mean

        name = error.option_name
        near = did_you_mean(name, _options(error.ctx), few=0)
        return f"no option is called `{name}`" + (f": {near}" if near else ""), help
    missing = isinstance(error, click.MissingParameter)
    if isinstance(error, click.BadParameter) and not missing and error.param and error.ctx:
        return f"{_plain(error.param.get_error_hint(error.ctx))}: {_plain(error.message)}", help
    return _plain(error.format_message()), help


def _options(ctx: click.Context) -> list[str]:
    """Return the names of a command's options."""
    known = [param for param in ctx.command.get_params(ctx) if isinstance(param, click.Option)]
    return [name for param in known for name in param.opts]


def _plain(text: str) -> str:
    import re

    text = re.sub(r"'([^']*)'", r"`\1`", text.strip().removesuffix("."))
    return text[:1].lower() + text[1:]


def _interrupted() -> int:
    from ..errors import Exit

    print("interrupted", file=sys.stderr)
    return Exit.INTERRUPTED


def _reader_gone() -> int:
    _let_go()
    return _PIPE


def _unwritable() -> str:
    """Return why stdout takes nothing, if so: what it refused is still in its buffer, and is refused again."""
    try:
        sys.stdout.flush()
    except OSError as error:
        _let_go()
        return "it is closed" if error.errno == errno.EBADF else error.strerror or str(error)
    return ""


def _let_go() -> None:
    """Let what is still buffered go nowhere, so that the interpreter's last flush does not fail, too."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _bug(error: Exception, given: Global, arguments: Sequence[str]) -> None:
    import traceback

    trace = "".join(traceback.format_exception(error))
    log = _log(trace, arguments)
    last = "".join(traceback.format_exception_only(error)).strip()
    if log:
        help = (
            f"log: {log}\n"
            "help: please report it with this file and, if you may, the definitions it happened with\n"
            "help: the file holds the traceback, versions and arguments: look through it for secrets first"
        )
    else:
        help = "help: please report it with the traceback above; no log could be written"
    if given.verbose or not log:
        print(trace, end="", file=sys.stderr)
    say(given, "error", f"this is a bug in yaoci: {last}", help=help)


def _log(trace: str, arguments: Sequence[str]) -> str:
    """Write what a report of a bug needs to a new file; return its path, or nothing where that cannot be."""
    import tempfile

    lines = [*_versions(), f"arguments: {list(arguments)!r}", "", trace]
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="yaoci-bug-", suffix=".log", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as file:
            file.write("\n".join(lines))
    except OSError:
        return ""
    return file.name


def _versions() -> Iterator[str]:
    import platform
    from importlib import metadata

    from ..version import __version__

    yield f"yaoci {__version__}"
    yield f"python {platform.python_version()} on {platform.platform()}"
    for name in ("click", "httpx", "jinja2", "jsonschema", "pyyaml"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            yield f"{name} {metadata.version(name)}"
