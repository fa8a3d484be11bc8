//! The files of one run.

use crate::headers::{Headers, LARGEST, LONGEST};
use crate::pcapng::PacketFile;
use crate::qlog::EventFile;
use dumbbell_sim::Scenario;
use dumbbell_sim::capture::{Content, Seen, Sighting, Watch};
use dumbbell_units::Time;
use dumbbell_units::spec::SpecError;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Packets and events that the files of one run may have unless the caller states another number.
pub const MAX_RECORDS: u64 = 5_000_000;

/// Which files are written.
#[derive(Clone, Debug)]
pub struct Outputs {
    /// A node by its position in the scenario, and the file of its packets.
    pub packets: Option<(usize, PathBuf)>,
    /// Bytes that are kept of each packet, at least [`LONGEST`]. If not stated, packets of stacks that are not ours are kept
    /// whole, and of the others [`LONGEST`] bytes.
    pub snaplen: Option<u32>,
    /// The file of the senders' events.
    pub events: Option<PathBuf>,
    /// Packets and events that both files may have together.
    pub max_records: u64,
}

impl Default for Outputs {
    fn default() -> Self {
        Outputs { packets: None, snaplen: None, events: None, max_records: MAX_RECORDS }
    }
}

/// Why files are not written.
#[derive(Debug)]
pub enum CaptureError {
    /// The scenario's packets do not fit IPv4.
    Refused(SpecError),
    /// There are too many packets and events.
    TooMany {
        /// The number that is allowed.
        max_records: u64,
        /// Simulated time at which there are more.
        at: Time,
    },
    /// A file cannot be written.
    Failed {
        /// Its name.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
}

fn at(path: &Path) -> impl Fn(io::Error) -> CaptureError + '_ {
    move |cause| CaptureError::Failed { path: path.to_owned(), cause }
}

/// The packets of one node.
struct NodePackets {
    node: u32,
    path: PathBuf,
    file: PacketFile<BufWriter<File>>,
    count: u64,
}

/// The files of a run that is in progress.
pub struct Files {
    headers: Headers,
    packets: Option<NodePackets>,
    /// Bytes kept of packets of ours, and of others.
    snaplens: (u32, u32),
    events: Option<(PathBuf, EventFile<BufWriter<File>>)>,
    max_records: u64,
    /// The bytes of the current packet.
    bytes: Vec<u8>,
}

impl Files {
    /// Begins the files.
    ///
    /// # Errors
    ///
    /// The scenario's packets do not fit IPv4, or a file cannot be written.
    pub fn begin(scenario: &Scenario, outputs: &Outputs) -> Result<Files, CaptureError> {
        let headers = Headers::new(scenario).map_err(CaptureError::Refused)?;
        let snaplens = match outputs.snaplen {
            Some(stated) => (stated.max(LONGEST), stated.max(LONGEST)),
            None => (LONGEST, LARGEST),
        };
        let longest = if scenario.has_transports() { snaplens.1 } else { snaplens.0 };
        let begin_packets = |(node, path): &(usize, PathBuf)| {
            let name = scenario.nodes.get(*node).map(|node| node.0.name.as_str());
            let file = File::create(path).map(BufWriter::new);
            let file = file.and_then(|file| PacketFile::new(file, Duration::ZERO, longest, name));
            let file = file.map_err(at(path))?;
            Ok(NodePackets { node: *node as u32, path: path.clone(), file, count: 0 })
        };
        let begin_events = |path: &PathBuf| {
            let file = File::create(path).map(BufWriter::new);
            let file = file.and_then(|file| EventFile::new(file, scenario)).map_err(at(path))?;
            Ok((path.clone(), file))
        };
        let packets = outputs.packets.as_ref().map(begin_packets).transpose()?;
        let events = outputs.events.as_ref().map(begin_events).transpose()?;
        Ok(Files { headers, packets, snaplens, events, max_records: outputs.max_records, bytes: Vec::new() })
    }

    /// What a run must report.
    pub fn watch(&self) -> Watch {
        Watch {
            nodes: self.packets.iter().map(|packets| packets.node as usize).collect(),
            senders: self.events.is_some(),
        }
    }

    /// Writes what was seen.
    ///
    /// # Errors
    ///
    /// There are too many packets and events, or a file cannot be written.
    pub fn write(&mut self, sighting: &Sighting) -> Result<(), CaptureError> {
        if let Some((path, events)) = &mut self.events
            && sighting.connection > 0
            && sighting.is_at_sender
        {
            events.write(sighting).map_err(at(path))?;
        }
        if let Some(NodePackets { node, path, file, count }) = &mut self.packets
            && let Seen::Packet(packet) = &sighting.seen
            && *node == sighting.node
        {
            let is_carried = matches!(packet.content, Content::Carried { .. });
            let snaplen = if is_carried { self.snaplens.1 } else { self.snaplens.0 };
            let length = self.headers.write(sighting, packet, snaplen, &mut self.bytes);
            file.packet(sighting.at, 0, length, &self.bytes).map_err(at(path))?;
            *count += 1;
        }
        let (packets, events) = self.counts();
        if packets + events > self.max_records {
            return Err(CaptureError::TooMany { max_records: self.max_records, at: sighting.at });
        }
        Ok(())
    }

    /// Writes keys with which the packets that follow can be read, in the format of `SSLKEYLOGFILE`.
    ///
    /// # Errors
    ///
    /// The file of packets cannot be written.
    pub fn write_keys(&mut self, keys: &str) -> Result<(), CaptureError> {
        let Some(NodePackets { path, file, .. }) = &mut self.packets else { return Ok(()) };
        file.keys(keys).map_err(at(path))
    }

    /// The numbers of packets and of events written so far.
    fn counts(&self) -> (u64, u64) {
        let packets = self.packets.as_ref().map_or(0, |packets| packets.count);
        (packets, self.events.as_ref().map_or(0, |(_, events)| events.count()))
    }

    /// Completes the files. Returns the numbers of packets and of events.
    ///
    /// # Errors
    ///
    /// A file cannot be written.
    pub fn finish(mut self) -> Result<(u64, u64), CaptureError> {
        if let Some(NodePackets { path, file, .. }) = &mut self.packets {
            file.flush().map_err(at(path))?;
        }
        if let Some((path, events)) = &mut self.events {
            events.flush().map_err(at(path))?;
        }
        Ok(self.counts())
    }
}
