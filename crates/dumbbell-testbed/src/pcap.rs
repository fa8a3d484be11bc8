//! Packets of real hosts as pcapng: written by a thread of its own, at ordinary priority, so that a slow disk delays
//! records and never packets.

use dumbbell_units::Time;
use nix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io::{self, BufWriter};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// A file of packets.
pub type PacketFile = dumbbell_capture::PacketFile<BufWriter<File>>;

/// Begins an empty file with interfaces of IPv4 packets. Call it when the run's clock starts.
///
/// # Errors
///
/// The beginning cannot be written.
pub fn begin<'a>(file: File, interfaces: impl IntoIterator<Item = &'a str>) -> io::Result<PacketFile> {
    let now = clock_gettime(ClockId::CLOCK_REALTIME)?;
    let epoch = Duration::new(now.tv_sec() as u64, now.tv_nsec() as u32);
    PacketFile::new(BufWriter::new(file), epoch, 0, interfaces)
}

type Captured = (Time, u32, Vec<u8>);

/// The side of the loop that sees packets.
#[derive(Debug, Default)]
pub struct Capture(Option<Sender<Captured>>);

impl Capture {
    /// A packet was seen at an interface. Does nothing without a file.
    pub fn on_packet(&self, at: Time, interface: usize, bytes: &[u8]) {
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
            self.file.packet(at, interface, bytes.len() as u32, &bytes)?;
        }
        self.file.flush()
    }
}
