"""Congestion controls from compiled libraries: the bits of Rust and Python, errors in a sentence, and an identity."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dumbbell
from compiled import EXAMPLE, native, wasm
from dumbbell import ControlError, Library, ScenarioError, Tcp
from dumbbell.evaluation.algorithm import algorithm
from dumbbell.external import pack
from test_control import Aimd, scenario

QUANTITIES = ("cwnd", "ssthresh")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("library")


@pytest.fixture(scope="module", params=[native, wasm], ids=["native", "wasm"])
def aimd(folder, request):
    return request.param(folder)


def changed(*replacements):
    """Return the source of the example with some texts replaced."""
    source = EXAMPLE.read_text("utf-8")
    for old, new in replacements:
        assert old in source
        source = source.replace(old, new)
    return source


@pytest.mark.parametrize(("increase", "decrease"), [(1.0, 0.5), (2.5, 0.7)])
@pytest.mark.parametrize("rules", [{}, {"recovery": "sack", "initial_window": "10 segments"}])
def test_aimd_in_c_has_the_bits_of_rust_and_python(aimd, increase, decrease, rules):
    parameters = {"increase": increase, "decrease": decrease}
    compiled, registered, interpreted = (
        dumbbell.run(scenario(tcp), seed=3)
        for tcp in (
            Tcp(external=Library(aimd, **parameters), **rules),
            Tcp(congestion={"name": "aimd", **parameters}, **rules),
            Tcp(external=Aimd(**parameters), **rules),
        )
    )
    assert compiled.fingerprint == registered.fingerprint == interpreted.fingerprint
    for quantity in QUANTITIES:
        assert compiled.traces[quantity].equals(registered.traces[quantity])
    # The runs depend on the constants.
    assert compiled.fingerprint != dumbbell.run(scenario(Library(aimd, increase=4)), seed=3).fingerprint


@pytest.mark.parametrize("kind", [native, wasm])
def test_a_part_of_a_library_is_refused_in_a_sentence(folder, tmp_path, kind):
    whole = kind(folder).read_bytes()
    part = tmp_path / "part.so"
    # An exception would be the least: a library whose pages are missing ends the process.
    for length in sorted({*range(0, len(whole), 97), *range(64), len(whole) - 1}):
        part.write_bytes(whole[:length])
        with pytest.raises(ScenarioError, match=r"part\.so") as refused:
            Library(part)
        assert "\n" not in str(refused.value)


def test_a_library_for_another_machine_or_purpose_is_refused_before_it_is_loaded(folder, tmp_path):
    made = tmp_path / "changed.so"
    whole = bytearray(native(folder).read_bytes())
    assert whole[:4] == b"\x7fELF", "SKIPPED: the headers of other systems"
    for place, value, words in ((18, 0xF3, "Riscv64"), (16, 1, "no shared library"), (18, 0xB7, "")):
        changed_bytes = bytearray(whole)
        changed_bytes[place] = value
        made.write_bytes(changed_bytes)
        with pytest.raises(ScenarioError, match=f"cannot be loaded.*{words}"):
            Library(made)
    other = native(
        tmp_path, "void __attribute__((constructor)) run(void) { __builtin_trap(); }", name="other.so"
    )
    with pytest.raises(ScenarioError, match="without the function dumbbell_library"):
        Library(other)


def test_it_passes_the_check_and_is_probed(aimd):
    dumbbell.check(Library(aimd))
    compiled, interpreted = (
        dumbbell.run(scenario(tcp, quantities=("own.losses",))) for tcp in (Library(aimd), Aimd())
    )
    ours, theirs = (run.traces["own.losses"]["value"].iloc[-1] for run in (compiled, interpreted))
    assert ours == theirs > 2


def test_the_identity_is_file_name_digest_and_parameters(folder, tmp_path):
    made = native(folder)
    base = scenario(Library(made))
    copy = shutil.copy(made, tmp_path)
    dumbbell.allow(f"library:{copy}")
    assert base.hash == scenario(Library(copy)).hash == scenario(f"library:{copy}").hash
    stated = base.resolved()["flows"][0]["tcp"]["external"]
    assert stated["name"] == "library:aimd.so"
    assert stated["parameters"] == {"increase": 1.0, "decrease": 0.5}
    other = native(tmp_path, changed(("cwnd + growth", "cwnd + 2 * growth")))
    assert len({base.hash, scenario(Library(other)).hash, scenario(Library(made, decrease=0.7)).hash}) == 3


def test_a_library_that_is_compiled_again_is_loaded_again(tmp_path):
    first = Library(native(tmp_path))
    before = scenario(first)
    fingerprint = dumbbell.run(before).fingerprint
    after = scenario(Library(native(tmp_path, changed(("cwnd + growth", "cwnd + 2 * growth")))))
    assert dumbbell.run(after).fingerprint != fingerprint
    assert dumbbell.run(before).fingerprint == fingerprint


def test_a_file_names_a_library_beside_it(folder, tmp_path):
    shutil.copy(native(folder), tmp_path)
    dumbbell.allow(f"library:{folder}/aimd.so", f"library:{tmp_path}/aimd.so")
    named = scenario(Tcp(external={"name": f"library:{folder}/aimd.so", "parameters": {"decrease": 0.7}}))
    text = named.to_toml()
    file = tmp_path / "scenario.toml"
    file.write_text(text.replace(f"library:{folder}/aimd.so", "library:aimd.so"), "utf-8")
    read = dumbbell.Scenario.from_file(file)
    assert read == named == scenario(Library(folder / "aimd.so", decrease=0.7))
    short = tmp_path / "short.toml"
    lines = (line for line in text.splitlines() if not line.startswith(("digest", "probes")))
    short.write_text("\n".join(lines), "utf-8")
    assert dumbbell.run(short).fingerprint == dumbbell.run(read).fingerprint


@pytest.mark.parametrize(
    ("replacements", "text"),
    [
        (
            [("window->cwnd = least(cong", "window->cwnd = 0.0 / 0.0 * least(cong")],
            r"^wrong\.so: on_congestion sets cwnd to -?NaN; expected a finite number of bytes, at least one segment \(1460\) "
            r'\(flow "fg", [\d.]+ s\)$',
        ),
        (
            [("window->cwnd = least(cong", "window->cwnd = -least(cong")],
            r"^wrong\.so: on_congestion sets cwnd to -\d",
        ),
        ([("window->ssthresh = least", "window->ssthresh = 0 * least")], r"sets ssthresh to 0; expected"),
        ([("aimd->losses += 1", "window->pacing_rate = -5")], r"sets pacing_rate to -5; expected"),
        ([("(void)window;", "window->cwnd = 1;")], r"^wrong\.so: start sets cwnd to 1; expected"),
    ],
)
def test_an_answer_out_of_range_is_an_error_in_one_sentence(tmp_path, replacements, text):
    library = Library(native(tmp_path, changed(*replacements), "wrong.so"))
    with pytest.raises(ControlError, match=text) as caught:
        dumbbell.run(scenario(library))
    assert "\n" not in str(caught.value)


def test_a_control_that_never_grows_is_reported(tmp_path):
    library = Library(native(tmp_path, changed(("cwnd + growth", "cwnd")), "frozen.so"))
    with pytest.raises(ControlError, match=r"^frozen\.so: the window never grows"):
        dumbbell.check(library)


@pytest.mark.parametrize(
    ("replacements", "text"),
    [
        ([("*dumbbell_library", "*other")], "without the function dumbbell_library"),
        ([("= DUMBBELL_ABI_VERSION", "= 7")], "with the ABI version 7 is not accepted; expected version 1"),
        ([("= sizeof(struct dumbbell_algorithm)", "= 8")], "whose algorithm has a size of 8"),
        ([("    .on_ack = on_ack,\n", "")], "whose algorithm has no on_ack"),
        ([("return &algorithm", "return 0")], "whose dumbbell_library returns null"),
        ([(".initial = 0.5", ".initial = 5")], "whose parameter decrease is initially 5"),
        ([("    .probes = probes,\n", "")], "whose 1 probes are a null pointer"),
    ],
)
def test_an_unusable_library_is_refused(tmp_path, replacements, text):
    made = native(tmp_path, changed(*replacements), "wrong.so")
    with pytest.raises(ScenarioError, match=text) as caught:
        Library(made)
    assert str(caught.value).startswith(f'library: "{made}" ')
    assert "\n" not in str(caught.value)


def test_what_is_no_library_is_refused(folder, tmp_path):
    with pytest.raises(
        ScenarioError, match=r'library: "nowhere\.so" cannot be read \(No such file or directory\)'
    ):
        Library("nowhere.so")
    with pytest.raises(ScenarioError, match=r"cannot be read"):
        scenario("library:nowhere.so")
    (tmp_path / "text.so").write_text("text", "utf-8")
    with pytest.raises(ScenarioError, match="that cannot be loaded"):
        Library(tmp_path / "text.so")
    made = native(folder)
    with pytest.raises(ScenarioError, match="did you mean `increase`"):
        Library(made, incease=1)
    with pytest.raises(
        ScenarioError, match=r"parameters\.decrease: 2\.0 is not accepted; expected a number from"
    ):
        Library(made, decrease=2.0)
    with pytest.raises(ScenarioError, match=r"aimd\.so has own\.losses"):
        scenario(Library(made), quantities=("own.other",))


def test_an_endless_loop_of_a_module_ends_the_run(tmp_path):
    source = changed(("aimd->losses += 1", "for (volatile int i = 0;; i = i + 1) {}"))
    library = Library(wasm(tmp_path, source, "endless.wasm"))
    with pytest.raises(
        ControlError, match=r"^endless\.wasm: on_congestion does not return within 10000000 instr"
    ):
        dumbbell.run(scenario(library))


def test_runs_and_sweeps_do_not_depend_on_threads(aimd, tmp_path):
    base = scenario(Library(aimd), quantities=(), duration="5 s")
    one = dumbbell.run_many(base, runs=4, threads=1, progress=False)
    two = dumbbell.run_many(base, runs=4, threads=2, progress=False)
    assert one.flows.equals(two.flows)
    assert one.flows["fingerprint"].nunique() == 4
    tcps = [Library(aimd, decrease=0.7), "reno"]
    swept = dumbbell.sweep(base, {"flows.fg.tcp": tcps}, runs=2, store=tmp_path, progress=False)
    assert len(swept) == 4


def test_a_batch_of_both_kinds_runs_on_processes(folder):
    jobs = [scenario(tcp, quantities=(), duration="5 s") for tcp in (Library(native(folder)), Aimd(), "reno")]
    one = dumbbell.run_many(jobs, threads=1, progress=False)
    assert one.flows.equals(dumbbell.run_many(jobs, threads=2, progress=False).flows)


def test_the_bytes_travel_to_another_process(aimd, tmp_path):
    moved = Path(shutil.copy(aimd, tmp_path))
    sent = scenario(Library(moved), quantities=(), duration="5 s")
    (tmp_path / "work").write_bytes(pickle.dumps((pack([sent]), sent)))
    moved.unlink()
    code = (
        "import pickle, sys, dumbbell\nfrom dumbbell import external\n"
        "packed, scenario = pickle.load(open(sys.argv[1], 'rb'))\n"
        "external.unpack(packed)\nprint(dumbbell.run(scenario).fingerprint)\n"
    )
    command = [sys.executable, "-c", code, tmp_path / "work"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=True)
    assert done.stdout.strip() == dumbbell.run(sent).fingerprint
    library = pickle.loads(pickle.dumps(Library(aimd, decrease=0.7)))
    assert library == Library(aimd, decrease=0.7)


# Beside another cluster, Dask warns of its port and leaves a socket open.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_a_cluster_gets_the_code(folder, tmp_path):
    distributed = pytest.importorskip("distributed")
    tcps = [Library(native(folder)), Library(wasm(folder)), Aimd()]
    base = scenario(tcps[0], quantities=(), duration="5 s")
    axes = {"flows.fg.tcp": tcps}
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        there = dumbbell.Campaign(base, axes, runs=2, store=tmp_path / "there").run(on=client).frame()
    here = dumbbell.Campaign(base, axes, runs=2, store=tmp_path / "here").run().frame()
    assert there["fingerprint"].tolist() == here["fingerprint"].tolist()


def test_controls_of_the_user_are_algorithms_of_an_evaluation(folder):
    made = native(folder)
    library = algorithm(Library(made, decrease=0.7))
    assert library == algorithm(f"library:{made}:decrease=0.7")
    assert (library.text, library.label) == (f"library:{made}:decrease=0.7", "aimd.so:decrease=0.7")
    assert algorithm(Aimd).label == "Aimd"
    assert algorithm(Aimd(decrease=0.6)).parameters == {"decrease": 0.6}
    with pytest.raises(ScenarioError, match="did you mean `increase`"):
        algorithm(f"library:{made}:incease=2")


def test_a_library_is_evaluated(tmp_path):
    library = Library(native(tmp_path))
    done = dumbbell.evaluate(
        library, against="reno", quick=True, only="iot", runs=2, output=tmp_path, quiet=True
    )
    assert set(done.verdicts) == {"iot"}
    assert done.data["runs"] > 0
    assert "Evaluation of aimd.so" in done.report.read_text("utf-8")


@pytest.mark.slow
def test_the_command_line_evaluates_controls_of_the_user(tmp_path):
    native(tmp_path)
    source = EXAMPLE.parents[2] / "docs" / "algorithms-in-python.md"
    example = source.read_text("utf-8").split("```python\n", 1)[1].partition("dumbbell.check")[0]
    (tmp_path / "mine.py").write_text(example, "utf-8")
    command = "import sys; from dumbbell.cli import main; sys.argv[0] = 'dumbbell'; main()"
    names = ["python:mine.Aimd:decrease=0.7", "--against", "library:aimd.so:decrease=0.7"]
    choice = ["--quick", "--only", "iot", "--seeds", "2", "--output", "results"]
    done = subprocess.run(
        [sys.executable, "-c", command, "evaluate", *names, *choice],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "report: " in done.stdout
    # The same algorithm twice: no result differs.
    (data,) = (tmp_path / "results").rglob("results.json")
    compared = [one for item in json.loads(data.read_text("utf-8"))["items"] for one in item["comparisons"]]
    assert compared
    assert all(one["subject"] == other for one in compared for other in one["baselines"].values())
