"""Failures as data and as exceptions."""

import pytest

from yaoci import Failed
from yaoci.errors import Failure


def test_a_text_alone_is_a_failure_of_kind_failed():
    assert Failed("no bread").failure == Failure("failed", "no bread")
    assert str(Failed("no bread")) == "no bread"


@pytest.mark.parametrize(
    ("kind", "says"), [("mising", "did you mean `missing`? There are auth, "), ("rate-limit", "`rate_limit`"), ("x", ": There")]
)  # fmt: skip
def test_a_kind_outside_the_set_is_refused_with_the_nearest_and_the_set(kind, says):
    with pytest.raises(ValueError, match=f"no kind of failure is called `{kind}`") as caught:
        Failed.of(kind, "text")
    assert says in str(caught.value)
    assert "template, timeout" in str(caught.value)


@pytest.mark.parametrize("failure", [Failure("bug", "x"), Failure("quota", "x", "a.yaml:1", 2.0, {"n": 1})])
def test_a_failure_reads_back_as_it_was_written(failure):
    assert Failure.from_json(failure.to_json()) == failure
