import pytest

from yaoci.definitions import ModelSettings, Options, Provider, Settings
from yaoci.endpoints import catalogue, choose, endpoint_problem, problem, providers, wires
from yaoci.errors import Failed

SETTINGS = Settings(
    models={
        "fast": ModelSettings(
            use="openai/gpt-5-mini", options=Options(temperature=0.5), timeout=9, idle_timeout=3
        ),
        "tiny": ModelSettings(use="local", file="weights/tiny.gguf"),
    },
    providers={
        "box": Provider(api="openai-chat", base_url="http://127.0.0.1:9/v1/", key="BOX_KEY"),
        "far": Provider(
            api="openai-chat",
            base_url="https://{{ env.FAR_HOST }}/v1",
            key="FAR_KEY",
            headers={"x-team": "{{ env.TEAM }}"},
        ),
    },
)
FAR = {"FAR_HOST": "far.example", "FAR_KEY": "secret", "TEAM": "blue"}


def chosen(name, tmp_path, environ=None, settings=SETTINGS):
    return choose(name, settings, tmp_path, environ or {})


def failure(name, tmp_path, environ=None):
    with pytest.raises(Failed) as caught:
        chosen(name, tmp_path, environ)
    return caught.value.failure


# -- what is known ----------------------------------------------------------------------------------


def test_every_provider_of_the_catalogue_speaks_a_known_wire():
    assert {provider.api for provider in catalogue().values()} <= set(wires())


def test_a_projects_provider_stands_over_the_catalogues():
    mine = Provider(api="openai-chat", base_url="http://127.0.0.1:5/v1")
    assert providers(Settings(providers={"ollama": mine}))["ollama"] is mine


def test_wires_are_named_with_dashes():
    assert "openai-chat" in wires()


@pytest.mark.parametrize("name", ["local", "fast", "openai/gpt-5-mini", "box/any/thing"])
def test_names_that_lead_to_a_model(name):
    assert problem(name, SETTINGS) is None


@pytest.mark.parametrize(
    ("name", "label", "help"),
    [
        ("fsat", "no model is called `fsat`", "did you mean `fast`?"),
        ("Local", "no model is called `Local`", "did you mean `local`?"),
        ("opnai/x", "no provider is called `opnai`", "did you mean `openai`?"),
        ("openai", "`openai` is a provider, and no model of it is named", "write `openai/<model>`"),
        ("openai/", "`openai` is a provider, and no model of it is named", "write `openai/<model>`"),
    ],
)
def test_names_that_lead_nowhere_are_told_what_may_be_meant(name, label, help):
    assert problem(name, SETTINGS) == (label, help)


def test_a_name_of_models_does_not_lead_to_another_one():
    assert endpoint_problem("fast", SETTINGS) is not None


# -- choosing ---------------------------------------------------------------------------------------


def test_a_model_of_the_catalogue_needs_no_settings(tmp_path):
    endpoint = choose("openai/gpt-5-mini", None, tmp_path, {"OPENAI_API_KEY": "k"}).endpoint
    assert (endpoint.provider, endpoint.model, endpoint.api, endpoint.base_url, endpoint.key) == (
        "openai", "gpt-5-mini", "openai-chat", "https://api.openai.com/v1", "k",
    )  # fmt: skip


def test_a_model_name_may_hold_slashes(tmp_path):
    assert chosen("box/org/model", tmp_path, {"BOX_KEY": "k"}).endpoint.model == "org/model"


def test_a_named_model_has_its_options_and_times(tmp_path):
    choice = chosen("fast", tmp_path, {"OPENAI_API_KEY": "k"})
    assert (choice.name, choice.options, choice.endpoint.timeout, choice.endpoint.idle_timeout) == (
        "fast", Options(temperature=0.5), 9, 3,
    )  # fmt: skip
    assert choice.endpoint.connect_timeout == 10


def test_weights_are_found_from_the_projects_folder(tmp_path):
    endpoint = chosen("tiny", tmp_path).endpoint
    assert (endpoint.api, endpoint.file) == ("local", str(tmp_path / "weights" / "tiny.gguf"))


def test_local_alone_is_the_embedded_model(tmp_path):
    endpoint = chosen("local", tmp_path).endpoint
    assert (endpoint.api, endpoint.file, endpoint.key) == ("local", "", "")


def test_the_environment_fills_addresses_and_headers(tmp_path):
    endpoint = chosen("far/m", tmp_path, FAR).endpoint
    assert (endpoint.base_url, endpoint.headers, endpoint.key) == (
        "https://far.example/v1",
        {"x-team": "blue"},
        "secret",
    )


def test_an_address_ends_without_a_slash(tmp_path):
    assert chosen("box/m", tmp_path).endpoint.base_url == "http://127.0.0.1:9/v1"


def test_a_key_is_not_needed_on_this_machine(tmp_path):
    assert chosen("box/m", tmp_path).endpoint.key == ""


def test_a_missing_key_is_named(tmp_path):
    found = failure("far/m", tmp_path, {**FAR, "FAR_KEY": ""})
    assert (found.kind, found.text) == ("auth", "`far` needs a key: set the environment variable FAR_KEY")


def test_a_missing_variable_of_an_address_is_named(tmp_path):
    found = failure("far/m", tmp_path, {"FAR_KEY": "secret", "TEAM": "blue"})
    assert found.kind == "template"
    assert "FAR_HOST" in found.text
    assert "secret" not in found.text


def test_a_name_that_leads_nowhere_is_missing(tmp_path):
    found = failure("fsat", tmp_path)
    assert (found.kind, found.text.partition(":")[0]) == ("missing", "no model is called `fsat`")


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1.evil.example/v1", "http://localhost.evil.example/v1", "http://far.example/127.0.0.1"],
)
def test_an_address_that_only_looks_like_this_machine_wants_its_key(tmp_path, url):
    settings = Settings(providers={"odd": Provider(api="openai-chat", base_url=url, key="ODD_KEY")})
    with pytest.raises(Failed):
        chosen("odd/m", tmp_path, settings=settings)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/v1", "http://localhost/v1", "http://[::1]:8080/v1", "http://127.8.0.1"]
)
def test_addresses_of_this_machine(tmp_path, url):
    settings = Settings(providers={"here": Provider(api="openai-chat", base_url=url, key="ODD_KEY")})
    assert chosen("here/m", tmp_path, settings=settings).endpoint.key == ""
