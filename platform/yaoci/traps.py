"""What is written in YAML and means something else there than it seems to: templates, odd characters, stray commas."""

import re
from typing import Final

from .texts import Problem, Text, code_point, quote_help, quoted, shown
from .values import MAX_DEPTH

ODD_SPACES: Final = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
"""Characters that look like a space and are none to YAML, for use in a class of a regular expression."""

_CLOSERS: Final = {"{{": "}}", "{%": "%}", "{#": "#}"}

TEMPLATES: Final = tuple(_CLOSERS)
"""What a template begins with."""

VALUE_START: Final = re.compile(
    r"\s*(?:-[ \t]+)*(?:[^\s#'\"\[{](?:(?!:[ \t])[^#])*:[ \t]+|(['\"])(?:(?!\1).)*\1[ \t]*:[ \t]+)?"
)
"""What stands before a value on its line."""

_NOT_TEXT = re.compile("[^\t\n\r -~\x85\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_COMMENT = re.compile(r"[ \t]#")
_ENTRY = re.compile(r"(?<=[,\[{])([^,\[{:]*:[ \t]+)?([^,\[{]*)$")
_CURLY: Final = "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u00ab\u00bb"
_ODD_SPACE = re.compile(f"[{ODD_SPACES}]+")
# Zero-width joiners belong to some scripts and to emoji, but not beside an ASCII letter.
_INVISIBLE = re.compile(
    "[\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]"
    "|(?<![^\0-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\0-\x7f])"
)
_COMMENT_HERE = re.compile(r"[ \t]+#[^\r\n]*")
_ENTRY_BEFORE = re.compile(r"([^,{]*):[ \t]+([^,{}\[\]'\"]+),\s*$")
_NO_SPACE = re.compile(r"[^\s:]+:[^\s:]")


def not_text(text: Text) -> Problem | None:
    """Return a problem if `text` holds a character that no text has, such as a control character."""
    found = _NOT_TEXT.search(text.text)
    if found is None:
        return None
    point = code_point(found[0])
    kind = "control character" if found[0] < "\xa0" else "character"
    escape = f"\\x{ord(found[0]):02x}" if found[0] <= "\xff" else f"\\u{ord(found[0]):04x}"
    return text.problem(
        "not-text",
        found.start(),
        found.end(),
        f"the {kind} {point} cannot stand in a text",
        f"remove it, or write `{escape}` in double quotes" if found[0] != "\0" else "is this a text file?",
    )


def template_problem(text: Text, begin: int) -> Problem:
    """Return the problem of a template at `begin` that has no quotes."""
    source = text.text
    first, stop = text.bounds(text.line(begin))
    closer = source.find(_CLOSERS[source[begin : begin + 2]], begin, stop)
    end = closer + 2 if closer >= 0 else stop
    label = f"{shown(source[begin:end])} is read as a mapping, since it has no quotes"
    if source.startswith(":", end):  # it is a key
        help_ = quote_help("", source[begin:end])
    elif VALUE_START.fullmatch(source, first, begin):
        help_ = quote_help(source[first:begin], source[begin:end] + uncommented(source[end:stop]))
    else:  # brackets are around it
        entry = _ENTRY.search(source, first, begin)
        key, start = (entry[1] or "", entry.start(2)) if entry else ("", begin)
        help_ = quote_help(key, source[start:end])
    return text.problem("unquoted-template", begin, end, label, help_)


def uncommented(line: str) -> str:
    """Return a line without its comment."""
    return _COMMENT.split(line, maxsplit=1)[0].rstrip()


def too_deep_problem(text: Text, begin: int) -> Problem:
    """Return the problem of a mapping or a list at `begin` that is nested too deeply."""
    label = f"more than {MAX_DEPTH} mappings and lists are around this"
    return text.problem(
        "too-deep", begin, begin + 1, label, "is a bracket repeated by mistake, or an indentation?"
    )


def wide_colon_problem(text: Text, begin: int, end: int) -> Problem | None:
    """Return a problem if the key of the line from `begin` to `end` is followed by a full-width colon only."""
    line = text.text[begin:end]
    at = line.find("\uff1a")
    if at <= 0 or ":" in line:
        return None
    name, rest = line[:at].strip(), line[at + 1 :].strip()
    return text.problem(
        "wide-colon",
        begin + at,
        begin + at + 1,
        f"after {shown(name)} stands a full-width colon (U+FF1A), which is an ordinary character",
        f"write an ASCII colon and a space: `{name.lstrip('- ')}: {rest}`".rstrip(" `") + "`",
    )


def odd_space_problem(text: Text, begin: int, end: int) -> Problem:
    """Return the problem of a space at `begin` that YAML does not take for one."""
    point = code_point(text.text[begin])
    name = "a no-break space" if point == "U+00A0" else "a space"
    label = f"{name} ({point}) stands here, which YAML takes for a letter"
    return text.problem("odd-space", begin, end, label, "type ordinary spaces instead")


def odd_key_problem(text: Text, begin: int, end: int, *, plain: bool) -> Problem | None:
    """Return a problem if the key from `begin` to `end` looks like another one; escapes in quotes are deliberate."""
    written = text.text[begin:end]
    if plain and written[0] in _CURLY and written[-1] in _CURLY:
        label = (
            f"the quotes {written[0]} ({code_point(written[0])}) are ordinary characters, a part of the key"
        )
        help_ = f"write `{written[1:-1]}:`, or use straight quotes"
        return text.problem("curly-quotes", begin, end, label, help_)
    if plain and (found := _ODD_SPACE.search(written)):
        return odd_space_problem(text, begin + found.start(), begin + found.end())
    if found := _INVISIBLE.search(written):
        seen = f"{written[: found.start()]}‹{code_point(found[0])}›{written[found.end() :]}"
        label = f"the key {shown(seen)} holds a character that cannot be seen"
        return text.problem(
            "invisible-character", begin, end, label, f"write `{_INVISIBLE.sub('', written)}`"
        )
    return None


def valueless_problem(text: Text, begin: int, end: int) -> Problem:
    """Return the problem of an entry in braces, from `begin` to `end`, that has no value."""
    written = text.text[begin:end]
    if "\uff1a" in written and (problem := wide_colon_problem(text, begin, end)):
        return problem
    line, stop = text.bounds(text.line(begin))
    opener = text.text.rfind("{", line, begin)
    before = _ENTRY_BEFORE.search(text.text[max(opener, line) : begin])
    if _NO_SPACE.match(written):
        name, _, value = written.partition(":")
        help_ = f"write a space behind the colon: `{name}: {value}`"
    elif before:
        whole = quoted(f"{before[2]}, {written}")
        help_ = f"the text before the comma wants quotes: `{before[1].strip()}: {whole}`"
    else:
        help_ = f"write `{written}: …`, or put a text that holds a comma in quotes"
    return text.problem("valueless-entry", begin, min(end, stop), f"{shown(written)} has no value", help_)


def cut_template_problem(text: Text, value: str, begin: int, end: int) -> Problem | None:
    """Return a problem if a comment cuts off a template in the plain text `value` from `begin` to `end`."""
    open_ = any(value.rfind(opener) > value.rfind(closer) for opener, closer in _CLOSERS.items())
    comment = _COMMENT_HERE.match(text.text, end) if open_ else None
    if comment is None:
        return None
    line, stop = text.bounds(text.line(begin))
    whole = text.text[begin : comment.end()]
    help_ = quote_help(text.text[line:begin], whole) if end <= stop else "put the whole text in quotes"
    label = f"the template {shown(value)} is cut off, since ` #` begins a comment"
    return text.problem("cut-template", end, comment.end(), label, help_)
