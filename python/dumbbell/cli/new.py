"""``dumbbell new``: a start for an algorithm of your own, with its test."""

from __future__ import annotations

import keyword
import re
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from dumbbell.campaign.sources import is_installed
from dumbbell.checkout import folder_of
from dumbbell.cli.options import folder
from dumbbell.cli.refusals import guarded, say
from dumbbell.engine import catalogue
from dumbbell.errors import refusal
from dumbbell.files import write_text

PYTHON = '''\
"""TYPE: what it does, and where it is described."""

from __future__ import annotations

import dumbbell


class TYPE(dumbbell.Control):
    """Additive increase, multiplicative decrease.

    Parameters
    ----------
    increase
        Growth per round trip, in segments, above 0.
    decrease
        Fraction of the window that remains after a loss, above 0 and below 1.
    """

    increase: float = 1.0
    decrease: float = 0.5

    def on_ack(self, ack: dumbbell.control.Ack) -> None:
        if ack.in_recovery:
            return
        if self.cwnd < self.ssthresh:
            growth = ack.mss
        else:
            growth = self.increase * ack.mss * ack.mss / self.cwnd
        self.cwnd = ack.grown(self.cwnd, growth)

    def on_congestion(self, congestion: dumbbell.control.Congestion) -> None:
        rest = max(congestion.flight_size * self.decrease, 2 * congestion.mss)
        self.ssthresh = min(rest, max(self.cwnd, 2 * congestion.mss))
        self.cwnd = congestion.loss_window if congestion.restarts else self.ssthresh
'''

PYTHON_TEST = """\
from NAME import TYPE

import dumbbell


def test_it_has_the_properties_of_every_algorithm():
    dumbbell.check(TYPE)


def test_it_fills_a_link_alone():
    shape = dumbbell.topologies.dumbbell(pairs=1, rate="10 Mbit/s", delay="20 ms")
    flow = dumbbell.Flow(name="fg", from_="s1", to="d1", tcp=TYPE())
    run = dumbbell.run(shape.scenario(duration="30 s", flows=[flow]))
    assert run.flow("fg").goodput_bps > 8e6
"""

RUST = """\
//! TYPE, after additive increase and multiplicative decrease [RFC 5681 §3.1].
//!
//! Where it departs from the RFC: the fraction that remains after a loss is a parameter.

use crate::toolbox::RenoWindow;
use crate::{Ack, Congestion, CongestionControl, Context, Control, Setup, window_in};
use dumbbell_units::params;

params! {
    /// Parameters of TYPE.
    pub struct TYPEParams {
        /// Fraction of the window that remains after a loss.
        decrease: f64 = 0.5, "-", "[RFC 5681 §3.1]",
            |decrease| *decrease > 0.0 && *decrease < 1.0, "a fraction above 0 and below 1";
    }
}

/// The state of TYPE.
#[derive(Clone, Debug)]
pub struct TYPE {
    params: TYPEParams,
    window: RenoWindow,
}

impl CongestionControl for TYPE {
    type Params = TYPEParams;
    const SUMMARY: &'static str = "Additive increase, multiplicative decrease.";
    const SOURCE: &'static str = "[RFC 5681 §3.1]";
    const TAKES_SLOW_START: bool = true;

    fn new(params: &TYPEParams, setup: &Setup) -> Self {
        TYPE { params: params.clone(), window: RenoWindow::new(setup) }
    }
}

impl Control for TYPE {
    window_in!(window);

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        self.window.increase(context, ack);
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        self.window.keep(self.params.decrease, context, congestion);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;
    use dumbbell_units::Time;

    #[test]
    fn an_ack_adds_a_share_of_a_segment_and_a_loss_keeps_half() {
        let setup = Setup::new(Time::ZERO, 1000.0, 10_000.0).with_initial_ssthresh(5000.0);
        let mut control = TYPE::new(&TYPEParams::default(), &setup);
        let context = Context::new(Time::ZERO, 1000.0).with_sent(0, 10_000);
        // One of ten segments is acknowledged: 1000 * 1000 / 10000 = 100 bytes more.
        control.on_ack(&context, &Ack::new(1000, 1000));
        assert_eq!(control.cwnd(), 10_100.0);
        // Half of the ten segments in flight remain.
        control.on_congestion(&context, &Congestion::new(Signal::FastRetransmit));
        assert_eq!((control.cwnd(), control.ssthresh()), (5000.0, 5000.0));
    }
}
"""

# What a file of the engine cannot be named after: words of Rust, and the types that the start imports or that the registry
# has of its own.
RUST_WORDS = frozenset((
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else", "enum",
    "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move",
    "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true", "try", "type",
    "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
    "ack", "congestion", "context", "control", "external", "setup", "signal", "time",
))  # fmt: skip

REGISTRY_END = "}\n\n/// The congestion control of one connection"


commands = typer.Typer(
    help="Scaffold an algorithm.", add_completion=False, no_args_is_help=True, rich_markup_mode=None
)


@commands.callback()
def group() -> None:
    """Scaffold an algorithm."""


@commands.command("algorithm")
@guarded
def algorithm(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="At most nine lower-case letters and digits.", show_default=False
        ),
    ],
    rust: Annotated[
        bool,
        typer.Option("--rust", help="Write a file of the engine in the checkout and register it there."),
    ] = False,
    output: Annotated[Path, folder("--output", "Folder of the files in Python.")] = Path(),
) -> None:
    """Write a congestion control, in Python or Rust, and its test."""
    if re.fullmatch(r"[a-z][a-z0-9]{0,8}", name) is None:
        raise refusal("NAME", name, "at most nine lower-case letters and digits, a letter first")
    type_name = name.capitalize()
    _refuse_unusable(name, type_name, rust=rust)
    if rust:
        _write_rust(name, type_name)
        return
    files = {output / f"{name}.py": PYTHON, output / f"test_{name}.py": PYTHON_TEST}
    for file in files:
        _refuse_existing(file)
    for file, text in files.items():
        write_text(file, text.replace("NAME", name).replace("TYPE", type_name))
        say(f"wrote {file}")
    # The folder is that of the files, where Python finds them; the interpreter is the one that has this package.
    python = shlex.quote(sys.executable)
    if find_spec("pytest") is None:
        say(f"Install pytest first: {python} -m pip install pytest")
    if output.resolve() != Path.cwd():
        say(f"Change to its folder first: cd {shlex.quote(str(output))}")
    say(f"Test it with: {python} -m pytest test_{name}.py")
    say(f"Evaluate it with: {python} -m dumbbell evaluate python:{name}.{type_name} --quick")
    say(
        f'Use it with: tcp={type_name}(), or in a file tcp = "python:{name}.{type_name}", '
        f"which runs with --allow python:{name}.{type_name}"
    )


def _refuse_unusable(name: str, type_name: str, *, rust: bool) -> None:
    """Refuse a name under which nothing could use the algorithm."""
    if rust:
        if name in RUST_WORDS:
            problem = "is a word of Rust, or a type that the file uses"
        elif name in [entry["name"] for entry in catalogue()["variants"]]:
            problem = "is registered"
        else:
            return
    elif keyword.iskeyword(name) or keyword.iskeyword(type_name):
        problem = "is a word of Python"
    elif name in sys.stdlib_module_names:
        problem = "is a module of Python"
    elif name == "dumbbell" or ((found := find_spec(name)) is not None and is_installed(found.origin or "")):
        problem = "is an installed module"
    else:
        return
    raise refusal("NAME", name, "a name that is not in use, such as myalgo", problem=problem)


def _write_rust(name: str, type_name: str) -> None:
    folder = folder_of("crates") / "dumbbell-cc" / "src" / "algorithms"
    file, registry = folder / f"{name}.rs", folder / "mod.rs"
    _refuse_existing(file)
    text = registry.read_text(encoding="utf-8")
    before, found, after = text.partition(REGISTRY_END)
    if not found:
        raise refusal(
            str(registry), "the registry", "a list of algorithms", problem="was not found", quoted=False
        )
    write_text(file, RUST.replace("TYPE", type_name))
    write_text(registry, f'{before}    "{name}" => {name}::{type_name},\n{found}{after}')
    say(f"wrote {file}")
    say(f"added a line to {registry}")
    say("Test it with: cargo test -p dumbbell-cc")


def _refuse_existing(file: Path) -> None:
    if file.exists():
        raise refusal("NAME", str(file), "a name without such a file", problem="exists")
