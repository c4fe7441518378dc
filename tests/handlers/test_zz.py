from ..project import project
def test_a(tmp_path):
    assert project(tmp_path, {"processes/a.yaml": "methods:\n  x: {value: 1}\n"})
