"""Scripts of segments, and the comparison of the simulator's segments with a kernel's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import invoke, refused
from dumbbell import _engine
from dumbbell.crossvalidation.segments import DIRECTIONS, GATE, Agreement, Difference, compare, kinds
from dumbbell.errors import ScenarioError
from dumbbell.kernel import kernels

SCRIPT = """0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+.1 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.060 < . 1:1(0) ack 1 win 4000
+0 accept(3, ..., ...) = 4
+0 write(4, ..., 1000) = 1000
"""
SENT = "+0 > P. 1:1001(1000) ack 1\n"

needs_kernel = pytest.mark.skipif(
    not any(kernel.version.startswith("6.12.") for kernel in kernels()), reason="kernel 6.12 is not built"
)


def test_scripts_pass_fail_or_cannot_be_expressed(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "a.pkt").write_text(SCRIPT + SENT)
    assert invoke("script", tmp_path).stdout.strip() == "scripts: 1 passed, 0 failed, 0 not expressible"
    (tmp_path / "more" / "b.pkt").write_text(SCRIPT + SENT.replace("1001", "2001").replace("1000", "2000"))
    (tmp_path / "more" / "c.pkt").write_text(SCRIPT + "+0 < R. 1:1(0) ack 1 win 4000\n")
    done = invoke("script", tmp_path, "--json")
    assert done.exit_code == 1
    records = json.loads(done.stdout)
    assert [(Path(one["script"]).name, one["verdict"], one["line"]) for one in records] == [
        ("a.pkt", "passed", None),
        ("b.pkt", "failed", 9),
        ("c.pkt", "not expressible", 9),
    ]


def test_commands_are_found_beside_their_script(tmp_path: Path) -> None:
    (tmp_path / "settings.sh").write_text("sysctl -q net.ipv4.tcp_ecn=0\n")
    (tmp_path / "a.pkt").write_text("`./settings.sh`\n" + SCRIPT + SENT)
    assert invoke("script", tmp_path).stdout.strip() == "scripts: 1 passed, 0 failed, 0 not expressible"
    (tmp_path / "settings.sh").unlink()
    assert "./settings.sh" in invoke("script", tmp_path, "--json").stdout


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "does not exist" in refused("script", tmp_path / "none.pkt")
    assert "has none" in refused("script", tmp_path)
    monkeypatch.setenv("DUMBBELL_KERNELS", str(tmp_path))
    (tmp_path / "a.pkt").write_text(SCRIPT)
    for command in (("script", tmp_path, "--kernel", "6.12"), ("cross-validate", "linux-segments")):
        assert "dumbbell kernel build 6.12" in refused(*command)


def test_options_without_effect_are_refused() -> None:
    assert "stores no runs" in refused("cross-validate", "linux-segments", "--fresh")
    assert "did you mean `single-loss`?" in refused(
        "cross-validate", "linux-segments", "--grid", "singel-loss"
    )
    assert "above 0" in refused("cross-validate", "linux-segments", "--share", "0")


def test_shares_count_states_and_failures() -> None:
    agreement = Agreement("single-loss", "kernel", 200)
    assert (agreement.everything, agreement.segments, agreement.holds) == (1.0, 1.0, True)
    agreement.differences.append(Difference(3, "state", 9, ""))
    agreement.failures.append((4, "no room"))
    assert (agreement.everything, agreement.segments) == (0.99, 0.995)
    assert agreement.everything >= GATE
    assert agreement.holds
    agreement.differences.append(Difference(5, "segment", 9, ""))
    assert (agreement.segments, agreement.holds) == (0.99, False)


def test_there_are_at_least_twenty_kinds_with_a_sentence_each() -> None:
    assert len(kinds()) >= 20
    assert all(kinds().values())


@needs_kernel
def test_a_kind_is_compared_in_both_directions_and_differences_are_written(tmp_path: Path) -> None:
    output = ("--share", "0.004", "--output", str(tmp_path))
    done = invoke("cross-validate", "linux-segments", "--grid", "single-loss", "--grid", "dctcp", *output)
    assert "rows hold" in done.stdout
    folder = tmp_path / "cross-validation-linux-segments"
    data = json.loads((folder / "results.json").read_text())
    assert [(one["kind"], one["direction"], one["cases"]) for one in data["agreements"]] == [
        (kind, direction, 2) for kind in ("single-loss", "dctcp") for direction in DIRECTIONS
    ]
    assert [one["holds"] for one in data["agreements"][:2]] == [True, True]
    # What is written fails where it says so.
    for path in sorted((folder / "scripts").iterdir()):
        tree = "6.12" if path.stem.endswith("simulator") else None
        if tree is not None:
            assert _engine.play_script(path.read_text(), str(path), tree)[0] == "failed"


@needs_kernel
def test_a_kernel_that_is_not_built_is_refused() -> None:
    with pytest.raises(ScenarioError, match=r"dumbbell kernel build 5\.4"):
        compare(["single-loss"], share=0.002, tree="5.4")
