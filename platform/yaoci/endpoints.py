"""Where a model named in YAML is reached: the catalogue of providers, a project's settings, the environment."""

import functools
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Final
from urllib.parse import urlsplit

from . import contracts
from .contracts import Endpoint, Model, Wire
from .definitions import ModelSettings, Options, Provider, Settings
from .diagnostics import did_you_mean
from .errors import Failed
from .source import read_file
from .spec import decode
from .templating import RenderError, render
from .values import Json

LOCAL: Final = "local"
"""The name of the embedded model."""

_SHORTEST: Final = 6
"""How long a value of the environment is, at least, to be taken for a secret."""

_CATALOGUE: Final = FilePath(__file__).parent / "catalogue" / "providers.yaml"
_LOOPBACK: Final = re.compile(r"127(?:\.[0-9]{1,3}){3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A model that a request may go to: where it is, and the options its settings give it."""

    name: str
    """As it is named in YAML."""
    endpoint: Endpoint
    options: Options | None = None


@functools.cache
def catalogue() -> Mapping[str, Provider]:
    """Return the known providers by name."""
    value = read_file(_CATALOGUE, "catalogue/providers.yaml").value
    return {name: decode(Provider, entry, {}).value for name, entry in value.items()}


def providers(settings: Settings | None) -> Mapping[str, Provider]:
    """Return the providers of the catalogue and the settings, the latter over the former."""
    return {**catalogue(), **(settings.providers if settings else {})}


def wires() -> tuple[str, ...]:
    """Return the names of the wires that models are reached over."""
    return tuple(name.replace("_", "-") for name in contracts.names_of("models"))


def problem(name: str, settings: Settings | None) -> tuple[str, str] | None:
    """Return what is wrong with a model's name, and what to do; None if it leads to a model."""
    models = frozenset(settings.models if settings else ())
    if name in models:
        return None
    found = endpoint_problem(name, settings)
    if found and (near := did_you_mean(name, {*models, LOCAL}, few=0)):
        return found[0], near
    return found


def endpoint_problem(name: str, settings: Settings | None) -> tuple[str, str] | None:
    """Return what is wrong with a `provider/model`, and what to do; None if it is one, or `local`."""
    known = providers(settings)
    provider, slash, model = name.partition("/")
    if name == LOCAL or (provider in known and model):
        return None
    if provider in known:
        return f"`{provider}` is a provider, and no model of it is named", f"write `{provider}/<model>`"
    if slash:
        return f"no provider is called `{provider}`", did_you_mean(provider, known, few=12)
    return (
        f"no model is called `{name}`",
        "a model is `local`, `provider/model`, or a name under `models` in yaoci.yaml",
    )


def choose(
    name: str, settings: Settings | None, root: FilePath, environ: Mapping[str, str] = os.environ
) -> Choice:
    """Return where the model called `name` is. Raises Failed of kind `missing`, `auth` or `template`."""
    given = settings.models.get(name) if settings else None
    target = given.use if given else name
    if wrong := endpoint_problem(target, settings):
        raise Failed.of("missing", ": ".join(filter(None, wrong)))
    endpoint = _endpoint(target, settings, environ)
    if given is None:
        return Choice(name=name, endpoint=endpoint)
    return Choice(name=name, endpoint=_timed(endpoint, given, root), options=given.options)


def _timed(endpoint: Endpoint, given: ModelSettings, root: FilePath) -> Endpoint:
    return replace(
        endpoint,
        timeout=given.timeout or endpoint.timeout,
        connect_timeout=given.connect_timeout or endpoint.connect_timeout,
        idle_timeout=given.idle_timeout or endpoint.idle_timeout,
        file=str(root / given.file) if given.file else "",
    )


def _endpoint(name: str, settings: Settings | None, environ: Mapping[str, str]) -> Endpoint:
    provider, _, model = name.partition("/")
    if name == LOCAL:
        return Endpoint(provider=LOCAL, model=LOCAL, api=LOCAL)
    found = providers(settings)[provider]
    base_url = _filled(found.base_url, environ, provider)
    key = environ.get(found.key, "") if found.key else ""
    if found.key and not key and not _loopback(base_url):
        raise Failed.of("auth", f"`{provider}` needs a key: set the environment variable {found.key}")
    headers = {header: _filled(text, environ, provider) for header, text in found.headers.items()}
    return Endpoint(
        provider=provider, model=model, api=found.api, base_url=base_url.rstrip("/"), key=key,
        key_name=found.key, headers=headers,
    )  # fmt: skip


def _filled(text: str, environ: Mapping[str, str], provider: str) -> str:
    names: dict[str, Json] = {"env": dict(environ)}
    try:
        return str(render(text, names))
    except RenderError as error:
        told = error.text
        for value in environ.values():  # a name may be made of one: its value is not for the eyes
            told = told.replace(value, "***") if len(value) >= _SHORTEST else told
        raise Failed.of("template", f"the provider `{provider}` cannot be reached: {told}") from None


def _loopback(url: str) -> bool:
    """Return whether an address is of this machine, where servers want no key."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return host in {"localhost", "::1"} or _LOOPBACK.fullmatch(host) is not None


def open_model(choice: Choice) -> Model:
    """Return the model behind a choice; opens nothing yet."""
    wire: Wire = contracts.extension("models", choice.endpoint.api.replace("-", "_"), "MODEL")
    return wire(choice.endpoint)
