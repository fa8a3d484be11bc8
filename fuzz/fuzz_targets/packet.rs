//! Any bytes as a packet that arrives at the emulator. Reading them never panics. A mark, a queueing time and another
//! address change the bits that they should and nothing else, and a checksum is valid afterwards if and only if it was
//! valid before. What enters a wire comes out, once and in its length.

#![no_main]

use arbitrary::Arbitrary;
use dumbbell_fuzz::count_events;
use dumbbell_sim::Scenario;
use dumbbell_testbed::packet::{AQT_MAX, End};
use dumbbell_testbed::wire::EndPoints;
use dumbbell_testbed::{Headers, Wire};
use dumbbell_units::{Ecn, Time};
use libfuzzer_sys::{Corpus, fuzz_target};
use std::net::Ipv4Addr;
use std::sync::LazyLock;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    /// The length in the IP header is corrected, so that more inputs are packets.
    has_length: bool,
    waited: u64,
    bytes: &'a [u8],
}

/// One link that marks what it can and stamps queueing times.
static SCENARIO: LazyLock<Scenario> = LazyLock::new(|| {
    let text = r#"
        duration = "60 s"
        rules = "classic"
        nodes = [{ name = "a", aqt = true }, "b"]
        links = [{ name = "ab", from = "a", to = "b", rate = "8 Mbit/s", delay = "1 ms", queue = "codel" },
                 { name = "ba", from = "b", to = "a", rate = "8 Mbit/s", delay = "1 ms" }]
        flows = [{ name = "f", from = "a", to = "b", tcp = "reno" }]
    "#;
    Scenario::from_toml(text).expect("a scenario")
});

fuzz_target!(|input: Input<'_>| -> Corpus {
    let Input { has_length, waited, bytes } = input;
    let mut bytes = bytes.to_vec();
    if has_length {
        state_length(&mut bytes);
    }
    let Ok(headers) = Headers::parse(&bytes) else { return Corpus::Keep };
    assert_eq!(headers.size as usize, bytes.len());
    assert!(headers.payload < headers.size);
    check_mark(&headers, &bytes);
    check_queueing(&headers, &bytes, Time(waited));
    check_address(&headers, &bytes, waited);
    check_wire(&bytes);
    count_events(3);
    Corpus::Keep
});

fn state_length(bytes: &mut [u8]) {
    let length = bytes.len() as u16;
    match bytes {
        [first, _, high, low, ..] if *first >> 4 == 4 => [*high, *low] = length.to_be_bytes(),
        [first, _, _, _, high, low, ..] if *first >> 4 == 6 => {
            [*high, *low] = length.saturating_sub(40).to_be_bytes();
        }
        _ => {}
    }
}

/// The folded sum of 16-bit words; all ones if the checksum among them is valid (RFC 1071).
fn folded(words: impl Iterator<Item = u8>) -> u64 {
    let mut sum: u64 = words.enumerate().map(|(at, byte)| u64::from(byte) << (8 * (1 - at % 2))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

/// Where the transport header of a packet without extension headers begins.
fn transport(bytes: &[u8]) -> usize {
    if bytes[0] >> 4 == 4 { usize::from(bytes[0] & 15) * 4 } else { 40 }
}

/// True if the checksum of the IPv4 header is valid, or if there is none.
fn is_ip_valid(bytes: &[u8]) -> bool {
    bytes[0] >> 4 == 6 || folded(bytes[..transport(bytes)].iter().copied()) == 0xffff
}

/// True if the TCP checksum is valid. The pseudo header is the same before and after a change: its addresses count,
/// and its length and protocol.
fn is_tcp_valid(bytes: &[u8]) -> bool {
    let at = transport(bytes);
    let addresses = if bytes[0] >> 4 == 4 { &bytes[12..20] } else { &bytes[8..40] };
    let [high, low] = ((bytes.len() - at) as u16).to_be_bytes();
    folded(addresses.iter().copied().chain([0, 6, high, low]).chain(bytes[at..].iter().copied())) == 0xffff
}

fn check_mark(headers: &Headers, bytes: &[u8]) {
    let mut marked = bytes.to_vec();
    headers.mark_ce(&mut marked);
    let after = Headers::parse(&marked).expect("still a packet");
    let expected = if headers.ecn.is_capable() { Ecn::Ce } else { headers.ecn };
    assert_eq!(after.ecn, expected);
    let mut before = *headers;
    before.ecn = expected;
    assert_eq!(after, before, "only the codepoint changes");
    assert_eq!(is_ip_valid(bytes), is_ip_valid(&marked), "the header checksum follows the mark");
    let may_change: &[usize] = if bytes[0] >> 4 == 4 { &[1, 10, 11] } else { &[1] };
    assert!((0..bytes.len()).all(|at| bytes[at] == marked[at] || may_change.contains(&at)));
}

fn check_queueing(headers: &Headers, bytes: &[u8], waited: Time) {
    let mut stamped = bytes.to_vec();
    headers.add_queueing(&mut stamped, waited);
    assert_eq!(Headers::parse(&stamped).as_ref(), Ok(headers), "only the queueing time changes");
    match (headers.queueing_times(bytes), headers.queueing_times(&stamped)) {
        (Some((before, echo)), Some((after, same))) => {
            let micros = (u128::from(waited.0) + 500) / 1000;
            let sum = (u128::from(before) + micros).min(u128::from(AQT_MAX));
            // A time next to the largest number is not rounded up.
            assert!(u128::from(after) == sum || waited.0 > u64::MAX - 500);
            assert_eq!(echo, same);
            if headers.protocol == 6 && bytes[transport_protocol(bytes)] == 6 {
                assert_eq!(is_tcp_valid(bytes), is_tcp_valid(&stamped), "the checksum follows the time");
            }
            let changed = (0..bytes.len()).filter(|&at| bytes[at] != stamped[at]).count();
            assert!(changed <= 5, "three bytes of time and two of the checksum");
        }
        (before, after) => {
            assert_eq!((before, bytes), (after, &stamped[..]), "nothing changes without the option");
        }
    }
}

fn check_address(headers: &Headers, bytes: &[u8], random: u64) {
    let mut replaced = bytes.to_vec();
    let [end, _, _, _, address @ ..] = random.to_be_bytes();
    let (end, address) = (if end % 2 == 0 { End::Source } else { End::Destination }, Ipv4Addr::from(address));
    headers.replace_address(&mut replaced, end, address);
    if bytes[0] >> 4 == 6 {
        assert_eq!(bytes, replaced, "the addresses of IPv6 stay");
        return;
    }
    let mut expected = *headers;
    *(if end == End::Source { &mut expected.source } else { &mut expected.destination }) = address.into();
    assert_eq!(Headers::parse(&replaced), Ok(expected), "only the address changes");
    assert_eq!(is_ip_valid(bytes), is_ip_valid(&replaced), "the header checksum follows the address");
    if headers.is_tcp() && bytes[9] == 6 {
        assert_eq!(is_tcp_valid(bytes), is_tcp_valid(&replaced), "the checksum follows the address");
    }
}

/// Position of the protocol number in the IP header.
fn transport_protocol(bytes: &[u8]) -> usize {
    if bytes[0] >> 4 == 4 { 9 } else { 6 }
}

fn check_wire(bytes: &[u8]) {
    let mut wire = Wire::new(&SCENARIO, (1, 0), vec![EndPoints::default()]).expect("a wire");
    assert_eq!(wire.read(Time::ZERO, bytes), Ok(()));
    assert_eq!(wire.read(Time(1), bytes), Ok(()));
    let mut outputs = 0;
    while wire.next_deadline() < Time::NEVER {
        let now = wire.next_deadline();
        while let Some(output) = wire.poll(now) {
            assert_eq!(output.bytes.len(), bytes.len());
            outputs += 1;
        }
    }
    assert_eq!(outputs, 2);
    assert!(wire.conservation().holds());
}
