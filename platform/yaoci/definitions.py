"""What users define, as frozen dataclasses: assistants, processors, methods, callbacks, steps, settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from .marks import Between, Doc, Expression, Flat, Form, Many, Nullable, Ref, Schema, Seconds, Template, Words
from .values import Json

IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
"""What ids of methods and steps look like, so that expressions can say them."""

Identifier: TypeAlias = Annotated[
    str, Words(IDENTIFIER, "letters, digits and `_`, not beginning with a digit; `name` is what people see")
]
FunctionId: TypeAlias = Annotated[
    str,
    Words(
        r"[a-zA-Z0-9_-]{1,64}",
        "a function id has 1 to 64 of the characters a-z A-Z 0-9 _ -; `name` holds a title in any language",
    ),
]
Variable: TypeAlias = Annotated[
    str, Words(IDENTIFIER, "write the name of the environment variable that holds it", variable=True)
]
Text: TypeAlias = str | Mapping[str, str]
"""A text for people, in one language or by language: `{en: …, zh-CN: …}`."""

Arguments: TypeAlias = Mapping[str, Any] | tuple[Any, ...]


# -- limits and options ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a turn, or all that a run starts, may use."""

    form: ClassVar[Form] = Form("limits")
    rounds: Annotated[
        int | None, Doc("Requests to the model in one turn; 8 if not said."), Between(1, 1000)
    ] = None
    calls: Annotated[
        int | None, Doc("Assistants started and tools called by models in the whole run; 200 if not said."),
        Between(0, 1_000_000),
    ] = None  # fmt: skip
    depth: Annotated[int | None, Doc("How deep calls may nest; 8 if not said."), Between(1, 100)] = None
    tokens: Annotated[int | None, Doc("Tokens of all requests of the run together."), Between(1, 10**12)] = (
        None
    )
    timeout: Annotated[float | None, Doc("How long the run may take; 10m if not said."), Seconds()] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLimits:
    """How much one tool may be used in a turn."""

    form: ClassVar[Form] = Form("limits of a tool")
    calls: Annotated[
        int | None,
        Doc("Calls in one turn; over it the model gets a result that says so."),
        Between(0, 10_000),
    ] = None
    timeout: Annotated[float | None, Doc("How long one call may take."), Seconds()] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a model is asked."""

    form: ClassVar[Form] = Form("options")
    temperature: Annotated[
        float | None, Doc("How freely the model picks; 0 is the likeliest."), Between(0, 2)
    ] = None
    top_p: Annotated[float | None, Doc("Share of likely words to pick from."), Between(0, 1)] = None
    max_tokens: Annotated[int | None, Doc("Longest answer, in tokens."), Between(1, 10_000_000)] = None
    stop: Annotated[tuple[str, ...], Doc("Texts at which the model stops."), Many()] = ()
    seed: Annotated[int | None, Doc("Makes answers repeatable where the provider can.")] = None
    presence_penalty: Annotated[float | None, Doc("Less of what was said at all."), Between(-2, 2)] = None
    frequency_penalty: Annotated[float | None, Doc("Less of what was said often."), Between(-2, 2)] = None
    parallel_tools: Annotated[bool | None, Doc("Whether the model may call several tools at once.")] = None
    tool_choice: Annotated[str | None, Doc("`auto`, `none`, `required`, or a function id.")] = None
    reasoning: Annotated[str | None, Doc("How much the model thinks first, in the provider's word.")] = None
    extra: Annotated[Mapping[str, Any], Doc("Anything else, sent as it is.")] = field(
        default_factory=dict[str, Any]
    )


# -- callbacks ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Callback:
    """A method (no dot) or a process (with a dot) that is called with a message."""

    form: ClassVar[Form] = Form("a callback", short="name")
    name: Annotated[str, Doc("A method of this file, or a process, whose name has a dot."), Ref("callable")]
    args: Annotated[Arguments, Doc("Arguments, by name or in order."), Template()] = ()
    when: Annotated[Json, Doc("Whether it runs at all."), Expression()] = None
    on_error: Annotated[Literal["fail", "skip"], Doc("What its failure does; the run fails if not said.")] = (
        "fail"
    )
    timeout: Annotated[float | None, Doc("How long it may take."), Seconds()] = None


Chain: TypeAlias = Annotated[tuple[Callback, ...], Many()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Where callbacks may stand in a turn."""

    form: ClassVar[Form] = Form("hooks")
    create: Annotated[Chain, Doc("Before anything is sent: `event` is `{input, options, model, args}`.")] = ()
    tool: Annotated[Chain, Doc("Before a tool runs: `event` is `{id, tool, process, args}`.")] = ()
    result: Annotated[Chain, Doc("After a tool ran: `event` has `result` and `ok` besides.")] = ()
    done: Annotated[Chain, Doc("When the answer is there: `event` is `{value, usage, rounds}`.")] = ()
    fail: Annotated[Chain, Doc("When the turn failed: `event` is `{error, partial}`.")] = ()


# -- steps ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessStep:
    """Runs a process or a method."""

    form: ClassVar[Form] = Form("a process step", tag="process")
    process: Annotated[str, Doc("A process, or a method of this file."), Ref("callable")]
    args: Annotated[Arguments, Doc("Arguments, by name or in order."), Template()] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantStep:
    """Calls an assistant."""

    form: ClassVar[Form] = Form("a call to an assistant", tag="assistant", short="assistant")
    assistant: Annotated[str, Doc("The id of the assistant."), Ref("assistant")]
    input: Annotated[Json, Doc("What is said to it; the message at hand if not said."), Template()] = None
    args: Annotated[Arguments, Doc("Its `parameters`."), Template()] = ()
    options: Annotated[Options | None, Doc("How its model is asked, over its own options.")] = None
    callback: Annotated[Chain | None, Doc("Called with its answer; `null` is none."), Nullable()] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetStep:
    """Writes to `shared`."""

    form: ClassVar[Form] = Form("a set step", tag="set")
    set: Annotated[Mapping[Identifier, Any], Doc("Keys of `shared` and their new values."), Template()]


@dataclass(frozen=True, slots=True, kw_only=True)
class SendStep:
    """Sends a message to the user."""

    form: ClassVar[Form] = Form("a send step", tag="send")
    send: Annotated[Json, Doc("Text, or a message `{type, text, props, …}`."), Template()]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnStep:
    """Ends the flow with a result."""

    form: ClassVar[Form] = Form("a return step", tag="return")
    return_: Annotated[Json, Doc("The flow's result."), Template()]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailStep:
    """Ends the flow with a failure."""

    form: ClassVar[Form] = Form("a fail step", tag="fail")
    fail: Annotated[str, Doc("What went wrong."), Template()]


Action: TypeAlias = ProcessStep | AssistantStep | SetStep | SendStep | ReturnStep | FailStep


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a flow: one action, and when and how it is done."""

    form: ClassVar[Form] = Form("a step")
    id: Annotated[Identifier, Doc("The name of its result: `steps.<id>`.")] = ""
    when: Annotated[Json, Doc("Whether it runs at all."), Expression()] = None
    on_error: Annotated[
        Literal["fail", "skip"], Doc("What its failure does; the flow fails if not said.")
    ] = "fail"
    timeout: Annotated[float | None, Doc("How long it may take."), Seconds()] = None
    action: Annotated[Action, Flat()]


# -- methods and processors --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleUse:
    """An example of a method's use, for models that need showing."""

    form: ClassVar[Form] = Form("an example")
    ask: Annotated[str, Doc("What a person says.")]
    args: Annotated[Mapping[str, Any] | None, Doc("The call it leads to; without it, none.")] = None
    result: Annotated[Json, Doc("What the call gives.")] = None
    answer: Annotated[str, Doc("What is then said; best with the result's own words.")] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """Something that can be called: parameters, a result, and exactly one handler."""

    form: ClassVar[Form] = Form("a method")
    name: Annotated[Text, Doc("What people see, in any language.")] = ""
    description: Annotated[
        str, Doc("What a model decides by: what it does, when to use it and when not.")
    ] = ""
    parameters: Annotated[
        Mapping[str, Any] | None,
        Doc("JSON Schema of its arguments; the root is an object."),
        Schema(parameters=True),
    ] = None
    returns: Annotated[Mapping[str, Any] | bool | None, Doc("JSON Schema of its result."), Schema()] = None
    examples: Annotated[tuple[ExampleUse, ...], Doc("Dialogues that show when to call it and when not.")] = ()
    effect: Annotated[
        Literal["read", "write", "idempotent"] | None,
        Doc("What it does to the world; decides concurrency and retry."),
    ] = None
    handler: Annotated[Any, Flat("handlers")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Processor:
    """A group of methods."""

    form: ClassVar[Form] = Form("a processor")
    name: Annotated[Text, Doc("What people see, in any language.")] = ""
    description: Annotated[Text, Doc("What the group is about.")] = ""
    methods: Annotated[Mapping[Identifier, Method], Doc("The methods by id.")]


# -- assistants --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPrompt:
    """A prompt written in place."""

    form: ClassVar[Form] = Form("a prompt", tag="content")
    content: Annotated[str, Doc("The text."), Template()]
    role: Annotated[Literal["system", "user", "assistant"], Doc("Who says it.")] = "system"
    when: Annotated[Json, Doc("Whether it is sent."), Expression()] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePrompt:
    """A prompt in a file beside this one."""

    form: ClassVar[Form] = Form("a prompt from a file", tag="file")
    file: Annotated[str, Doc("The file's path from this file's folder."), Ref("file")]
    raw: Annotated[bool, Doc("Take it as it is, not as a template.")] = False
    role: Annotated[Literal["system", "user", "assistant"], Doc("Who says it.")] = "system"
    when: Annotated[Json, Doc("Whether it is sent."), Expression()] = None


Prompt: TypeAlias = TextPrompt | FilePrompt


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessTool:
    """A process, or a method of this file, as a tool."""

    form: ClassVar[Form] = Form("a tool", tag="process", short="process")
    process: Annotated[
        str, Doc("A process, a method of this file, or `processor.*` for all its methods."), Ref("tool")
    ]
    id: Annotated[
        FunctionId, Doc("The function id that the model sees; else the name with `_` for dots.")
    ] = ""
    only: Annotated[tuple[str, ...], Doc("With `processor.*`: just these methods.")] = ()
    prefix: Annotated[
        str | None, Doc("With `processor.*`: what function ids begin with; else the processor's name.")
    ] = None
    limits: Annotated[ToolLimits | None, Doc("How much it may be used in a turn.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantTool:
    """Another assistant as a tool."""

    form: ClassVar[Form] = Form("an assistant as a tool", tag="assistant")
    assistant: Annotated[str, Doc("The id of the assistant."), Ref("assistant")]
    id: Annotated[
        FunctionId, Doc("The function id that the model sees; else the assistant's id with `_` for dots.")
    ] = ""
    limits: Annotated[ToolLimits | None, Doc("How much it may be used in a turn.")] = None


ToolUse: TypeAlias = ProcessTool | AssistantTool


@dataclass(frozen=True, slots=True, kw_only=True)
class Assistant:
    """An assistant: a model with prompts, tools, hooks and methods of its own."""

    form: ClassVar[Form] = Form("an assistant")
    name: Annotated[Text, Doc("What people see, in any language.")] = ""
    description: Annotated[Text, Doc("What it is for; what a model decides by where it is a tool.")] = ""
    avatar: Annotated[str, Doc("A picture, for hosts.")] = ""
    tags: Annotated[tuple[str, ...], Doc("Words to find it by.")] = ()
    welcome: Annotated[Text, Doc("What a host shows first.")] = ""
    starters: Annotated[tuple[Text, ...], Doc("Questions a host offers.")] = ()
    mentionable: Annotated[bool, Doc("Whether a person may call it by name.")] = False
    model: Annotated[
        tuple[Annotated[str, Ref("model")], ...], Doc("The model; several are tried in order."), Many()
    ] = ()
    options: Annotated[Options | None, Doc("How the model is asked.")] = None
    parameters: Annotated[
        Mapping[str, Any] | None,
        Doc("JSON Schema of what a caller gives, as `args`."),
        Schema(parameters=True),
    ] = None
    prompts: Annotated[tuple[Prompt, ...], Doc("What the model is told first.")] = ()
    vars: Annotated[Mapping[Identifier, Any], Doc("The author's constants, as `vars`.")] = field(
        default_factory=dict[str, Any]
    )
    tools: Annotated[tuple[ToolUse, ...], Doc("What the model may call.")] = ()
    hooks: Annotated[Hooks | None, Doc("Callbacks at the points of a turn.")] = None
    methods: Annotated[Mapping[Identifier, Method], Doc("Methods of its own.")] = field(
        default_factory=dict[str, Method]
    )
    returns: Annotated[Mapping[str, Any] | None, Doc("JSON Schema that the answer must fit."), Schema()] = (
        None
    )
    stream: Annotated[
        Literal["live", "held"] | None, Doc("Whether text reaches the user before it is settled.")
    ] = None
    limits: Annotated[Limits | None, Doc("How much it may use.")] = None


# -- settings ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """A model under a name of the project's own."""

    form: ClassVar[Form] = Form("a model", short="use")
    use: Annotated[str, Doc("`provider/model`."), Ref("endpoint")]
    options: Annotated[Options | None, Doc("How it is asked, under an assistant's own options.")] = None
    timeout: Annotated[float | None, Doc("How long a request may take; 2m if not said."), Seconds()] = None
    connect_timeout: Annotated[
        float | None, Doc("How long connecting may take; 10s if not said."), Seconds()
    ] = None
    idle_timeout: Annotated[
        float | None, Doc("How long a stream may be silent; 1m if not said."), Seconds()
    ] = None
    file: Annotated[str, Doc("A file of weights for `local`, or a script for `scripted`.")] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """Where models are reached."""

    form: ClassVar[Form] = Form("a provider")
    api: Annotated[str, Doc("The wire it speaks."), Ref("wire")]
    base_url: Annotated[
        str, Doc("Where its API begins, such as `http://127.0.0.1:11434/v1`."), Template()
    ] = ""
    key: Annotated[Variable, Doc("The environment variable that holds its key.")] = ""
    headers: Annotated[Mapping[str, str], Doc("Sent with each request."), Template()] = field(
        default_factory=dict[str, str]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A project's `yaoci.yaml`."""

    form: ClassVar[Form] = Form("yaoci.yaml")
    yaoci: Annotated[Literal[1], Doc("The version of this language.")] = 1
    models: Annotated[Mapping[str, ModelSettings], Doc("Models by names of the project's own.")] = field(
        default_factory=dict[str, ModelSettings]
    )
    providers: Annotated[Mapping[str, Provider], Doc("Where models are reached, besides the known ones.")] = (
        field(default_factory=dict[str, Provider])
    )
    default_model: Annotated[str, Doc("The model of assistants that name none."), Ref("model")] = ""
    limits: Annotated[Limits | None, Doc("Above the limits of every assistant.")] = None


def text_of(text: Text, locale: str = "") -> str:
    """Return a text in the language asked for, else in its first one."""
    if isinstance(text, str):
        return text
    if locale in text:
        return text[locale]
    short = locale.replace("_", "-").partition("-")[0]
    for language, found in text.items():
        if short and language.partition("-")[0] == short:
            return found
    return next(iter(text.values()), "")
