"""The formats of JSON Schema that are asserted: a test for a text each, and what to call one that fits."""

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

_TIME = re.compile(
    r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:\.[0-9]+)?"
    r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_DURATION = re.compile(
    r"P(?!\Z)(?:[0-9]+W|(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?"
    r"(?:T(?=[0-9])(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:\.[0-9]+)?S)?)?)"
)
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?:%[0-9A-Fa-f]{2}|[!#$&-;=?-\[\]_a-z~])*")
_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[^\[\]:@]*)(?::[0-9]*)?")


def _is_date(text: str) -> bool:
    from datetime import date

    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return _matches(_DAY, text)


def _is_date_time(text: str) -> bool:
    day, time = text[:10], text[11:]
    return text[10:11] in {"T", "t"} and _is_date(day) and _matches(_TIME, time)


def _is_email(text: str) -> bool:
    name, at, host = text.rpartition("@")
    if not at or not name or len(name) > 64 or any(c.isspace() or ord(c) < 32 for c in text):  # noqa: PLR2004 - RFC 5321
        return False
    if not (name[0] == name[-1] == '"') and ("@" in name or not all(name.split("."))):
        return False
    if host.startswith("[") and host.endswith("]"):
        return _is_address(6 if host.startswith("[IPv6:") else 4, host[1:-1].removeprefix("IPv6:"))
    return all(part and part[0] != "-" and part[-1] != "-" for part in host.split("."))


def _is_address(version: int, text: str) -> bool:
    import ipaddress

    try:
        return "%" not in text and ipaddress.ip_address(text).version == version
    except ValueError:
        return False


class Format(NamedTuple):
    """A format of JSON Schema: the test for a text, and what to call one that fits."""

    fits: Callable[[str], bool]
    noun: str


def _matches(compiled: re.Pattern[str], text: str) -> bool:
    return compiled.fullmatch(text) is not None


def _is_uri(text: str) -> bool:
    rest = text.partition(":")[2]
    host = re.split("[/?#]", rest[2:], maxsplit=1)[0].rpartition("@")[2] if rest.startswith("//") else ""
    return _matches(_URI, text) and _matches(_HOST, host)


FORMATS: dict[str, Format] = {
    "date": Format(_is_date, "a date such as 2026-01-31"),
    "time": Format(partial(_matches, _TIME), "a time such as 14:30:00Z"),
    "date-time": Format(_is_date_time, "a date and time such as 2026-01-31T14:30:00Z"),
    "duration": Format(partial(_matches, _DURATION), "a duration such as P1DT2H"),
    "email": Format(_is_email, "an e-mail address"),
    "uri": Format(_is_uri, "a URI such as https://example.org/a"),
    "uuid": Format(partial(_matches, _UUID), "a UUID"),
    "ipv4": Format(partial(_is_address, 4), "an IPv4 address"),
    "ipv6": Format(partial(_is_address, 6), "an IPv6 address"),
}
"""The formats that are asserted; any other is only a remark."""
