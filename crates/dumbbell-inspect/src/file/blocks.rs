//! From the records of pcap and the blocks of pcapng [draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng] to packets.

use crate::link::{Frame, Link};
use dumbbell_units::Time;
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{
    Block, InterfaceDescriptionBlock, LegacyPcapBlock, OptionCode, PcapBlockOwned, PcapHeader,
};

/// Interfaces that a section may declare, so that memory stays bounded.
const MAX_INTERFACES: usize = 1 << 16;
/// How a section shows its byte order.
const SECTION_MARK: u32 = 0x1a2b_3c4d;
/// The type of a packet block of pcapng that the enhanced one has replaced.
const OLD_PACKET: u32 = 2;

const NO_INTERFACE: &str = "its interface is not declared";
const TOO_MANY: &str = "its section declares more than 65536 interfaces";
const NO_TIME: &str = "its time is before 1970 or after 2554";
const SHORT_BLOCK: &str = "its block is shorter than the packet that it states";

/// What a record or block is.
pub(super) enum Found<'a> {
    Frame(Frame<'a>),
    /// The same without a time of its own.
    Untimed(Frame<'a>),
    /// A packet of an interface whose link type is not read, by its number.
    Unsupported(u32),
    /// No packet.
    Other,
    Damaged(&'static str),
}

/// The clock of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Clock {
    /// Negative power of ten or, with the highest bit, of two: the unit in seconds.
    resolution: u8,
    /// What is added, in seconds.
    offset: i64,
}

const NANOS: i128 = 1_000_000_000;

impl Clock {
    fn time(self, units: u64) -> Option<Time> {
        let exponent = u32::from(self.resolution & 0x7f);
        let nanos = match (self.resolution & 0x80 != 0, exponent) {
            (true, _) => (u128::from(units) * NANOS as u128) >> exponent,
            (false, 0..=9) => u128::from(units) * u128::from(10_u64.pow(9 - exponent)),
            // Units are less than 10^20.
            (false, 10..=28) => u128::from(units / 10_u64.pow((exponent - 9).min(19))),
            (false, _) => 0,
        };
        let nanos = i128::try_from(nanos).ok()? + i128::from(self.offset) * NANOS;
        u64::try_from(nanos).ok().map(Time).filter(|time| *time < Time::NEVER)
    }
}

/// An interface that a file declares.
struct Interface {
    link: Option<Link>,
    number: u32,
    clock: Clock,
    /// Bytes of each packet that are kept at most; zero for all.
    snaplen: u32,
}

/// What the blocks so far have declared.
#[derive(Default)]
pub(super) struct Declared {
    interfaces: Vec<Interface>,
    pub(super) is_big_endian: bool,
    /// Units of the fraction of a second in pcap, in nanoseconds.
    fraction: u32,
}

impl Declared {
    /// True if no interface so far has a link layer that is read.
    pub(super) fn has_no_link(&self) -> bool {
        self.interfaces.iter().all(|interface| interface.link.is_none())
    }

    /// The link type of the first interface, if it is not read.
    pub(super) fn only_link(&self) -> Option<u32> {
        self.interfaces.first().filter(|interface| interface.link.is_none()).map(|interface| interface.number)
    }

    /// True if a section with this mark has another byte order than that of the section so far.
    pub(super) fn is_swapped(&self, mark: &[u8]) -> bool {
        (mark == SECTION_MARK.to_be_bytes()) != self.is_big_endian
    }

    /// Takes a record or block.
    pub(super) fn take<'a>(&mut self, block: &'a PcapBlockOwned<'a>) -> Found<'a> {
        match block {
            PcapBlockOwned::LegacyHeader(header) => self.pcap(header),
            PcapBlockOwned::Legacy(record) => self.record(record),
            PcapBlockOwned::NG(block) => self.block(block),
        }
    }

    fn pcap(&mut self, header: &PcapHeader) -> Found<'static> {
        self.fraction = if header.is_nanosecond_precision() { 1 } else { 1000 };
        self.is_big_endian = header.is_bigendian();
        let number = header.network.0.cast_unsigned();
        self.declare(number, header.snaplen, Clock { resolution: 9, offset: 0 })
    }

    fn declare(&mut self, number: u32, snaplen: u32, clock: Clock) -> Found<'static> {
        if self.interfaces.len() == MAX_INTERFACES {
            return Found::Damaged(TOO_MANY);
        }
        self.interfaces.push(Interface { link: Link::of(number).ok(), number, clock, snaplen });
        Found::Other
    }

    fn record<'a>(&self, record: &LegacyPcapBlock<'a>) -> Found<'a> {
        let nanos =
            u64::from(record.ts_sec) * NANOS as u64 + u64::from(record.ts_usec) * u64::from(self.fraction);
        self.frame(0, Some(nanos), record.origlen, record.data)
    }

    fn block<'a>(&mut self, block: &'a Block<'a>) -> Found<'a> {
        match block {
            Block::SectionHeader(section) => {
                self.is_big_endian = section.big_endian();
                self.interfaces.clear();
                Found::Other
            }
            Block::InterfaceDescription(interface) => {
                let clock = Clock { resolution: interface.if_tsresol, offset: self.offset(interface) };
                self.declare(interface.linktype.0.cast_unsigned(), interface.snaplen, clock)
            }
            Block::EnhancedPacket(packet) => {
                let units = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                self.frame(packet.if_id, Some(units), packet.origlen, packet.packet_data())
            }
            Block::SimplePacket(packet) => self.frame(0, None, packet.origlen, packet.packet_data()),
            Block::Unknown(block) if self.number(block.block_type.to_le_bytes()) == OLD_PACKET => {
                self.old_packet(block.data)
            }
            _ => Found::Other,
        }
    }

    /// A number in the byte order of the section.
    pub(super) fn number(&self, bytes: [u8; 4]) -> u32 {
        if self.is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    /// What an interface adds to its times. The parser reads it as little-endian always.
    fn offset(&self, interface: &InterfaceDescriptionBlock<'_>) -> i64 {
        let option = interface.options.iter().find(|option| option.code == OptionCode::IfTsoffset);
        let bytes = option.and_then(|option| option.value().first_chunk().copied()).unwrap_or_default();
        if self.is_big_endian { i64::from_be_bytes(bytes) } else { i64::from_le_bytes(bytes) }
    }

    fn old_packet<'a>(&self, data: &'a [u8]) -> Found<'a> {
        let Some((&[a, b, _, _], rest)) = data.split_first_chunk() else {
            return Found::Damaged(SHORT_BLOCK);
        };
        let interface =
            if self.is_big_endian { u16::from_be_bytes([a, b]) } else { u16::from_le_bytes([a, b]) };
        let Some((header, bytes)) = rest.split_first_chunk::<16>() else {
            return Found::Damaged(SHORT_BLOCK);
        };
        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(header.as_chunks().0) {
            *word = self.number(*bytes);
        }
        let [high, low, kept, length] = words;
        match bytes.get(..kept as usize) {
            Some(bytes) => {
                self.frame(interface.into(), Some(u64::from(high) << 32 | u64::from(low)), length, bytes)
            }
            None => Found::Damaged(SHORT_BLOCK),
        }
    }

    fn frame<'a>(&self, interface: u32, units: Option<u64>, length: u32, bytes: &'a [u8]) -> Found<'a> {
        let Some(declared) = self.interfaces.get(interface as usize) else {
            return Found::Damaged(NO_INTERFACE);
        };
        let Some(link) = declared.link else { return Found::Unsupported(declared.number) };
        let frame = |at, bytes: &'a [u8]| Frame {
            at,
            interface,
            link,
            length: length.max(bytes.len() as u32),
            bytes,
        };
        match units.map(|units| declared.clock.time(units)) {
            Some(Some(time)) => Found::Frame(frame(time, bytes)),
            Some(None) => Found::Damaged(NO_TIME),
            None => {
                let kept = if declared.snaplen == 0 { bytes.len() } else { declared.snaplen as usize };
                Found::Untimed(frame(Time::ZERO, &bytes[..bytes.len().min(kept)]))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Clock;
    use dumbbell_units::Time;

    fn time(resolution: u8, offset: i64, units: u64) -> Option<u64> {
        Clock { resolution, offset }.time(units).map(|Time(nanos)| nanos)
    }

    #[test]
    fn units_of_a_clock_are_powers_of_ten_or_two() {
        assert_eq!(time(6, 0, 1_500_000), Some(1_500_000_000));
        assert_eq!(time(9, 0, 7), Some(7));
        assert_eq!(time(0, 0, 3), Some(3_000_000_000));
        assert_eq!(time(12, 0, 5_999), Some(5));
        assert_eq!(time(28, 0, u64::MAX), Some(1));
        // 3 / 2 seconds, and 2^40 / 2^40.
        assert_eq!(time(0x81, 0, 3), Some(1_500_000_000));
        assert_eq!(time(0x80 | 40, 0, 1 << 40), Some(1_000_000_000));
        assert_eq!(time(0xff, 0, u64::MAX), Some(0));
        assert_eq!(time(127, 0, u64::MAX), Some(0));
    }

    #[test]
    fn an_offset_moves_times_but_not_out_of_range() {
        assert_eq!(time(9, 2, 7), Some(2_000_000_007));
        assert_eq!(time(9, -1, 1_000_000_001), Some(1));
        assert_eq!(time(9, -2, 7), None);
        assert_eq!(time(9, i64::MAX, 7), None);
        assert_eq!(time(0, 0, u64::MAX), None);
        assert_eq!(time(9, 0, u64::MAX), None, "the time of nothing");
    }
}
