"""Flows over transports that are not the engine's TCP: statement, results, evaluation, and errors."""

import numpy as np
import pytest

import dumbbell
from dumbbell import Flow, ScenarioError, Tcp, Transfer, Transport, topologies
from dumbbell.evaluation.algorithm import algorithm


def scenario(*senders, duration="8 s", **source):
    """Return flows, each with its own pair of hosts, over a link of 10 Mbit/s with a round trip of 40 ms."""
    shape = topologies.dumbbell(pairs=len(senders), rate="10 Mbit/s", delay="20 ms", rtt="40 ms")
    flows = [
        Flow(name=f"f{number}", from_=f"s{number}", to=f"d{number}", tcp=sender, **source)
        for number, sender in enumerate(senders, 1)
    ]
    return shape.scenario(duration=duration, flows=flows)


def test_a_transport_in_place_of_tcp_is_completed_by_the_engine():
    flow = scenario(Transport("quinn", congestion="bbr")).resolved()["flows"][0]
    assert "tcp" not in flow
    stated = flow["transport"]
    assert (stated["name"], stated["congestion"], stated["tls"]) == ("quinn", "bbr", "null")
    assert stated["version"].startswith("0.11.")
    assert len(stated["digest"]) == 16


def test_the_statement_of_a_version_that_does_not_run_here_is_refused_with_both():
    with pytest.raises(ScenarioError, match=r'version: "0.10.1" is not accepted; .* "0\.11\.'):
        scenario(Transport("quinn", version="0.10.1"))


@pytest.mark.parametrize(
    ("sender", "field"),
    [
        (Transport("quin"), "transport.name"),
        (Transport("quinn", congestion="bbrr"), "transport.congestion"),
        (Transport("smoltcp", window=3), "transport.window"),
    ],
)
def test_an_unknown_name_is_refused_with_a_suggestion(sender, field):
    with pytest.raises(ScenarioError) as refused:
        scenario(sender)
    assert refused.value.field == f"flows.f1.{field}"
    assert (refused.value.suggestion is None) == ("window" in field)


def test_a_transport_excludes_tcp_and_datagrams():
    shape = topologies.dumbbell(pairs=1, rate="1 Mbit/s", delay="1 ms")
    for fields in ({"tcp": "reno"}, {"source": "cbr"}, {"source": "tcplib"}):
        with pytest.raises(ScenarioError):
            shape.scenario(
                duration="1 s", flows=[Flow(name="f", from_="s1", to="d1", transport="quinn", **fields)]
            )


def test_a_transfer_fills_the_link_and_columns_without_an_equivalent_are_missing():
    for name in ("quinn", "smoltcp"):
        run = dumbbell.run(scenario(Transport(name), source=Transfer(size="2 MB")))
        row = run.flows.iloc[0]
        assert row.bytes_delivered == 2_000_000
        assert row.completion_s < 2.2
        assert np.isnan(row.fast_retransmits)
        assert np.isnan(row.timeouts)


def test_runs_repeat_on_any_number_of_threads():
    both = scenario(Transport("quinn"), Transport("smoltcp"), Tcp(rules="linux", congestion="cubic"))
    one, two = (dumbbell.run_many(both, runs=2, threads=threads, progress=False).flows for threads in (1, 2))
    columns = ["name", "run", "fingerprint", "goodput_bps"]
    assert one[columns].equals(two[columns])
    assert one.fingerprint.nunique() == 2


def test_probes_change_no_event():
    plain = scenario(Transport("quinn", congestion="newreno"))
    probed = plain.to_dict() | {"probes": [{"flows": ["*"], "quantities": ["cwnd", "srtt", "delivered"]}]}
    run = dumbbell.run(dumbbell.Scenario.from_dict(probed))
    assert run.fingerprint == dumbbell.run(plain).fingerprint
    assert run.traces["cwnd"].value.max() > 20


def test_a_congestion_control_of_a_transport_is_an_algorithm():
    found = algorithm("quinn:bbr,mtu=1400 bytes")
    assert (found.text, found.label) == ("quinn:bbr,mtu=1400 bytes", "quinn:bbr,mtu=1400 bytes")
    assert found.tcp() == Transport("quinn", congestion="bbr", mtu="1400 bytes")
    assert algorithm("smoltcp").text == "smoltcp"
    assert not found.accepts(mss="500 bytes")
    with pytest.raises(ScenarioError, match="mtuu"):
        algorithm("quinn:bbr,mtuu=3")
    with pytest.raises(ScenarioError, match="quinn:NAME"):
        algorithm("quin:bbr")


def test_a_transport_keeps_no_journal():
    run = dumbbell.run(scenario(Transport("smoltcp"), duration="1 s"))
    with pytest.raises(ScenarioError, match="is carried by smoltcp, which keeps no journal"):
        run.why("f1")


def test_a_module_of_the_kernel_runs_only_if_it_is_allowed(tmp_path):
    module = tmp_path / "tcp_mine.ko"
    with pytest.raises(
        ScenarioError, match=r"transport\.module: .* is code of a file, which runs only if you allow it"
    ):
        scenario(Transport("linux", module=str(module)))
    dumbbell.allow(f"module:{module}")
    # The kernel, or else the file, is missing.
    with pytest.raises(ScenarioError) as refused:
        scenario(Transport("linux", module=str(module)))
    assert "allow" not in str(refused.value)
