//! IPv4, TCP and UDP headers of simulated packets, with checksums.
//!
//! Addresses, ports and initial sequence numbers are fixed:
//!
//! * Node number n of the scenario, counted from 1, has the address 10.0.0.0 + n.
//! * The receivers of the flows to one node listen on the ports 50001, 50002 and so on, in the order of the scenario. The
//!   connections of a flow come from the ports 33001, 33002 and so on, and begin again after 16,000 of them. No protocol
//!   that Wireshark decodes by port is among them.
//! * The initial sequence numbers are [`SENDER_ISN`] and [`RECEIVER_ISN`], and one more whenever ports begin again. The
//!   first data byte comes after that of the SYN, whether there is one or not. Receivers send no data.
//!
//! A packet of a stack that is not ours has its own headers, see [`carried`](crate::carried). Another simulated packet has no
//! payload, so its bytes are zeros. Its IP length is that of its headers and its payload, which
//! differs from the size on a link if the scenario states other header sizes.

use crate::carried::{Ends, move_between};
use dumbbell_sim::Scenario;
use dumbbell_sim::capture::{Content, SeenPacket, Sighting};
use dumbbell_sim::network::Names;
use dumbbell_tcp::config::EcnMode;
use dumbbell_tcp::{AckSegment, DataSegment, TcpParams};
use dumbbell_units::spec::SpecError;
use dumbbell_units::{Ecn, Time};
use etherparse::{IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, UdpHeader};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Initial sequence number of a connection's sender.
pub const SENDER_ISN: u32 = 1_000_000;
/// Initial sequence number of a connection's receiver.
pub const RECEIVER_ISN: u32 = 2_000_000;
/// Length of the longest IPv4 and TCP headers that are written, in bytes.
pub const LONGEST: u32 = 80;

/// The first node's address is the one after this.
const NETWORK: u32 = u32::from_be_bytes([10, 0, 0, 0]);
/// The first port on which a node receives, and how many it has.
const RECEIVING: (u16, u16) = (50_001, 15_000);
/// The first port from which a flow sends, and how many it has.
const SENDING: (u16, u64) = (33_001, 16_000);
const TIME_TO_LIVE: u8 = 64;
/// Largest IPv4 packet, in bytes.
pub const LARGEST: u32 = 65_535;
/// Resolution of TCP timestamps (RFC 7323 §5.4 allows 1 ms to 1 s), in nanoseconds.
const TICK: u64 = 1_000_000;
/// Initial value of the counter of marked packets (RFC 9768 §3.2.1).
const FIRST_ACE: u16 = 5;
/// Largest shift of a window (RFC 7323 §2.3).
const LARGEST_SHIFT: u8 = 14;

/// Payload of every packet.
static PAYLOAD: [u8; LARGEST as usize] = [0; LARGEST as usize];

/// What the headers of a flow's packets say besides their content.
#[derive(Clone, Debug)]
struct FlowHeaders {
    sender: Ipv4Addr,
    receiver: Ipv4Addr,
    port: u16,
    tcp: TcpHeaders,
}

/// The same for TCP.
#[derive(Clone, Copy, Debug)]
struct TcpHeaders {
    mss: u16,
    has_sack: bool,
    has_timestamps: bool,
    ecn: EcnMode,
    /// Advertised window in a SYN; elsewhere, with this shift.
    syn_window: u16,
    window: u16,
    shift: u8,
}

impl TcpHeaders {
    fn new(params: &TcpParams) -> Self {
        let window = params.receive_buffer.bytes(params.mss.0 as u32);
        let fits = |shift: &u8| window / f64::from(1_u32 << shift) < 65_536.0;
        let shift = (0..LARGEST_SHIFT).find(fits).unwrap_or(LARGEST_SHIFT);
        TcpHeaders {
            mss: params.mss.0 as u16,
            has_sack: params.recovery.properties().uses_sack,
            has_timestamps: params.timestamps,
            ecn: params.ecn,
            // Conversions of numbers that are too large saturate.
            syn_window: window as u16,
            window: (window / f64::from(1_u32 << shift)) as u16,
            shift,
        }
    }
}

/// The headers of all flows of a scenario.
#[derive(Clone, Debug)]
pub struct Headers {
    flows: Vec<FlowHeaders>,
}

impl Headers {
    /// The headers of a scenario's packets.
    ///
    /// # Errors
    ///
    /// The packets of a flow are longer than IPv4 allows, or a node receives more flows than it has ports.
    pub fn new(scenario: &Scenario) -> Result<Headers, SpecError> {
        let nodes = Names::new(scenario.nodes.iter().map(|node| node.0.name.as_str()));
        let address =
            |name: &str| Ipv4Addr::from_bits(NETWORK + nodes.index(name).map_or(0, |node| node as u32 + 1));
        let refusal = |field: String, value: String, accepted: String| SpecError {
            field,
            value,
            accepted,
            suggestion: None,
        };
        let mut receiving: BTreeMap<&str, u16> = BTreeMap::new();
        let mut flows = Vec::with_capacity(scenario.flows.len());
        for flow in &scenario.flows {
            let taken = receiving.entry(&flow.to).or_default();
            if *taken >= RECEIVING.1 {
                let accepted = format!("for a capture, a node that receives at most {} flows", RECEIVING.1);
                return Err(refusal(format!("flows.{}.to", flow.name), format!("\"{}\"", flow.to), accepted));
            }
            let default = TcpParams::default();
            let params = flow.tcp.as_ref().map_or(&default, |tcp| &tcp.0);
            let headers = if params.timestamps { 52 } else { 40 };
            if params.mss.0 > u64::from(LARGEST - headers) {
                let accepted = format!("for a capture, at most {} bytes", LARGEST - headers);
                return Err(refusal(
                    format!("flows.{}.tcp.mss", flow.name),
                    params.mss.to_string(),
                    accepted,
                ));
            }
            flows.push(FlowHeaders {
                sender: address(&flow.from),
                receiver: address(&flow.to),
                port: RECEIVING.0 + *taken,
                tcp: TcpHeaders::new(params),
            });
            *taken += 1;
        }
        Ok(Headers { flows })
    }

    /// Writes the bytes of a packet, up to `snaplen`, in place of those in `bytes`. Returns its length.
    pub fn write(&self, sighting: &Sighting, packet: &SeenPacket, snaplen: u32, bytes: &mut Vec<u8>) -> u32 {
        bytes.clear();
        let Some(flow) = self.flows.get(sighting.flow as usize) else { return 0 };
        let connection = Connection::new(sighting.connection.saturating_sub(1), flow.port);
        let (forward, back) = ((flow.sender, flow.receiver), (flow.receiver, flow.sender));
        let length = match &packet.content {
            Content::Segment(segment) => write_tcp(
                forward,
                flow.tcp.segment(&connection, segment, packet),
                segment.len,
                packet.ecn,
                bytes,
            ),
            Content::Ack(ack) => {
                write_tcp(back, flow.tcp.acknowledgement(&connection, ack, packet), 0, packet.ecn, bytes)
            }
            Content::Datagram => write_udp(forward, (connection.from, connection.to), packet, bytes),
            Content::Report(_) => write_udp(back, (connection.to, connection.from), packet, bytes),
            Content::Carried { to, bytes: real } => {
                bytes.extend_from_slice(real);
                let ends = Ends { sender: flow.sender, receiver: flow.receiver, port: flow.port };
                move_between(&ends, *to, codepoint(packet.ecn), bytes);
                real.len() as u32
            }
        };
        bytes.resize(length.min(snaplen) as usize, 0);
        length
    }
}

/// Ports and initial sequence numbers of a connection.
struct Connection {
    from: u16,
    to: u16,
    sender_isn: u32,
    receiver_isn: u32,
}

impl Connection {
    /// Those of a connection by its number within the flow, from 0.
    fn new(number: u64, port: u16) -> Self {
        let round = (number / SENDING.1) as u32;
        Connection {
            from: SENDING.0 + (number % SENDING.1) as u16,
            to: port,
            sender_isn: SENDER_ISN.wrapping_add(round),
            receiver_isn: RECEIVER_ISN.wrapping_add(round),
        }
    }

    /// The sequence number on the wire of a byte of the sender.
    fn seq(&self, byte: u64) -> u32 {
        self.sender_isn.wrapping_add(1).wrapping_add(byte as u32)
    }
}

/// A codepoint in an IP header.
fn codepoint(ecn: Ecn) -> IpEcn {
    match ecn {
        Ecn::NotEct => IpEcn::NotEct,
        Ecn::Ect0 => IpEcn::Ect0,
        Ecn::Ect1 => IpEcn::Ect1,
        Ecn::Ce => IpEcn::CongestionExperienced,
    }
}

/// An IPv4 header for this much payload.
fn ipv4(
    (source, destination): (Ipv4Addr, Ipv4Addr),
    protocol: IpNumber,
    payload: u32,
    ecn: Ecn,
) -> Ipv4Header {
    let mut header = Ipv4Header {
        ecn: codepoint(ecn),
        total_len: (payload + Ipv4Header::MIN_LEN as u32).min(LARGEST) as u16,
        dont_fragment: true,
        time_to_live: TIME_TO_LIVE,
        protocol,
        source: source.octets(),
        destination: destination.octets(),
        ..Ipv4Header::default()
    };
    header.header_checksum = header.calc_header_checksum();
    header
}

/// Writes a datagram or a report. Returns its length.
fn write_udp(
    ends: (Ipv4Addr, Ipv4Addr),
    (from, to): (u16, u16),
    packet: &SeenPacket,
    bytes: &mut Vec<u8>,
) -> u32 {
    let least = (Ipv4Header::MIN_LEN + UdpHeader::LEN) as u32;
    let length = packet.size.clamp(least, LARGEST);
    let payload = &PAYLOAD[..(length - least) as usize];
    let ip = ipv4(ends, IpNumber::UDP, length - Ipv4Header::MIN_LEN as u32, packet.ecn);
    let mut udp = UdpHeader {
        source_port: from,
        destination_port: to,
        length: (length - Ipv4Header::MIN_LEN as u32) as u16,
        checksum: 0,
    };
    // Of a datagram that fits its packet, the checksum always exists.
    udp.checksum = udp.calc_checksum_ipv4(&ip, payload).unwrap_or_default();
    bytes.extend_from_slice(&ip.to_bytes());
    bytes.extend_from_slice(&udp.to_bytes());
    length
}

/// Writes a segment. Returns its length.
fn write_tcp(
    ends: (Ipv4Addr, Ipv4Addr),
    mut tcp: TcpHeader,
    payload: u32,
    ecn: Ecn,
    bytes: &mut Vec<u8>,
) -> u32 {
    let ip = ipv4(ends, IpNumber::TCP, u32::from(tcp.header_len_u16()) + payload, ecn);
    // Of a segment that fits its packet, the checksum always exists.
    let zeros = &PAYLOAD[..(payload as usize).min(PAYLOAD.len())];
    tcp.checksum = tcp.calc_checksum_ipv4(&ip, zeros).unwrap_or_default();
    bytes.extend_from_slice(&ip.to_bytes());
    bytes.extend_from_slice(&tcp.to_bytes());
    u32::from(ip.total_len)
}

/// The value of a timestamp: 1 at the start of the run.
fn tick(at: Time) -> u32 {
    (at.0 / TICK + 1) as u32
}

impl TcpHeaders {
    /// The header of a SYN or a data segment.
    fn segment(&self, connection: &Connection, segment: &DataSegment, packet: &SeenPacket) -> TcpHeader {
        let mut tcp = self.header((connection.from, connection.to), packet, segment.is_syn);
        if segment.is_syn {
            tcp.sequence_number = connection.sender_isn;
            // RFC 3168 §6.1.1, RFC 9768 §3.1.1.
            (tcp.cwr, tcp.ece) = (self.ecn != EcnMode::Off, self.ecn != EcnMode::Off);
            tcp.ns = self.ecn == EcnMode::Accurate;
            return tcp;
        }
        tcp.sequence_number = connection.seq(segment.seq);
        tcp.acknowledgment_number = connection.receiver_isn.wrapping_add(1);
        tcp.ack = true;
        if self.ecn == EcnMode::Accurate {
            set_ace(&mut tcp, 0);
        } else {
            tcp.cwr = segment.is_cwr;
        }
        tcp
    }

    /// The header of an acknowledgement or of the answer to a SYN.
    fn acknowledgement(&self, connection: &Connection, ack: &AckSegment, packet: &SeenPacket) -> TcpHeader {
        let mut tcp = self.header((connection.to, connection.from), packet, ack.is_syn);
        if !ack.is_syn {
            // The other options leave room for three ranges; a SYN has none.
            let fits = self.set_options(&mut tcp, packet, selective(connection, ack));
            debug_assert!(fits, "{ack:?}");
        }
        tcp.acknowledgment_number = connection.seq(ack.ack);
        tcp.ack = true;
        if ack.is_syn {
            tcp.sequence_number = connection.receiver_isn;
            // RFC 3168 §6.1.1; in answer to a SYN that is not ECN-capable, RFC 9768 §3.1.2.
            tcp.ece = matches!(self.ecn, EcnMode::Classic | EcnMode::Dctcp);
            tcp.cwr = self.ecn == EcnMode::Accurate;
            return tcp;
        }
        tcp.sequence_number = connection.receiver_isn.wrapping_add(1);
        if self.ecn == EcnMode::Accurate {
            set_ace(&mut tcp, ack.ce_packets);
        } else {
            tcp.ece = ack.is_ece;
        }
        tcp
    }

    /// Ports, window and the options of every packet.
    fn header(&self, (from, to): (u16, u16), packet: &SeenPacket, is_syn: bool) -> TcpHeader {
        let mut tcp = TcpHeader::new(from, to, 0, if is_syn { self.syn_window } else { self.window });
        tcp.syn = is_syn;
        let mut options = Vec::new();
        if is_syn {
            options.push(TcpOptionElement::MaximumSegmentSize(self.mss));
            if self.shift > 0 {
                options.extend([TcpOptionElement::Noop, TcpOptionElement::WindowScale(self.shift)]);
            }
            if self.has_sack {
                let permitted = TcpOptionElement::SelectiveAcknowledgementPermitted;
                options.extend([TcpOptionElement::Noop, TcpOptionElement::Noop, permitted]);
            }
        }
        self.set_options(&mut tcp, packet, options);
        tcp
    }

    /// Sets the timestamps and other options. False if they are too long.
    fn set_options(
        &self,
        tcp: &mut TcpHeader,
        packet: &SeenPacket,
        mut options: Vec<TcpOptionElement>,
    ) -> bool {
        if self.has_timestamps {
            let timestamps = TcpOptionElement::Timestamp(tick(packet.sent), packet.echo.map_or(0, tick));
            options.extend([TcpOptionElement::Noop, TcpOptionElement::Noop, timestamps]);
        }
        tcp.set_options(&options).is_ok()
    }
}

/// The option with the ranges of an acknowledgement; one that arrived twice comes first (RFC 2883 §4).
fn selective(connection: &Connection, ack: &AckSegment) -> Vec<TcpOptionElement> {
    let on_wire = |(start, end)| (connection.seq(start), connection.seq(end));
    let mut blocks = ack.sack.duplicate(ack.ack).into_iter().chain(ack.sack.ranges(ack.ack)).map(on_wire);
    let Some(first) = blocks.next() else { return Vec::new() };
    let ranges = TcpOptionElement::SelectiveAcknowledgement(first, [blocks.next(), blocks.next(), None]);
    vec![TcpOptionElement::Noop, TcpOptionElement::Noop, ranges]
}

/// Sets the counter of marked packets: the flags AE, CWR and ECE as a number of three bits (RFC 9768 §3.2.2).
fn set_ace(tcp: &mut TcpHeader, marks: u16) {
    let ace = FIRST_ACE.wrapping_add(marks);
    (tcp.ns, tcp.cwr, tcp.ece) = (ace & 4 != 0, ace & 2 != 0, ace & 1 != 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_sim::capture::Seen;
    use dumbbell_tcp::SackBlocks;
    use etherparse::{NetSlice, SlicedPacket, TcpOptionElement as Opt, TcpSlice, TransportSlice};

    /// Two flows from a to b, of TCP with these parameters and of datagrams.
    fn headers(tcp: &str) -> Result<Headers, SpecError> {
        let text = format!(
            r#"{{ "duration": "1 s", "rules": "classic", "nodes": ["a", "b"],
            "links": [{{ "name": "ab", "from": "a", "to": "b", "rate": "1 Mbit/s", "delay": "10 ms" }},
                      {{ "name": "ba", "from": "b", "to": "a", "rate": "1 Mbit/s", "delay": "10 ms" }}],
            "flows": [{{ "name": "f", "from": "a", "to": "b", "tcp": {tcp} }},
                      {{ "name": "u", "from": "a", "to": "b", "source": "cbr" }}] }}"#
        );
        Headers::new(&Scenario::from_json(&text).expect("a scenario"))
    }

    /// The bytes of a packet, and its stated length.
    fn bytes(
        headers: &Headers,
        flow: u32,
        connection: u64,
        packet: SeenPacket,
        snaplen: u32,
    ) -> (Vec<u8>, u32) {
        let seen = Seen::Packet(packet.clone());
        let sighting = Sighting { at: Time::ZERO, node: 0, is_at_sender: true, flow, connection, seen };
        let mut bytes = vec![1; 7];
        let length = headers.write(&sighting, &packet, snaplen, &mut bytes);
        (bytes, length)
    }

    fn packet(content: Content) -> SeenPacket {
        SeenPacket { size: 1040, ecn: Ecn::Ect0, sent: Time(5_999_999), echo: Some(Time(3_000_000)), content }
    }

    /// Parses a whole segment, and checks its checksums.
    fn with_tcp<T>(bytes: &[u8], look: impl FnOnce(&TcpSlice<'_>) -> T) -> T {
        let sliced = SlicedPacket::from_ip(bytes).expect("an IP packet");
        let Some(TransportSlice::Tcp(tcp)) = &sliced.transport else { panic!("no TCP: {sliced:?}") };
        let Some(NetSlice::Ipv4(ip)) = &sliced.net else { panic!("no IPv4: {sliced:?}") };
        assert_eq!(ip.header().header_checksum(), ip.header().to_header().calc_header_checksum());
        let computed = tcp.to_header().calc_checksum_ipv4(&ip.header().to_header(), tcp.payload());
        assert_eq!(computed.expect("short"), tcp.checksum());
        look(tcp)
    }

    #[test]
    fn a_syn_has_the_options_of_the_scenario() {
        let tcp = r#"{ "variant": "sack", "timestamps": true, "mss": "1200 bytes", "ecn": "classic",
                       "receive_buffer": "1000000 bytes" }"#;
        let syn = DataSegment { is_syn: true, ..DataSegment::new(0, 0) };
        let (bytes, length) =
            bytes(&headers(tcp).expect("they fit"), 0, 1, packet(Content::Segment(syn)), 9999);
        assert_eq!((bytes.len(), length), (20 + 20 + 24, 64));
        assert_eq!((&bytes[12..16], &bytes[16..20], bytes[1]), (&[10, 0, 0, 1][..], &[10, 0, 0, 2][..], 2));
        with_tcp(&bytes, |tcp| {
            assert_eq!((tcp.source_port(), tcp.destination_port()), (33_001, 50_001));
            assert_eq!((tcp.sequence_number(), tcp.syn(), tcp.ack()), (1_000_000, true, false));
            assert_eq!((tcp.ece(), tcp.cwr(), tcp.ns()), (true, true, false));
            // A million bytes shifted by 4 are 62500, the first value that fits.
            let options: Vec<_> = tcp.options_iterator().flatten().filter(|o| *o != Opt::Noop).collect();
            let expected = [
                Opt::MaximumSegmentSize(1200),
                Opt::WindowScale(4),
                Opt::SelectiveAcknowledgementPermitted,
                // Sent in the sixth millisecond, and an echo of the fourth.
                Opt::Timestamp(6, 4),
            ];
            assert_eq!((options.as_slice(), tcp.window_size()), (&expected[..], 65_535));
        });
    }

    #[test]
    fn ranges_count_from_the_initial_sequence_number_and_duplicates_come_first() {
        let headers =
            headers(r#"{ "variant": "cubic", "rules": "linux", "receive_buffer": "1000000 bytes" }"#);
        let mut sack = SackBlocks::default();
        sack.push_duplicate(5000, 3000, 1000);
        sack.push(1000, 1000);
        sack.push(4000, 500);
        let ack = AckSegment { sack, ..AckSegment::of(5000) };
        let (bytes, length) = bytes(&headers.expect("they fit"), 0, 1, packet(Content::Ack(ack)), 9999);
        assert_eq!(length, 20 + 20 + 12 + 28);
        with_tcp(&bytes, |tcp| {
            assert_eq!((tcp.source_port(), tcp.destination_port()), (50_001, 33_001));
            assert_eq!((tcp.sequence_number(), tcp.acknowledgment_number()), (2_000_001, 1_005_001));
            let on_wire = |start: u32, end: u32| (1_000_001 + start, 1_000_001 + end);
            let others = [Some(on_wire(6000, 7000)), Some(on_wire(9000, 9500)), None];
            let expected = Opt::SelectiveAcknowledgement(on_wire(3000, 4000), others);
            assert!(tcp.options_iterator().flatten().any(|option| option == expected));
            assert_eq!(tcp.window_size(), 62_500);
        });
    }

    #[test]
    fn accurate_feedback_is_a_number_of_three_bits() {
        let headers = headers(r#"{ "variant": "sack", "ecn": "accurate" }"#).expect("they fit");
        let flags = |content| {
            let (bytes, _) = bytes(&headers, 0, 1, packet(content), 9999);
            with_tcp(&bytes, |tcp| [tcp.ns(), tcp.cwr(), tcp.ece()].map(u8::from))
        };
        // 5, 5 + 4 = 9 = 1 modulo 8.
        assert_eq!(flags(Content::Segment(DataSegment::new(0, 1000))), [1, 0, 1]);
        assert_eq!(flags(Content::Ack(AckSegment { ce_packets: 4, ..AckSegment::of(1000) })), [0, 0, 1]);
        let syn = AckSegment { is_syn: true, ..AckSegment::of(0) };
        assert_eq!(flags(Content::Ack(syn)), [0, 1, 0]);
    }

    #[test]
    fn sequence_numbers_and_ports_wrap() {
        let headers = headers(r#""newreno""#).expect("they fit");
        let segment = DataSegment::new((1 << 32) - 1_000_000, 1000);
        let (bytes, length) = bytes(&headers, 0, 16_001, packet(Content::Segment(segment)), 80);
        assert_eq!((bytes.len(), length), (80, 1040));
        let (source, sequence) = (&bytes[20..22], &bytes[24..28]);
        // The 16,001st connection has the ports of the first one and the next initial sequence number.
        assert_eq!((source, sequence), (&33_001_u16.to_be_bytes()[..], &2_u32.to_be_bytes()[..]));
    }

    #[test]
    fn a_datagram_has_the_size_of_its_packet_if_headers_fit() {
        let headers = headers(r#""newreno""#).expect("they fit");
        let of_size = |size| SeenPacket { size, ..packet(Content::Datagram) };
        let (whole, length) = bytes(&headers, 1, 0, of_size(200), 9999);
        assert_eq!((whole.len(), length, &whole[20..26]), (200, 200, &[0x80, 0xe9, 0xc3, 0x52, 0, 180][..]));
        assert_eq!(bytes(&headers, 1, 0, of_size(5), 9999).1, 28);
    }

    #[test]
    fn what_ipv4_cannot_carry_is_refused() {
        let error = headers(r#"{ "mss": "65490 bytes", "timestamps": true }"#).expect_err("too long");
        assert_eq!(
            (error.field.as_str(), error.accepted.as_str()),
            ("flows.f.tcp.mss", "for a capture, at most 65483 bytes")
        );
        assert!(headers(r#"{ "mss": "65490 bytes" }"#).is_ok());
    }
}
