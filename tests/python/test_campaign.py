"""Campaigns: execution, storage, queries and errors."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dumbbell
from command_line import invoke, refused
from dumbbell import Campaign, Flow, Probe, ScenarioError, Uniform, campaign, parameters, topologies
from dumbbell.campaign import real_time, reductions

ROOT = Path(__file__).resolve().parents[2]
QUEUE = "links.r1-r2.queue.limit"


@pytest.fixture(scope="session")
def base():
    """One flow that starts at a random time, for two seconds."""
    flow = Flow(name="fg", from_="s1", to="d1", tcp="reno", start=Uniform(uniform=("0 s", "1 s")))
    return topologies.dumbbell(pairs=1, rate="1 Mbit/s", delay="10 ms").scenario(
        rules="classic", duration="2 s", flows=[flow]
    )


@pytest.fixture
def made(monkeypatch):
    """The jobs that the engine is given."""
    jobs = []
    real = dumbbell.run_many

    def counted(wanted, **options):
        jobs.extend(wanted)
        return real(wanted, **options)

    monkeypatch.setattr(dumbbell, "run_many", counted)
    return jobs


def goodput(runs):
    flows = runs.flows.groupby("job")["goodput_bps"]
    return pd.DataFrame({"mean": flows.mean(), "each": [list(values) for _, values in flows]})


def too_few(runs):
    return goodput(runs).iloc[1:]


def content(folder):
    """Return digests of the files in a folder, by their names."""
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(Path(folder).rglob("*"))
        if file.is_file()
    }


def test_a_campaign_executes_each_run_once_and_resumes(base, made, tmp_path):
    wanted = Campaign(base, {QUEUE: ["5 packets", "10 packets"]}, runs=3, store=tmp_path)
    assert (len(wanted), len(wanted.points), wanted.status().missing) == (6, 2, 6)
    assert not list(tmp_path.iterdir()), "a status changes nothing"
    wanted.run(progress=False)
    assert (len(made), wanted.made, wanted.status().missing) == (6, 6, 0)
    wanted.run(progress=False)
    again = Campaign(base, {QUEUE: ["10 packets", "5 packets"]}, runs=range(2), store=tmp_path)
    again.run(progress=False)
    assert (len(made), wanted.made, again.made) == (6, 0, 0)
    Campaign(base, {QUEUE: ["5 packets"]}, runs=[1], store=tmp_path).run(progress=False, fresh=True)
    assert len(made) == 7
    assert wanted.status().done == 1


def test_points_and_replications_are_added_later(base, made, tmp_path):
    wanted = Campaign(base, {QUEUE: ["5 packets", "10 packets"]}, runs=2, store=tmp_path).run(progress=False)
    wanted.add({QUEUE: ["10 packets", "20 packets"], "flows.fg.tcp": ["reno", "vegas"]})
    status = wanted.status()
    # The value of the base is not a new point: two of the four are new points of Vegas, one is a new queue.
    assert (len(status.points), status.runs, status.missing) == (5, 10, 6)
    assert status.points["flows.fg.tcp"].tolist() == ["reno", "reno", "vegas", "reno", "vegas"]
    wanted.run(progress=False)
    wanted.add(runs=3)
    assert wanted.status().missing == 5
    wanted.run(progress=False)
    assert len({(job.scenario.hash, job.run) for job in made}) == len(made) == 15
    assert wanted.status().missing == 0


def test_frames_have_the_parameters_and_the_columns_of_the_engine(base, tmp_path):
    wanted = Campaign(base, {QUEUE: ["5 packets", "10 packets"]}, runs=2, store=tmp_path).run(progress=False)
    runs, flows, links = (wanted.frame(name) for name in ("runs", "flows", "links"))
    assert runs[[QUEUE, "run"]].to_numpy().tolist() == [
        ["5 packets", 0], ["5 packets", 1], ["10 packets", 0], ["10 packets", 1],
    ]  # fmt: skip
    assert wanted.frame().equals(runs)
    straight = dumbbell.run_many(
        [dumbbell.Job(point.scenario, 1, run) for point in wanted.points for run in range(2)], progress=False
    )
    for frame, expected in ((flows, straight.flows), (links, straight.links)):
        shared = [name for name in frame if name in expected]
        assert {"name", "seed", "run"} <= set(shared)
        pd.testing.assert_frame_equal(frame[shared], expected[shared], check_exact=True)
    assert runs["fingerprint"].tolist() == straight.flows["fingerprint"].tolist()
    with pytest.raises(ScenarioError, match=r"did you mean `flows`"):
        wanted.frame("flow")


def test_sql_queries_the_tables(base, tmp_path):
    wanted = Campaign(base, {QUEUE: ["5 packets", "10 packets"]}, runs=2, store=tmp_path).run(progress=False)
    found = wanted.sql(f'select "{QUEUE}" as q, avg(goodput_bps) as g from flows group by q order by q')
    means = wanted.frame("flows").groupby(QUEUE)["goodput_bps"].mean()
    assert found["g"].tolist() == pytest.approx(means.tolist())
    assert wanted.sql("select count(*) as n from runs join links using (hash, seed, run)")["n"][0] == 4 * 6


def test_what_has_not_run_is_an_empty_table(base, tmp_path):
    wanted = Campaign(base, {QUEUE: ["5 packets"]}, store=tmp_path / "none")
    assert wanted.frame().columns.tolist() == [QUEUE, "hash", "seed", "run"]
    assert wanted.frame().empty


@pytest.mark.parametrize(
    ("values", "column"),
    [
        ([1, 2], pa.array([1, 2])),
        ([1, 2.5], pa.array([1.0, 2.5])),
        ([True, False, None], pa.array([True, False, None])),
        (["reno", None], pa.array(["reno", None])),
        ([1, "reno", True], pa.array(["1", "reno", "true"])),
        ([None], pa.array([None], pa.string())),
    ],
)
def test_parameters_have_the_type_of_their_values(values, column):
    assert parameters.column(values).equals(column)


def test_a_campaign_may_have_no_axes(base, tmp_path):
    wanted = Campaign(base, runs=3, store=tmp_path).run(progress=False)
    assert wanted.frame()["run"].tolist() == [0, 1, 2]
    assert wanted.status().points["done"].tolist() == [3]
    assert len(wanted.frame("flows")) == 3


def test_tables_are_shown_by_their_names_and_members(base, tmp_path):
    wanted = Campaign(
        base,
        {"flows.fg.tcp": ["vegas", {"variant": "vegas", "congestion": {"name": "vegas", "alpha": 2}}]},
        store=tmp_path,
    )
    assert wanted.points[1].parameters["flows.fg.tcp"] == "vegas (congestion = vegas (alpha = 2))"


@pytest.mark.parametrize(
    "axis",
    [
        {"slow": {"variant": "vegas", "mss": "536 bytes"}, "Reno": "reno"},
        [
            {"label": "slow", "value": {"variant": "vegas", "mss": "536 bytes"}},
            {"label": "Reno", "value": "reno"},
        ],
    ],
)
def test_values_of_an_axis_are_shown_by_their_labels(base, tmp_path, axis):
    wanted = Campaign(base, {"flows.fg.tcp": axis}, store=tmp_path)
    assert [point.parameters["flows.fg.tcp"] for point in wanted.points] == ["slow", "Reno"]
    assert wanted.points[0].scenario.flows[0].tcp.mss == "536 bytes"


class Halving(dumbbell.Control):
    """A control that the name of its class stands for."""

    decrease: float = 0.5

    def on_ack(self, ack):
        self.cwnd = ack.grown(self.cwnd, ack.mss)

    def on_congestion(self, congestion):
        self.cwnd = max(congestion.flight_size * self.decrease, 2 * congestion.mss)


def test_own_controls_are_shown_by_the_names_of_their_classes(base, tmp_path):
    wanted = Campaign(base, {"flows.fg.tcp": [Halving(decrease=0.7), Halving(), "reno"]}, store=tmp_path)
    assert [point.parameters["flows.fg.tcp"] for point in wanted.points] == [
        "Halving (decrease = 0.7)",
        "Halving (decrease = 0.5)",
        "reno",
    ]


def test_labels_of_an_axis_differ(base, tmp_path):
    axis = [{"label": "one", "value": "reno"}, {"label": "one", "value": "vegas"}]
    with pytest.raises(
        ScenarioError, match=r'axes\.flows\.fg\.tcp: "one" is not accepted; expected different labels'
    ):
        Campaign(base, {"flows.fg.tcp": axis}, store=tmp_path)


def test_an_axis_of_another_grid_is_shown_as_the_base_states_it_or_else_with_its_default(base, tmp_path):
    wanted = Campaign(base, {"flows.fg.tcp": ["vegas"]}, store=tmp_path)
    wanted.add({QUEUE: ["5 packets"], "flows.fg.source.kind": ["greedy"]})
    first = wanted.points[0].parameters
    assert first[QUEUE] == base.to_dict()["links"][0]["queue"]["limit"]
    assert first["flows.fg.source.kind"] == "greedy"
    # The resolved form of a variant is a table.
    assert wanted.points[1].parameters["flows.fg.tcp"] == "reno"


# Reductions


def test_a_reduction_says_what_is_kept(base, tmp_path):
    wanted = Campaign(base, {QUEUE: ["5 packets"]}, runs=3, reduce=goodput, store=tmp_path).run(
        progress=False
    )
    frame = wanted.frame()
    assert frame["mean"].tolist() == [values[0] for values in frame["each"]]
    assert Campaign(base, {QUEUE: ["5 packets"]}, runs=3, store=tmp_path).status().missing == 3


def test_a_reduction_returns_a_row_for_each_run(base, tmp_path):
    with pytest.raises(ValueError, match="2 rows for 3 runs"):
        Campaign(base, runs=3, reduce=too_few, store=tmp_path).run(progress=False)


def test_reductions_without_a_name_are_refused(base, tmp_path):
    scale = 2.0

    def scaled(runs):
        return goodput(runs) * scale

    for reduce in (lambda runs: goodput(runs), scaled, "goodput", print):
        with pytest.raises(ScenarioError, match="expected a named function"):
            Campaign(base, reduce=reduce, store=tmp_path)


SCRIPT = """
import numpy as np
UNIT = 1e3
def unused(x):
    return x
def scaled(values):
    return values / UNIT
def reduce(runs):
    return scaled(runs.flows.groupby("job")["goodput_bps"].mean()).to_frame()
from dumbbell.campaign.reductions import function_identity
print(function_identity(reduce))
"""


@pytest.mark.parametrize(
    ("edit", "is_other"),
    [
        (("", ""), False),
        (("def unused(x):\n    return x", "def unused(x):\n    return 2 * x"), False),
        (("    return scaled", "    # a remark\n    return scaled"), False),
        (("UNIT = 1e3", "UNIT = 1e6"), True),
        (("values / UNIT", "values * UNIT"), True),
        (('"goodput_bps"', '"throughput_bps"'), True),
        (("UNIT = 1e3", "UNIT = np.ones(1)"), None),
    ],
)
def test_a_reduction_in_a_script_is_identified_by_its_code(tmp_path, edit, is_other):
    def identity(text):
        (tmp_path / "script.py").write_text(text, encoding="utf-8")
        return subprocess.run(
            [sys.executable, tmp_path / "script.py"], capture_output=True, text=True, check=False
        )

    before, after = identity(SCRIPT), identity(SCRIPT.replace(*edit))
    if is_other is None:
        assert "uses UNIT, a ndarray which has no digest" in after.stderr
    else:
        assert before.stdout
        assert (before.stdout != after.stdout) == is_other, after.stderr


# The store


@pytest.mark.slow
def test_a_store_does_not_depend_on_the_order_of_its_runs(tmp_path):
    draw = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "hash": [f"{number % 7:016x}" for number in range(100)],
            "seed": np.uint64(1),
            "run": np.arange(100, dtype=np.uint64),
            "value": [None if number % 3 else number / 7 for number in range(100)],
            "parts": [list(draw.random(number % 4)) for number in range(100)],
        }
    )
    found = set()
    for attempt in range(12):
        order = np.arange(100) if attempt == 0 else draw.permutation(100)
        cuts = np.sort(draw.choice(np.arange(1, 100), size=attempt * 3, replace=False))
        place = tmp_path / str(attempt)
        for rows in np.array_split(order, cuts) if attempt % 2 else np.split(order, cuts):
            # Opened again, so that some rows are as added and some as read.
            with campaign.Store(place, ()) as store:
                store.add(frame.iloc[rows].reset_index(drop=True))
                if draw.random() < 0.2:
                    store.compact()
        with campaign.Store(place, ()) as store:
            store.compact()
            store.compact()
        found.add(tuple(content(place).items()))
    assert len(found) == 1
    assert len(next(iter(found))) == 3  # a part, their list, a lock


def test_a_snapshot_is_taken_while_another_process_writes(base, tmp_path):
    wanted = Campaign(base, {QUEUE: ["5 packets"]}, runs=4, store=tmp_path).run(progress=False)
    place = next(tmp_path.iterdir())
    identity, _, _ = place.name.rpartition("-")
    with campaign.Store(tmp_path, (), identity=identity) as store:
        assert wanted.status().done == 4
        assert len(wanted.frame("links")) == 4 * 6
        before = content(tmp_path)
        (part,) = place.glob("*.parquet")
        damaged = bytearray(part.read_bytes())
        damaged[100] ^= 1
        part.write_bytes(damaged)
        status = wanted.status()
        assert (status.done, status.missing) == (0, 4)
        assert len(status.warnings) == 1
        assert part.name in status.warnings[0]
        assert {file.name for file in place.iterdir()} == {Path(name).name for name in before}
        assert len(store.frame()) == 4
    wanted.run(progress=False)
    assert f"{part.name}.damaged" in wanted.warnings[0]
    assert wanted.made == 4


def test_a_snapshot_restarts_if_parts_are_merged_meanwhile(tmp_path, monkeypatch):
    with campaign.Store(tmp_path, ()) as store:
        for number in range(2):
            store.add(
                pd.DataFrame(
                    {"hash": ["0"], "seed": np.uint64([1]), "run": np.uint64([number]), "value": 0.5}
                )
            )
        real = campaign.store.matching
        seen = []

        def matching(folder, pattern):
            files = real(folder, pattern)
            if not seen:
                seen.append(files)
                store.compact()
            return files

        monkeypatch.setattr(campaign.store, "matching", matching)
        assert len(campaign.Store(tmp_path, (), read_only=True).frame()) == 2
        assert len(seen[0]) == 2


def test_an_interruption_keeps_finished_runs(base, tmp_path, monkeypatch):
    def on_threads(reduce, threads):
        def make(planned, keep):
            runs = dumbbell.run_many([campaign.execution.job_of(one) for one in planned[:2]], progress=False)
            keep(range(2), reduce(runs))
            raise KeyboardInterrupt

        return make

    monkeypatch.setattr(campaign.campaign, "on_threads", on_threads)
    wanted = Campaign(base, {QUEUE: ["5 packets"]}, runs=4, store=tmp_path)
    with pytest.raises(campaign.Interrupted, match=r"interrupted; 2 of 4 runs are kept"):
        wanted.run(progress=False)
    monkeypatch.undo()
    assert wanted.run(progress=False).made == 2


def test_replications_that_do_not_differ_are_reported(base, tmp_path):
    wanted = Campaign(base, {"flows.fg.start": ["0 s", {"uniform": ["0 s", "1 s"]}]}, runs=3, store=tmp_path)
    for _ in range(2):
        with pytest.warns(
            dumbbell.IdenticalRunsWarning, match="3 runs of .* have only 1 distinct fingerprint:"
        ) as said:
            wanted.run(progress=False)
        assert len(said) == 1


def test_what_has_no_effect_is_said(base, tmp_path):
    wanted = Campaign(base, {"flows.fg.start": ["9 s"]}, store=tmp_path)
    with pytest.warns(dumbbell.ScenarioWarning, match=r"9 s is not before the end"):
        wanted.run(progress=False)


def test_probes_that_are_not_stored_are_reported(base, tmp_path):
    data = base.to_dict() | {"probes": [Probe(flows=["fg"], quantities=["cwnd"]).to_dict()]}
    wanted = Campaign(dumbbell.Scenario.from_dict(data), store=tmp_path).run(progress=False)
    assert wanted.warnings == [campaign.campaign.PROBES]


def test_the_default_reduction_keeps_flows_and_links(base):
    runs = dumbbell.run_many(base, runs=3, progress=False)
    table = reductions.tables(runs)
    assert table.column_names == ["fingerprint", "simulated_s", "events", "flows", "links"]
    assert [len(flows) for flows in table["flows"].to_pylist()] == [1, 1, 1]
    assert [len(links) for links in table["links"].to_pylist()] == [6, 6, 6]


# Bad input


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"axes": {"links.r1-r2.rat": ["1 Mbit/s"]}}, "did you mean `rate`"),
        ({"axes": {"links.r1-r3.rate": ["1 Mbit/s"]}}, "did you mean `r1-r2`"),
        ({"axes": {"link.r1-r2.rate": ["1 Mbit/s"]}}, "did you mean `links`"),
        ({"axes": {"duratoin": ["1 s"]}}, "did you mean `duration`"),
        ({"axes": {"flows.fg.tcp": ["renoo"]}}, "did you mean"),
        ({"axes": {"duration": ["1 parsec"]}}, "axes: duration = '1 parsec': duration: \"1 parsec\""),
        (
            {"axes": {"duration": "1 s"}},
            'axes.duration: "1 s" is not accepted; expected a list of values',
        ),
        (
            {"axes": {"duration": 1}},
            "axes.duration: 1 is not accepted; expected a list of values",
        ),
        ({"axes": {"duration": []}}, "expected at least one value"),
        ({"axes": {"duration": [float("nan")]}}, "a finite number"),
        ({"axes": {"": ["1 s"]}}, "a path of fields joined by dots"),
        ({"axes": ["duration"]}, "axes: "),
        (
            {"axes": {"duration": range(10**4), "flows.fg.start": range(10**4)}},
            "100000000 points are too many",
        ),
        ({"runs": 0}, "runs: 0 is not accepted; expected a whole number from 1"),
        ({"runs": []}, "runs: [] is not accepted"),
        ({"runs": [-1]}, 'runs: "-1" is not accepted'),
        ({"runs": [1.5]}, "runs: "),
        ({"runs": True}, "runs: "),
        ({"runs": "many"}, "runs: "),
        ({"seed": -1}, "seed: -1 is not accepted"),
        ({"seed": 2**64}, "seed: "),
        ({"seed": "one"}, "seed: "),
    ],
)
def test_impossible_campaigns_are_refused(base, tmp_path, arguments, text):
    with pytest.raises(ScenarioError) as caught:
        Campaign(base, **({"axes": {}, "store": tmp_path} | arguments))
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_set_changes_values_of_the_base_of_a_campaign_file(base, tmp_path):
    (tmp_path / "base.json").write_text(base.to_json(), encoding="utf-8")
    file = tmp_path / "c.toml"
    file.write_text(f'base = "base.json"\naxes = {{ "{QUEUE}" = ["5 packets"] }}\n', encoding="utf-8")
    arguments = ("campaign", file, "--output", tmp_path / "store", "--status", "--json")
    found = json.loads(invoke(*arguments, "--set", "flows.fg.tcp=vegas").stdout)
    changed = base.with_values({"flows.fg.tcp": "vegas", QUEUE: "5 packets"})
    assert [point["hash"] for point in found["points"]] == [changed.hash]
    assert "did you mean" in refused(*arguments, "--set", "flow.fg.tcp=vegas")


def test_what_cannot_be_added_changes_nothing(base, tmp_path):
    wanted = Campaign(base, {QUEUE: ["5 packets"]}, store=tmp_path)
    with pytest.raises(ScenarioError, match="did you mean"):
        wanted.add({"links.r1-r2.queue.limt": ["5 packets"]})
    assert (len(wanted), len(wanted.points)) == (1, 1)


def test_a_disturbed_run_in_real_time_is_told_and_not_stored(monkeypatch):
    results = [SimpleNamespace(disturbed=False, mean=3.0), SimpleNamespace(disturbed=True, mean=4.0)]

    def run_many(jobs, *, finished, **options):
        assert len(jobs) == len(results)
        assert options["at_once"] == 2
        for number, result in enumerate(results):
            finished(number, result)

    monkeypatch.setattr(real_time, "run_many", run_many)
    monkeypatch.setattr(real_time, "job_of", lambda one: one)

    def made(**options):
        kept = []
        make = real_time.in_real_time(lambda result: {"mean": result.mean}, at_once=2, **options)
        make(["first", "second"], lambda numbers, frame: kept.append((numbers, frame.to_dict("list"))))
        return kept

    told = []
    assert made(finished=lambda *one: told.append(one)) == [([0], {"mean": [3.0]}), ([1], {})]
    assert told == list(enumerate(results))
    assert made() == [([0], {"mean": [3.0]}), ([1], {})]


def test_threads_are_of_this_machine(base, tmp_path):
    for options in ({"threads": 0}, {"threads": 2, "on": "tcp://127.0.0.1:1"}):
        with pytest.raises(ScenarioError, match="threads"):
            Campaign(base, store=tmp_path).run(**options)


# The command line

FILE = """
base = "base.toml"
runs = 2
seed = 7

[axes]
"links.r1-r2.queue.limit" = ["5 packets", "10 packets"]
flows.fg.tcp = ["reno"]

[[add]]
axes = {"flows.fg.tcp" = ["vegas"]}
runs = [5]
"""


@pytest.fixture
def file(base, tmp_path):
    (tmp_path / "base.toml").write_text(base.to_toml(), encoding="utf-8")
    (tmp_path / "buffers.toml").write_text(FILE, encoding="utf-8")
    return tmp_path / "buffers.toml"


def test_a_campaign_file_is_run_and_its_tables_are_written(file, tmp_path):
    before = invoke("campaign", file, "--output", tmp_path / "out", "--status")
    assert before.exit_code == 0
    assert "0 of 3 points complete; 0 of 5 runs done, 5 missing" in before.stdout
    assert not (tmp_path / "out").exists()
    result = invoke("campaign", file, "--output", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "3 points, 5 runs, 0 of them reused" in result.stdout
    flows = pq.read_table(tmp_path / "out" / "flows.parquet").to_pandas()
    assert flows[[QUEUE, "flows.fg.tcp", "seed", "run"]].to_numpy().tolist() == [
        ["5 packets", "reno", 7, 0], ["5 packets", "reno", 7, 1],
        ["10 packets", "reno", 7, 0], ["10 packets", "reno", 7, 1],
        [flows[QUEUE][4], "vegas", 7, 5],
    ]  # fmt: skip
    again = json.loads(invoke("campaign", file, "--output", tmp_path / "out", "--json").stdout)
    assert (again["runs"], again["done"], again["missing"], again["made"]) == (5, 5, 0, 0)
    assert [point["done"] for point in again["points"]] == [2, 2, 1]


def test_warnings_are_lines_of_the_command(file, tmp_path):
    file.write_text(
        FILE.replace("flows.fg.tcp =", 'flows.fg.start = ["0.5 s"]\nflows.fg.tcp ='), encoding="utf-8"
    )
    result = invoke("campaign", file, "--output", tmp_path / "out")
    assert result.exit_code == 0
    lines = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
    assert len(lines) == 1
    assert "identical runs are not replications" in lines[0]


def test_a_campaign_is_stored_where_the_file_says(file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert invoke("campaign", file).exit_code == 0
    assert (tmp_path / "results" / "campaigns" / "buffers" / "links.parquet").is_file()
    file.write_text('output = "there"\n' + FILE, encoding="utf-8")
    assert invoke("campaign", file).exit_code == 0
    assert (tmp_path / "there" / "links.parquet").is_file()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (("[axes]", "[axis]"), "did you mean `axes`"),
        (('base = "base.toml"', ""), "base: nothing is not accepted"),
        (('base = "base.toml"', 'base = "nowhere.toml"'), "nowhere.toml: No such file"),
        (('base = "base.toml"', "base = 3"), "base: "),
        (("runs = 2", "runs = 0"), "runs: 0"),
        (("seed = 7", 'seed = "seven"'), "seed: "),
        (('flows.fg.tcp = ["reno"]', 'flows.fg.tcp = "reno"'), "axes.flows.fg.tcp: "),
        (('flows.fg.tcp = ["reno"]', 'flow.fg.tcp = ["reno"]'), "did you mean `flows`"),
        (("runs = [5]", "run = [5]"), "did you mean `runs`"),
        (("[[add]]", "[add]"), "add: "),
        (("seed = 7", "output = 7"), "output: "),
        (("seed = 7", "seed ="), "could not be parsed"),
    ],
)
def test_a_campaign_file_that_cannot_be_run_is_refused_in_one_line(file, tmp_path, change, text):
    assert change[0] in FILE
    file.write_text(FILE.replace(*change), encoding="utf-8")
    assert text in refused("campaign", file, "--output", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "duration: nothing is not accepted"),
        ("duration =", "line 1: "),
        ("9" * 50, "line 1: "),
    ],
)
def test_what_is_wrong_with_the_base_of_a_campaign_is_said_of_its_file(file, text, problem):
    base = file.with_name("base.toml")
    base.write_text(text, encoding="utf-8")
    result = invoke("campaign", file)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {file}: {base}: {problem}")


def test_the_example_campaign_can_be_run(tmp_path):
    found = invoke(
        "campaign", ROOT / "examples" / "campaign" / "buffers.toml", "--output", tmp_path, "--status"
    )
    assert "0 of 7 points complete; 0 of 140 runs done" in found.stdout


def test_the_example_script_runs_and_resumes(tmp_path):
    command = [sys.executable, ROOT / "examples" / "campaign.py", tmp_path]
    first, second = (
        subprocess.run(
            command, capture_output=True, text=True, timeout=300, check=True, env=os.environ
        ).stdout.splitlines()
        for _ in range(2)
    )
    assert first[0].startswith("0 of 6 points complete")
    assert second[0].startswith("6 of 6 points complete")
    assert first[1:] == second[1:]
