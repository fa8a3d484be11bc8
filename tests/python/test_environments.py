"""The environments of TCP: the documented table, and the scenarios that name one."""

import re
from pathlib import Path

import pytest

import dumbbell
from dumbbell import Scenario

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "environments.md").read_text(encoding="utf-8")
NONE = "–"


def table():
    """Return the names of the environments, and the rows of the table as lists of cells."""
    lines = PAGE[PAGE.index("| field |") :].split("\n\n")[0].splitlines()
    head, _, *rows = lines
    cells = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in (head, *rows)]
    return cells[0][1:], cells[1:]


def resolved(two_hosts, tcp):
    """Return the complete rules of a flow with these settings."""
    return two_hosts.with_values({"flows.fg.tcp": tcp}).resolved()["flows"][0]["tcp"]


def flat(members, path=""):
    """Return the leaves of a table by their dotted names, as the documentation writes them."""
    leaves = {}
    for name, value in members.items():
        if isinstance(value, dict):
            leaves.update(flat(value, f"{path}{name}."))
        else:
            leaves[path + name] = str(value).lower() if isinstance(value, bool) else str(value)
    return leaves


def test_the_table_has_every_environment_with_its_values(two_hosts):
    names, rows = table()
    assert names == [entry["name"] for entry in dumbbell.engine.catalogue()["rules"]]
    rules = {name: flat(resolved(two_hosts, {"rules": name, "congestion": "reno"})) for name in names}
    for field, *cells in rows:
        assert cells == [rules[name].get(field, NONE) for name in names], field
    # Fields of tables that only one environment has are left out, except those in the table.
    listed = {row[0] for row in rows}
    shared = set.intersection(*(set(values) for values in rules.values()))
    differing = {field for field in shared if len({rules[name][field] for name in names}) > 1}
    assert differing - {"headers.ack"} <= listed


def test_the_documented_scenario_is_accepted(two_hosts):
    (example,) = re.findall(r"\[flows\.tcp\]\n(.*?)```", PAGE, flags=re.DOTALL)
    tcp = {name: value.strip('"') for name, value in re.findall(r"(\w+) = (\S+)", example)}
    rules = resolved(two_hosts, tcp)
    assert (rules["delayed_ack"], rules["window"]["growth"]) == ("off", "whole-segments")


def test_builders_state_the_rules_of_linux():
    tcp = dumbbell.Tcp(
        window=dumbbell.WindowRules(
            growth="whole-segments",
            grow_per="segment",
            reduction_base="whole-window",
            validation="linux",
            is_bounded=False,
        ),
        recovery=dumbbell.RackRecovery(
            form="linux",
            prr_base="window",
            reo_wnd_mult_max=255,
            reo_timer_slack="2 ms",
            reo_timer_tick="4 ms",
            dsack_after_reordering=True,
            pto_slack="2 ms",
            frto="linux",
        ),
        timer=dumbbell.LinuxTimer(tick="4 ms", requests=True),
        delayed_ack=dumbbell.DelayedAck(
            timer="40 ms", quick=16, quick_again=True, quick_growing=True, form="linux"
        ),
        mss="1448 bytes",
        headers=dumbbell.Headers(data="52 bytes", ack="52 bytes", sack_block="8 bytes"),
        initial_window="10 segments",
        timestamps=True,
        handshake=True,
        nagle="minshall",
    )
    shape = dumbbell.topologies.dumbbell(pairs=1, rate="10 Mbit/s", delay="20 ms")
    rules = [
        shape.scenario(
            rules="classic", duration="1 s", flows=[dumbbell.Flow(name="f", from_="s1", to="d1", tcp=tcp)]
        ).resolved()["flows"][0]["tcp"]
        for tcp in (tcp, dumbbell.Tcp(rules="linux"))
    ]
    assert rules[0] == rules[1]


@pytest.mark.parametrize(
    ("rules", "variant", "having"),
    [
        ("linux", "tahoe", "`classic`, `bsd`, `ns2`"),
        ("ns3", "tahoe", "`classic`, `bsd`, `ns2`"),
        ("rfc", "newreno", "`classic`, `bsd`, `ns2`, `ns3`, `linux`"),
        ("rfc", "sack", "`classic`, `bsd`, `ns2`, `ns3`, `linux`"),
    ],
)
def test_a_name_that_an_environment_lacks_is_refused_with_those_that_have_it(
    two_hosts, rules, variant, having
):
    with pytest.raises(dumbbell.ScenarioError, match=f"the rules {having} have {variant}"):
        two_hosts.with_values({"flows.fg.tcp": {"rules": rules, "variant": variant}})


@pytest.mark.parametrize("rules", ["rfc", "ns3", "linux"])
def test_reno_is_a_congestion_control_where_its_recovery_is_history(two_hosts, rules):
    named = resolved(two_hosts, {"rules": rules, "variant": "reno"})
    assert named == resolved(two_hosts, {"rules": rules, "congestion": "reno"})
    assert named["recovery"]["kind"] in ("rack", "ns3sack")


@pytest.mark.registry
def test_by_default_all_congestion_controls_have_one_sender(two_hosts):
    """What differs is the congestion control, and what it needs to be itself."""
    own = ("congestion", "mechanisms", "ecn", "aqt")
    data = two_hosts.to_dict()
    del data["rules"]
    today = Scenario.from_dict(data)
    senders = []
    for entry in dumbbell.engine.catalogue()["algorithms"]:
        tcp = resolved(today, entry["name"])
        assert tcp["congestion"]["name"] == entry["name"]
        assert set("".join(key for key, is_on in tcp["mechanisms"].items() if is_on)) <= set("ABFI")
        tcp["window"].pop("slow_start")
        senders.append({key: value for key, value in tcp.items() if key not in own})
    assert all(sender == senders[0] for sender in senders)
    assert (senders[0]["recovery"]["kind"], senders[0]["initial_window"]) == ("rack", "10 segments")
    assert resolved(today, None) == resolved(today, "cubic") == resolved(today, {})


def test_the_environment_of_a_scenario_is_that_of_flows_that_state_none(two_hosts):
    data = two_hosts.to_dict()
    classic = Scenario.from_dict(data | {"rules": "classic"}).with_values({"flows.fg.tcp": "vegas"})
    flow = Scenario.from_dict(data).with_values({"flows.fg.tcp": {"rules": "classic", "variant": "vegas"}})
    assert classic.hash == flow.hash
    linux = classic.with_values({"flows.fg.tcp": {"rules": "linux", "variant": "vegas"}})
    assert linux.resolved()["flows"][0]["tcp"]["recovery"]["kind"] == "rack"
    with pytest.raises(dumbbell.ScenarioError, match="rules"):
        Scenario.from_dict(data | {"rules": "modern"})


@pytest.mark.registry
def test_linux_has_one_recovery_for_every_congestion_control(two_hosts):
    default = resolved(two_hosts, {"rules": "linux"})["recovery"]
    for entry in dumbbell.engine.catalogue()["algorithms"]:
        found = resolved(two_hosts, {"rules": "linux", "congestion": entry["name"]})["recovery"]
        assert found == default, entry["name"]
        # As a variant, Reno is the recovery of that name, which Linux does not have.
        if entry["name"] != "reno":
            found = resolved(two_hosts, {"rules": "linux", "variant": entry["name"]})["recovery"]
            assert found == default, entry["name"]
    stated = {"rules": "linux", "congestion": "westwoodp", "recovery": "newreno"}
    assert resolved(two_hosts, stated)["recovery"]["kind"] == "newreno"


def test_delayed_acknowledgements_do_not_slow_linux():
    scenario = Scenario.from_toml(ROOT / "examples" / "linux-reno.toml")
    delayed = scenario.with_values({"flows.reno.tcp.delayed_ack.quick": 0})
    immediate = scenario.with_values({"flows.reno.tcp.delayed_ack": "off"})
    per_ack = scenario.with_values({"flows.reno.tcp.window": {"grow_per": "ack"}})
    losses = [
        int(dumbbell.run(one, seed=1).flows.fast_retransmits.iloc[0]) for one in (delayed, immediate, per_ack)
    ]
    # A sawtooth of about 3.45 s in 50 s; half the growth takes about twice as long.
    assert losses[0] == losses[1] >= 14
    assert losses[2] <= 0.6 * losses[0]


@pytest.mark.parametrize("prr", [True, False])
def test_a_proportional_reduction_is_part_of_the_window(prr):
    scenario = Scenario.from_toml(ROOT / "examples" / "linux-reno.toml").with_values(
        {"flows.reno.tcp.recovery": {"kind": "sack", "prr": prr}}
    )
    data = scenario.to_dict() | {"probes": [{"quantities": ["cwnd_base"], "flows": ["reno"]}]}
    window = dumbbell.run(Scenario.from_dict(data), seed=1).traces["cwnd_base"]
    falls = -window["value"].diff()[window["time_s"] > 10.0]
    # Windows of 44 to 88 segments: each falls by steps of a few, or by half at once.
    assert (falls.max() < 6) if prr else ((falls > 30).sum() >= 10)
