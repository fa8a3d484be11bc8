//! How a check or a run ends that gives nothing to compare.

/// Why a check ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The relation does not apply to the scenario.
    NotApplicable,
    /// A run takes too long, although its clock advances: the work of the scenario was underestimated.
    TooLong,
    /// The relation does not hold; contains the first difference.
    Broken(String),
}
