"""Random scenarios mean the same through every door: typed parts in Python, TOML, JSON, and the engine itself.

`make chaos-smoke` writes the scenarios, each with the summary of a run in Rust, and then runs this.
"""

import json
from pathlib import Path

import pytest

import dumbbell
from dumbbell import Scenario

# Random scenarios state things without effect, and replications may be equal.
pytestmark = pytest.mark.filterwarnings(
    "ignore::dumbbell.ScenarioWarning", "ignore::dumbbell.IdenticalRunsWarning"
)

EMITTED = Path(__file__).parents[2] / "results" / "smoke" / "chaos" / "scenarios.jsonl"


@pytest.fixture(scope="module")
def emitted():
    return [json.loads(line) for line in EMITTED.read_text(encoding="utf-8").splitlines()]


def test_python_toml_and_json_state_what_the_engine_reads(emitted, tmp_path):
    assert len(emitted) >= 100
    for number, case in enumerate(emitted):
        scenario = Scenario.from_dict(case["scenario"])
        for name, text in (("toml", scenario.to_toml()), ("json", scenario.to_json())):
            file = tmp_path / f"{number}.{name}"
            file.write_text(text, encoding="utf-8")
            assert Scenario.from_file(file) == scenario, number


def test_a_run_from_python_has_the_same_bits_as_from_rust(emitted):
    jobs = [dumbbell.Job(Scenario.from_dict(case["scenario"]), case["seed"], case["run"]) for case in emitted]
    for job, case in zip(jobs, emitted, strict=True):
        run = dumbbell.run(job.scenario, seed=job.seed, run=job.run)
        assert run.summary == case["summary"], job.run
    together = dumbbell.run_many(jobs[::-1], threads=2, progress=False).flows
    fingerprints = together.groupby("run").fingerprint.first()
    for case in emitted:
        if case["scenario"]["flows"]:
            assert f"{fingerprints[case['run']]:016x}" == case["summary"]["fingerprint"], case["run"]
