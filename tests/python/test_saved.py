"""Saved runs are the same when they are loaded; tables for other tools have all cells, with units."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pyarrow as pa
import pytest

import dumbbell
from dumbbell import Flow, Job, Run, Runs, Uniform, engine, exports, topologies
from dumbbell.errors import ResultsError, ScenarioError
from dumbbell.saved import DOCUMENT, differences

SIDES = ("saved", "loaded")


@pytest.fixture(scope="module")
def scenario():
    shape = topologies.dumbbell(pairs=1, rate="1.6 Mbit/s", delay="20 ms")
    flow = Flow(name="fg", from_="s1", to="d1", tcp="reno", start=Uniform(uniform=("0 s", "1 s")))
    probe = dumbbell.Probe(flows=["fg"], quantities=["cwnd", "rtt", "tcp_events"])
    return shape.scenario(name="a / run: é", duration="3 s", flows=[flow], probes=[probe])


@pytest.fixture(scope="module")
def run(scenario):
    return dumbbell.run(scenario, seed=7, run=3)


@pytest.fixture(scope="module")
def runs(scenario):
    jobs = [Job(scenario, 1, number, {"delay_ms": 20, "name of it": None}) for number in range(2)]
    jobs += [Job(scenario.with_values({"links.*.delay": "30 ms"}), 1, 0, {"delay_ms": 30.5})]
    return dumbbell.run_many(jobs, progress=False)


def test_a_run_is_loaded_bit_for_bit(run, tmp_path):
    run.save(tmp_path / "run")
    again = Run.load(tmp_path / "run")
    assert differences(run.tables(), again.tables(), SIDES) == []
    assert [table.schema for table in again.tables().values()] == [
        table.schema for table in run.tables().values()
    ]
    for name in ("scenario", "seed", "run", "summary", "captured", "fingerprint", "engine"):
        assert getattr(again, name) == getattr(run, name), name
    assert repr(again) == repr(run)
    assert again.plot("srtt").panels[0].series.keys() == {"fg"}


def test_many_runs_are_loaded_bit_for_bit_with_their_jobs(runs, tmp_path):
    runs.save(tmp_path)
    again = Runs.load(tmp_path)
    assert differences(runs.tables(), again.tables(), SIDES) == []
    assert again.jobs == runs.jobs
    assert [job.parameters for job in again.jobs] == [job.parameters for job in runs.jobs]
    assert again.completed == runs.completed


def test_one_run_is_read_as_many_and_not_the_other_way(run, runs, tmp_path):
    run.save(tmp_path / "one")
    runs.save(tmp_path / "many")
    assert Runs.load(tmp_path / "one").traces["rtt"]["job"].unique().tolist() == [0]
    with pytest.raises(ScenarioError, match="expected one saved run"):
        Run.load(tmp_path / "many")


def test_a_later_save_replaces_an_earlier_one(run, runs, tmp_path):
    runs.save(tmp_path)
    run.save(tmp_path)
    assert Run.load(tmp_path).fingerprint == run.fingerprint


def test_every_bit_of_a_number_is_kept(tmp_path):
    other_nan = np.array([0x7FF8000000000001], dtype=np.uint64).view(np.float64)[0]
    table = pa.table({"x": pa.array([0.0, -0.0, float("nan"), other_nan, None, 5e-324], from_pandas=False)})
    for _ in range(2):
        # Repeated values, which Parquet keeps in a dictionary.
        table = pa.concat_tables([table, table])
    exports.write_tables({"t": table}, tmp_path, "parquet", [])
    again = pa.parquet.read_table(tmp_path / "t.parquet")
    assert differences({"t": table}, {"t": again}, SIDES) == []
    changed = pa.table({"x": pa.array([-0.0, *table["x"].to_pylist()[1:]])})
    assert differences({"t": table}, {"t": changed}, SIDES)[0].startswith(
        "t: x in row 0 () is 0.0 saved, -0.0 loaded"
    )


@pytest.mark.parametrize(
    "name", ["flows.parquet", "links.parquet", "traces/cwnd.parquet", "scenarios/a_run_.toml"]
)
def test_a_changed_byte_of_a_file_is_named(run, tmp_path, name):
    run.save(tmp_path)
    file = tmp_path / name
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(ResultsError, match="is damaged") as caught:
        Run.load(tmp_path)
    assert caught.value.filename.endswith(name)


def test_an_interrupted_save_leaves_no_saved_run(run, tmp_path, monkeypatch):
    run.save(tmp_path)
    written = []

    def replacing(path):
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(path)
        return before(path)

    from dumbbell.saved import layout

    before = layout.replacing
    monkeypatch.setattr(layout, "replacing", replacing)
    with pytest.raises(KeyboardInterrupt):
        run.save(tmp_path)
    with pytest.raises(ScenarioError, match="has no saved results"):
        Run.load(tmp_path)


def altered(folder, change):
    document = json.loads((folder / DOCUMENT).read_text("utf-8"))
    change(document)
    (folder / DOCUMENT).write_text(json.dumps(document), "utf-8")


def test_a_run_of_another_engine_is_loaded_and_states_it(run, tmp_path):
    run.save(tmp_path)
    altered(tmp_path, lambda document: document.update(engine="0.0.1-abc"))
    again = Run.load(tmp_path)
    assert again.engine == "0.0.1-abc"
    assert "engine=0.0.1-abc" in repr(again)
    assert differences(run.tables(), again.tables(), SIDES) == []
    # It is the same here, so that it can be repeated.
    assert again.repeated([dumbbell.Probe(flows=["fg"], quantities=["srtt"])]).keys() == {"srtt"}
    again.summary["fingerprint"] = "0" * 16
    with pytest.raises(
        ScenarioError, match=f'"0.0.1-abc" is the engine that made this run.*{engine.identity()}'
    ):
        again.plot("srtt")


def test_a_scenario_that_this_engine_refuses_names_the_engine_that_took_it(run, tmp_path):
    run.save(tmp_path)
    file = next((tmp_path / "scenarios").iterdir())
    file.write_text(f"later_field = 1\n{file.read_text('utf-8')}", "utf-8")

    def change(document):
        import hashlib

        document["engine"] = "9.9.9-later"
        document["sha256"][f"scenarios/{file.name}"] = hashlib.sha256(file.read_bytes()).hexdigest()

    altered(tmp_path, change)
    with pytest.raises(ScenarioError, match=r"later_field.*it was saved by the engine 9.9.9-later"):
        Run.load(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda document: document.update(format="other"), "expected saved results of the format"),
        (lambda document: document.pop("jobs"), "jobs"),
        (lambda document: document["tables"].update(flows="../flows.parquet"), "leads out of the folder"),
        (lambda document: document["tables"].update(flows="/etc/passwd"), "leads out of the folder"),
        (lambda document: document["jobs"][0].__setitem__(0, 5), "the place of a scenario"),
        (lambda document: document.update(summary=None), "one job with its summary"),
        (lambda document: document["scenarios"][0].update(hash="0"), "a scenario with the hash"),
    ],
)
def test_a_document_that_states_something_else_is_refused(run, tmp_path, change, message):
    run.save(tmp_path)
    altered(tmp_path, change)
    with pytest.raises(ScenarioError, match=message):
        Run.load(tmp_path)


def test_tables_that_share_a_stem_have_files_of_their_own():
    assert dict(exports.stems(["a b", "a/b", "A_B", "..", "é"])) == {
        "a b": "a_b", "a/b": "a_b-2", "A_B": "A_B-3", "..": "table", "é": "_",
    }  # fmt: skip


def test_parquet_and_csv_have_the_parameters_of_jobs(runs, tmp_path):
    names = {file.name for file in runs.to_parquet(tmp_path)}
    assert names == {f"{name}.parquet" for name in runs.tables()}
    assert pa.parquet.read_table(tmp_path / "flows.parquet")["delay_ms"].to_pylist() == [20.0, 20.0, 30.5]
    runs.to_csv(tmp_path)
    assert (tmp_path / "cwnd.csv").read_text("utf-8").startswith('"job","delay_ms","name of it","time_s"')


def test_polars_has_the_same_cells(run, runs):
    polars = pytest.importorskip("polars", reason="SKIPPED: needs polars")
    for results in (run, runs):
        found = results.to_polars()
        assert found.keys() == results.tables().keys()
        assert isinstance(found["flows"], polars.DataFrame)
        assert differences(
            {"flows": results.tables()["flows"].select(["goodput_bps"])},
            {"flows": found["flows"].select("goodput_bps").to_arrow()}, SIDES,
        ) == []  # fmt: skip


def test_xarray_has_dimensions_coordinates_and_units(run, runs):
    pytest.importorskip("xarray", reason="SKIPPED: needs xarray")
    one, many = run.to_xarray(), runs.to_xarray()
    assert float(one["flows"].goodput_bps.sel(name="fg")) == run.flow("fg").goodput_bps
    assert one["flows"].goodput_bps.attrs["units"] == "bit/s"
    assert many["links"].utilization.dims == ("job", "name")
    assert many["links"].delay_ms.to_numpy().tolist() == [20.0, 20.0, 30.5]
    expected = runs.links.set_index(["job", "name"]).utilization[1, "r1-r2"]
    assert float(many["links"].utilization.sel(job=1, name="r1-r2")) == expected
    assert many["cwnd"].sizes == {"row": len(runs.traces["cwnd"])}


@pytest.mark.parametrize("package", ["polars", "xarray"])
def test_a_missing_package_is_named_with_the_extra(run, monkeypatch, package):
    import sys

    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ScenarioError, match=rf"package {package}: .*dumbbell\[frames\]"):
        getattr(run, f"to_{package}")()


def test_a_folder_without_saved_runs_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match=r"has no saved results; expected a folder with results\.json"):
        Run.load(tmp_path)


def test_a_missing_table_is_named(run, tmp_path):
    run.save(tmp_path)
    shutil.rmtree(tmp_path / "traces")
    with pytest.raises(ResultsError, match="could not be read"):
        Run.load(tmp_path)
