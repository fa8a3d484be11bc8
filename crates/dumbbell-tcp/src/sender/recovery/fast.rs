//! What the fast recoveries share.

/// The last reason to reduce the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastCut {
    None,
    DuplicateAcks,
    Timeout,
}

/// Maximum number of segments per event during recovery; 0 for no limit.
pub(super) fn burst_limit(max_burst: u64) -> u64 {
    if max_burst == 0 { u64::MAX } else { max_burst }
}
