"""Every paper has the same files for the same roles, and names what its claims measure."""

import ast
import re
import sys
from pathlib import Path

import jinja2
import pytest
from jinja2.meta import find_undeclared_variables

from dumbbell.papers.paper import Settings, load

PAPERS = Path(__file__).resolve().parents[2] / "papers"

ROLES = {
    "__init__.py": "the paper",
    "assumptions.py": "what the paper leaves open, and how it is moved",
    "scenarios.py": "networks and flows",
    "plan.py": "which runs are made",
    "reduction.py": "what is kept of a run",
    "evidence.py": "what claims are judged on",
    "claims.toml": "what the paper claims",
    "register.py": "the register of claims",
    "sensitivity.py": "claims judged with an assumption moved",
    "figures.py": "figures",
    "content.py": "the sections of the report",
}

# A file with one of these names would duplicate a role.
OTHER_NAMES = {
    "experiments.py": "plan.py",
    "networks.py": "scenarios.py",
    "measures.py": "reduction.py",
    "readings.py": "reduction.py",
    "variations.py": "assumptions.py",
    "claims.py": "*_claims.py",
}

NAMES = sorted(path.name for path in PAPERS.iterdir() if (path / "__init__.py").is_file())

TEXTS = sorted(
    path.relative_to(PAPERS).as_posix()
    for path in PAPERS.rglob("*.md")
    if path.name in ("report.md", "testbed.md")
)
"""The texts of reports."""


def test_contributing_names_every_role():
    text = (PAPERS.parent / "CONTRIBUTING.md").read_text("utf-8")
    assert [file for file in ROLES if f"`{file}`" not in text] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_paper_has_a_file_for_every_role(name):
    there = {path.name for path in (PAPERS / name).iterdir()}
    assert not set(ROLES) - there
    assert any(file.endswith("_claims.py") for file in there)
    assert {file: role for file, role in OTHER_NAMES.items() if file in there} == {}
    # Printed numbers are data, and one module reads them.
    assert ("printed.toml" in there) == ("printed.py" in there)


@pytest.mark.parametrize("name", NAMES)
def test_claims_are_measured_in_files_for_claims_only(name):
    for path in (PAPERS / name).glob("*.py"):
        if path.name.endswith("_claims.py") or path.name == "register.py":
            continue
        decorators = [
            ast.unparse(decorator)
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.FunctionDef)
            for decorator in node.decorator_list
        ]
        assert not [text for text in decorators if text.startswith(("claim(", "REGISTER.claim("))], path


@pytest.mark.parametrize("name", NAMES)
def test_every_function_has_a_name(name):
    nameless = [
        f"{path.name}:{node.lineno}"
        for path in (PAPERS / name).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and not node.name.strip("_")
    ]
    assert nameless == []


@pytest.mark.parametrize("name", NAMES)
def test_reductions_import_neither_claims_nor_figures(name):
    imported = {
        node.module or alias.name
        for node in ast.walk(ast.parse((PAPERS / name / "reduction.py").read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.level
        for alias in node.names
    }
    assert not {module for module in imported if module.endswith("_claims")}
    assert not imported & {"figures", "content", "tables", "conclusions", "evidence", "sensitivity", "plan"}


@pytest.mark.parametrize("name", NAMES)
def test_a_repeated_claim_repeats_one_that_counts(name):
    claims = {claim.id: claim for claim in load(name.replace("_", "-")).claims()}
    repeated = {claim.id: claim.repeats for claim in claims.values() if claim.repeats}
    assert {
        key: other for key, other in repeated.items() if other not in claims or claims[other].repeats
    } == {}


@pytest.mark.parametrize("name", NAMES)
def test_further_replications_name_scenarios_of_claims_and_stages_of_the_plan(name):
    paper = load(name.replace("_", "-"), PAPERS)
    assert set(paper.deciding) <= {claim.scenario for claim in paper.claims()}
    if paper.deciding:
        assert set(paper.deciding.values()) <= {run.stage for run in paper.plan(Settings(quick=True))}


def attributes(kind):
    """Return the names that a class and those it is derived from define, and that their methods set."""
    names = set(dir(kind))
    for each in kind.__mro__[:-1]:
        tree = ast.parse(Path(sys.modules[each.__module__].__file__).read_text("utf-8"))
        names |= {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        }
    return names


@pytest.mark.parametrize("text", TEXTS)
def test_every_name_in_the_text_of_a_report_is_a_member_of_its_class(text):
    source = (PAPERS / text).read_text("utf-8")
    paper, *further = Path(text).parent.parts
    load(paper.replace("_", "-"), PAPERS)
    content = sys.modules[".".join([f"dumbbell_paper_{paper}", *further, "content"])]
    environment = jinja2.Environment(comment_start_string="<!--", comment_end_string="-->")
    environment.filters.update(dict.fromkeys(("fixed", "number", "percent", "signed"), str))
    named = set(find_undeclared_variables(environment.parse(source)))
    named |= set(re.findall(r"(?:(?<!\{)\{|\]\()(\w+)", source))
    assert sorted(named - attributes(content.Content)) == []
