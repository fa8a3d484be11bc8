"""Traffic from files and from loads, and workloads."""

import math
import re
import tomllib

import pytest

import dumbbell
from dumbbell import Flow, Frames, LoadArrivals, Probe, ScenarioError, Transfers, topologies, traffic
from dumbbell.scenario import EmpiricalSizes, Scenario

FILM = """\
# a film at 25 frames per second

1\tI\t0.0\t5340
2\tB\t40.0\t312   # a comment
3\tP\t80.0\t0
"""


@pytest.mark.parametrize(
    ("text", "column", "sizes"),
    [
        ("5340\n312\n0\n", None, [5340, 312, 0]),
        ("  5340\r\n\r\n  312\r\n0\r\n", None, [5340, 312, 0]),
        ("5340.0\n3.12e2\n0", None, [5340, 312, 0]),
        (FILM, None, [5340, 312, 0]),
        (FILM.replace("\t", ","), None, [5340, 312, 0]),
        (FILM.replace("\t", " , "), 4, [5340, 312, 0]),
        (FILM, 1, [1, 2, 3]),
        ("0 5340\n1 312\n2 0\n", 2, [5340, 312, 0]),
    ],
)
def test_traces_are_read_in_the_forms_they_come_in(tmp_path, text, column, sizes):
    file = tmp_path / "film.dat"
    file.write_text(text)
    assert traffic.frames_from_file(file, column=column) == tuple(f"{size} bytes" for size in sizes)


def test_bits_become_whole_bytes(tmp_path):
    file = tmp_path / "film.dat"
    file.write_text("8000\n8001\n7\n")
    assert traffic.frames_from_file(file, unit="bits") == ("1000 bytes", "1001 bytes", "1 bytes")


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        (
            "12\n\n34 # a\nmany\n",
            None,
            ', line 4: "many" is not accepted; expected a size in bytes in column 1',
        ),
        (
            "# size\n-3\n",
            None,
            ', line 2: "-3" is not accepted; expected a size in bytes in column 1, a whole',
        ),
        ("3.5\n", None, ', line 1: "3.5" is not accepted'),
        ("inf\n", None, ', line 1: "inf" is not accepted'),
        ("1e30\n", None, ', line 1: "1e30" is not accepted'),
        ("nan\n", None, ', line 1: "nan" is not accepted'),
        (FILM + "4 P\n", None, ", line 6: nothing is not accepted; expected a size in bytes in column 4"),
        (
            "1 2\n",
            None,
            ", line 1: 2 columns are not accepted; expected one column, or 4: number, type, time",
        ),
        ("# nothing\n\n", None, ": nothing was found; expected one frame per line"),
        ("", None, ": nothing was found; expected one frame per line"),
    ],
)
def test_an_error_names_file_line_and_what_is_accepted(tmp_path, text, column, message):
    file = tmp_path / "film.dat"
    file.write_text(text)
    with pytest.raises(ScenarioError, match=f"^{re.escape(f'{file}{message}')}"):
        traffic.frames_from_file(file, column=column)


def test_an_unknown_column_or_unit_is_refused(tmp_path):
    file = tmp_path / "film.dat"
    file.write_text(FILM)
    with pytest.raises(
        ScenarioError, match=r"column: 5 is not accepted; expected a column of .*, from 1 to 4"
    ):
        traffic.frames_from_file(file, column=5)
    with pytest.raises(ScenarioError, match='unit: "packets" is not accepted; expected "bytes" or "bits"'):
        traffic.frames_from_file(file, unit="packets")
    with pytest.raises(OSError, match="nowhere"):
        traffic.frames_from_file(tmp_path / "nowhere.dat")


def offered(source, seconds):
    """Rate that a source puts on the wire, in bits per second."""
    shape = topologies.dumbbell(pairs=1, rate="100 Mbit/s", delay="1 ms")
    flow = Flow(name="video", from_="s1", to="d1", source=source)
    result = dumbbell.run(shape.scenario(rules="classic", duration=f"{seconds} s", flows=[flow]))
    return result.flow("video").throughput_bps


def test_frames_of_a_file_are_sent_at_their_rate(tmp_path):
    file = tmp_path / "film.dat"
    file.write_text(FILM)
    source = Frames(sizes=traffic.frames_from_file(file), frame_rate=25.0, packet="500 bytes")
    # 5652 bytes in three frames of 40 ms.
    assert offered(source, 60) == pytest.approx(5652 * 8 / 0.12, rel=0.01)


@pytest.mark.parametrize(
    ("load", "off"), [(1.0, "10 ms"), (0.9, "12.222222 ms"), (0.8, "15 ms"), (0.1, "190 ms"), (2.0, "0 s")]
)
def test_pauses_give_the_mean_load(load, off):
    # ON share is mean over peak, load * 1.6 / 3.2.
    source = traffic.vbr(load, "1.6 Mbit/s", "3.2 Mbit/s", "1000 bytes", "10 ms")
    assert (source.rate, source.packet, source.on, source.off) == ("3.2 Mbit/s", "1000 bytes", "10 ms", off)


def test_bursts_offer_the_requested_load():
    source = traffic.vbr(0.8, "1.6 Mbit/s", "3.2 Mbit/s", "1000 bytes", "100 ms")
    # Bursts of 40 packets on average: rounding to whole packets is negligible beside the noise of 500 s, about 2000 bursts.
    assert offered(source, 500) == pytest.approx(0.8 * 1.6e6, rel=4 / math.sqrt(2000))


@pytest.mark.parametrize("load", [0.0, -1.0, 2.1, math.nan, math.inf])
def test_a_load_above_the_peak_or_of_zero_is_refused(load):
    with pytest.raises(
        ScenarioError, match=r"load: .* is not accepted; expected a number above 0, at most peak over"
    ):
        traffic.vbr(load, "1.6 Mbit/s", "3.2 Mbit/s", "1000 bytes", "10 ms")


def test_quantities_of_bursts_are_refused_by_their_names():
    with pytest.raises(ScenarioError, match=r'peak: "3.2 Mbits" is not accepted; expected a rate'):
        traffic.vbr(0.5, "1.6 Mbit/s", "3.2 Mbits", "1000 bytes", "10 ms")
    with pytest.raises(ScenarioError, match='on: "10" is not accepted; expected a time'):
        traffic.vbr(0.5, "1.6 Mbit/s", "3.2 Mbit/s", "1000 bytes", "10")


# Workloads


@pytest.mark.parametrize("text", ["1000 0.2\n3000, 0.7 # a comment\n\n11000\t1\n", "1 20\n3 70\n11 100\n"])
def test_points_of_a_distribution_are_read_with_shares_or_percentages(tmp_path, text):
    file = tmp_path / "sizes.txt"
    file.write_text(text)
    unit = 1000 if text.startswith("1 ") else 1
    sizes = traffic.sizes_from_file(file, unit_bytes=unit)
    assert sizes == EmpiricalSizes(sizes=("1000 bytes", "3000 bytes", "11000 bytes"), shares=(0.2, 0.7, 1.0))


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", ""),
        ("1 0.5\n", ""),
        ("1 0.5\n2\n", ", line 2"),
        ("1 0.5\n2 much\n", ", line 2"),
        ("2 0.5\n\n1 1\n", ", line 3"),
        ("1 0.5\n2 0.4\n", ", line 2"),
        ("1 nan\n", ", line 1"),
    ],
)
def test_what_is_not_a_distribution_is_refused_with_its_line(tmp_path, text, where):
    file = tmp_path / "sizes.txt"
    file.write_text(text)
    with pytest.raises(ScenarioError) as refused:
        traffic.sizes_from_file(file)
    assert refused.value.field == f"{file}{where}"


def short_flows() -> Scenario:
    """Return a load of 60 % in transfers of 1,000 to 11,000 bytes; the mean is 3,300."""
    sizes = EmpiricalSizes(sizes=["1000 bytes", "3000 bytes", "11000 bytes"], shares=[0.2, 0.7, 1.0])
    source = Transfers(arrivals=LoadArrivals(load=0.6, capacity="4 Mbit/s"), sizes=sizes)
    shape = topologies.dumbbell(pairs=1, rate="4 Mbit/s", delay="5 ms")
    return shape.scenario(
        rules="classic",
        duration="30 s",
        delay_percentiles=True,
        flows=[Flow(name="short", from_="s1", to="d1", tcp="reno", source=source)],
        probes=[Probe(flows=["short"], quantities=["transfers"])],
    )


def test_completion_times_of_the_table_agree_with_the_percentiles_of_the_flow():
    result = dumbbell.run(short_flows())
    row, table = result.flow("short"), result.traces["transfers"]
    # 60 % of 500 kB/s in transfers of 3300 bytes: 90.9 per second, 2727 in 30 s, with a standard deviation of 52.
    assert row.transfers == len(table) == pytest.approx(2727, abs=200)
    complete = table.dropna(subset="completion_s")
    assert row.transfers_completed == len(complete)
    assert row.fct_mean_s == pytest.approx(complete.completion_s.mean(), rel=1e-9)
    assert row.fct_max_s == complete.completion_s.max()
    for share in (0.5, 0.95, 0.99):
        exact = complete.completion_s.quantile(share, interpolation="lower")
        assert row[f"fct_p{share * 100:.0f}_s"] == pytest.approx(exact, rel=0.02)
    assert (complete.slowdown > 0.999).all()
    assert row.slowdown_mean == pytest.approx(complete.slowdown.mean(), rel=1e-5)
    assert row.rtt_p50_s <= row.rtt_p95_s <= row.rtt_p99_s <= row.rtt_max_s
    assert row.delay_p50_s < row.rtt_p50_s
    assert set(table.kind) == {"transfer"}


def test_transfers_do_not_depend_on_the_number_of_threads():
    runs = [dumbbell.run_many(short_flows(), runs=4, threads=threads, progress=False) for threads in (1, 3)]
    assert runs[0].arrow_flows.equals(runs[1].arrow_flows)
    assert runs[0].arrow_traces["transfers"].equals(runs[1].arrow_traces["transfers"])
    assert runs[0].traces["transfers"].job.nunique() == 4


def test_a_workload_reads_back_from_its_plain_form():
    scenario = short_flows()
    again = Scenario.from_dict(scenario.to_dict())
    assert again == scenario
    assert again.flows[0].source.sizes == scenario.flows[0].source.sizes
    changed = scenario.with_values({"flows.short.source.arrivals.load": 0.9})
    assert changed.resolved()["flows"][0]["source"]["arrivals"]["load"] == 0.9


MESSAGES = """
duration = "5 s"
rules = "classic"
nodes = ["a", "b"]
links = [
    { name = "ab", from = "a", to = "b", rate = "4 Mbit/s", delay = "10 ms" },
    { name = "ba", from = "b", to = "a", rate = "4 Mbit/s", delay = "10 ms" },
]
probes = [{ flows = ["ping"], quantities = ["rtt"] }]

[[flows]]
name = "video"
from = "a"
to = "b"
tcp = { variant = "sack", max_pacing_rate = "3 Mbit/s", reading = { rate = "2500 kbit/s" } }
source = { kind = "video", rate = "2 Mbit/s" }
messages = { deadline = "100 ms", backlog = "60 kB" }

[[flows]]
name = "ping"
from = "a"
to = "b"
source = { kind = "ping", interval = "200 ms" }
"""


def test_messages_limits_and_pings_are_stated_alike_in_toml_and_in_python():
    read = Scenario.from_dict(tomllib.loads(MESSAGES))
    video, ping = read.flows
    assert video.messages == dumbbell.Messages(deadline="100 ms", backlog="60 kB")
    limits = dumbbell.Tcp(
        variant="sack", max_pacing_rate="3 Mbit/s", reading=dumbbell.Reading(rate="2500 kbit/s")
    )
    assert (video.tcp, ping.source) == (limits, dumbbell.Ping(interval="200 ms"))
    again = read.with_values({"flows.video.messages.deadline": "1 s"})
    assert again.flows[0].messages.deadline == "1 s"
    result = dumbbell.run(read)
    row = result.flow("video")
    # 24 frames a second.
    assert row.messages + row.messages_skipped == 121
    assert 0 <= row.messages_late < row.messages
    ping = result.flow("ping")
    assert (ping.segments_sent, ping.segments_lost, ping.messages) == (26, 0, 0)
    assert math.isnan(ping.messages_late)
    rtts = result.traces["rtt"].value
    # The last probe is on the way.
    assert len(rtts) == 25
    assert rtts.mean() == pytest.approx(ping.rtt_mean_s)
    assert rtts.min() >= 0.02


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"flows.ping.messages": {"deadline": "1 s"}},
            "flows.ping.messages: a table is not accepted; expected nothing: only a source of datagrams over TCP",
        ),
        ({"flows.video.tcp.max_pacing_rate": "0 bit/s"}, 'flows.video.tcp.max_pacing_rate: "0 bit/s"'),
        ({"flows.video.messages.deadline": "soon"}, 'flows.video.messages.deadline: "soon"'),
        (
            {"flows.ping.tcp": "reno"},
            "flows.ping.tcp: a table is not accepted; expected nothing: this source",
        ),
        ({"flows.ping.source.interval": "0 s"}, "flows.ping.source.interval"),
    ],
)
def test_limits_without_meaning_are_refused_by_their_fields(changes, message):
    with pytest.raises(ScenarioError, match=re.escape(message)):
        Scenario.from_dict(tomllib.loads(MESSAGES)).with_values(changes)
