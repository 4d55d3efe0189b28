"""`acp doctor`: whose package `acp` is, what is wrong with it, and what mends it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import acp_doctor
from tests.switching.packages import OFFICIALS, OURS, Packages


@pytest.fixture
def packages(tmp_path: Path) -> Packages:
    return Packages(tmp_path / "site packages")


def text_of(report: acp_doctor.Report) -> str:
    return "\n".join(finding.text for finding in report.findings)


# Healthy.


def test_this_library_alone_is_healthy(packages: Packages) -> None:
    packages.native()
    report = packages.examined()
    assert (report.healthy, report.owner) == (True, "acp-native 0.1.0")
    assert report.place == str(packages.root / "acp")
    assert report.commands == {}


def test_this_library_with_the_shim_is_healthy_and_content(packages: Packages) -> None:
    packages.native()
    packages.shim()
    packages.install("dependent", "1.0", {}, requires=("agent-client-protocol==0.12.1",))
    report = packages.examined()
    assert report.healthy
    assert "stands in" in report.notes[0]


def test_what_python_compiles_is_no_leftover(packages: Packages) -> None:
    packages.native()
    (packages.root / "acp" / "__pycache__").mkdir()
    (packages.root / "acp" / "__pycache__" / "schema.cpython-311.pyc").write_bytes(b"x")
    assert packages.examined().healthy


def test_what_pip_has_set_aside_does_not_count(packages: Packages) -> None:
    packages.official()
    record = packages.folder("agent-client-protocol", "0.12.1")
    packages.native()
    record.rename(record.with_name("~gent_client_protocol-0.12.1.dist-info"))
    (packages.root / "acp" / "router.py").unlink()
    assert packages.examined().healthy


def test_a_package_whose_name_begins_with_acp_is_not_the_package(packages: Packages) -> None:
    packages.native()
    packages.install("acp-gateway", "0.2", {"acp_gateway/__init__.py": "", "acpx.py": ""})
    assert packages.examined().healthy


# Both distributions.


def test_the_official_sdk_over_this_library_is_found(packages: Packages) -> None:
    packages.native()
    packages.official()
    report = packages.examined()
    assert packages.kinds() == {"both", "changed"}
    assert report.owner == "agent-client-protocol 0.12.1"
    assert report.files == {"agent-client-protocol 0.12.1": 3, "acp-native 0.1.0": 1}
    assert "agent-client-protocol 0.12.1 has overwritten 2 of 3 files" in text_of(report)
    changed = next(finding for finding in report.findings if finding.kind == "changed")
    assert changed.files == ["acp/__init__.py", "acp/schema.py"]


def test_this_library_over_the_official_sdk_is_found(packages: Packages) -> None:
    packages.official()
    packages.native()
    report = packages.examined()
    assert packages.kinds() == {"both"}
    assert report.owner == "acp-native 0.1.0"


@pytest.mark.parametrize("first", ["native", "official"])
def test_removing_one_of_the_two_leaves_the_other_broken_and_that_is_found(
    packages: Packages, first: str
) -> None:
    getattr(packages, first)()
    getattr(packages, "official" if first == "native" else "native")()
    packages.uninstall("agent-client-protocol", "0.12.1")
    report = packages.examined()
    assert "missing" in packages.kinds()
    missing = next(finding for finding in report.findings if finding.kind == "missing")
    assert missing.files == ["acp/__init__.py", "acp/schema.py"]
    assert report.owner is None


def test_the_official_sdk_alone_is_found(packages: Packages) -> None:
    packages.official()
    report = packages.examined()
    assert {"absent", "both"} == packages.kinds()
    assert report.owner == "agent-client-protocol 0.12.1"


def test_the_shim_alone_is_found_and_this_library_is_what_it_lacks(packages: Packages) -> None:
    packages.shim()
    report = packages.examined()
    assert packages.kinds() == {"absent"}
    assert report.commands["pip"] == [f"{sys.executable} -m pip install acp-native"]


# Other faults.


def test_another_package_of_the_name_is_told_and_no_command_mends_it(packages: Packages) -> None:
    packages.native()
    packages.install("agentpool", "2.0", {"acp/__init__.py": "a = 1\n", "acp/agent.py": ""})
    report = packages.examined()
    assert "foreign" in packages.kinds()
    assert "agentpool 2.0 has a package `acp` of its own" in text_of(report)
    assert "give each an environment" in text_of(report)
    assert report.commands == {}


def test_a_module_of_the_name_is_a_package_of_the_name(packages: Packages) -> None:
    packages.native()
    packages.install("other", "1", {"acp.py": "a = 1\n"})
    assert "foreign" in packages.kinds()


def test_a_file_that_was_changed_since_is_named(packages: Packages) -> None:
    packages.native()
    (packages.root / "acp" / "schema.py").write_text("s = 3\n", "utf-8")
    (finding,) = packages.examined().findings
    assert (finding.kind, finding.files) == ("changed", ["acp/schema.py"])
    assert packages.examined().files == {"acp-native 0.1.0": 2, "nobody": 1}


def test_a_file_that_both_have_alike_is_not_overwritten(packages: Packages) -> None:
    packages.install("acp-native", "0.1.0", {**OURS, "acp/py.typed": ""})
    packages.install("agent-client-protocol", "0.12.1", {**OFFICIALS, "acp/py.typed": ""})
    changed = next(each for each in packages.examined().findings if each.kind == "changed")
    assert "acp/py.typed" not in changed.files


def test_a_folder_with_two_names_is_one(packages: Packages, tmp_path: Path) -> None:
    packages.native()
    (tmp_path / "lib64").symlink_to(packages.root, target_is_directory=True)
    assert packages.examined(tmp_path / "lib64").healthy


def test_files_that_nobody_has_recorded_are_named(packages: Packages) -> None:
    packages.native()
    (packages.root / "acp" / "contrib").mkdir()
    (packages.root / "acp" / "contrib" / "old.py").write_text("", "utf-8")
    report = packages.examined()
    (finding,) = report.findings
    assert (finding.kind, finding.files) == ("leftover", ["acp/contrib/old.py"])
    assert any("rmtree" in line for line in report.commands["pip"])


def test_two_records_of_one_distribution_are_found_and_removed_one_by_one(
    packages: Packages,
) -> None:
    packages.native()
    packages.install("acp-native", "0.0.9", OURS)
    report = packages.examined()
    assert packages.kinds() == {"twice"}
    away = [line for line in report.commands["pip"] if "uninstall" in line]
    assert len(away) == 2


def test_a_package_that_comes_first_on_the_path_is_found(
    packages: Packages, tmp_path: Path
) -> None:
    packages.native()
    (tmp_path / "work" / "acp").mkdir(parents=True)
    (tmp_path / "work" / "acp" / "__init__.py").write_text("", "utf-8")
    report = packages.examined(tmp_path / "work")
    assert packages.kinds(tmp_path / "work") == {"shadowed"}
    assert "PYTHONPATH" in text_of(report)
    assert report.commands == {}


def test_the_official_sdk_in_a_folder_before_this_library_is_found(
    packages: Packages, tmp_path: Path
) -> None:
    packages.native()
    before = Packages(tmp_path / "user")
    before.official()
    report = packages.examined(before.root)
    assert packages.kinds(before.root) == {"both", "shadowed"}
    assert report.owner == "agent-client-protocol 0.12.1"


def test_sources_behind_the_official_sdk_are_found_and_stay_installed(packages: Packages) -> None:
    origin = {"url": "file:///sources", "dir_info": {"editable": True}}
    packages.install("acp-native", "0.1.0", {"acp_native.pth": "/sources"}, origin=origin)
    packages.official()
    report = packages.examined()
    assert packages.kinds() == {"both", "shadowed"}
    away, *rest = report.commands["pip"]
    assert away.endswith("uninstall -y agent-client-protocol")
    assert rest == []


@pytest.mark.parametrize(
    ("requirement", "found"),
    [
        ("agent-client-protocol==0.12.1", True),
        ("agent_client.protocol[http] (>=0.12)", True),
        ('Agent-Client-Protocol>=0.9; python_version >= "3.10"', True),
        ('agent-client-protocol>=0.9; extra == "acp"', False),
        ("agent-client-protocol-extras", False),
    ],
)
def test_a_package_that_requires_the_official_sdk_calls_for_the_shim(
    packages: Packages, requirement: str, found: bool
) -> None:
    packages.native()
    packages.install("dependent", "1.0", {}, requires=(requirement,))
    report = packages.examined()
    assert packages.kinds() == ({"unmet"} if found else set())
    assert ("dependent requires agent-client-protocol" in text_of(report)) is found
    for tool, install in (("pip", "-m pip install"), ("uv", "uv pip install --python")):
        lines = report.commands.get(tool, [])
        assert len(lines) == (2 if found else 0)
        assert all("uninstall" not in line for line in lines)
        if found:
            assert lines[0].endswith("-m acp shim --out wheels")
            assert install in lines[1]
            assert lines[1].endswith(f"wheels/{acp_doctor.SHIM_WHEEL}")


# What mends it.


def test_what_mends_both_removes_both_and_puts_back_what_was_there(packages: Packages) -> None:
    packages.native(origin={"url": "file:///wheels/acp_native.whl", "archive_info": {}})
    packages.official()
    packages.install("dependent", "1.0", {}, requires=("agent-client-protocol==0.12.1",))
    commands = packages.examined().commands
    assert [line.split(sys.executable)[-1] for line in commands["pip"]] == [
        " -m pip uninstall -y acp-native agent-client-protocol",
        " -m pip install 'acp-native @ file:///wheels/acp_native.whl'",
        " -m acp shim --out wheels",
        f" -m pip install wheels/{acp_doctor.SHIM_WHEEL}",
    ]
    assert [line.split(" --python ")[0] for line in commands["uv"]] == [
        "uv pip uninstall",
        "uv pip install",
        f"{sys.executable} -m acp shim --out wheels",
        "uv pip install",
    ]


# The command.


@pytest.mark.parametrize("first", ["native", "official"])
def test_the_command_works_when_the_package_was_overwritten(packages: Packages, first: str) -> None:
    getattr(packages, first)()
    getattr(packages, "official" if first == "native" else "native")()
    done = packages.run("doctor", "--json")
    assert (done.returncode, done.stderr) == (1, "")
    told = json.loads(done.stdout)
    assert told["healthy"] is False
    assert {"both"} <= {finding["kind"] for finding in told["findings"]}
    assert set(told["commands"]) == {"pip", "uv"}


@pytest.mark.parametrize("what", ["whole", "half", "nothing"])
def test_the_command_tells_people_what_is_wrong_in_every_state(
    packages: Packages, what: str
) -> None:
    packages.native()
    if what != "whole":
        packages.official()
        packages.uninstall("agent-client-protocol", "0.12.1")
    if what == "nothing":
        packages.uninstall("acp-native", "0.1.0")
    done = packages.run("doctor")
    assert done.stderr == ""
    assert done.returncode == (0 if what == "whole" else 1)
    assert ("healthy" in done.stdout) is (what == "whole")
    assert ("To mend it with pip:" in done.stdout) is (what != "whole")


@pytest.mark.parametrize("arguments", [[], ["demo"], ["--version"], ["shim"]])
def test_the_other_subcommands_name_the_doctor_when_the_package_is_not_ours(
    packages: Packages, arguments: list[str]
) -> None:
    packages.native()
    packages.install("agent-client-protocol", "0.12.1", OFFICIALS)
    done = packages.run(*arguments)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "see `acp doctor`" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_doctor_runs_as_a_module_and_never_loads_the_package() -> None:
    program = (
        "import runpy, sys; sys.argv = ['acp_doctor']\n"
        "try: runpy.run_module('acp_doctor', run_name='__main__')\n"
        "except SystemExit: print('acp' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=50, check=False
    )
    assert done.stdout.splitlines()[-1] == "False"
    assert done.stderr == ""


def test_the_doctor_is_a_subcommand_with_the_same_findings() -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-m", *module, "--json"], capture_output=True, timeout=50, check=False
        )
        for module in (["acp_doctor"], ["acp", "doctor"])
    ]
    assert runs[0].stdout == runs[1].stdout
    assert runs[0].returncode == runs[1].returncode
