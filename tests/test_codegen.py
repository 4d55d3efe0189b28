"""The generator: its files are up to date, tables and classes agree, mistakes stop it."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from codegen import __main__ as command
from codegen import facts, methods, output, python, rust
from codegen.layout import bracketed, doc, from_line, piped
from codegen.model import FactError, Record, Scalar, Shape, Union, Version, attribute
from codegen.prose import Prose, words

VERSIONS = facts.load()
IDS = [f"v{v.number}" for v in VERSIONS]


@pytest.fixture(params=VERSIONS, ids=IDS)
def version(request: pytest.FixtureRequest) -> Version:
    return request.param


def classes(version: Version) -> Any:
    return importlib.import_module(f"acp.v{version.number}.schema")


# -- files ----------------------------------------------------------------


def test_every_generated_file_is_up_to_date() -> None:
    assert output.compare(command.generated(), output.OWNED) == []


def test_the_check_tells_stale_missing_and_stray_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "ROOT", tmp_path)
    output.write({"made/a.py": "1\n", "made/b.py": "2\n"}, ["made"])
    said = output.compare({"made/a.py": "3\n", "made/c.py": "4\n"}, ["made"])
    lines = [line for line in said if not line.startswith(" ")]
    assert lines == ["made/a.py: stale (+1 -1)", "made/c.py: missing", "made/b.py: no longer made"]


def test_writing_removes_files_that_are_no_longer_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "ROOT", tmp_path)
    output.write({"made/a.py": "1\n", "made/b.py": "2\n"}, ["made"])
    assert output.write({"made/a.py": "1\n"}, ["made"]) == ["made/b.py"]
    assert [p.name for p in (tmp_path / "made").iterdir()] == ["a.py"]


def test_no_generated_file_is_longer_than_a_reader_can_take() -> None:
    limit = 1200
    long = {n: t.count("\n") for n, t in command.generated().items() if t.count("\n") > limit}
    assert long == {}


# -- facts ----------------------------------------------------------------


def test_the_digest_changes_with_every_file_that_code_depends_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in facts.HASHED:
        (tmp_path / name).write_bytes((facts.SCHEMA / name).read_bytes())
    monkeypatch.setattr(facts, "SCHEMA", tmp_path)
    seen = {facts.schema_hash()}
    for name in facts.HASHED:
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes() + b"\n")
        seen.add(facts.schema_hash())
    assert len(seen) == len(facts.HASHED) + 1


def read(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> list[Version]:
    """The versions with some of the hand-kept facts replaced."""
    original = facts.load_toml
    monkeypatch.setattr(
        facts, "load_toml", lambda name: changes.get(name.removesuffix(".toml"), original(name))
    )
    return facts.load()


def test_a_definition_without_a_file_stops_the_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    names = facts.load_toml("names.toml")
    names["domains"]["tools"].remove("ToolCall")
    with pytest.raises(FactError, match="ToolCall in no domain"):
        read(monkeypatch, names=names)


def test_a_method_without_a_name_stops_the_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    names = facts.load_toml("names.toml")
    del names["methods"]["session/prompt"]
    with pytest.raises(FactError, match="session/prompt"):
        read(monkeypatch, names=names)


@pytest.mark.parametrize(
    ("kind", "entry"),
    [
        ("record", {"version": 1, "name": "ToolCall", "fields": [], "reason": "x"}),
        ("variant", {"version": 1, "union": "ToolCallContent", "value": "x", "targets": []}),
        ("field", {"version": 1, "records": ["ToolCall"], "wire": "x", "alias": "y"}),
    ],
)
def test_an_addition_that_fits_nothing_stops_the_generator(
    monkeypatch: pytest.MonkeyPatch, kind: str, entry: dict[str, Any]
) -> None:
    additions = facts.load_toml("additions.toml")
    additions[kind].append(entry)
    with pytest.raises(FactError, match=r"additions\.toml"):
        read(monkeypatch, additions=additions)


def test_hand_kept_names_and_words_all_belong_to_something() -> None:
    known = {n for v in VERSIONS for n in v.types}
    placed = {n for names in facts.load_toml("names.toml")["domains"].values() for n in names}
    assert placed - known == set()
    assert (set(words()["objects"]) | set(words()["scalars"])) - known == set()
    members = {
        f"{owner}.{f.wire}"
        for v in VERSIONS
        for r in v.records
        for f in r.own
        for owner in Prose(v).owners(f)
    }
    assert set(words()["members"]) - members == set()


def test_attribute_names_are_the_wire_names_in_snake_case() -> None:
    assert attribute("_meta") == "field_meta"
    assert attribute("sessionId") == "session_id"
    assert attribute("oneOf") == "one_of"
    assert attribute("title") == "title"


def test_each_record_stands_for_one_discriminator_and_its_names_do_not_collide(
    version: Version,
) -> None:
    for record in version.records:
        names = [f.name for f in record.fields] + [t.name for t in record.tags]
        assert len(set(names)) == len(names), record.name


# -- tables ---------------------------------------------------------------


def tables(version: Version) -> dict[str, tuple[int, list[str]]]:
    """Index and attributes of each record in the Rust tables."""
    out = {}
    folder = facts.ROOT / rust.FOLDER / f"v{version.number}"
    for path in sorted(folder.glob("*.rs")):
        form = r"^pub static \w+: Record = Record \{\n(.*?)^\};"
        for body in re.findall(form, path.read_text(), re.MULTILINE | re.DOTALL):
            ((name, index),) = re.findall(r'name: "(\w+)",\s+index: (\d+)', body)
            members = body.split("fields:")[1].split("tag:")[0]
            found = re.findall(
                r'\bMETA\b|(?:field|defaulted)\(\s*"\w+",\s*"(\w+)"|aliased\(\s*"\w+",\s*"\w+",\s*"(\w+)"',
                members,
            )
            out[name] = int(index), [a or b or "field_meta" for a, b in found]
    return out


def registered(version: Version) -> list[type[Any]]:
    """The classes that are given to the core, those of former releases last."""
    packages = [f"acp._schema.v{version.number}"]
    if version.former:
        packages.append(f"{packages[0]}.former")
    return [cls for name in packages for cls in importlib.import_module(name).RECORDS]


def test_tables_and_classes_have_the_same_records_in_the_same_order(version: Version) -> None:
    records = registered(version)
    made = tables(version)
    assert [c.__name__ for c in records] == sorted(made, key=lambda n: made[n][0])
    assert sorted(index for index, _ in made.values()) == list(range(len(records)))


def test_tables_and_classes_have_the_same_attributes_in_the_same_order(version: Version) -> None:
    made = tables(version)
    for cls in registered(version):
        slots = [
            name
            for base in reversed(cls.__mro__)
            if base.__module__.startswith("acp._schema.v")
            for name in base.__slots__
        ]
        assert slots == made[cls.__name__][1], cls.__name__


def test_the_classes_carry_the_digest_of_the_tables() -> None:
    source = (facts.ROOT / rust.FOLDER / "mod.rs").read_text()
    assert f'"{importlib.import_module("acp._schema").SCHEMA_HASH}"' in source


# -- classes --------------------------------------------------------------


def test_a_class_extends_its_struct_and_holds_its_discriminators(version: Version) -> None:
    module = classes(version)
    for record in version.records:
        cls = getattr(module, record.name)
        roots = {record.parent} if record.parent else {"BaseModel", "RootModel"}
        assert cls.__base__.__name__ in roots
        for tag in record.tags:
            assert getattr(cls, tag.name) == tag.value
            assert tag.name not in cls.__slots__
        assert list(cls.__annotations__) == [t.name for t in record.tags] + [
            f.name for f in record.own
        ]


def test_every_class_says_what_it_is_and_describes_each_member(version: Version) -> None:
    module = classes(version)
    for record in version.records:
        said = inspect.getdoc(getattr(module, record.name)) or ""
        assert said.split("\n", 1)[0].endswith("."), record.name
        for field in record.fields:
            assert re.search(rf"^    {field.name}: ", said, re.MULTILINE), (
                f"{record.name}.{field.name}"
            )


def test_every_union_and_set_of_strings_has_a_name_in_python(version: Version) -> None:
    module = classes(version)
    for name, found in version.types.items():
        if not isinstance(found, Scalar):
            assert name in module.__all__
            assert hasattr(module, name)


def test_the_public_modules_of_version_1_have_the_same_classes() -> None:
    old, new = importlib.import_module("acp.schema"), importlib.import_module("acp.v1.schema")
    kinds = [name for name in new.__all__ if isinstance(getattr(new, name), type)]
    assert {*kinds} <= {*old.__all__} <= {*new.__all__}
    assert all(getattr(old, name) is getattr(new, name) for name in old.__all__)


def test_no_class_of_one_version_is_a_class_of_the_other() -> None:
    one, two = (classes(v) for v in VERSIONS)
    shared = {v.name for v in VERSIONS[0].records} & {v.name for v in VERSIONS[1].records}
    assert len(shared) > 150
    assert not [n for n in shared if getattr(one, n) is getattr(two, n)]


# -- methods --------------------------------------------------------------


def test_each_method_has_one_row_for_a_side_and_kind_and_types_that_exist(version: Version) -> None:
    methods = importlib.import_module(f"acp._schema.v{version.number}.methods").METHODS
    assert len({m[:3] for m in methods}) == len(methods) == len(version.methods)
    for method in methods:
        assert method.name.isidentifier()
        assert (method.result is None) == (method.kind == "notification")
        for name in filter(None, (method.params, method.result)):
            assert name in version.types
            assert not isinstance(version.types[name], Scalar) or version.types[name].kind == "any"


def test_the_constants_of_meta_are_those_of_the_official_package() -> None:
    meta = importlib.import_module("acp.meta")
    assert meta.PROTOCOL_VERSION == 1
    assert (len(meta.AGENT_METHODS), len(meta.CLIENT_METHODS)) == (28, 14)
    assert meta.AGENT_METHODS["session_set_config_option"] == "session/set_config_option"
    assert meta.AGENT_METHODS["document_did_open"] == "document/didOpen"
    assert meta.CLIENT_METHODS["mcp_connect"] == "mcp/connect"
    assert meta.CLIENT_METHODS["session_request_permission"] == "session/request_permission"


# -- additions ------------------------------------------------------------


def test_a_version_1_diff_is_a_variant_of_its_own_in_version_2() -> None:
    union = VERSIONS[1].types["ToolCallContent"]
    assert isinstance(union, Union)
    assert dict(union.variants)["diff"] == [
        ("changes", "FileEditToolCallContent"),
        ("path", "FlatDiffToolCallContent"),
    ]
    assert union.rule == "first_present"


def test_the_id_of_a_configuration_option_is_read_under_its_name_of_the_other_version() -> None:
    aliases = [
        {
            (r.name, f.wire): f.alias
            for r in version.records
            for f in r.fields
            if f.alias is not None
        }
        for version in VERSIONS
    ]
    assert aliases == [
        {
            ("SessionConfigOptionBoolean", "id"): "configId",
            ("SessionConfigOptionSelect", "id"): "configId",
        },
        {
            ("OtherSessionConfigOption", "configId"): "id",
            ("SessionConfigOptionBoolean", "configId"): "id",
            ("SessionConfigOptionSelect", "configId"): "id",
        },
    ]


def test_absent_members_of_version_1_are_none_where_the_release_names_no_default() -> None:
    call = VERSIONS[0].types["ToolCallStart"]
    assert isinstance(call, Record)
    defaults = {f.name: f.default for f in call.fields}
    assert defaults["kind"] == ("implied", "other")
    assert defaults["status"] == ("implied", "pending")
    assert defaults["content"] == ("implied list", None)
    server = VERSIONS[1].types["StdioMcpServer"]
    assert isinstance(server, Record)
    assert {f.name: f.default for f in server.fields}["args"] == ("list", None)


# -- layout ---------------------------------------------------------------


def test_python_source_is_laid_out_as_the_formatter_does() -> None:
    long = ["A" * 40, "b" * 40, "c" * 40]
    assert bracketed("x = [", ["1", "2"], "]") == "x = [1, 2]"
    assert bracketed("x = [", long, "]").count("\n") == 4
    assert from_line("m", ["b", "Bb", "A_CONST", "a"]) == "from m import A_CONST, a, b, Bb"
    assert piped("X", ["A", "B"]) == "X = A | B"
    assert piped("X" * 90, ["Aa", "Bb", "Cc"]) == f"{'X' * 90} = (\n    Aa | Bb | Cc\n)"
    assert doc("Said.") == '"""Said."""'


def test_an_attribute_that_hides_a_type_stops_the_generator() -> None:
    version = VERSIONS[0]
    objects = python.Objects(version)
    record = version.types["SessionCapabilities"]
    assert "list" in {f.name for f in record.fields}
    listed = facts.Field("X", "items", facts.parse_expr("[str]"), "r", ("absent", None))
    hidden = Record("X", None, [*record.own, listed], {"k": "rec"})
    hidden.fields = hidden.own
    with pytest.raises(FactError, match="hides the type"):
        objects.record(hidden)


def test_shapes_name_their_members_in_python(version: Version) -> None:
    shapes = {n for n, t in version.types.items() if isinstance(t, Shape)}
    assert {"RequestId", "EmbeddedResourceResource", "MessageMcpResponse"} <= shapes


# -- pages ------------------------------------------------------------------

ROW = re.compile(r"^\| `(.+?)` \| (\w+) \| `@(\w+)\.(\w+)` \| (.+?) \|", re.MULTILINE)


def test_the_page_of_methods_names_decorators_and_classes_that_endpoints_know(
    version: Version,
) -> None:
    rows = ROW.findall(methods.page([version]))
    assert len(rows) == len([m for m in version.methods if m.side in methods.DECORATING])
    endpoints = importlib.import_module(f"acp.v{version.number}")
    for wire, kind, side, name, params in rows:
        endpoint = getattr(endpoints, side.capitalize())(features=["all"])
        getattr(endpoint, name)(lambda message: None)
        assert endpoint.serves(wire), wire
        for each in re.findall(r"`(\w+)`", params):
            found = endpoint.facts.method_of(side, kind, getattr(classes(version), each))
            assert (found.wire, found.kind) == (wire, kind), each
