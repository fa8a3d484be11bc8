//! Explicit congestion notification in the IP header [RFC 3168 §5].

/// The ECN codepoint of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable: congestion drops it.
    #[default]
    NotEct,
    /// ECN-capable, codepoint ECT(1): the identifier of L4S [RFC 9331 §4.1].
    Ect1,
    /// ECN-capable, codepoint ECT(0).
    Ect0,
    /// Congestion experienced: a router marked it instead of dropping it.
    Ce,
}

impl Ecn {
    /// True if a router may mark the packet instead of dropping it.
    #[inline]
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }
}
