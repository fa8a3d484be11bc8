"""What the pages show works as they show it, and what they point at is there."""

import re
import shutil
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
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    missing = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert missing == []


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name != "CONTRIBUTING.md"], ids=lambda page: page.name
)
def test_python_runs_as_shown(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for block in code(page, "python"):
        exec(compile(block, page.name, "exec"), {"__name__": "__main__"})
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


def test_the_readme_has_two_commands_to_set_up() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    set_up = text.partition("## Set up")[2].partition("\n## ")[0]
    commands = re.findall(r"^```sh\n(.*?)^```$", set_up, flags=re.MULTILINE | re.DOTALL)
    assert commands == ["make reproduce\n", "make test\n"]


def test_the_readme_lists_every_command() -> None:
    table = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Commands")[2]
    from dumbbell.cli import app

    named = [*app.registered_commands, *app.registered_groups]
    assert set(re.findall(r"^\| `dumbbell ([\w-]+)", table, flags=re.MULTILINE)) == {
        str(command.name) for command in named
    }


def test_the_package_and_the_workspace_have_one_version() -> None:
    package = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"][
        "version"
    ]
    assert package == workspace
