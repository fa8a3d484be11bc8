//! Live statistics of a shell's link, in a line or a title of the terminal.

use super::options::Status;
use super::sample::{DirectionSample, Sample};
use dumbbell_units::Time;
use std::io::{self, Write};

/// Time between two updates of live statistics.
const UPDATE: Time = Time(500_000_000);

/// Where statistics are shown, and what is not shown yet.
pub struct Live {
    status: Status,
    /// Bytes delivered since the last update, forward and back, and its time.
    shown: ([u64; 2], Time),
}

impl Live {
    /// Nothing is shown yet.
    pub fn new(status: Status) -> Live {
        Live { status, shown: ([0; 2], Time::ZERO) }
    }

    /// An interval has ended: updates what is shown, if it is old enough.
    pub fn on_sample(&mut self, sample: &Sample) {
        let (bytes, at) = &mut self.shown;
        (0..2).for_each(|way| bytes[way] += sample.ways[way].bytes);
        if sample.at.since(*at) >= UPDATE && self.status != Status::None {
            let text = text(sample, *bytes, sample.at.since(*at));
            self.shown = ([0; 2], sample.at);
            self.show(&text);
        }
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
    pub fn clear(&self) {
        if self.status == Status::Line {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// Live statistics: a sample, with the bytes delivered in this time.
fn text(sample: &Sample, bytes: [u64; 2], time: Time) -> String {
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
    fn statistics_are_rates_delays_queues_and_drops_of_both_directions() {
        let mut up = DirectionSample { backlog_packets: 2, drops_total: 7, ..Default::default() };
        up.count_delivery(1000, Time(20_000_000), Time(10_000));
        up.count_delivery(1500, Time(30_000_000), Time(40_000));
        let sample =
            Sample { at: Time(300_000_000), ways: [up, DirectionSample::default()], late_p99: Time(40_000) };
        // 2.5 MB in a second are 20 Mbit/s.
        let text = text(&sample, [2_500_000, 0], Time(1_000_000_000));
        assert!(text.starts_with("up 20.00 Mbit/s, 25.0 ms, queue 2, drops 7 | down 0.00 Mbit/s"), "{text}");
    }
}
