//! What a host of the testbed is: its address, its routes and the settings of its network. It is data, which says what
//! the kernel is told.

use std::net::Ipv4Addr;

/// A host that this host reaches through its device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its address.
    pub address: Ipv4Addr,
    /// Attributes of the route as `ip route` takes them, such as `["initcwnd", "3", "quickack", "1"]`.
    pub route: Vec<String>,
}

/// A host to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSpec {
    /// Its address.
    pub address: Ipv4Addr,
    /// Largest packet, in bytes, at least 576 (RFC 1122 §3.3.2).
    pub mtu: u16,
    /// Hosts that it reaches; no others.
    pub peers: Vec<Peer>,
    /// Settings of its network, by their path in `/proc/sys/net` and their value, such as `("ipv4/tcp_ecn", "0")`.
    pub settings: Vec<(String, String)>,
}
