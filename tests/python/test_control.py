"""Congestion controls in Python: the same bits as in Rust, errors in a sentence, and an identity."""

from __future__ import annotations

import copy
import importlib
import inspect
import json
import math
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import traceback
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell import Control, ControlError, Flow, Probe, ScenarioError, Tcp, Uniform, processes, topologies
from dumbbell.cli import app, new
from dumbbell.control import factory
from dumbbell.threads import start

ROOT = Path(__file__).resolve().parents[2]
SHAPE = topologies.dumbbell(
    pairs=2, rate="4 Mbit/s", delay="20 ms", queue={"kind": "droptail", "limit": "10 packets"}
)
START = Uniform(uniform=("0 s", "1 s"))


class Aimd(Control):
    """Additive increase, multiplicative decrease."""

    increase: float = 1.0
    decrease: float = 0.5
    probes = ("losses", "w_max")

    def start(self, setup):  # noqa: ARG002 - the signature of Control
        self.losses = 0
        self.w_max = None

    def on_ack(self, ack):
        if ack.in_recovery:
            return
        count = self.cwnd / (ack.mss * self.increase)
        growth = ack.mss if self.cwnd < self.ssthresh else ack.mss / count
        self.cwnd = ack.grown(self.cwnd, growth)

    def on_congestion(self, congestion):
        self.losses += 1
        self.w_max = self.cwnd
        most = max(self.cwnd, 2 * congestion.mss)
        rest = max(congestion.flight_size * self.decrease, 2 * congestion.mss)
        self.ssthresh = min(rest, most)
        self.cwnd = min(congestion.loss_window if congestion.restarts else rest, most)


class Reno(Aimd):
    """The window of RFC 5681."""

    def on_ack(self, ack):
        if not ack.in_recovery:
            growth = ack.mss if self.cwnd < self.ssthresh else ack.mss * ack.mss / self.cwnd
            self.cwnd = ack.grown(self.cwnd, growth)

    def on_congestion(self, congestion):
        self.ssthresh = max(congestion.flight_size / 2, 2 * congestion.mss)
        self.cwnd = congestion.loss_window if congestion.restarts else self.ssthresh


class Reacting(Aimd):
    """Does something wrong at the first congestion."""

    wrong: str = "raises"

    def on_congestion(self, congestion):  # noqa: ARG002 - the signature of Control
        if self.wrong == "raises":
            raise ZeroDivisionError("a bug of the user's")
        self.cwnd = {"nan": math.nan, "negative": -1.0, "small": 100.0, "text": "big"}[self.wrong]


def scenario(tcp, *, quantities=("cwnd", "ssthresh"), duration="20 s", **rest):
    flows = [
        Flow(name="fg", from_="s1", to="d1", tcp=tcp, start=START),
        Flow(name="bg", from_="s2", to="d2", tcp="reno", start=START),
    ]
    probes = [Probe(flows=["fg"], quantities=list(quantities))] if quantities else None
    return SHAPE.scenario(rules="classic", duration=duration, flows=flows, probes=probes, **rest)


@pytest.mark.parametrize(("increase", "decrease"), [(1.0, 0.5), (2.5, 0.7)])
@pytest.mark.parametrize("rules", [{}, {"recovery": "sack", "initial_window": "10 segments"}])
def test_aimd_in_python_has_the_bits_of_the_registered_one(increase, decrease, rules):
    registered = {"name": "aimd", "increase": increase, "decrease": decrease}
    ours = dumbbell.run(scenario(Tcp(external=Aimd(increase=increase, decrease=decrease), **rules)), seed=3)
    theirs = dumbbell.run(scenario(Tcp(congestion=registered, **rules)), seed=3)
    assert ours.fingerprint == theirs.fingerprint
    for quantity in ("cwnd", "ssthresh"):
        assert ours.traces[quantity].equals(theirs.traces[quantity])
    # The runs depend on the constants.
    assert ours.fingerprint != dumbbell.run(scenario(Aimd(increase=4.0)), seed=3).fingerprint


def test_reno_in_python_has_the_bits_of_the_registered_one():
    ours, theirs = (dumbbell.run(scenario(tcp)) for tcp in (Reno(), Tcp(congestion="reno")))
    assert ours.fingerprint == theirs.fingerprint


def test_an_exception_ends_the_run_with_its_traceback():
    with pytest.raises(ZeroDivisionError, match="a bug of the user's") as caught:
        dumbbell.run(scenario(Reacting()))
    assert "on_congestion" in "".join(traceback.format_tb(caught.value.__traceback__))
    [note] = caught.value.__notes__
    assert note.startswith('in Reacting.on_congestion of the flow "fg" at ')
    # The process goes on.
    assert dumbbell.run(scenario(Aimd())).flow("fg")["goodput_bps"] > 1e5


@pytest.mark.parametrize(
    ("wrong", "shown"), [("nan", "nan"), ("negative", "-1.0"), ("small", "100.0"), ("text", "'big'")]
)
def test_a_window_out_of_range_is_an_error_in_one_sentence(wrong, shown):
    with pytest.raises(ControlError) as caught:
        dumbbell.run(scenario(Reacting(wrong=wrong)))
    expected = f"Reacting.on_congestion: cwnd is {shown}; expected a finite number of bytes, at least one segment (1460)"
    assert str(caught.value) == expected


def test_a_batch_ends_with_the_exception_and_keeps_what_was_handed_over():
    jobs = [scenario(Aimd(), duration="2 s"), scenario(Reacting())]
    completed = []
    with pytest.raises(ZeroDivisionError):
        dumbbell.run_many(
            jobs, runs=2, threads=1, progress=False, finished=lambda runs: completed.append(len(runs))
        )
    assert sum(completed) == 2


def test_the_identity_is_name_digest_and_parameters():
    base, other = scenario(Aimd()), scenario(Aimd(decrease=0.7))
    stated = base.resolved()["flows"][0]["tcp"]["external"]
    assert stated["name"] == f"python:{__name__}.Aimd"
    assert stated["digest"] == Aimd.source_digest
    assert stated["parameters"] == {"increase": 1.0, "decrease": 0.5}
    assert len({base.hash, other.hash, scenario(Reacting()).hash, scenario("aimd").hash}) == 4
    assert base.hash == scenario(Aimd()).hash


def test_a_scenario_without_external_controls_does_not_mention_them():
    assert "external" not in scenario("reno").canonical_json


def defined(folder, name, increase):
    """Import a module with a class whose source differs by a number."""
    (folder / f"{name}.py").write_text(
        "import dumbbell\n\n\n"
        "class Mine(dumbbell.Control):\n"
        "    beta: float = 0.5\n\n"
        "    def on_ack(self, ack):\n"
        f"        self.cwnd = ack.grown(self.cwnd, {increase})\n\n"
        "    def on_congestion(self, congestion):\n"
        "        self.cwnd = congestion.loss_window\n"
    )


def test_a_file_names_a_class_that_can_be_imported(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    defined(tmp_path, "own_control", "100.0")
    dumbbell.allow("python:own_control.Mine")
    named = scenario("python:own_control.Mine", quantities=())
    file = tmp_path / "scenario.toml"
    file.write_text(named.to_toml())
    read = dumbbell.Scenario.from_file(file)
    own_control = importlib.import_module("own_control")
    assert read == named == scenario(own_control.Mine(), quantities=())
    assert (
        dumbbell.run(read).fingerprint
        == dumbbell.run(scenario(own_control.Mine(), quantities=())).fingerprint
    )
    table = Tcp(external={"name": "python:own_control.Mine", "parameters": {"beta": 0.7}})
    assert scenario(table).hash == scenario(own_control.Mine(beta=0.7)).hash


def test_a_changed_class_has_another_hash_and_an_old_scenario_is_refused(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    defined(tmp_path, "changing", "100.0")
    dumbbell.allow("python:changing.Mine")
    before = scenario("python:changing.Mine")
    defined(tmp_path, "changing", "200.0")
    del sys.modules["changing"]
    import importlib
    import linecache

    importlib.invalidate_caches()
    linecache.checkcache()
    sys.dont_write_bytecode, kept = True, sys.dont_write_bytecode
    try:
        after = scenario("python:changing.Mine")
    finally:
        sys.dont_write_bytecode = kept
    assert before.hash != after.hash
    name, digest = (before.resolved()["flows"][0]["tcp"]["external"][key] for key in ("name", "digest"))
    from dumbbell import control

    monkeypatch.delitem(control.known, (name, digest))
    with pytest.raises(ScenarioError, match="is that of another version"):
        dumbbell.run(before)


@pytest.mark.parametrize(
    ("tcp", "text"),
    [
        ("python:nowhere.Mine", '"python:nowhere.Mine" cannot be imported'),
        (
            "python:json.JSONDecoder",
            r"is no congestion control; expected a subclass of dumbbell\.Control; json has none",
        ),
        (
            f"python:{__name__}.Amid",
            rf"the module {__name__} has no class Amid; expected .*Aimd, Reno.*\(did you mean `Aimd`\?\)",
        ),
        ("python:Mine", '"python:Mine" names no class of a module'),
        (
            Tcp(external={"name": f"python:{__name__}.Aimd", "parameters": {"incease": 1}}),
            "did you mean `increase`",
        ),
        (Tcp(congestion="cubic", external=Aimd()), "no congestion control of the registry beside `external`"),
        (
            Tcp(external={"name": "wasm:x", "digest": "1"}),
            "a congestion control of a host that runs here: python",
        ),
    ],
)
def test_what_cannot_run_is_refused(tcp, text):
    names = ["nowhere.Mine", "json.JSONDecoder", f"{__name__}.Amid", f"{__name__}.Aimd", "Mine"]
    dumbbell.allow(*(f"python:{name}" for name in names))
    with pytest.raises(ScenarioError, match=text):
        dumbbell.run(scenario(tcp, quantities=()))


def test_the_folders_without_a_module_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs"), *sys.path, ""])
    folders = rf"the working directory {re.escape(str(tmp_path))}, {re.escape(str(ROOT / 'docs'))}, "
    dumbbell.allow("python:nowhere.Mine")
    with pytest.raises(
        ScenarioError, match=f"no module nowhere in {folders}.*the installed packages; expected"
    ):
        scenario("python:nowhere.Mine")


def test_a_class_states_what_a_control_needs():
    class Half(Control):
        def on_ack(self, ack):
            pass

    with pytest.raises(TypeError, match="abstract method on_congestion"):
        Half()
    with pytest.raises(TypeError, match="expected parameters as annotated attributes"):

        class Initialized(Control):
            def __init__(self):
                pass


CONTROL = "import dumbbell\n\n\nclass Mine(dumbbell.Control):\n"
METHODS = (
    "    def on_ack(self, ack):\n        pass\n\n    def on_congestion(self, congestion):\n        pass\n"
)


@pytest.mark.parametrize(
    ("module", "text", "problem"),
    [
        (
            "unstated",
            f"{CONTROL}    share: float\n\n{METHODS}",
            r"parameters\.share: nothing is not accepted",
        ),
        ("passive", f"{CONTROL}    share: float = 1.0\n", "has no on_ack and no on_congestion"),
        ("binary", f"{CONTROL}{METHODS}\0", r"cannot be imported \(source code .* null bytes\)"),
    ],
)
def test_a_class_that_cannot_be_made_is_refused_in_a_sentence(tmp_path, monkeypatch, module, text, problem):
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"{module}.py").write_text(text, "utf-8")
    name = f"python:{module}.Mine"
    dumbbell.allow(name)
    with pytest.raises(ScenarioError, match=problem) as refused:
        scenario(name)
    assert name in str(refused.value)


def test_own_quantities_are_probed():
    run = dumbbell.run(scenario(Aimd(), quantities=("cwnd", "own.losses", "own.w_max")))
    losses = run.traces["own.losses"]["value"]
    assert losses.iloc[-1] > 2
    assert losses.is_monotonic_increasing
    assert run.traces["own.w_max"]["value"].min() >= 1460
    with pytest.raises(ScenarioError, match=r"Aimd has own\.losses, own\.w_max"):
        scenario(Aimd(), quantities=("own.other",))


class Typed(Aimd):
    gain: float = 1.0
    rounds: int = 3
    paces: bool = False
    mode: str = "slow"
    limit: float = "none"
    shape: list = (1, 2)


@pytest.mark.parametrize(
    "accepted",
    [
        {"gain": 2},
        {"gain": 0.5, "rounds": 4, "paces": True, "mode": "fast"},
        {"limit": 2.0},
        {"limit": "none"},
        {"shape": "anything"},
    ],
)
def test_parameters_of_their_annotated_types_are_accepted(accepted):
    assert Typed(**accepted).stated()["parameters"].items() >= accepted.items()


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"gain": "x"}, r'parameters\.gain: "x" is not accepted; expected a number'),
        ({"gain": True}, r"parameters\.gain: True is not accepted; expected a number"),
        ({"gain": math.nan}, r"parameters\.gain: nan is not accepted; expected a finite number"),
        ({"rounds": 2.5}, r"parameters\.rounds: 2\.5 is not accepted; expected a whole number"),
        ({"rounds": True}, r"parameters\.rounds: True is not accepted; expected a whole number"),
        ({"paces": 1}, r"parameters\.paces: 1 is not accepted; expected true or false"),
        ({"mode": 1}, r"parameters\.mode: 1 is not accepted; expected text"),
        ({"limit": "x"}, r'parameters\.limit: "x" is not accepted; expected a number'),
    ],
)
def test_parameters_of_other_types_are_refused(wrong, text):
    with pytest.raises(ScenarioError, match=rf"^tcp\.{text}$"):
        Typed(**wrong).stated()
    with pytest.raises(ScenarioError, match=rf"^algorithm\.{text}$"):
        dumbbell.control.made(Typed().stated()["name"], wrong, "algorithm")


def test_a_copy_continues_as_its_original_and_shared_prefixes_do_not_matter():
    jobs = [
        SHAPE.scenario(
            rules="classic",
            duration="15 s",
            flows=[
                Flow(name="bg", from_="s1", to="d1", tcp=Aimd()),
                Flow(name="fg", from_="s2", to="d2", tcp=tcp, start="5 s"),
            ],
        )
        for tcp in ("reno", "vegas", Aimd(decrease=0.7), Aimd(decrease=0.8))
    ]
    together = dumbbell.run_many(jobs, threads=1, progress=False).flows
    alone = [int(dumbbell.run(job).fingerprint, 16) for job in jobs]
    assert together[together["name"] == "fg"]["fingerprint"].tolist() == alone


def test_many_runs_do_not_depend_on_threads():
    base = scenario(Aimd(), quantities=(), duration="5 s")
    one = dumbbell.run_many(base, runs=4, threads=1, progress=False)
    two = dumbbell.run_many(base, runs=4, threads=2, progress=False)
    assert one.flows.equals(two.flows)
    assert one.flows["fingerprint"].nunique() == 4


def test_a_pacing_rate_paces():
    class Paced(Aimd):
        def start(self, setup):
            super().start(setup)
            self.pacing_rate = 50_000.0

    run = dumbbell.run(scenario(Paced(), quantities=()))
    assert run.flow("fg")["goodput_bps"] < 400_000


def test_random_numbers_follow_from_the_run():
    seeds = []

    class Drawing(Aimd):
        def start(self, setup):
            super().start(setup)
            seeds.append(setup.seed)

    job = scenario(Drawing(), quantities=(), duration="2 s")
    for run in (0, 0, 1):
        dumbbell.run(job, run=run)
    assert seeds[0] == seeds[1] != seeds[2]


def test_a_control_survives_pickling_and_is_known_afterwards():
    control = pickle.loads(pickle.dumps(Aimd(decrease=0.6)))
    assert control.parameters == {"increase": 1.0, "decrease": 0.6}
    assert copy.deepcopy(control).stated() == control.stated()
    stated = control.stated()
    made = factory(stated["name"], stated["digest"], json.dumps(stated["parameters"]))
    assert made.new().decrease == 0.6


@pytest.mark.parametrize("control", [Aimd, Aimd(decrease=0.7), Reno])
def test_sound_controls_pass_the_check(control):
    dumbbell.check(control)


class Growing(Aimd):
    def on_ack(self, ack):
        self.cwnd += ack.mss


class Careless(Aimd):
    def on_ack(self, ack):
        self.cwnd = ack.grown(self.cwnd, ack.mss)


class Frozen(Aimd):
    def on_ack(self, ack):
        pass


class Rising(Aimd):
    def on_congestion(self, congestion):
        self.cwnd = congestion.loss_window if congestion.restarts else 2 * self.cwnd


class Hasty(Aimd):
    def on_congestion(self, congestion):
        self.cwnd = max(self.cwnd / 2, congestion.mss)


class Forgetful(Aimd):
    def fork(self):
        copied = super().fork()
        copied.cwnd = copied.setup.mss
        return copied


class Random(Aimd):
    drawn = random.Random(1)

    def on_ack(self, ack):
        if not ack.in_recovery:
            self.cwnd = ack.grown(self.cwnd, self.drawn.random() * ack.mss)


@pytest.mark.parametrize(
    ("control", "text"),
    [
        (Frozen, "Frozen: the window never grows: it is 2000 bytes after 50 acknowledgements without a loss"),
        (
            Growing,
            r"Growing: the window grows to \d+ bytes where the receiver allows 10000; grow it by grown",
        ),
        (
            Careless,
            r"Careless: the window grows from \d+ to \d+ bytes during a recovery; look at in_recovery",
        ),
        (Rising, r"Rising: a loss raises the window from \d+"),
        (Hasty, r"Hasty: after a timeout the window is [\d.]+ bytes; expected the loss window \(1000\)"),
        (Forgetful, r"Forgetful: after the same events, a copy has a window of "),
        (Random, r"Random: .* draw from the seed of the setup|Random: after the same events, a copy"),
        (Reacting(wrong="nan"), r"Reacting\.on_congestion: cwnd is nan"),
    ],
)
def test_the_check_says_what_is_wrong(control, text):
    with pytest.raises(ControlError, match=text) as caught:
        dumbbell.check(control)
    assert "\n" not in str(caught.value)


def test_the_check_raises_what_the_control_raises():
    with pytest.raises(ZeroDivisionError):
        dumbbell.check(Reacting)
    with pytest.raises(ScenarioError, match=r"a dumbbell\.Control"):
        dumbbell.check("reno")


class Deadly(Aimd):
    """Ends its process at the first congestion, the first time or always."""

    marker: str = ""

    def on_congestion(self, congestion):
        if not self.marker or not os.path.exists(self.marker):  # noqa: PTH110 - where the class arrives, pathlib does not
            if self.marker:
                open(self.marker, "w").close()  # noqa: PTH123 - likewise
            os.kill(os.getpid(), signal.SIGKILL)
        super().on_congestion(congestion)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("wrong", "kind"), [("nan", ControlError), ("raises", ZeroDivisionError)])
def test_an_exception_is_the_same_from_this_process_and_from_another(threads, wrong, kind):
    with pytest.raises(kind) as here:
        dumbbell.run(scenario(Reacting(wrong=wrong), quantities=()))
    with pytest.raises(kind) as caught:
        dumbbell.run_many(
            scenario(Reacting(wrong=wrong), quantities=()), runs=1, threads=threads, progress=False
        )
    assert (type(caught.value), str(caught.value)) == (type(here.value), str(here.value))
    assert vars(caught.value) == vars(here.value)


def test_an_exception_of_another_process_has_its_traceback_as_its_cause():
    with pytest.raises(ZeroDivisionError, match="a bug") as caught:
        dumbbell.run_many(scenario(Reacting(), quantities=()), runs=2, threads=2, progress=False)
    assert "in on_congestion" in str(caught.value.__cause__)
    assert caught.value.__cause__.frames[-1].function == "on_congestion"


def test_a_control_that_ends_its_process_is_named_with_its_run_and_completed_runs_are_kept():
    jobs = [scenario(Aimd(), quantities=()), scenario(Deadly(), quantities=(), name="deadly")]
    completed = []
    with pytest.raises(ControlError) as caught:
        dumbbell.run_many(
            jobs,
            runs=2,
            threads=2,
            progress=False,
            finished=lambda runs: completed.extend(runs.completed_jobs),
        )
    assert re.fullmatch(
        r'python:\S+\.Deadly: the process of run [01] with seed 1 of "deadly" ended by the signal SIGKILL, twice; '
        "expected a control that leaves its process alone, and enough memory",
        str(caught.value),
    )
    assert set(completed) <= {0, 1}
    assert completed


def test_a_batch_that_can_start_only_some_of_its_threads_ends_with_them(monkeypatch):
    begun = []

    def refuse_the_second(function):
        if begun:
            raise MemoryError("no thread could be started")
        begun.append(start(function))
        return begun[0]

    monkeypatch.setattr(processes, "start", refuse_the_second)
    with pytest.raises(MemoryError, match="no thread could be started"):
        dumbbell.run_many(scenario(Aimd(), quantities=()), runs=4, threads=2, progress=False)
    begun[0].join()


def test_jobs_of_a_process_that_died_once_are_repeated(tmp_path):
    marker = str(tmp_path / "died")
    runs = dumbbell.run_many(
        scenario(Deadly(marker=marker), quantities=()), runs=6, threads=2, progress=False
    )
    assert (tmp_path / "died").exists()
    assert runs.flows["run"].tolist() == [run for run in range(6) for _ in range(2)]


def test_controls_of_a_script_run_in_other_processes(tmp_path):
    script = tmp_path / "script.py"
    source = inspect.getsource(Reno).replace("class Reno(Aimd)", "class Reno(dumbbell.Control)")
    script.write_text(
        "import dumbbell\nfrom dumbbell import Flow, Uniform, topologies\n\n\n" + source + "\n"
        'shape = topologies.dumbbell(pairs=1, rate="4 Mbit/s", delay="20 ms")\n'
        'start = Uniform(uniform=("0 s", "1 s"))\n'
        'flow = lambda tcp: Flow(name="fg", from_="s1", to="d1", tcp=tcp, start=start)\n'
        'jobs = [shape.scenario(rules="classic", duration="5 s", flows=[flow(tcp)]) for tcp in (Reno(), "newreno")]\n'
        "runs = dumbbell.run_many(jobs, runs=2, threads=2, progress=False)\n"
        'assert len(runs) == 4 and runs.flows["goodput_bps"].min() > 1e6\n'
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_new_writes_a_start_that_passes_its_own_test(tmp_path):
    command = [sys.executable, "-m", "dumbbell.cli", "new", "algorithm", "mine", "--output", "own folder"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert made.returncode == 0, made.stderr
    assert len((tmp_path / "own folder" / "mine.py").read_text().splitlines()) <= 40
    said = dict(line.split(": ", 1) for line in made.stdout.splitlines() if ": " in line)
    change, test = said["Change to its folder first"], said["Test it with"]
    # The hints work from the folder of the command, as they are.
    line = f"{change} && {test} -q -p no:cacheprovider"
    done = subprocess.run(
        line, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert again.returncode == 2
    assert "exists" in again.stderr


@pytest.mark.parametrize("has_pytest", [False, True])
def test_the_hints_of_new_name_the_interpreter_and_what_it_lacks(tmp_path, monkeypatch, has_pytest):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(new, "find_spec", lambda name: object() if has_pytest and name == "pytest" else None)
    done = CliRunner().invoke(app, ["new", "algorithm", "mine"])
    assert done.exit_code == 0, done.output
    assert f"Test it with: {sys.executable} -m pytest test_mine.py\n" in done.stdout
    assert (f"{sys.executable} -m pip install pytest\n" in done.stdout) != has_pytest
    assert "cd " not in done.stdout


def test_new_registers_an_algorithm_in_rust(tmp_path, monkeypatch):
    folder = tmp_path / "dumbbell-cc" / "src" / "algorithms"
    folder.mkdir(parents=True)
    source = ROOT / "crates" / "dumbbell-cc" / "src" / "algorithms" / "mod.rs"
    before = source.read_text("utf-8")
    (folder / "mod.rs").write_text(before, "utf-8")
    monkeypatch.setenv("DUMBBELL_CRATES", str(tmp_path))
    new.algorithm("mine", rust=True, output=tmp_path)
    after = (folder / "mod.rs").read_text("utf-8")
    assert after.replace('    "mine" => mine::Mine,\n', "") == before != after
    assert "pub struct Mine {" in (folder / "mine.rs").read_text("utf-8")


def test_the_example_of_the_documentation_runs(tmp_path):
    page = (ROOT / "docs" / "algorithms-in-python.md").read_text("utf-8")
    example = page.split("```python\n", 1)[1].partition("```")[0]
    script = tmp_path / "example.py"
    script.write_text(example, "utf-8")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(" losses\n")
