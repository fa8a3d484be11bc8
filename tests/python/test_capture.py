"""Files of packets and events: what is refused, what is left after a failure, and what readers find in them."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell import Flow, ScenarioError, topologies
from dumbbell.cli import app
from dumbbell.errors import ResultsError

ENHANCED_PACKET = 6

TSHARK = shutil.which("tshark")


@pytest.fixture
def scenario():
    shape = topologies.dumbbell(pairs=2, rate="8 Mbit/s", delay="10 ms")
    flow = Flow(name="fg", from_="s1", to="d1", tcp={"variant": "sack", "handshake": True})
    return shape.scenario(rules="classic", duration="2 s", flows=[flow])


def packets(path: Path) -> list[tuple[int, int, bytes]]:
    """Return time in nanoseconds, original length and kept bytes of each packet of a file of this machine."""
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        kind, length = struct.unpack_from("=II", data, at)
        if kind == ENHANCED_PACKET:
            _, high, low, kept, original = struct.unpack_from("=IIIII", data, at + 8)
            found.append((high << 32 | low, original, data[at + 28 : at + 28 + kept]))
        at += length
    return found


def checksum(header: bytes) -> int:
    """Return the sum that RFC 1071 defines: 0 over a header with its checksum."""
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def test_a_capture_changes_nothing_and_counts(scenario, tmp_path):
    plain = dumbbell.run(scenario)
    run = dumbbell.run(scenario, pcap=tmp_path / "d1.pcapng", node="d1", qlog=tmp_path / "f.qlog")
    assert run.summary == plain.summary
    assert plain.captured == {}
    assert run.captured["packets"] == len(packets(tmp_path / "d1.pcapng")) > 1000
    assert run.captured["events"] == (tmp_path / "f.qlog").read_text(encoding="utf-8").count("\n") - 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d1.pcapng", "f.qlog"]


def test_packets_are_segments_with_checksums_in_order(scenario, tmp_path):
    run = dumbbell.run(scenario, pcap=tmp_path / "s1.pcapng", snaplen=1500)
    found = packets(tmp_path / "s1.pcapng")
    time, original, kept = found[0]
    # IPv4 with a header of five words, and the flag SYN.
    assert (time, original, kept[0], kept[33]) == (0, len(kept), 0x45, 0x02)
    assert found == sorted(found, key=lambda packet: packet[0])
    assert max(original for _, original, _ in found) == 1500
    sent: set[int] = set()
    again = 0
    for _, original, kept in found:
        assert len(kept) == original == struct.unpack_from(">H", kept, 2)[0]
        assert checksum(kept[:20]) == 0
        pseudo = kept[12:20] + struct.pack(">HH", kept[9], original - 20)
        assert checksum(pseudo + kept[20:] + bytes(original % 2)) == 0
        if original == 1500:
            (sequence,) = struct.unpack_from(">I", kept, 24)
            again += sequence in sent
            sent.add(sequence)
    flow = run.flow("fg")
    assert (len(sent) + again, again) == (flow.segments_sent, flow.segments_retransmitted)


def test_headers_are_kept_by_default(scenario, tmp_path):
    dumbbell.run(scenario, pcap=tmp_path / "s1.pcapng")
    found = packets(tmp_path / "s1.pcapng")
    assert {len(kept) for _, original, kept in found if original > 80} == {80}


def test_packets_of_other_transports_are_kept_whole_with_their_keys(tmp_path):
    shape = topologies.dumbbell(pairs=1, rate="8 Mbit/s", delay="10 ms")
    quinn = {"name": "quinn", "tls": "fixed"}
    flow = Flow(name="fg", from_="s1", to="d1", transport=quinn, source="greedy")
    scenario = shape.scenario(rules="classic", duration="2 s", flows=[flow])
    run = dumbbell.run(scenario, pcap=tmp_path / "s1.pcapng", qlog=tmp_path / "fg.qlog")
    assert run.fingerprint == dumbbell.run(scenario).fingerprint
    found = packets(tmp_path / "s1.pcapng")
    assert len(found) == run.captured["packets"] > 1000
    assert all(original == len(kept) and checksum(kept[:20]) == 0 for _, original, kept in found)
    assert b"CLIENT_TRAFFIC_SECRET_0 " in (tmp_path / "s1.pcapng").read_bytes()
    records = (tmp_path / "fg.qlog").read_text(encoding="utf-8").split("\x1e")
    events = [json.loads(record) for record in records[2:]]
    assert {event["group_id"] for event in events} == {"fg#1"}
    lengths = [event["data"]["raw"]["length"] for event in events if event["name"].startswith("transport:")]
    assert lengths == [original for _, original, _ in found]
    assert any("congestion_window" in event["data"] for event in events)
    dumbbell.run(scenario, pcap=tmp_path / "s1.pcapng", snaplen=80)
    assert max(len(kept) for _, _, kept in packets(tmp_path / "s1.pcapng")) == 80


@pytest.mark.skipif(TSHARK is None, reason="tshark is not installed; the Debian package is tshark")
def test_wireshark_counts_the_same_at_the_sender(tmp_path):
    shape = topologies.dumbbell(
        pairs=1, rate="8 Mbit/s", delay="10 ms", queue={"kind": "droptail", "limit": "20 packets"}
    )
    flow = Flow(
        name="fg", from_="s1", to="d1", tcp={"variant": "sack", "handshake": True, "timestamps": True}
    )
    scenario = shape.scenario(rules="classic", duration="10 s", flows=[flow])
    path = tmp_path / "s1.pcapng"
    run = dumbbell.run(scenario, pcap=path, snaplen=65_535)
    checks = [item for layer in ("ip", "tcp") for item in ("-o", f"{layer}.check_checksum:TRUE")]

    def frames(what: str) -> int:
        assert TSHARK is not None
        done = subprocess.run(
            [TSHARK, "-n", "-r", path, *checks, "-Y", what], capture_output=True, text=True, check=True
        )
        return len(done.stdout.splitlines())

    assert frames("ip.checksum.status == 1 && tcp.checksum.status == 1") == run.captured["packets"]
    assert frames("_ws.malformed") == 0
    # At a sender, nothing that is sent again is out of order, as Wireshark says of what follows within a round trip.
    repeated = frames("tcp.analysis.retransmission || tcp.analysis.out_of_order")
    assert repeated == run.flow("fg").segments_retransmitted > 2


def test_events_are_records_in_order(scenario, tmp_path):
    dumbbell.run(scenario, qlog=tmp_path / "f.qlog")
    records = (tmp_path / "f.qlog").read_text(encoding="utf-8").split("\x1e")
    header, *events = [json.loads(record) for record in records[1:]]
    assert (header["qlog_version"], header["qlog_format"]) == ("0.3", "JSON-SEQ")
    times = [event["time"] for event in events]
    assert times == sorted(times)
    assert {event["group_id"] for event in events} == {"fg#1"}
    sent = [event["data"] for event in events if event["name"] == "transport:packet_sent"]
    assert [data["header"]["packet_number"] for data in sent] == list(range(len(sent)))
    # A SYN is not a data segment.
    assert len(sent) == dumbbell.run(scenario).flow("fg").segments_sent + 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pcap": "f", "node": "s11"}, 'node: "s11" is not accepted; expected a node of the scenario: '),
        ({"pcap": "f", "node": "s11"}, "(did you mean `s1`?)"),
        ({"pcap": "f", "node": 1}, "node: 1 is not accepted; expected a node of the scenario: "),
        ({"pcap": ""}, 'pcap: "" is not accepted; expected the name of a file'),
        ({"pcap": 3}, "pcap: 3 is not accepted; expected the name of a file"),
        ({"pcap": "-"}, "expected the name of a file: standard output has the results"),
        ({"qlog": ""}, 'qlog: "" is not accepted; expected the name of a file'),
        ({"snaplen": 100}, "snaplen: 100 is not accepted; expected none without pcap"),
        ({"node": "s1", "qlog": "f"}, 'node: "s1" is not accepted; expected none without pcap'),
        (
            {"pcap": "f", "snaplen": 79},
            "snaplen: 79 is not accepted; expected a whole number from 80 to 65535",
        ),
        ({"pcap": "f", "qlog": "f"}, "expected a file other than that of pcap"),
    ],
)
def test_what_has_no_effect_or_no_place_is_refused(scenario, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScenarioError) as caught:
        dumbbell.run(scenario, **arguments)
    assert message in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_packets_need_a_node_among_several_senders_and_events_need_tcp(tmp_path):
    shape = topologies.dumbbell(pairs=2, rate="8 Mbit/s", delay="10 ms")
    source = {"kind": "cbr", "rate": "1 Mbit/s", "packet": "1000 bytes"}
    flows = [Flow(name=f"f{pair}", from_=f"s{pair}", to=f"d{pair}", source=source) for pair in (1, 2)]
    scenario = shape.scenario(rules="classic", duration="1 s", flows=flows)
    with pytest.raises(ScenarioError, match="expected a node, because 2 nodes send: s1, s2"):
        dumbbell.run(scenario, pcap=tmp_path / "f")
    with pytest.raises(ScenarioError, match="no flow of this scenario has TCP"):
        dumbbell.run(scenario, qlog=tmp_path / "f")
    # A packet of 8000 bits each 8 ms, from 0 to 1 s with both ends.
    run = dumbbell.run(scenario, pcap=tmp_path / "f", node="s2")
    assert run.captured == {"packets": 126}


def test_packets_that_do_not_fit_are_refused_and_nothing_is_left(tmp_path):
    shape = topologies.dumbbell(pairs=1, rate="8 Mbit/s", delay="10 ms")
    tcp = {"mss": "65490 bytes", "timestamps": True}
    scenario = shape.scenario(
        rules="classic", duration="1 s", flows=[Flow(name="fg", from_="s1", to="d1", tcp=tcp)]
    )
    with pytest.raises(ScenarioError, match=r"flows\.fg\.tcp\.mss"):
        dumbbell.run(scenario, pcap=tmp_path / "f")
    assert list(tmp_path.iterdir()) == []


def test_too_many_packets_end_the_run(scenario, tmp_path, monkeypatch):
    monkeypatch.setenv("DUMBBELL_MAX_PACKETS", "100")
    with pytest.raises(
        ScenarioError, match=r"capture: 101 packets and events in the first 0\.\d+ s is not accepted"
    ):
        dumbbell.run(scenario, pcap=tmp_path / "f", qlog=tmp_path / "g")
    monkeypatch.setenv("DUMBBELL_MAX_PACKETS", "many")
    with pytest.raises(ScenarioError, match='DUMBBELL_MAX_PACKETS: "many" is not accepted'):
        dumbbell.run(scenario, pcap=tmp_path / "f")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_made_is_named(scenario, tmp_path):
    other = tmp_path / "file"
    other.touch()
    with pytest.raises(ResultsError) as caught:
        dumbbell.run(scenario, pcap=tmp_path / "s1.pcapng", qlog=other / "f.qlog")
    assert caught.value.filename == str(other / "f.qlog")
    assert list(tmp_path.iterdir()) == [other]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is missing")
def test_a_full_disk_is_an_error_that_names_the_file(scenario, tmp_path, monkeypatch):
    original = dumbbell.capture.replacing

    @contextmanager
    def on_full_disk(path):
        with original(path) as file:
            unfinished = Path(file.name)
            unfinished.unlink()
            unfinished.symlink_to("/dev/full")
            yield file

    monkeypatch.setattr(dumbbell.capture, "replacing", on_full_disk)
    with pytest.raises(ResultsError, match="No space left") as caught:
        dumbbell.run(scenario, pcap=tmp_path / "s1.pcapng")
    assert caught.value.filename == str(tmp_path / "s1.pcapng")
    assert list(tmp_path.iterdir()) == []


def test_the_command_writes_what_is_asked_and_says_so(scenario, tmp_path):
    file = tmp_path / "scenario.toml"
    file.write_text(scenario.to_toml(), encoding="utf-8")
    written = ["--pcap", f"{tmp_path}/a.pcapng", "--node", "r1", "--qlog", f"{tmp_path}/b.qlog"]
    result = CliRunner().invoke(app, ["run", str(file), *written, "--snaplen", "1000"])
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    assert f"a.pcapng: {len(packets(tmp_path / 'a.pcapng'))} packets" in text
    assert re.search(r"b\.qlog: \d+ events", text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--pcap", "f", "--node", "r9"], "expected a node of the scenario: r1, r2"),
        (["--node", "s1"], "expected none without pcap"),
        (["--snaplen", "90"], "expected none without pcap"),
    ],
)
def test_the_command_refuses_in_a_line(scenario, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "scenario.toml"
    file.write_text(scenario.to_toml(), encoding="utf-8")
    result = CliRunner().invoke(app, ["run", str(file), *options])
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert [path.name for path in tmp_path.iterdir()] == ["scenario.toml"]
