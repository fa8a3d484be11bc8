//! The eBPF twins of the congestion controls: the same algorithms as programs of the Linux kernel, so that real TCP
//! connections use them ([decision 21](../../../docs/decisions/0021-twins-are-struct-ops.md)).
//!
//! A twin is one file in `bpf/`, named after its algorithm in `dumbbell-cc`. Without the feature `kernel`, this crate
//! knows the twins' sources and their parameters, on every platform. With it, and on Linux, the build compiles them,
//! and [`loader`] registers them with the kernel.

#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod layout;
#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod loader;
pub mod parameters;
pub mod source;

pub use parameters::{Parameter, Probe, Scale};

use dumbbell_cc::Mechanisms;
use dumbbell_units::spec::Members;

include!(concat!(env!("OUT_DIR"), "/twins.rs"));

/// The twin of one algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Twin {
    stem: &'static str,
}

impl Twin {
    /// All twins, by name.
    pub fn all() -> impl Iterator<Item = Twin> {
        FILES.iter().filter_map(|(name, _)| name.strip_suffix(".bpf.c")).map(|stem| Twin { stem })
    }

    /// The twin of the algorithm with this name in the registry; `None` if it has none.
    pub fn named(name: &str) -> Option<Twin> {
        Twin::all().find(|twin| twin.stem == name)
    }

    /// Name of the algorithm, and stem of the file.
    pub fn name(self) -> &'static str {
        self.stem
    }

    /// The parameters that the source declares, in order.
    pub fn parameters(self) -> Vec<Parameter> {
        source::parameters(&self.text())
    }

    /// The settings that switch the twin's mechanisms of Vegas as in a scenario. [`MISSING`] lists those that it does not
    /// carry.
    pub fn mechanisms(self, mechanisms: Mechanisms) -> Members {
        let is_on = |letter: &str| mechanisms.letters().any(|on| on == letter);
        let setting = |parameter: Parameter| Some((parameter.name, is_on(&parameter.mechanism?).into()));
        self.parameters().into_iter().filter_map(setting).collect()
    }

    /// The probes that the source declares, in order.
    pub fn probes(self) -> Vec<Probe> {
        source::probes(&self.text())
    }

    /// The source with the headers of `bpf/` that it includes, each once, ahead of their users.
    pub fn text(self) -> String {
        source::with_headers(&format!("{}.bpf.c", self.stem), FILES)
    }

    /// True if it has a program for sockets, which is attached to their control group.
    pub fn needs_control_group(self) -> bool {
        self.text().contains("SEC(\"sockops\")")
    }

    /// The compiled object.
    #[cfg(all(feature = "kernel", target_os = "linux"))]
    pub fn object(self) -> &'static [u8] {
        let found = OBJECTS.iter().find(|(stem, _)| *stem == self.stem);
        found.map(|(_, object)| *object).expect("the build compiles every twin")
    }
}

/// A part of the registry that no twin carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The algorithm with this name.
    Algorithm(&'static str),
    /// The mechanism of Vegas with this letter.
    Mechanism(&'static str),
    /// A parameter: the algorithm's name, and its own.
    Parameter(&'static str, &'static str),
}

/// What no twin carries, with the reasons. A test compares this list with the registry and the sources. An algorithm
/// that merely has no twin yet needs no entry.
pub const MISSING: &[(Missing, &str)] = &[
    (Missing::Algorithm("nsvegas"), "it imitates the Vegas of another simulator, for cross-validation"),
    (
        Missing::Mechanism("C"),
        "the kernel's loss detection is RACK: no program decides when a segment is lost",
    ),
    (Missing::Mechanism("D"), "no program decides which segment is retransmitted"),
    (Missing::Mechanism("E"), "always on: the kernel reduces the window once per episode"),
    (Missing::Mechanism("H"), "no program limits the segments sent back to back"),
    (
        Missing::Mechanism("J"),
        "a pacing rate spaces all segments, not only those above the rate of the last RTT",
    ),
    (Missing::Parameter("reno", "beta_ecn"), "the twin halves the window after a mark, as after a loss"),
    (
        Missing::Parameter("vegas", "hold_after_slow_start"),
        "it matters for what is sent again needlessly after a timeout, which the kernel avoids",
    ),
];
