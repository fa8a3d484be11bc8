"""Notebooks run, and the pages of the site are those of the repository."""

import algorithms
import draw
import labpage
import navigation
import pytest
import reference
import repository

import dumbbell


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
