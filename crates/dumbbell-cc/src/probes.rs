//! Quantities that an algorithm exposes while it runs. It declares their names and returns their values; recording code
//! iterates over the declaration.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// One quantity that an algorithm exposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeInfo {
    /// Name, the same for the same quantity in every algorithm.
    pub name: &'static str,
    /// Unit of its values.
    pub unit: &'static str,
    /// Description, in one sentence.
    pub about: &'static str,
}

impl ProbeInfo {
    /// A quantity with its unit and description.
    pub const fn new(name: &'static str, unit: &'static str, about: &'static str) -> Self {
        ProbeInfo { name, unit, about }
    }

    /// True for a name of a quantity of an external congestion control, which has the prefix [`OWN`] in a probe.
    pub fn is_own_name(name: &str) -> bool {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        (1..=40).contains(&name.len()) && name.chars().all(is_plain)
    }

    /// A quantity of an external congestion control by its name in a probe, with the prefix [`OWN`]; `None` for other
    /// names.
    pub fn own(name: &str) -> Option<ProbeInfo> {
        name.strip_prefix(OWN).filter(|rest| ProbeInfo::is_own_name(rest))?;
        let mut known = OWN_NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        let name = match known.get(name) {
            Some(known) => known,
            None => {
                let new: &'static str = Box::leak(name.to_owned().into_boxed_str());
                known.insert(new);
                new
            }
        };
        Some(ProbeInfo::new(name, "-", "A quantity of an external congestion control, in its unit."))
    }
}

/// The prefix of the quantities of external congestion controls in probes.
pub const OWN: &str = "own.";

/// Their names. A [`ProbeInfo`] is copied with every recording, so names live as long as the process.
static OWN_NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Base round-trip time of an algorithm.
pub const BASE_RTT: ProbeInfo =
    ProbeInfo::new("base_rtt", "s", "Base round-trip time of the congestion control.");
/// The quantity that Vegas and its variants compare with their thresholds.
pub const VEGAS_DIFF: ProbeInfo =
    ProbeInfo::new("vegas_diff", "segments", "Difference of expected and actual rate times the base RTT.");
/// The lower of the two thresholds of that difference.
pub const ALPHA: ProbeInfo = ProbeInfo::new(
    "alpha",
    "segments",
    "Lower threshold of that difference where a congestion control moves it.",
);
/// Bandwidth estimate of an algorithm.
pub const BANDWIDTH: ProbeInfo =
    ProbeInfo::new("bandwidth", "bit/s", "Bandwidth that the congestion control believes to be available.");
/// Growth of a window per round trip, where a congestion control computes it.
pub const INCREASE: ProbeInfo =
    ProbeInfo::new("increase", "segments", "Growth of the window per round trip in congestion avoidance.");
/// Window before the last reduction.
pub const W_MAX: ProbeInfo = ProbeInfo::new(
    "w_max",
    "segments",
    "Window before the last reduction, as the congestion control remembers it; 0 if it does not.",
);
/// Gain of the pacing rate over the bandwidth of a model.
pub const PACING_GAIN: ProbeInfo =
    ProbeInfo::new("pacing_gain", "-", "Pacing rate over the bandwidth of the congestion control's model.");
/// ACK aggregation that a model's window provides for.
pub const EXTRA_ACKED: ProbeInfo = ProbeInfo::new(
    "extra_acked",
    "bytes",
    "Data acknowledged beyond what the model's bandwidth explains, for which the window provides.",
);
/// Fraction of marked data, smoothed.
pub const MARKED_FRACTION: ProbeInfo = ProbeInfo::new(
    "marked_fraction",
    "-",
    "Smoothed fraction of data for which marks are echoed (alpha of DCTCP).",
);
/// Queueing delay that a delay-based algorithm compares with its target.
pub const QUEUEING_DELAY: ProbeInfo = ProbeInfo::new(
    "queueing_delay",
    "s",
    "Queueing delay that the congestion control compares with its target.",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_of_an_external_control_have_plain_names_of_at_most_40_characters() {
        let long = format!("{OWN}{}", "x".repeat(40));
        for name in ["own.rate_2", "own.X", &long] {
            assert_eq!(ProbeInfo::own(name).map(|probe| probe.name), Some(name));
        }
        for name in ["rate", "own.", "own.a b", "own.a-b", "own.ä", &format!("{long}x")] {
            assert_eq!(ProbeInfo::own(name), None, "{name}");
        }
    }
}
