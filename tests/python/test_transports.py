"""Flows over transports that are not the engine's TCP: statement, results, evaluation, and errors."""

import numpy as np
import pytest

import dumbbell
from dumbbell import (
    Cbr,
    Flow,
    OnOff,
    ScenarioError,
    Tcp,
    Tcplib,
    Transfer,
    Transport,
    Uniform,
    kernel,
    topologies,
)
from dumbbell.evaluation.algorithm import algorithm


def scenario(*senders, duration="8 s", **source):
    """Return flows, each with its own pair of hosts, over a link of 10 Mbit/s with a round trip of 40 ms."""
    shape = topologies.dumbbell(pairs=len(senders), rate="10 Mbit/s", delay="20 ms", rtt="40 ms")
    flows = [
        Flow(name=f"f{number}", from_=f"s{number}", to=f"d{number}", tcp=sender, **source)
        for number, sender in enumerate(senders, 1)
    ]
    return shape.scenario(rules="classic", duration=duration, flows=flows)


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


@pytest.mark.parametrize(
    ("fields", "refused"), [({"tcp": "reno"}, "has its own rules"), ({"source": "media"}, "reports")]
)
def test_a_transport_excludes_tcp_and_sources_with_reports(fields, refused):
    shape = topologies.dumbbell(pairs=1, rate="1 Mbit/s", delay="1 ms")
    with pytest.raises(ScenarioError, match=refused):
        shape.scenario(
            duration="1 s", flows=[Flow(name="f", from_="s1", to="d1", transport="quinn", **fields)]
        )


BUILT = any(built.version.startswith("6.12.") for built in kernel.kernels())


@pytest.mark.parametrize(
    "name",
    ["quinn", "smoltcp", pytest.param("linux", marks=pytest.mark.skipif(not BUILT, reason="no kernel"))],
)
@pytest.mark.parametrize("source", [Cbr(rate="1 Mbit/s"), OnOff(rate="2 Mbit/s"), Tcplib(interarrival="1 s")])
def test_an_application_with_a_rate_of_its_own_writes_the_same_over_any_transport(name, source):
    def delivered(sender):
        stopped = scenario(sender, duration="12 s", source=source, stop="6 s")
        return dumbbell.run(stopped).flow("f1").bytes_delivered

    ours = Tcp(rules="linux", congestion="cubic") if isinstance(source, Tcplib) else None
    assert delivered(Transport(name)) == delivered(ours) > 5000


def test_a_codepoint_of_a_source_has_no_effect_over_a_transport():
    warned = scenario(Transport("quinn"), source=Cbr(ecn="ect1"))
    assert [text for text in warned.warnings if "source.ecn" in text]


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


@pytest.mark.parametrize("name", ["quinn", "smoltcp"])
def test_why_counts_what_the_run_counts_and_joins_up(name):
    run = dumbbell.run(scenario(Transport(name), duration="4 s"))
    why, row = run.why("f1"), run.flow("f1")
    events = why.events
    sent = events[events.kind == "sent"]
    assert sent.segments.sum() == row.segments_sent
    assert (sent.packets >= sent.segments).all()
    assert events.time_s.is_monotonic_increasing
    acks = events[events.kind == "ack"]
    assert (acks.seq.iloc[1:].to_numpy() == acks.end.iloc[:-1].to_numpy()).all()
    assert acks.end.iloc[-1] <= row.bytes_delivered
    decisions = events[events.kind == "decision"]
    assert decisions.empty == (name == "smoltcp")
    assert (decisions.cwnd_bytes.iloc[:-1].values == decisions.cwnd_before_bytes.iloc[1:].values).all()
    # A part of it has the same entries, except that nothing is known of the time before.
    part = run.why("f1", at="2 s", window="100 ms").events
    whole = events[(events.time_s >= 1.95) & (events.time_s <= 2.05)]
    assert list(part.time_s) == list(whole.time_s)
    assert list(part.end.iloc[2:].dropna()) == list(whole.end.iloc[2:].dropna())


def test_why_says_what_a_stack_does_not_show():
    run = dumbbell.run(scenario(Transport("smoltcp"), Transport("quinn", congestion="bbr"), duration="2 s"))
    small, quinn = run.why("f1", at="1 s"), run.why("f2", at="1 s")
    for text in ("congestion window", "pacing rate", "why something was sent again"):
        assert text in small.unknown
        assert text in str(small).splitlines()[1]
    assert "pacing rate" not in quinn.unknown
    assert (small.mss, quinn.mss) == (1460, 1472)
    assert quinn.events.pacing_rate_bps.notna().all()
    assert quinn.to_dict()["unknown"] == list(quinn.unknown)
    assert "declared lost" in str(run.why("f2"))
    pytest.importorskip("bokeh")
    assert "window [segments]" in quinn.to_html()


def test_the_pacing_rate_of_quinn_depends_on_no_draw_of_the_system():
    lossy = scenario(Transport("quinn", congestion="bbr"), duration="4 s")
    one, two = (dumbbell.run(lossy).why("f1").events for _ in range(2))
    assert one.equals(two)
    # Another order of runs has drawn something else.
    assert one.pacing_rate_bps.iloc[-1] == pytest.approx(10e6, rel=0.05)


def test_why_ends_with_the_connection():
    run = dumbbell.run(scenario(Transport("quinn"), source=Transfer(size="100 kB")))
    last = run.why("f1").events.iloc[-1]
    assert (last.kind, last.time_s) == ("completed", pytest.approx(run.flow("f1").completion_s))


def test_a_stack_is_compared_with_its_twin_in_one_sweep():
    start = Uniform(uniform=("0 s", "1 s"))
    base = scenario("cubic", "cubic", duration="10 s", start=start)
    senders = [Tcp(congestion="cubic"), Transport("quinn"), Transport("smoltcp")]
    runs = dumbbell.sweep(base, {"flows.f1.tcp": senders}, runs=2, progress=False)
    first = runs.flows[runs.flows.name == "f1"]
    named = first["flows.f1.tcp"].drop_duplicates().tolist()
    assert [("quinn" in text, "smoltcp" in text) for text in named] == [
        (False, False),
        (True, False),
        (False, True),
    ]
    assert first.fingerprint.nunique() == 6
    # And back again.
    carried = base.with_values({"flows.f1.tcp": Transport("quinn")})
    assert carried.with_values({"flows.f1.tcp": "cubic"}).hash == base.hash
    with pytest.raises(ScenarioError, match="states a transport"):
        base.with_values({"flows.f1.tcp": "cubic", "flows.f1.transport": "quinn"})


def test_an_evaluation_compares_a_stack_with_its_twin(tmp_path):
    done = dumbbell.evaluate(
        "quinn:cubic", against=["cubic"], quick=True, only=["response", "iot"], output=tmp_path
    )
    # Windows of 4 segments of 100 bytes are no setting of quinn.
    assert done.verdicts["iot"] == "not applicable"
    assert done.verdicts["response"] in ("pass", "undecided", "worse than the baselines")


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
