"""Options of the test run."""


def pytest_addoption(parser):
    parser.addoption("--rewrite-golden", action="store_true", help="write what is said now into tests/cases")
