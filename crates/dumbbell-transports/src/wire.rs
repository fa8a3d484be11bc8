//! Addresses, ports and headers of the packets between both ends of a flow.
//!
//! Flow number n of the scenario, counted from 0, goes from 172.16.0.0 + 2n + 1 to the next address. Ports are those of
//! captures of the engine's own TCP: connections come from 33001, 33002 and so on, and begin again after 16,000 of them.

use dumbbell_sim::transport::End;
use dumbbell_units::Ecn;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{IpAddress, IpProtocol, Ipv4Packet, UdpPacket, UdpRepr};
use std::net::Ipv4Addr;

/// Length of the IPv4 and UDP headers, in bytes.
pub const UDP_HEADERS: usize = 28;
/// Length of the IPv4 and TCP headers without options, in bytes.
pub const TCP_HEADERS: usize = 40;

/// The first flow's sender has the address after this, of 20 bits.
const NETWORK: u32 = u32::from_be_bytes([172, 16, 0, 0]);
const HOSTS: u32 = 1 << 20;
/// The port of receivers.
const RECEIVING: u16 = 50_001;
/// The first port from which a flow sends, and how many it has.
const SENDING: (u16, u64) = (33_001, 16_000);
const TIME_TO_LIVE: u8 = 64;

/// Ports of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// That of its sender.
    pub sender: u16,
    /// That of its receiver.
    pub receiver: u16,
}

impl Ports {
    /// Those of a connection by its number within the flow, from 0.
    pub fn of_connection(number: u64) -> Ports {
        Ports { sender: SENDING.0 + (number % SENDING.1) as u16, receiver: RECEIVING }
    }
}

/// Where both ends of a connection are.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// Address of the sender.
    pub sender: Ipv4Addr,
    /// Address of the receiver.
    pub receiver: Ipv4Addr,
    /// Their ports.
    pub ports: Ports,
}

impl Route {
    /// Those of a flow by its position in the scenario.
    pub fn of_flow(flow: u32, ports: Ports) -> Route {
        let sender = (2 * (flow % (HOSTS / 2 - 1))) + 1;
        let address = |host| Ipv4Addr::from_bits(NETWORK + host);
        Route { sender: address(sender), receiver: address(sender + 1), ports }
    }

    /// Address and port of an end.
    pub fn at(&self, end: End) -> (Ipv4Addr, u16) {
        match end {
            End::Sender => (self.sender, self.ports.sender),
            End::Receiver => (self.receiver, self.ports.receiver),
        }
    }

    /// Writes the packet of a UDP datagram in place of the content of `packet`.
    pub fn write_udp(&self, from: End, ident: u16, ecn: Ecn, payload: &[u8], packet: &mut Vec<u8>) {
        let ((source, src_port), (destination, dst_port)) = (self.at(from), self.at(from.other()));
        let length = UDP_HEADERS + payload.len();
        packet.clear();
        packet.resize(UDP_HEADERS, 0);
        packet.extend_from_slice(payload);
        let mut ip = Ipv4Packet::new_unchecked(packet.as_mut_slice());
        ip.set_version(4);
        ip.set_header_len((UDP_HEADERS - 8) as u8);
        ip.set_ecn(codepoint(ecn));
        ip.set_total_len(length as u16);
        ip.set_ident(ident);
        ip.clear_flags();
        ip.set_dont_frag(true);
        ip.set_hop_limit(TIME_TO_LIVE);
        ip.set_next_header(IpProtocol::Udp);
        ip.set_src_addr(source);
        ip.set_dst_addr(destination);
        ip.fill_checksum();
        let ends = (IpAddress::Ipv4(source), IpAddress::Ipv4(destination));
        let mut udp = UdpPacket::new_unchecked(ip.payload_mut());
        let header = UdpRepr { src_port, dst_port };
        // The payload is already there; the checksum covers it.
        header.emit(&mut udp, &ends.0, &ends.1, payload.len(), |_| (), &ChecksumCapabilities::default());
    }
}

/// The bits of a codepoint in the IP header (RFC 3168 §5).
fn codepoint(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b00,
        Ecn::Ect1 => 0b01,
        Ecn::Ect0 => 0b10,
        Ecn::Ce => 0b11,
    }
}

/// The port of the sender of the flow in a packet that reaches an end.
pub fn sender_port(packet: &[u8], to: End) -> Option<u16> {
    // The ports of UDP and TCP follow an IPv4 header without options: source, destination.
    let at = if to == End::Receiver { 20 } else { 22 };
    packet.get(at..at + 2).map(|port| u16::from_be_bytes([port[0], port[1]]))
}

/// Identification in the IPv4 header of a packet.
pub fn ident(packet: &[u8]) -> u16 {
    packet.get(4..6).map_or(0, |ident| u16::from_be_bytes([ident[0], ident[1]]))
}
