"""A bundle is verified bit for bit; a changed byte is named, and an archive that no bundle is does nothing."""

from __future__ import annotations

import hashlib
import io
import json
import stat
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dumbbell
from compiled import native, wasm
from dumbbell import Campaign, Flow, Uniform, bundle, library, topologies
from dumbbell.bundle import bag
from dumbbell.cli import app
from dumbbell.errors import ScenarioError
from dumbbell.files import replacing

TOP = "two-flows"

FIXED = """import dumbbell


class Fixed(dumbbell.Control):
    def on_ack(self, ack):
        self.cwnd = 4 * ack.mss

    def on_congestion(self, congestion):
        pass
"""


@pytest.fixture(scope="module")
def scenario():
    shape = topologies.dumbbell(pairs=1, rate="1.6 Mbit/s", delay="20 ms")
    flow = Flow(name="fg", from_="s1", to="d1", tcp="reno", start=Uniform(uniform=("0 s", "1 s")))
    probe = dumbbell.Probe(flows=["fg"], quantities=["cwnd"])
    return shape.scenario(name=TOP, duration="2 s", flows=[flow], probes=[probe])


@pytest.fixture(scope="module")
def made(scenario, tmp_path_factory) -> Path:
    return bundle.create(scenario, tmp_path_factory.mktemp("bundle") / "made.zip", runs=2, progress=False)


@pytest.fixture(autouse=True)
def few_figures(request, monkeypatch):
    """Draw nothing where figures do not matter: they take longer than the runs."""
    if "same_runs" not in request.node.name:
        monkeypatch.setattr(dumbbell.bundle.contents, "MOST_FIGURES", 0)


def contents(file) -> dict[str, bytes]:
    with zipfile.ZipFile(file) as archive:
        return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}


def packed(folder, files, name="changed.zip", top=TOP) -> Path:
    """Write files as an archive that no one of them disagrees with but by its content."""
    path = folder / name
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for inner, content in files.items():
            archive.writestr(f"{top}/{inner}", content)
    return path


def restated(files) -> dict[str, bytes]:
    """Return files with manifests that agree with them, as someone makes them who changes results."""
    data = {name: content for name, content in files.items() if name.startswith("data/")}
    document = json.loads(data["data/results/results.json"])
    prefix = "data/results/"
    document["sha256"] = {
        name.removeprefix(prefix): hashlib.sha256(content).hexdigest()
        for name, content in data.items()
        if name.startswith(prefix) and name != f"{prefix}results.json"
    }
    data[f"{prefix}results.json"] = json.dumps(document).encode()

    def manifest(some):
        return "".join(
            f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in some.items()
        ).encode()

    tags = {name: files[name] for name in ("bagit.txt", "bag-info.txt")} | {
        "manifest-sha256.txt": manifest(data)
    }
    return {**tags, "tagmanifest-sha256.txt": manifest(tags), **data}


def test_a_bundle_is_verified_and_says_how_much_was_repeated(made):
    found = bundle.verify(made, progress=False)
    assert found.is_verified
    assert str(found) == "verified: 2 runs, every table is equal bit for bit"
    assert found.files == len(contents(made))


def test_the_same_runs_give_the_same_bundle_whatever_its_name(made, scenario, tmp_path):
    again = bundle.create(scenario, tmp_path / "other.zip", runs=2, progress=False)
    assert again.read_bytes() == made.read_bytes()


def test_a_bundle_has_what_its_readme_says(made):
    files = contents(made)
    for name in (
        "data/README.md",
        "data/CITATION.cff",
        "data/results/results.json",
        "data/results/flows.parquet",
    ):
        assert name in files
    assert b"dumbbell bundle verify" in files["data/README.md"]
    assert any(name.startswith("data/figures/") and b"<svg" in content for name, content in files.items())
    document = json.loads(files["data/results/results.json"])
    assert document["engine"] == dumbbell.engine.identity()
    assert document["environment"]["packages"]["pyarrow"]


def kinds():
    return [
        "data/README.md", "data/CITATION.cff", "data/results/results.json", "data/results/flows.parquet",
        "data/results/links.parquet", "data/results/traces/cwnd.parquet", "data/results/scenarios/two-flows.toml",
        "data/figures/0-two-flows.svg", "manifest-sha256.txt", "tagmanifest-sha256.txt", "bagit.txt", "bag-info.txt",
    ]  # fmt: skip


def test_every_kind_of_file_is_tried(made):
    assert set(contents(made)) == set(kinds())


@pytest.mark.parametrize("name", kinds())
def test_a_changed_byte_is_named(made, tmp_path, name):
    files = contents(made)
    content = bytearray(files[name])
    content[len(content) // 2] ^= 1
    files[name] = bytes(content)
    found = bundle.verify(packed(tmp_path, files), progress=False)
    assert not found.is_verified
    assert any(name in problem for problem in found.problems), found.problems
    assert found.runs == 0


@pytest.mark.parametrize("name", ["data/results/flows.parquet", "data/README.md"])
def test_a_changed_byte_of_the_archive_itself_is_named(made, tmp_path, name):
    content = bytearray(made.read_bytes())
    with zipfile.ZipFile(made) as archive:
        entry = archive.getinfo(f"{TOP}/{name}")
    content[entry.header_offset + 30 + len(entry.filename) + entry.compress_size // 2] ^= 0x10
    (tmp_path / "changed.zip").write_bytes(content)
    found = bundle.verify(tmp_path / "changed.zip", progress=False)
    assert any(problem.startswith(f"{name}: is damaged") for problem in found.problems), found.problems


def test_missing_and_further_files_are_named(made, tmp_path):
    files = contents(made)
    del files["data/results/links.parquet"]
    files["data/more.txt"] = b"more"
    found = bundle.verify(packed(tmp_path, files), progress=False)
    assert found.problems == (
        [
            "data/results/links.parquet: is missing, but stated in manifest-sha256.txt",
            "data/more.txt: is in no manifest",
        ]
    )


def changed_table(files, name, column, change):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(files[name]))
    values = change(table[column].to_pylist())
    table = table.set_column(
        table.column_names.index(column),
        table.schema.field(column),
        pa.array(values, table.schema.field(column).type),
    )
    written = io.BytesIO()
    pq.write_table(table, written)
    return {**files, name: written.getvalue()}


@pytest.mark.parametrize(
    ("table", "column"), [("flows", "goodput_bps"), ("links", "packets"), ("traces/cwnd", "value")]
)
def test_a_result_that_was_changed_with_its_digests_is_found_by_repeating_the_runs(
    made, tmp_path, table, column
):
    files = changed_table(
        contents(made), f"data/results/{table}.parquet", column, lambda values: [*values[:-1], values[-1] + 1]
    )
    found = bundle.verify(packed(tmp_path, restated(files)), progress=False)
    [problem] = found.problems
    assert problem.startswith(f"data/results/{table.rpartition('/')[2]}: {column} in row ")
    assert "in the bundle" in problem
    assert found.runs == 2


def test_a_scenario_that_was_changed_with_its_digests_is_found(made, tmp_path):
    files = contents(made)
    name = "data/results/scenarios/two-flows.toml"
    files[name] = files[name].replace(b"1.6 Mbit/s", b"1.7 Mbit/s")
    with pytest.raises(ScenarioError, match="a scenario with the hash"):
        bundle.verify(packed(tmp_path, restated(files)), progress=False)


def test_a_bundle_of_another_engine_is_compared_and_says_so(made, tmp_path):
    files = contents(made)
    document = json.loads(files["data/results/results.json"])
    document["engine"] = "0.0.1-other"
    files["data/results/results.json"] = json.dumps(document).encode()
    found = bundle.verify(packed(tmp_path, restated(files)), progress=False)
    assert found.is_verified
    assert found.notes == [
        f"the bundle was made by the engine 0.0.1-other; it was verified by {dumbbell.engine.identity()}"
    ]


# Archives that no bundle is


def hostile(
    path, *, name=f"{TOP}/data/x", content=b"x", mode=stat.S_IFREG | 0o644, change=None, flags=0
) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{TOP}/bagit.txt", "BagIt-Version: 1.0\n")
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        info.create_system = 3
        archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    if change:
        path.write_bytes(change(path.read_bytes()))
    return path


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": f"{TOP}/../../etc/passwd"}, "leads out of the bundle"),
        ({"name": "/etc/passwd"}, "leads out of the bundle"),
        ({"name": f"{TOP}\\..\\x"}, "leads out of the bundle"),
        ({"name": f"C:/{TOP}/x"}, "leads out of the bundle"),
        ({"mode": stat.S_IFLNK | 0o777, "content": b"/etc/passwd"}, "is a link or a device"),
        ({"mode": stat.S_IFCHR | 0o666}, "is a link or a device"),
        ({"name": "elsewhere/x"}, "is no bag"),
        ({"name": f"{TOP}/BagIt.txt"}, "is there twice"),
        # The flag that says that it is encrypted, in the central directory, of the last entry.
        (
            {"change": lambda data: data[: (at := data.rindex(b"PK\1\2") + 8)] + b"\1" + data[at + 1 :]},
            "is encrypted",
        ),
        ({"change": lambda data: data[: len(data) // 3]}, "is no readable zip archive"),
        ({"change": lambda _data: b"not a zip"}, "is no readable zip archive"),
    ],
)
def test_an_archive_that_no_bundle_is_is_refused(tmp_path, options, message):
    with pytest.raises(ScenarioError, match=message):
        bundle.verify(hostile(tmp_path / "x.zip", **options), progress=False)
    assert [path.name for path in tmp_path.iterdir()] == ["x.zip"]


def test_an_archive_that_declares_too_much_is_refused_before_it_is_read(tmp_path, monkeypatch):
    bomb = hostile(tmp_path / "x.zip", content=b"0" * 5_000_000)
    assert bomb.stat().st_size < 10_000
    monkeypatch.setattr(bag, "LARGEST_BYTES", 4_000_000)
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("it was read"))
    with pytest.raises(ScenarioError, match="2 files of 5000019 bytes are too many"):
        bundle.verify(bomb, progress=False)


def test_an_archive_of_too_many_files_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(bag, "MOST_FILES", 1)
    with pytest.raises(ScenarioError, match="are too many"):
        bundle.verify(hostile(tmp_path / "x.zip"), progress=False)


def test_a_file_that_is_larger_than_it_declares_is_damaged(tmp_path):
    def understate(data):
        # The declared size in the central directory, of the last entry.
        at = data.rindex(b"PK\1\2") + 24
        return data[:at] + (10).to_bytes(4, "little") + data[at + 4 :]

    found = bag.read(hostile(tmp_path / "x.zip", content=b"0" * 1000, change=understate))
    assert found.damaged.keys() == {"data/x"}


def test_a_bundle_that_could_not_be_verified_is_not_made(scenario, tmp_path, monkeypatch):
    monkeypatch.setattr(bag, "LARGEST_BYTES", 1000)
    with pytest.raises(ScenarioError, match="are too many"):
        bundle.create(scenario, tmp_path / "x.zip", progress=False)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_bundle_leaves_nothing(scenario, tmp_path, monkeypatch):
    monkeypatch.setattr(bag, "replacing", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        bundle.create(scenario, tmp_path / "x.zip", progress=False)
    assert list(tmp_path.iterdir()) == []


class Interrupted:
    """A file whose writing is interrupted."""

    def __init__(self, path):
        self.opened = replacing(path)

    def __enter__(self):
        self.file = self.opened.__enter__()
        return self

    def write(self, content):
        self.file.write(bytes(content)[:10])
        raise KeyboardInterrupt

    def __exit__(self, *error):
        return self.opened.__exit__(*error)


# Sources


def test_a_campaign_and_saved_runs_become_bundles(scenario, tmp_path):
    (tmp_path / "base.toml").write_text(scenario.to_toml(), "utf-8")
    (tmp_path / "c.toml").write_text(
        f'base = "base.toml"\nruns = 2\noutput = "{tmp_path}/store"\n[axes]\n"flows.fg.tcp" = ["reno", "vegas"]\n',
        "utf-8",
    )
    campaign = Campaign.from_toml(tmp_path / "c.toml")
    with pytest.raises(ScenarioError, match=r"are missing|nothing stored"):
        bundle.create(tmp_path / "c.toml", tmp_path / "c.zip", progress=False)
    campaign.run(progress=False)
    made = bundle.create(tmp_path / "c.toml", tmp_path / "c.zip", progress=False)
    found = bundle.verify(made, progress=False)
    assert (found.is_verified, found.runs) == (True, 4), found.problems
    assert "data/figures/means.svg" in contents(made)
    dumbbell.run(scenario, seed=5).save(tmp_path / "saved")
    made = bundle.create(tmp_path / "saved", tmp_path / "s.zip", progress=False)
    assert bundle.verify(made, progress=False).is_verified


def test_a_campaign_with_missing_runs_is_refused(scenario, tmp_path):
    campaign = Campaign(scenario, runs=2, store=tmp_path / "store").run(progress=False)
    campaign.add(runs=3)
    with pytest.raises(ScenarioError, match="1 of 3 runs are missing"):
        bundle.create(campaign, tmp_path / "c.zip", progress=False)


@pytest.mark.parametrize(
    ("file", "options", "message"),
    [
        ("made.tar", {}, "expected a name that ends in .zip"),
        ("made.zip", {"runs": 0}, "runs: 0 is not accepted"),
    ],
)
def test_what_is_not_accepted_is_named(scenario, tmp_path, file, options, message):
    with pytest.raises(ScenarioError, match=message):
        bundle.create(scenario, tmp_path / file, progress=False, **options)


def test_results_take_no_number_of_runs(scenario, tmp_path):
    with pytest.raises(ScenarioError, match="runs: 2 is not accepted; expected none with results"):
        bundle.create(dumbbell.run(scenario), tmp_path / "x.zip", runs=2)


def test_runs_of_another_engine_are_refused(scenario, tmp_path):
    from dataclasses import replace

    other = replace(dumbbell.run_many(scenario, progress=False), engine="0.0.1-other")
    with pytest.raises(ScenarioError, match=r'"0.0.1-other" is another engine'):
        bundle.create(other, tmp_path / "x.zip")


@pytest.mark.parametrize("kind", [native, wasm], ids=["library", "module"])
def test_a_bundle_contains_the_libraries_of_its_scenarios_which_run_only_with_permission(
    scenario, tmp_path, monkeypatch, kind
):
    monkeypatch.setattr(library, "known", {})
    path = kind(tmp_path)
    own = scenario.with_values({"flows.fg.tcp": dumbbell.Library(path)})
    made = bundle.create(own, tmp_path / "own.zip", progress=False)
    assert str(tmp_path).encode() not in b"".join(contents(made).values())
    # Another process, on a machine without the file.
    monkeypatch.setattr(library, "known", {})
    monkeypatch.chdir(tmp_path)
    path.unlink()
    if kind is native:
        with pytest.raises(ScenarioError, match="is code of a file, which runs only if you allow it"):
            bundle.verify(made, progress=False)
        dumbbell.allow(f"library:{path.name}")
    assert bundle.verify(made, progress=False).is_verified


def test_a_bundle_contains_the_modules_of_classes(scenario, tmp_path, monkeypatch):
    (tmp_path / "fixed_window.py").write_text(FIXED, "utf-8")
    monkeypatch.chdir(tmp_path)
    dumbbell.allow("python:fixed_window.Fixed")
    own = scenario.with_values({"flows.fg.tcp": "python:fixed_window.Fixed"})
    made = bundle.create(own, tmp_path / "own.zip", threads=1, progress=False)
    assert contents(made)["data/code/fixed_window.py"].decode() == FIXED
    assert "--allow" in contents(made)["data/README.md"].decode()
    assert bundle.verify(made, threads=1, progress=False).is_verified


# The command


def test_the_command_creates_and_verifies(scenario, tmp_path):
    (tmp_path / "a.toml").write_text(scenario.to_toml(), "utf-8")
    file = str(tmp_path / "made.zip")
    done = CliRunner().invoke(
        app, ["bundle", "create", str(tmp_path / "a.toml"), "--runs", "2", "--output", file]
    )
    assert (done.exit_code, done.stdout) == (0, ""), done.output
    done = CliRunner().invoke(app, ["bundle", "verify", file])
    assert (done.exit_code, done.stdout) == (0, "verified: 2 runs, every table is equal bit for bit\n")
    files = contents(file)
    files["data/README.md"] += b" "
    changed = packed(tmp_path, files)
    done = CliRunner().invoke(app, ["bundle", "verify", str(changed)])
    assert done.exit_code == 1
    assert done.stdout.startswith("not verified:\ndata/README.md: its SHA-256 digest is ")
    done = CliRunner().invoke(app, ["bundle", "verify", str(changed), "--json"])
    assert (done.exit_code, json.loads(done.stdout)["verified"]) == (1, False)
