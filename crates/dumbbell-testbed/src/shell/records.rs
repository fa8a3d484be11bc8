//! What a shell records: a log of intervals as CSV, packets as pcapng, and a line or a title that shows the link live.
//!
//! The loop that carries packets hands everything to a thread of its own, which writes at ordinary priority: a slow disk
//! delays records, never packets.

use super::live::Live;
use super::options::Status;
use super::sample::Sample;
use crate::pcap::{self, PacketFile};
use dumbbell_units::Time;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::mpsc::{Receiver, Sender, channel};

/// The columns of a log.
pub const COLUMNS: &str = "time_s,direction,offered_bps,throughput_bps,packets,drops,backlog_packets,backlog_bytes,\
                           delay_mean_ms,delay_max_ms,late_max_ms";

/// Writes of a file are put off by this at most.
const FLUSH: Time = Time(1_000_000_000);

enum Record {
    Sample(Sample),
    Packet(Time, bool, Vec<u8>),
}

/// The side of the loop.
pub struct Recorder {
    records: Sender<Record>,
    has_packets: bool,
}

impl Recorder {
    /// An interval has ended.
    pub fn on_sample(&mut self, sample: Sample) {
        // The writer ends after this side; if it has failed, it says so when it is joined.
        let _ = self.records.send(Record::Sample(sample));
    }

    /// A packet was read from, or written to, the end of the program or of this host.
    pub fn on_packet(&mut self, at: Time, of_program: bool, bytes: &[u8]) {
        if self.has_packets {
            let _ = self.records.send(Record::Packet(at, of_program, bytes.to_vec()));
        }
    }
}

/// The side that writes.
pub struct Writer {
    records: Receiver<Record>,
    log: Option<BufWriter<File>>,
    pcap: Option<PacketFile>,
    live: Live,
    last: Option<Sample>,
    /// Drops up to the last line of the log, forward and back.
    logged_drops: [u64; 2],
    flushed: Time,
}

/// Both sides. `log` and `pcap` are empty files. Call it when the run's clock starts.
///
/// # Errors
///
/// The beginning of a file cannot be written.
pub fn recorder(log: Option<File>, pcap: Option<File>, status: Status) -> io::Result<(Recorder, Writer)> {
    let (sender, records) = channel();
    let mut log = log.map(BufWriter::new);
    if let Some(log) = &mut log {
        writeln!(log, "{COLUMNS}")?;
    }
    // The program's end is the first interface.
    let pcap = pcap.map(|file| pcap::begin(file, ["inside", "outside"])).transpose()?;
    let has_packets = pcap.is_some();
    let writer = Writer {
        records,
        log,
        pcap,
        live: Live::new(status),
        last: None,
        logged_drops: [0; 2],
        flushed: Time::ZERO,
    };
    Ok((Recorder { records: sender, has_packets }, writer))
}

impl Writer {
    /// Writes until the other side is gone.
    ///
    /// # Errors
    ///
    /// A file cannot be written.
    pub fn run(mut self) -> io::Result<()> {
        while let Ok(record) = self.records.recv() {
            match record {
                Record::Sample(sample) => self.on_sample(&sample)?,
                Record::Packet(at, of_program, bytes) => self.on_packet(at, of_program, &bytes)?,
            }
        }
        self.live.clear();
        self.flush()
    }

    fn on_packet(&mut self, at: Time, of_program: bool, bytes: &[u8]) -> io::Result<()> {
        let length = bytes.len() as u32;
        self.pcap.as_mut().map_or(Ok(()), |pcap| pcap.packet(at, u32::from(!of_program), length, bytes))
    }

    fn on_sample(&mut self, sample: &Sample) -> io::Result<()> {
        let since = self.last.map_or(Time::ZERO, |last| last.at);
        let lines = log_lines(sample, since, &mut self.logged_drops);
        if let Some(log) = &mut self.log {
            log.write_all(lines.as_bytes())?;
        }
        self.last = Some(*sample);
        self.live.on_sample(sample);
        if sample.at.since(self.flushed) >= FLUSH {
            self.flushed = sample.at;
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(log) = &mut self.log {
            log.flush()?;
        }
        if let Some(pcap) = &mut self.pcap {
            pcap.flush()?;
        }
        Ok(())
    }
}

/// The lines of the log for a sample of the interval that began at `since`. `drops` are the numbers of drops up to then,
/// and afterwards up to the sample.
fn log_lines(sample: &Sample, since: Time, drops: &mut [u64; 2]) -> String {
    let seconds = sample.at.since(since).secs().max(1e-9);
    let mut lines = String::new();
    for ((way, name), dropped) in sample.ways.iter().zip(["up", "down"]).zip(drops) {
        let new_drops = way.drops_total - std::mem::replace(dropped, way.drops_total);
        let (offered, throughput) = (way.bytes_in as f64 * 8.0 / seconds, way.bytes as f64 * 8.0 / seconds);
        let _ = writeln!(
            lines,
            "{:.6},{name},{offered:.0},{throughput:.0},{},{new_drops},{},{},{:.4},{:.4},{:.4}",
            sample.at.secs(),
            way.packets,
            way.backlog_packets,
            way.backlog_bytes,
            way.delay_mean_ms(),
            way.delay_max.secs() * 1e3,
            way.late_max.secs() * 1e3,
        );
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::sample::DirectionSample;

    #[test]
    fn lines_of_a_log_have_rates_of_the_interval_and_its_drops() {
        let mut up =
            DirectionSample { backlog_packets: 2, backlog_bytes: 3000, drops_total: 7, ..Default::default() };
        up.count_arrival(2500);
        up.count_delivery(1000, Time(20_000_000), Time(10_000));
        up.count_delivery(1500, Time(30_000_000), Time(40_000));
        let sample =
            Sample { at: Time(300_000_000), ways: [up, DirectionSample::default()], late_p99: Time(40_000) };
        let mut drops = [5, 0];
        // 2500 bytes in 0.1 s are 200 kbit/s.
        let lines = log_lines(&sample, Time(200_000_000), &mut drops);
        assert_eq!(
            lines,
            "0.300000,up,200000,200000,2,2,2,3000,25.0000,30.0000,0.0400\n\
             0.300000,down,0,0,0,0,0,0,0.0000,0.0000,0.0000\n"
        );
        assert_eq!((drops, COLUMNS.split(',').count()), ([7, 0], 11));
    }
}
