import ast

import pytest

from yaoci.annotations import MAX_NODES, Annotations

FILE = """
from dataclasses import KW_ONLY, dataclass, field
from typing import *

Status = Literal["open", "shut"]
Amount: TypeAlias = int | float
Number = 3
class Order(TypedDict, total=False):
    id: Required[str]
    count: Annotated[int, "how many"]
    parts: "list[Order]"
class Refund(Order):
    amount: Amount
    why: NotRequired[str]
    who: Annotated[NotRequired[str], "by whom"]
@dataclass(frozen=True)
class Point:
    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)
    z: int = field(repr=False)
    made: int = field(init=False)
    count: ClassVar[int] = 3
    _: KW_ONLY
    last: str = "a"
@dataclass
class Spot(Point):
    y: str
class Plain:
    x: int
class Loop(Loop): ...
"""

ORDER = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "count": {"type": "integer", "description": "how many"},
        "parts": {"type": "array"},
    },
    "required": ["id"],
}


def schema(annotation, file=FILE):
    tree = ast.parse(file)
    return Annotations(tree).schema(ast.parse(annotation, mode="eval").body)


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ("str", {"type": "string"}),
        ("int", {"type": "integer"}),
        ("float", {"type": "number"}),
        ("bool", {"type": "boolean"}),
        ("None", {"type": "null"}),
        ("'str'", {"type": "string"}),
        ("' list[int] '", {"type": "array", "items": {"type": "integer"}}),
        ("list", {"type": "array"}),
        ("typing.List[str]", {"type": "array", "items": {"type": "string"}}),
        ("Sequence[Any]", {"type": "array"}),
        ("dict", {"type": "object"}),
        ("dict[str, int]", {"type": "object", "additionalProperties": {"type": "integer"}}),
        ("Mapping[str, Any]", {"type": "object"}),
        ("tuple", {"type": "array"}),
        ("tuple[int, ...]", {"type": "array", "items": {"type": "integer"}}),
        ("tuple[()]", {"type": "array", "maxItems": 0}),
        (
            "tuple[int, str]",
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
        ),
        ("int | None", {"type": ["integer", "null"]}),
        ("Optional[int]", {"type": ["integer", "null"]}),
        ("Union[int, str, int]", {"type": ["integer", "string"]}),
        ("Union[int]", {"type": "integer"}),
        ("None | list[int]", {"type": ["array", "null"], "items": {"type": "integer"}}),
        (
            "str | list[str] | None",
            {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
        ),
        ("list[int] | (list[str] | str)", {
            "anyOf": [
                {"type": "array", "items": {"type": "integer"}},
                {"type": "array", "items": {"type": "string"}},
                {"type": "string"},
            ]
        }),
        ("Literal['a', 'b']", {"type": "string", "enum": ["a", "b"]}),
        ("Literal[1, True, None, 'x']", {"type": ["integer", "boolean", "null", "string"], "enum": [1, True, None, "x"]}),
        ("Literal[-1]", {"type": "integer", "enum": [-1]}),
        ("Literal['a'] | None", {"type": ["string", "null"], "enum": ["a", None]}),
        ("Annotated[str, 'a city', 3]", {"type": "string", "description": "a city"}),
        ("Annotated[str, 3]", {"type": "string"}),
        ("Annotated[str, 'a city'] | None", {"type": ["string", "null"], "description": "a city"}),
        ("list[Annotated[str, 'a city']]", {"type": "array", "items": {"type": "string", "description": "a city"}}),
        ("Annotated[Any, 'what'] | int", {"description": "what"}),
    ],
)  # fmt: skip
def test_an_annotation_says_what_json_fits(annotation, expected):
    assert schema(annotation) == expected


@pytest.mark.parametrize(
    "annotation",
    ["Any", "object", "Json", "bytes", "datetime", "Callable[[int], str]", "set[int]", "int | Any", "Literal[A.B]",
     "Literal[b'x']", "f(x)", "3", "'not ('", "'a\\0b'", "Plain", "Loop", "Number", "Unknown[int]", "dict[()]", "lambda: 1"],
)  # fmt: skip
def test_any_other_annotation_says_nothing(annotation):
    assert schema(annotation) == ({"type": "object"} if annotation == "dict[()]" else {})


def test_no_annotation_says_nothing():
    assert Annotations(ast.parse("")).schema(None) == {}


def test_a_typed_dict_of_the_file_is_an_object_that_may_hold_more():
    assert schema("Order") == ORDER


def test_a_typed_dict_that_extends_another_has_its_fields_first():
    properties = ORDER["properties"] | {
        "amount": {"type": ["integer", "number"]},
        "why": {"type": "string"},
        "who": {"type": "string", "description": "by whom"},
    }
    assert schema("Refund") == {"type": "object", "properties": properties, "required": ["id", "amount"]}


def test_a_dataclass_of_the_file_is_an_object_of_its_fields_alone():
    assert schema("Point") == {
        "type": "object",
        "properties": {
            "x": {"type": "integer"},
            "y": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "z": {"type": "integer"},
            "last": {"type": "string"},
        },
        "required": ["x", "z"],
        "additionalProperties": False,
    }


def test_a_field_said_again_in_a_class_below_counts_as_it_is_said_there():
    spot = schema("Spot")
    assert spot["properties"]["y"] == {"type": "string"}
    assert spot["required"] == ["x", "y", "z"]


def test_names_of_the_file_go_before_those_of_typing():
    assert schema("dict", "class dict(TypedDict):\n  a: int")["required"] == ["a"]


def test_an_alias_stands_for_what_it_names():
    assert schema("Status | None") == {"type": ["string", "null"], "enum": ["open", "shut", None]}
    assert schema("A", "A = list[B]\nB = list[A]") == {"type": "array", "items": {"type": "array"}}


def test_each_schema_is_a_new_one():
    annotations = Annotations(ast.parse(FILE))
    order = ast.parse("Order", mode="eval").body
    annotations.schema(order)["properties"].clear()
    assert annotations.schema(order) == ORDER


def test_classes_that_double_each_other_end_at_the_limit():
    lines = ["class A0(TypedDict):\n  x: int"]
    lines += [f"class A{i}(TypedDict):\n  a: A{i - 1}\n  b: A{i - 1}" for i in range(1, 60)]

    def count(node):
        return 1 + sum(map(count, node.get("properties", {}).values()))

    assert count(schema("A59", "\n".join(lines))) <= 2 * MAX_NODES


def test_an_annotation_nested_too_deep_says_nothing():
    assert schema("list[" * 150 + "int" + "]" * 150)["type"] == "array"
    chain = "\n".join(["A0 = list[int]", *(f"A{number} = list[A{number - 1}]" for number in range(1, 2000))])
    assert schema("A1", chain) == {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}
    assert schema("A1999", chain) == {}
