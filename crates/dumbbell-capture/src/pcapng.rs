//! Files of packets: pcapng with nanoseconds.

use dumbbell_units::Time;
use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::unknown::UnknownBlock;
use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

/// Type of a Decryption Secrets Block, and of its secrets: a key log of TLS [draft-ietf-opsawg-pcapng §4.7].
const DECRYPTION_SECRETS: u32 = 0x0000_000a;
const TLS_KEY_LOG: u32 = 0x544c_534b;
/// Bytes of a block besides its body.
const AROUND: usize = 12;

/// A file of packets.
pub struct PacketFile<W: Write> {
    blocks: PcapNgWriter<W>,
    /// Time of day at which the clock of the packets starts.
    epoch: Duration,
}

impl<W: Write> PacketFile<W> {
    /// Begins an empty file with interfaces of IPv4 packets, of which the first `snaplen` bytes are kept; 0 for all.
    ///
    /// # Errors
    ///
    /// The beginning cannot be written.
    pub fn new<'a>(
        writer: W,
        epoch: Duration,
        snaplen: u32,
        interfaces: impl IntoIterator<Item = &'a str>,
    ) -> io::Result<Self> {
        let mut blocks = PcapNgWriter::new(writer).map_err(as_io)?;
        for name in interfaces {
            // The resolution is stated as a negative power of ten: nanoseconds.
            let options = vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
                InterfaceDescriptionOption::IfTsResol(9),
            ];
            // Of several interfaces of raw IP, tcpdump refuses all but the first.
            let interface = InterfaceDescriptionBlock { linktype: DataLink::IPV4, snaplen, options };
            blocks.write_pcapng_block(interface).map_err(as_io)?;
        }
        Ok(PacketFile { blocks, epoch })
    }

    /// Adds the first bytes of a packet of `length` bytes that was seen at an interface, given by its position.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn packet(&mut self, at: Time, interface: u32, length: u32, bytes: &[u8]) -> io::Result<()> {
        let block = EnhancedPacketBlock {
            interface_id: interface,
            timestamp: self.epoch + Duration::from_nanos(at.0),
            original_len: length,
            data: Cow::Borrowed(bytes),
            options: Vec::new(),
        };
        self.blocks.write_pcapng_block(block).map(drop).map_err(as_io)
    }

    /// Adds lines of a key log of TLS, in the format of `SSLKEYLOGFILE`. Readers decrypt the packets that follow with them.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn keys(&mut self, lines: &str) -> io::Result<()> {
        // A file has the byte order of the machine that writes it.
        let mut body = [TLS_KEY_LOG, lines.len() as u32].map(u32::to_ne_bytes).concat();
        body.extend_from_slice(lines.as_bytes());
        body.resize(body.len().next_multiple_of(4), 0);
        let block = UnknownBlock::new(DECRYPTION_SECRETS, (body.len() + AROUND) as u32, &body);
        self.blocks.write_pcapng_block(block).map(drop).map_err(as_io)
    }

    /// Writes what was put off.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.blocks.get_mut().flush()
    }

    /// What was written.
    pub fn into_inner(self) -> W {
        self.blocks.into_inner()
    }
}

/// The cause of an error, with its number.
fn as_io(error: pcap_file::PcapError) -> io::Error {
    match error {
        pcap_file::PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
