//! Packets as pcapng, with nanoseconds: written by a thread of its own, at ordinary priority, so that a slow disk delays
//! records and never packets.

use dumbbell_units::Time;
use nix::time::{ClockId, clock_gettime};
use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// A file of packets.
pub struct PacketFile {
    blocks: PcapNgWriter<BufWriter<File>>,
    /// Time of day at the start of the run's clock.
    epoch: Duration,
}

impl PacketFile {
    /// Begins an empty file with interfaces of IPv4 packets. Call it when the run's clock starts.
    ///
    /// # Errors
    ///
    /// The beginning cannot be written.
    pub fn new<'a>(file: File, interfaces: impl IntoIterator<Item = &'a str>) -> io::Result<PacketFile> {
        let now = clock_gettime(ClockId::CLOCK_REALTIME)?;
        let epoch = Duration::new(now.tv_sec() as u64, now.tv_nsec() as u32);
        let mut blocks = PcapNgWriter::new(BufWriter::new(file)).map_err(io::Error::other)?;
        for name in interfaces {
            // The resolution is stated as a negative power of ten: nanoseconds.
            let options = vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
                InterfaceDescriptionOption::IfTsResol(9),
            ];
            // Hosts have IPv4 only. Of several interfaces of raw IP, tcpdump refuses all but the first.
            let interface = InterfaceDescriptionBlock { linktype: DataLink::IPV4, snaplen: 0, options };
            blocks.write_pcapng_block(interface).map_err(io::Error::other)?;
        }
        Ok(PacketFile { blocks, epoch })
    }

    /// Adds a packet that was seen at an interface, given by its position.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn packet(&mut self, at: Time, interface: u32, bytes: &[u8]) -> io::Result<()> {
        let block = EnhancedPacketBlock {
            interface_id: interface,
            timestamp: self.epoch + Duration::from_nanos(at.0),
            original_len: bytes.len() as u32,
            data: Cow::Borrowed(bytes),
            options: Vec::new(),
        };
        self.blocks.write_pcapng_block(block).map(drop).map_err(io::Error::other)
    }

    /// Writes what was put off.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.blocks.get_mut().flush()
    }
}

type Captured = (Time, u32, Vec<u8>);

/// The side of the loop that sees packets.
#[derive(Debug, Default)]
pub struct Capture(Option<Sender<Captured>>);

impl Capture {
    /// A packet was seen at an interface. Does nothing without a file.
    pub fn packet(&self, at: Time, interface: usize, bytes: &[u8]) {
        if let Some(packets) = &self.0 {
            // If the writer has failed, it says so when it is joined.
            let _ = packets.send((at, interface as u32, bytes.to_vec()));
        }
    }
}

/// The side that writes.
pub struct CaptureWriter {
    packets: Receiver<Captured>,
    file: PacketFile,
}

impl CaptureWriter {
    /// Both sides of a file.
    pub fn new(file: PacketFile) -> (Capture, CaptureWriter) {
        let (sender, packets) = channel();
        (Capture(Some(sender)), CaptureWriter { packets, file })
    }

    /// Writes until the other side is gone.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn run(mut self) -> io::Result<()> {
        while let Ok((at, interface, bytes)) = self.packets.recv() {
            self.file.packet(at, interface, &bytes)?;
        }
        self.file.flush()
    }
}
