import os

import pytest

from yaoci.errors import UsageError
from yaoci.loader import find, find_root


def made(root, *names):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", "utf-8")
    return root


def ids(root):
    return [(found.kind, found.id, found.shown) for found in find(root).files]


def told(root):
    return [(finding.code, finding.span.file) for finding in find(root).findings]


# -- the root ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", ["yaoci.yaml", "assistants/a.yaml", "processes/b.yaml"])
def test_the_root_is_the_nearest_folder_upward_that_looks_like_one(tmp_path, mark):
    made(tmp_path, mark, "docs/deep/note.md")
    assert find_root(tmp_path / "docs" / "deep") == tmp_path


def test_a_file_of_the_project_leads_to_its_root(tmp_path):
    made(tmp_path, "assistants/a.yaml")
    assert find_root(tmp_path / "assistants" / "a.yaml") == tmp_path


def test_without_a_project_it_says_what_was_looked_for(tmp_path):
    with pytest.raises(UsageError, match=r"no yaoci\.yaml, assistants/ or processes/"):
        find_root(tmp_path)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("yaoci.yml", "rename it to `yaoci.yaml`"),
        ("assistant/a.yaml", "there is a folder `assistant`: did you mean `assistants`?"),
        ("agents/a.yml", "did you mean `assistants`?"),
        ("processor/p.yaml", "did you mean `processes`?"),
    ],
)
def test_without_a_project_it_says_what_seems_to_be_meant_as_one(tmp_path, name, says):
    made(tmp_path, name)
    with pytest.raises(UsageError) as caught:
        find_root(tmp_path)
    assert says in str(caught.value)


def test_a_folder_without_yaml_is_not_taken_for_one_of_a_project(tmp_path):
    made(tmp_path, "assistants/a.yaml", "processors/cpu.txt")
    assert told(tmp_path) == []


def test_an_empty_project_has_no_files(tmp_path):
    (tmp_path / "assistants").mkdir()
    assert (ids(tmp_path), told(tmp_path)) == ([], [])


# -- ids --------------------------------------------------------------------------------------------


def test_ids_come_from_paths(tmp_path):
    made(
        tmp_path,
        "yaoci.yaml",
        "assistants/neo.yaml",
        "assistants/support/triage.yaml",
        "processes/shop/orders.yaml",
    )
    assert ids(tmp_path) == [
        ("settings", "", "yaoci.yaml"),
        ("assistant", "neo", "assistants/neo.yaml"),
        ("assistant", "support.triage", "assistants/support/triage.yaml"),
        ("processor", "shop.orders", "processes/shop/orders.yaml"),
    ]


def test_a_folder_with_assistant_yaml_is_one_assistant_and_its_assets(tmp_path):
    made(
        tmp_path, "assistants/help/assistant.yaml", "assistants/help/prices.yaml", "assistants/help/old.yml",
        "assistants/help/data/more.yaml", "assistants/help/data/my notes.yaml", "assistants/help/deep/one/assistant.yaml",
    )  # fmt: skip
    assert (ids(tmp_path), told(tmp_path)) == (
        [
            ("assistant", "help", "assistants/help/assistant.yaml"),
            ("assistant", "help.deep.one", "assistants/help/deep/one/assistant.yaml"),
        ],
        [],
    )


def test_python_alone_is_a_processor_and_beside_yaml_it_is_not(tmp_path):
    made(
        tmp_path,
        "processes/a.py",
        "processes/b.py",
        "processes/b.yaml",
        "assistants/c.py",
        "assistants/c.yaml",
    )
    assert ids(tmp_path) == [
        ("assistant", "c", "assistants/c.yaml"),
        ("python", "a", "processes/a.py"),
        ("processor", "b", "processes/b.yaml"),
    ]


def test_names_with_an_underscore_or_a_dot_are_parts(tmp_path):
    made(
        tmp_path,
        "assistants/_base.yaml",
        "assistants/_parts/a.yaml",
        "assistants/.b.yaml",
        "processes/__init__.py",
    )
    assert (ids(tmp_path), told(tmp_path)) == ([], [])


def test_other_files_are_none_of_ours(tmp_path):
    made(tmp_path, "assistants/README.md", "processes/data.json", "processes/py", "notes/a.yaml")
    assert (ids(tmp_path), told(tmp_path)) == ([], [])


@pytest.mark.parametrize(
    "name",
    [
        "assistants/my helper.yaml",
        "assistants/2nd.yaml",
        "processes/订单.yaml",
        "processes/a.b.yaml",
        "processes/x y/a.py",
    ],
)
def test_a_name_that_cannot_be_said_is_told(tmp_path, name):
    made(tmp_path, name)
    assert (ids(tmp_path), told(tmp_path)) == ([], [("Y210", name)])


@pytest.mark.parametrize("name", ["assistants/std.yaml", "processes/assistants/a.yaml", "processes/std.py"])
def test_reserved_names_are_told(tmp_path, name):
    made(tmp_path, name)
    assert told(tmp_path) == [("Y210", name)]


def test_yml_is_not_read_and_told(tmp_path):
    made(tmp_path, "assistants/a.yml", "processes/b.yml")
    assert (ids(tmp_path), told(tmp_path)) == (
        [],
        [("Y211", "assistants/a.yml"), ("Y211", "processes/b.yml")],
    )


def test_ids_that_differ_only_in_case_clash_and_the_first_stays(tmp_path):
    made(tmp_path, "assistants/Help.yaml", "assistants/help/assistant.yaml")
    project = find(tmp_path)
    assert [found.shown for found in project.files] == ["assistants/Help.yaml"]
    (finding,) = project.findings
    assert (finding.code, finding.span.file, finding.related[0][1].file) == (
        "Y209", "assistants/help/assistant.yaml", "assistants/Help.yaml",
    )  # fmt: skip


def test_an_assistant_and_a_processor_may_have_one_name(tmp_path):
    made(tmp_path, "assistants/orders.yaml", "processes/orders.yaml")
    assert told(tmp_path) == []


# -- links and folders ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["assistants/a.yaml", "processes/b.py", "yaoci.yaml"])
def test_a_link_out_of_the_project_is_not_followed(tmp_path, name):
    root = made(tmp_path / "root", "assistants/c.yaml", "processes/d.yaml")
    made(tmp_path, "outside.txt")
    (root / name).symlink_to(tmp_path / "outside.txt")
    assert told(root) == [("Y801", name)]
    assert name not in [shown for _, _, shown in ids(root)]


def test_python_beside_must_not_be_a_link_out_of_the_project(tmp_path):
    root = made(tmp_path / "root", "processes/a.yaml")
    made(tmp_path, "outside.py")
    (root / "processes" / "a.py").symlink_to(tmp_path / "outside.py")
    assert (ids(root), told(root)) == ([], [("Y801", "processes/a.py")])


@pytest.mark.parametrize("name", ["assistants", "assistants/more"])
def test_a_folder_that_is_a_link_out_of_the_project_is_not_entered(tmp_path, name):
    root = made(tmp_path / "root", "yaoci.yaml")
    made(tmp_path, "outside/a.yaml")
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).symlink_to(tmp_path / "outside")
    assert told(root) == [("Y801", name)]


def test_a_link_within_the_project_is_followed(tmp_path):
    made(tmp_path, "assistants/a.yaml", "parts/b.yaml")
    (tmp_path / "assistants" / "b.yaml").symlink_to(tmp_path / "parts" / "b.yaml")
    assert [id for _, id, _ in ids(tmp_path)] == ["a", "b"]


def test_a_broken_link_is_left_to_the_reader(tmp_path):
    made(tmp_path, "assistants/a.yaml")
    (tmp_path / "assistants" / "b.yaml").symlink_to("gone.yaml")
    assert ([id for _, id, _ in ids(tmp_path)], told(tmp_path)) == (["a", "b"], [])


def test_links_that_lead_around_end(tmp_path):
    made(tmp_path, "processes/a/one.yaml", "processes/b/two.yaml")
    (tmp_path / "processes" / "a" / "up").symlink_to(tmp_path / "processes")
    (tmp_path / "processes" / "b" / "to").symlink_to(tmp_path / "processes" / "b")
    assert told(tmp_path) == [("Y802", "processes/a/up"), ("Y802", "processes/b/to")]


def test_a_folder_called_as_a_file_is_taken_for_one(tmp_path):
    (tmp_path / "assistants" / "a.yaml").mkdir(parents=True)
    assert ids(tmp_path) == [("assistant", "a", "assistants/a.yaml")]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="this user may read everything")
def test_a_folder_that_may_not_be_read_is_told(tmp_path):
    made(tmp_path, "assistants/shut/a.yaml")
    (tmp_path / "assistants" / "shut").chmod(0)
    assert told(tmp_path) == [("Y021", "assistants/shut")]


def test_a_file_in_the_place_of_a_folder_is_told(tmp_path):
    made(tmp_path, "assistants")
    assert told(tmp_path) == [("Y021", "assistants")]


@pytest.mark.parametrize("aim", ["gone", "notes"])
def test_a_broken_link_beside_an_assistant_in_its_own_folder_is_its_own_affair(tmp_path, aim):
    made(tmp_path, "assistants/a/assistant.yaml")
    (tmp_path / "assistants" / "a" / "notes").symlink_to(aim)
    assert (ids(tmp_path), told(tmp_path)) == ([("assistant", "a", "assistants/a/assistant.yaml")], [])
