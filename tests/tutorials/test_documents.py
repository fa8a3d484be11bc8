"""Examples in the documentation run as shown, links resolve, and commands exist."""

import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import dumbbell

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(
    (ROOT / "docs").rglob("*.md")
)


def code(page: Path, language: str) -> list[str]:
    """Return the page's blocks of one language."""
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_resolve(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    missing = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert missing == []


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name != "CONTRIBUTING.md"], ids=lambda page: page.name
)
def test_python_runs_as_shown(
    page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    compilations = [block for block in code(page, "sh") if block.startswith("cc ")]
    if compilations:
        if shutil.which("cc") is None:
            pytest.skip("SKIPPED: the page compiles C with cc, which is missing")
        for folder in ("python", "examples"):
            (tmp_path / folder).symlink_to(ROOT / folder)
        monkeypatch.chdir(tmp_path)
    for command in compilations:
        subprocess.run(command.split(), check=True)
    for block in code(page, "python"):
        # From a file, so that the source of its classes can be read.
        file = tmp_path / "example.py"
        file.write_text(block, encoding="utf-8")
        runpy.run_path(str(file), run_name="__main__")
        assert capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_scenarios_run_as_shown(page: Path, tmp_path: Path) -> None:
    for block in code(page, "toml"):
        if "base" in tomllib.loads(block):
            shutil.copy(ROOT / "examples" / "campaign" / "two-flows.toml", tmp_path)
            (tmp_path / "campaign.toml").write_text(block, encoding="utf-8")
            wanted = dumbbell.Campaign.from_toml(tmp_path / "campaign.toml", store=tmp_path / "store")
            assert len(wanted.points) > 1
            continue
        file = tmp_path / "scenario.toml"
        file.write_text(block, encoding="utf-8")
        result = dumbbell.run(dumbbell.Scenario.from_toml(file))
        assert len(result.flows) > 0
        assert all(len(trace) > 0 for trace in result.traces.values())


def test_the_readme_is_short_and_a_clone_starts_with_one_command() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 100
    assert code(ROOT / "README.md", "sh") == ["make figure\n"]


def test_every_make_command_in_the_pages_is_a_target() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, flags=re.MULTILINE))
    for page in PAGES:
        if page.name != "CHANGELOG.md":
            text = page.read_text(encoding="utf-8")
            named = re.findall(r"(?:^|`)make ([a-z][a-z-]*)", text, flags=re.MULTILINE)
            assert set(named) <= targets, page.name


def test_commands_of_the_page_on_scenarios_run_as_shown(tmp_path: Path) -> None:
    page = ROOT / "docs" / "scenarios.md"
    commands = [line for block in code(page, "sh") for line in block.splitlines()]
    assert commands
    scenario = code(page, "toml")[0]
    (tmp_path / "one-vegas-flow.toml").write_text(scenario, encoding="utf-8")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for command in commands:
        program, *arguments = command.split()
        assert program == "dumbbell"
        subprocess.run([sys.executable, "-m", "dumbbell.cli", *arguments], cwd=tmp_path, check=True)
    assert {path.name for path in (tmp_path / "traces").iterdir()} >= {"cwnd.parquet", "vegas_diff.png"}


def test_the_glossary_defines_terms_that_the_pages_use() -> None:
    glossary = ROOT / "docs" / "glossary.md"
    text = glossary.read_text(encoding="utf-8").partition("|---|---|")[2]
    terms = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", text, flags=re.MULTILINE)
    assert len(terms) == text.strip().count("\n") + 1
    assert terms == sorted(terms, key=str.lower)
    pages = " ".join(page.read_text(encoding="utf-8").lower() for page in PAGES if page != glossary)
    words = " ".join(pages.split())
    assert [term for term in terms if not re.search(rf"\b{re.escape(term.lower())}", words)] == []


def test_the_page_on_commands_lists_every_one() -> None:
    table = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    from dumbbell.cli.commands import COMMANDS

    assert set(re.findall(r"^\| `dumbbell ([\w-]+)", table, flags=re.MULTILINE)) == set(COMMANDS)


def test_the_package_and_the_workspace_have_one_version() -> None:
    package = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"][
        "version"
    ]
    assert package == workspace
