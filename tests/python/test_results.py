"""The list of columns is that of the tables, and of the page."""

from __future__ import annotations

import json
import pydoc
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell import Flow, Incast, Probe, topologies
from dumbbell.cli import app
from dumbbell.results import COLUMNS, markdown

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def runs():
    shape = topologies.dumbbell(pairs=1, rate="10 Mbit/s", delay="5 ms")
    source = Incast(senders=20, sizes={"kind": "fixed", "size": "50 kB"}, pause="10 ms")
    flow = Flow(name="fg", from_="s1", to="d1", tcp="sack", source=source)
    probe = Probe(flows=["fg"], quantities=["cwnd", "tcp_events", "transfers"])
    scenario = shape.scenario(rules="classic", duration="2 s", flows=[flow], probes=[probe])
    return dumbbell.run_many(scenario, progress=False)


def test_every_column_of_a_table_is_described_in_its_place(runs):
    tables = {"flows": runs.arrow_flows, "links": runs.arrow_links}
    tables |= {"traces": runs.arrow_traces["cwnd"]}
    tables |= {name: runs.arrow_traces[name] for name in ("tcp_events", "transfers")}
    assert tables.keys() == COLUMNS.keys()
    for name, table in tables.items():
        assert [column.name for column in COLUMNS[name]] == table.column_names, name


def test_names_state_the_unit():
    for columns in COLUMNS.values():
        for column in columns:
            for suffix, unit in (
                ("_s", "s"),
                ("_bps", "bit/s"),
                ("_bytes", "bytes"),
                ("_packets", "packets"),
            ):
                assert not column.name.endswith(suffix) or column.unit == unit, column


@pytest.mark.parametrize("table", COLUMNS)
def test_the_page_has_the_same_table(table):
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert f"\n{markdown(table)}\n" in page, f"docs/results.md needs this table:\n{markdown(table)}"


def test_help_describes_the_columns():
    for name, example in (("flows", "goodput_bps"), ("links", "utilization")):
        text = pydoc.render_doc(getattr(dumbbell.Run, name), renderer=pydoc.plaintext)
        assert f"``{example}``" in text


def test_the_command_line_lists_the_columns():
    listed = CliRunner().invoke(app, ["list", "columns"])
    assert listed.exit_code == 0
    assert "goodput_bps  [bit/s, measurement window]" in listed.stdout
    data = json.loads(CliRunner().invoke(app, ["list", "columns", "--json"]).stdout)
    assert data["links"][3] == {"name": "name", "unit": "-", "window": "-", "meaning": "Name of the link."}
