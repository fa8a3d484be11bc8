//! What applications offer to a flow.

use crate::tcplib::TcplibSource;
use dumbbell_units::{Bytes, Rate, params, tagged};

params! {
    /// Data without end.
    pub struct Greedy {}
}

params! {
    /// A transfer of fixed size, all of it available at the start.
    pub struct Transfer {
        /// Size of the transfer.
        size: Bytes = Bytes(1 << 20), "bytes", "[hengartner2000 §V]", |size| size.0 > 0, "a size above 0";
    }
}

params! {
    /// Datagrams of one size at a constant rate.
    pub struct ConstantRate {
        /// Rate on the wire.
        rate: Rate = Rate(1_000_000), "bit/s", "-", |rate| rate.0 > 0, "a rate above 0";
        /// Size of a packet on the wire.
        packet: Bytes = Bytes(1000), "bytes", "-", |size| (1..=65_535).contains(&size.0), "a size from 1 to 65535 bytes";
    }
}

params! {
    /// Datagrams of one size with exponential gaps.
    pub struct Poisson {
        /// Mean rate on the wire.
        rate: Rate = Rate(1_000_000), "bit/s", "-", |rate| rate.0 > 0, "a rate above 0";
        /// Size of a packet on the wire.
        packet: Bytes = Bytes(1000), "bytes", "-", |size| (1..=65_535).contains(&size.0), "a size from 1 to 65535 bytes";
    }
}

tagged! {
    /// A traffic source with its parameters.
    pub enum SourceSpec by "kind" {
        /// A TCP connection that always has data to send.
        Greedy(Greedy) = "greedy",
        /// A TCP connection that transfers a stated number of bytes.
        Transfer(Transfer) = "transfer",
        /// Conversations of the tcplib mix, each its own TCP connection.
        Tcplib(TcplibSource) = "tcplib",
        /// Unresponsive datagrams at a constant rate.
        ConstantRate(ConstantRate) = "cbr",
        /// Unresponsive datagrams with exponential gaps.
        Poisson(Poisson) = "poisson",
    }
}

impl Default for SourceSpec {
    fn default() -> Self {
        SourceSpec::Greedy(Greedy::default())
    }
}

impl SourceSpec {
    /// True for sources that send datagrams and need no TCP.
    pub fn is_datagram(&self) -> bool {
        matches!(self, SourceSpec::ConstantRate(_) | SourceSpec::Poisson(_))
    }
}
