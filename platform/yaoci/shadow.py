"""A text of the same length that the YAML parser reads as YAML 1.2 would, and the way back to what was written.

libyaml breaks lines at U+0085, U+2028 and U+2029, as YAML 1.1 did; it knows no escaped surrogates,
of which JSON makes pairs; and it refuses some tabs between brackets, where JSON may have them.
"""

import re
from typing import Final

_HALF = re.compile(r"(?<=\\u)[dD][89a-fA-F][0-9a-fA-F]{2}")
_PRIVATE = re.compile(r"[\ue000-\uf8ff]|\\u([eEfF][0-9a-fA-F]{3})")
_SEPARATORS: Final = "\x85\u2028\u2029"
_FLOW = re.compile(
    r"""(?P<quoted>(?<=[\s,\[{:])(?:"[^"\\]*(?:\\.[^"\\]*)*"|'[^']*'))"""
    r"""|(?P<comment>(?<=\s)\#[^\r\n]*)|(?P<open>[\[{])|(?P<close>[\]}])|(?P<space>[ \t]*\t[ \t]*)""",
    re.DOTALL | re.VERBOSE,
)
_AROUND: Final = frozenset(["", *"\r\n,:[]{}'\""])


class StandIns:
    """The text to parse, and what to put back into what was read from it.

    Characters for private use that the text is free of stand for what the parser would misread.
    """

    __slots__ = ("_back", "_find", "text")

    def __init__(self, text: str, back: dict[str, str]) -> None:
        """Take the text to parse and what its stand-ins stand for."""
        self.text = text
        self._back = back
        self._find = re.compile("|".join(map(re.escape, back)))

    def restored(self, text: str) -> str:
        """Return a text that was read as it was meant, pairs of surrogates made one; halves stay as they are."""
        plain = self._find.sub(lambda found: self._back[found[0]], text)
        try:
            return plain.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            return plain


def stand_ins(text: str) -> StandIns | None:
    """Return what to parse instead of `text`, or None where it can be parsed as it is."""
    halves = set(_HALF.findall(text)) if "\\u" in text else set[str]()
    separators = [] if text.isascii() else [sign for sign in _SEPARATORS if sign in text]
    if not halves and not separators:
        return None
    used = {int(found[1], 16) if found[1] else ord(found[0]) for found in _PRIVATE.finditer(text)}
    free = iter([number for number in range(0xE000, 0xF900) if number not in used])
    back: dict[str, str] = {}
    for sign, number in zip(separators, free, strict=False):
        text = text.replace(sign, chr(number))
        back[chr(number)] = sign
    spelled: dict[str, str] = {}
    for half, number in zip(sorted(halves), free, strict=False):
        spelled[half] = f"{number:04x}"
        back[chr(number)] = chr(int(half, 16))
        back[f"\\u{number:04x}"] = f"\\u{half}"  # where it was no escape, as in single quotes
    return StandIns(_HALF.sub(lambda found: spelled.get(found[0], found[0]), text), back)


def without_tabs(text: str, opener: int) -> str:
    """Return `text` with spaces for the tabs that only part one thing from another.

    This is done from the bracket at `opener` to the one that closes it, where a tab is no indentation.
    """
    pieces = [text[:opener]]
    done = opener
    depth = 0
    for found in _FLOW.finditer(text, opener):
        if found.lastgroup == "open":
            depth += 1
        elif found.lastgroup == "close":
            depth -= 1
            if not depth:
                break
        elif found.lastgroup == "space":
            begin, end = found.span()
            if text[begin - 1 : begin] in _AROUND or text[end : end + 1] in _AROUND:
                pieces += (text[done:begin], " " * (end - begin))
                done = end
    return "".join((*pieces, text[done:]))
