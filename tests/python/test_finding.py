"""The search of the site leads newcomers to the right pages; `make website` asks it."""

import json
import shutil

import draw
import finding
import pytest
import repository

from dumbbell.engine import catalogue

PLACES = {
    "",
    *(f"{file.stem}/" for file in (repository.ROOT / "docs").glob("*.md")),
    *(f"notebooks/{file.stem}/" for file in draw.notebooks()),
    *(f"gallery/{file.stem}/" for file in draw.examples()),
    *(f"algorithms/{entry['name']}/" for entry in catalogue()["algorithms"]),
    *("notebooks/", "reference/dumbbell.statistics/"),
}


def found(**pages):
    """Return what the search finds: a page for each letter and each question, the right one unless stated otherwise."""
    letters = {letter: [f"{letter}/"] for letter in finding.BEGINNINGS}
    return letters | {question: right[:1] for question, right in finding.QUESTIONS.items()} | pages


def test_a_question_that_leads_elsewhere_is_named():
    assert finding.misses(found()) == []
    elsewhere = found(wireshark=["a/", "b/", "c/", "packets/"], kernel=[])
    assert finding.misses(elsewhere) == [
        "wireshark: a/, b/, c/; not packets/",
        "kernel: nothing; not kernel/",
    ]


def test_a_letter_under_which_nothing_is_found_shows_lost_words():
    assert finding.misses(found(q=[])) == ["q: nothing; words are lost in the index"]


def test_the_worker_of_the_search_is_repaired_and_another_one_refused(tmp_path):
    worker = tmp_path / "assets" / "javascripts" / "workers" / "search.0.min.js"
    worker.parent.mkdir(parents=True)
    worker.write_text(f"for(;;){{{finding.JOINED}")
    finding.mend(tmp_path)
    assert worker.read_text() == f"for(;;){{{finding.SEPARATED}"
    with pytest.raises(ValueError, match=r"search.0.min.js: wanted"):
        finding.mend(tmp_path)


def test_questions_and_keywords_belong_to_pages_of_the_site():
    assert len(finding.QUESTIONS) >= 20
    assert {page for pages in finding.QUESTIONS.values() for page in pages} <= PLACES
    assert {place.removesuffix("index.md").replace(".md", "/") for place in finding.KEYWORDS} <= PLACES


def test_guides_weigh_more_than_the_interface_and_the_record():
    def weight(place):
        meta = {}
        finding.prepare(place, meta)
        return meta["search"]["boost"]

    assert weight("links.md") > weight("gallery/ecn.md") > weight("reference/dumbbell.runs.md")
    assert weight("reference/dumbbell.runs.md") > weight("decisions/0001-x.md")
    meta = {}
    finding.prepare("links.md", meta)
    assert "wifi" in meta["tags"]


WORKER = """\
addEventListener("message", async ({ data: { type, data } }) => {
  if (type === 0) self.docs = data.docs;
  const items = type === 2 ? self.docs.filter(each => each.title === data).map(each => [each]) : undefined;
  postMessage({ type: type + 1, data: { items } });
});
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="SKIPPED: node is missing")
def test_the_search_of_a_site_is_asked(tmp_path):
    workers = tmp_path / "assets" / "javascripts" / "workers"
    workers.mkdir(parents=True)
    (workers / "search.0.min.js").write_text(WORKER)
    (tmp_path / "search").mkdir()
    docs = [{"title": name, "location": f"{pages[0]}#here"} for name, pages in found().items()]
    index = tmp_path / "search" / "search_index.json"
    index.write_text(json.dumps({"docs": docs}))
    finding.check(tmp_path)
    index.write_text(json.dumps({"docs": [each for each in docs if each["title"] != "buffer BDP"]}))
    with pytest.raises(ValueError, match="not lead to the right pages\nbuffer BDP: nothing; not queues/"):
        finding.check(tmp_path)


def test_a_missing_node_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    finding.check(tmp_path)
    assert capsys.readouterr().err == "SKIPPED search of the site: node is missing\n"
