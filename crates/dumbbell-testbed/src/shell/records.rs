//! What a shell records: a log of intervals as CSV, packets as pcapng, and a line or a title that shows the link live.
//!
//! The loop that carries packets hands everything to a thread of its own, which writes at ordinary priority: a slow disk
//! delays records, never packets.

use super::options::Status;
use crate::pcap::{self, PacketFile};
use dumbbell_units::Time;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::mpsc::{Receiver, Sender, channel};

/// The columns of a log.
pub const COLUMNS: &str = "time_s,direction,offered_bps,throughput_bps,packets,drops,backlog_packets,backlog_bytes,\
                           delay_mean_ms,delay_max_ms,late_max_ms";

/// Time between two updates of live statistics.
const UPDATE: Time = Time(500_000_000);

/// Writes of a file are put off by this at most.
const FLUSH: Time = Time(1_000_000_000);

/// What happened in one direction within an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectionSample {
    /// Bytes that entered the link.
    pub bytes_in: u64,
    /// Packets that were delivered.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sum of their delays from entry to the time they were due, in nanoseconds.
    pub delay_sum: u64,
    /// Maximum of these delays.
    pub delay_max: Time,
    /// Maximum time by which a delivery was late.
    pub late_max: Time,
    /// Packets in queues or in transmission at the end of the interval.
    pub backlog_packets: u64,
    /// Their bytes.
    pub backlog_bytes: u64,
    /// Packets dropped for any reason since the beginning.
    pub drops_total: u64,
}

impl DirectionSample {
    /// A packet of this size enters.
    pub fn count_arrival(&mut self, size: usize) {
        self.bytes_in += size as u64;
    }

    /// A packet of this size is delivered.
    pub fn count_delivery(&mut self, size: usize, delay: Time, late: Time) {
        self.packets += 1;
        self.bytes += size as u64;
        self.delay_sum += delay.0;
        self.delay_max = self.delay_max.max(delay);
        self.late_max = self.late_max.max(late);
    }

    fn delay_mean_ms(&self) -> f64 {
        self.delay_sum as f64 * 1e-6 / self.packets.max(1) as f64
    }
}

/// What happened within an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// End of the interval.
    pub at: Time,
    /// From the program to this host, and back.
    pub ways: [DirectionSample; 2],
    /// 99th percentile of the lateness since the beginning.
    pub late_p99: Time,
}

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
    pub fn sample(&mut self, sample: Sample) {
        // The writer ends after this side; if it has failed, it says so when it is joined.
        let _ = self.records.send(Record::Sample(sample));
    }

    /// A packet was read from, or written to, the end of the program or of this host.
    pub fn packet(&mut self, at: Time, of_program: bool, bytes: &[u8]) {
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
    status: Status,
    last: Option<Sample>,
    /// Bytes delivered since the last update of live statistics, forward and back, and its time.
    shown: ([u64; 2], Time),
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
        status,
        last: None,
        shown: ([0; 2], Time::ZERO),
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
        self.clear();
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
        let (bytes, at) = &mut self.shown;
        (0..2).for_each(|way| bytes[way] += sample.ways[way].bytes);
        if sample.at.since(*at) >= UPDATE && self.status != Status::None {
            let text = status(sample, *bytes, sample.at.since(*at));
            self.shown = ([0; 2], sample.at);
            self.show(&text);
        }
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

    /// Shows a line. A terminal that is gone is no reason to stop.
    fn show(&self, text: &str) {
        let _ = match self.status {
            // Back to the first column, the line, and the rest of an older one erased.
            Status::Line => write!(io::stderr(), "\r{text}\x1b[K"),
            Status::Title => write!(io::stderr(), "\x1b]0;{text}\x07"),
            Status::None => Ok(()),
        };
    }

    /// Removes the line.
    fn clear(&self) {
        if self.status == Status::Line {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
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

/// Live statistics: a sample, with the bytes delivered in this time.
fn status(sample: &Sample, bytes: [u64; 2], time: Time) -> String {
    let way = |way: usize| {
        let DirectionSample { backlog_packets, drops_total, .. } = sample.ways[way];
        let megabits = bytes[way] as f64 * 8e-6 / time.secs().max(1e-9);
        let delay = sample.ways[way].delay_mean_ms();
        format!("{megabits:.2} Mbit/s, {delay:.1} ms, queue {backlog_packets}, drops {drops_total}")
    };
    format!("up {} | down {} | late p99 {:.2} ms", way(0), way(1), sample.late_p99.secs() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let text = status(&sample, [2_500_000, 0], Time(1_000_000_000));
        assert!(text.starts_with("up 20.00 Mbit/s, 25.0 ms, queue 2, drops 7 | down 0.00 Mbit/s"), "{text}");
    }
}
