"""Server-sent events: read out of bytes cut anywhere, and told apart from answers that are no stream."""

import re
from typing import Final, Literal, NamedTuple

from .errors import Failed

MAX_EVENT: Final = 16 * 1024 * 1024
"""The largest event, or plain JSON answer, in bytes."""

_BOM = b"\xef\xbb\xbf"


class Event(NamedTuple):
    """A server-sent event, or what came instead of one."""

    data: str
    name: str = ""
    form: Literal["event", "cut", "body"] = "event"
    """`cut`: the answer ended within it; `body`: no stream came, and this is the whole JSON text."""


class EventReader:
    """Reads events out of bytes cut anywhere.

    Lines end in LF, CR or CRLF and in nothing else (HTML, section 9.2.6, "Interpreting an event stream").
    """

    def __init__(self) -> None:
        self._parts: list[
            bytes
        ] = []  # pieces of a line that has not ended: joined once, so that reading is linear
        self._data: list[bytes] = []
        self._held = 0
        self._size = 0
        self._name = b""
        self._after_cr = False
        self._first = True

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the events that `chunk` completes. Raises Failed for one larger than MAX_EVENT."""
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        found: list[Event] = []
        self._size += len(chunk)
        if b"\n" not in chunk:
            self._parts.append(chunk)
        else:
            *lines, rest = b"".join((*self._parts, chunk)).split(b"\n")
            self._parts = [rest]
            self._read(lines, found)
            self._size = self._held + len(rest)
        if self._size > MAX_EVENT:
            raise Failed.of("bad_response", f"the answer has an event of more than {MAX_EVENT:,} bytes")
        return found

    def end(self) -> list[Event]:
        """Return the events that the end of the answer completes; one without its blank line is `cut`."""
        found = self.feed(b"\n") if any(self._parts) else []
        if self._data:
            found.append(self._take("cut"))
        return found

    def _read(self, lines: list[bytes], found: list[Event]) -> None:
        if self._first:
            lines[0] = lines[0].removeprefix(_BOM)
            self._first = False
        for line in lines:
            if line.startswith(b"data:"):
                value = line[6:] if line[5:6] == b" " else line[5:]
                self._data.append(value)
                self._held += len(value)
            elif not line:
                if self._data:
                    found.append(self._take("event"))
                self._name = b""
            elif line.startswith(b"event:"):
                self._name = line[6:].removeprefix(b" ")
            elif line == b"data":
                self._data.append(b"")

    def _take(self, form: Literal["event", "cut"]) -> Event:
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        self._data = []
        self._held = 0
        return Event(data.decode("utf-8", "replace"), self._name.decode("utf-8", "replace"), form)


_FIELD = re.compile(rb"(?:data|event|id|retry)?:")
_LONGEST_FIELD = len(b"event:")


def form_of(head: bytes, declared: bool) -> Literal["events", "body", "text"] | None:
    """Return what an answer is by how it begins, whatever its label says; None if that takes more bytes."""
    rest = head.removeprefix(_BOM).lstrip()
    if not rest or _BOM.startswith(rest):
        return None
    if rest[:1] in {b"{", b"["}:
        return "body"
    if declared or _FIELD.match(rest):
        return "events"
    return "text" if len(rest) >= _LONGEST_FIELD else None
