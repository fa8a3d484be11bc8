//! What an algorithm shows of itself while it runs. It declares the names and answers for them; whoever records walks the
//! declaration.

/// One quantity that an algorithm shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeInfo {
    /// Name, the same for the same quantity in every algorithm.
    pub name: &'static str,
    /// Unit of its values.
    pub unit: &'static str,
    /// What it is, in one sentence.
    pub about: &'static str,
}

impl ProbeInfo {
    /// A quantity with its unit and what it is.
    pub const fn new(name: &'static str, unit: &'static str, about: &'static str) -> Self {
        ProbeInfo { name, unit, about }
    }
}

/// Smallest round-trip time that an algorithm believes in.
pub const BASE_RTT: ProbeInfo =
    ProbeInfo::new("base_rtt", "s", "Base round-trip time of the congestion control.");
/// What Vegas and its relatives compare with their thresholds.
pub const VEGAS_DIFF: ProbeInfo =
    ProbeInfo::new("vegas_diff", "segments", "Difference of expected and actual rate times the base RTT.");
/// The lower of the two thresholds of that difference.
pub const ALPHA: ProbeInfo = ProbeInfo::new(
    "alpha",
    "segments",
    "Lower threshold of that difference where a congestion control moves it.",
);
/// Bandwidth that an algorithm believes in.
pub const BANDWIDTH: ProbeInfo =
    ProbeInfo::new("bandwidth", "bit/s", "Bandwidth that the congestion control believes to be available.");
