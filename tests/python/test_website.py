"""Notebooks run, and the pages of the site are those of the repository."""

import base64
import re
import zlib

import algorithms
import draw
import lablink
import labpage
import navigation
import pytest
import reference
import repository

import dumbbell
from dumbbell import lab


@pytest.mark.parametrize("notebook", draw.notebooks(), ids=lambda path: path.stem)
def test_a_notebook_runs_and_is_kept_without_outputs(notebook):
    nbformat = pytest.importorskip("nbformat")
    for cell in nbformat.read(notebook, as_version=4).cells:
        assert not cell.get("outputs")
    # Kept for the site.
    draw.execute(notebook)
    executed = nbformat.read(draw.DRAWN / "notebooks" / notebook.name, as_version=4)
    kinds = {
        kind
        for cell in executed.cells
        for output in cell.get("outputs", [])
        for kind in output.get("data", {})
    }
    assert kinds & {"image/png", "image/svg+xml"}


def test_links_lead_to_the_place_of_a_file_on_the_site():
    shown = []

    def show(path):
        shown.append(path)
        return f"source/{path}.txt"

    def relinked(text, uri):
        return repository.relinked(text, uri, show)

    assert relinked("[a](docs/links.md#traces)", "index.md") == "[a](links.md#traces)"
    assert relinked("[a](docs/decisions)", "index.md") == "[a](decisions/index.md)"
    assert relinked("[a](examples/gallery)", "index.md") == "[a](gallery/index.md)"
    assert relinked("[a](../CONTRIBUTING.md#add)", "queues.md") == "[a](contributing.md#add)"
    assert relinked("[a](../architecture.md)", "decisions/0001-x.md") == "[a](../architecture.md)"
    assert relinked("[a](references.toml)", "glossary.md") == "[a](references.md)"
    assert relinked("[a](../examples/lte.toml)", "links.md") == "[a](source/examples/lte.toml.txt)"
    assert (
        relinked("[a](https://example.org/x) [b](#here)", "links.md")
        == "[a](https://example.org/x) [b](#here)"
    )
    assert shown == ["examples/lte.toml"]


SCENARIO = """\
duration = "1 s"
nodes = ["a", "b"]
links = [
    { name = "ab", from = "a", to = "b", rate = "2 Mbit/s", delay = "10 ms" },
    { name = "ba", from = "b", to = "a", rate = "2 Mbit/s", delay = "10 ms" },
]
flows = [{ name = "f", from = "a", to = "b", tcp = "reno" }]
"""


@pytest.fixture
def built(tmp_path, monkeypatch):
    (tmp_path / "index.html").touch()
    monkeypatch.setattr(lablink, "BUILT", tmp_path)


def carried(link):
    """Return the scenario of a link."""
    packed = re.search(r"toml=([\w-]+)", link)[1]
    return zlib.decompress(base64.urlsafe_b64decode(packed + "=="), -zlib.MAX_WBITS).decode()


def test_a_scenario_of_a_page_has_a_link_that_carries_it(built):
    page = f"Text.\n\n```toml\n{SCENARIO}```\n\n```toml\nrate = 1\n```\n"
    made = lablink.linked(page, "links.md", draw.ROOT)
    assert made.count("[Run it here](lab/page/index.html#v=1&seed=1&run=0&toml=") == 1
    assert carried(made) == SCENARIO
    named = "```python\nrun('examples/newreno.toml')\n```\n"
    made = lablink.linked(named + named, "why.md", draw.ROOT)
    assert made.count("Run it here") == 1
    assert carried(made) == (draw.ROOT / "examples" / "newreno.toml").read_text(encoding="utf-8")


def test_what_the_lab_cannot_run_has_no_link(built, monkeypatch):
    other = (
        "```toml\n" + (draw.ROOT / "examples/transports/kernel.toml").read_text(encoding="utf-8") + "```\n"
    )
    assert lablink.linked(other, "links.md", draw.ROOT) == other
    monkeypatch.setattr(lab, "MOST_CHARACTERS", 10)
    assert lablink.here("links.md", SCENARIO) == ""


def test_the_first_scenario_of_an_example_is_kept(tmp_path, built):
    draw.draw_example(draw.EXAMPLES / "sawtooth.py", tmp_path)
    link = lablink.kept_here("gallery/sawtooth.md", tmp_path / "sawtooth.json")
    assert link.startswith("[Run it here](../lab/page/index.html#v=1&seed=1&run=0&toml=")
    assert dumbbell.Scenario.from_text(carried(link)).name == "Reno"
    assert lablink.kept_here("gallery/sawtooth.md", tmp_path / "other.json") == ""


def test_citations_lead_to_the_bibliography():
    def cited(text):
        return repository.cited(text, "../")

    assert cited("see [jain1991 §18.2].") == "see [\\[jain1991 §18.2\\]](../references.md#jain1991)."
    assert cited("[RFC 5681 §3]") == "[\\[RFC 5681 §3\\]](../references.md#rfc5681)"
    assert cited("RFC 5681 §3.1") == "[RFC 5681](../references.md#rfc5681) §3.1"
    assert cited("a[jain1991], `RFC 5681`, [unknown]") == "a[jain1991], `RFC 5681`, [unknown]"


def test_a_new_page_of_the_documents_is_a_guide():
    sections = {
        title: pages
        for part in navigation.navigation(["new.md", "results.md"])
        for title, pages in part.items()
    }
    assert sections["Guides"] == ["new.md"]


def test_every_algorithm_has_a_definition():
    for entry in dumbbell.catalogue()["algorithms"]:
        assert len(algorithms.head(entry["name"])) > 100, entry["name"]


def test_the_interface_has_a_page_for_every_module_of_a_public_name():
    values = [getattr(dumbbell, name) for name in dumbbell.__all__]
    owners = {value.__module__ for value in values if hasattr(value, "__module__")}
    documented = (*reference.MODULES, "_engine")
    assert [owner for owner in owners if not owner.startswith(documented)] == []


def test_the_site_has_the_lab_where_it_is_built(tmp_path, monkeypatch):
    monkeypatch.setattr(labpage, "BUILT", tmp_path)
    text = "# The lab\n\nA page.\n"
    assert (list(labpage.files()), labpage.opened(text)) == ([], text)
    (tmp_path / "examples").mkdir()
    (tmp_path / "index.html").write_text("page")
    (tmp_path / "examples" / "red.toml").write_text("scenario")
    assert [place for place, _ in labpage.files()] == ["lab/page/examples/red.toml", "lab/page/index.html"]
    assert labpage.opened(text).startswith("# The lab\n\n[Open the lab](lab/page/index.html)")
