"""The kernel in simulated time as a peer: its driver and its grids. What needs a kernel is skipped without one."""

import sys

import pytest

import dumbbell
from dumbbell import ScenarioError, crossvalidation, kernel
from dumbbell.crossvalidation import PeerAbsent, load_grids

PEER = crossvalidation.load_peer("linux")
GRIDS = {grid.name: grid for grid in load_grids(peer="linux")}

with_kernel = pytest.mark.skipif(
    not any(built.version.startswith("6.12.") for built in kernel.kernels()),
    reason="needs a kernel: dumbbell kernel build 6.12",
)


def test_the_grids_have_forty_points_for_each_congestion_control():
    assert list(GRIDS) == ["reno", "cubic", "bbr", "reno-and-cubic", "cubic-and-bbr"]
    for name in ("reno", "cubic", "bbr"):
        assert len({case.point for case in GRIDS[name].cases(PEER)}) == 40


def test_what_the_kernel_cannot_be_told_is_refused():
    case = GRIDS["reno"].cases(PEER)[0]
    changed = case.scenario.with_values({"flows.f1.tcp.delayed_ack": "off"})
    with pytest.raises(ScenarioError, match=r"flows\.f1\.tcp\.delayed_ack: .* its own rules"):
        PEER.run(changed)
    with pytest.raises(ScenarioError, match="vegas"):
        PEER.tcp("vegas")


def test_without_its_kernel_the_peer_is_absent(monkeypatch):
    monkeypatch.setattr(sys.modules["dumbbell_peers.linux.driver"], "TREE", "9.99")
    with pytest.raises(PeerAbsent, match=r"run `dumbbell kernel build 9\.99`"):
        PEER.version()


@with_kernel
def test_a_run_has_windows_under_our_name_and_repeats():
    case = next(case for case in GRIDS["cubic"].cases(PEER) if "1 Mbit/s, 10 ms" in case.point)
    one, two = (PEER.run(case.scenario, seed=1, run=case.run) for _ in range(2))
    assert one.flows.fingerprint[0] == two.flows.fingerprint[0]
    assert set(one.traces) == {"cwnd_base"}
    reduced = GRIDS["cubic"].reduce(case, one)
    assert reduced["goodput"] > 0.9e6
    assert reduced["window"] > 2
    assert PEER.version().startswith("Linux 6.12.")


@with_kernel
def test_a_guest_has_the_memory_of_a_machine_for_its_sockets():
    """By its own 64 MB, it would drop what arrives behind the losses of a large window: 18 MB here instead of 27."""

    def reached(**sysctl):
        transport = {"name": "linux", "tree": "6.12", "congestion": "cubic", **sysctl}
        scenario = dumbbell.Scenario.of(
            {
                "duration": "4 s",
                "links": [{"name": "forward", "from": "a", "to": "b", "rate": "100 Mbit/s", "delay": "75 ms",
                           "queue": {"kind": "droptail", "limit": "300 packets"}},
                          {"name": "back", "from": "b", "to": "a", "rate": "1 Gbit/s", "delay": "75 ms"}],
                "nodes": ["a", "b"],
                "flows": [{"name": "flow", "from": "a", "to": "b", "transport": transport}],
            }
        )  # fmt: skip
        return dumbbell.run(scenario).flow("flow").bytes_delivered

    stated = {"net.ipv4.tcp_mem": "8192 10240 12288"}
    assert reached() == reached(sysctl=stated)
