//! The loop of a shell: packets between its two ends, by the monotonic clock.
//!
//! What comes from the program travels forward, and what comes from this host travels back, whatever its addresses. The
//! address [`Block::loopback`](super::ends::Block::loopback) stands for 127.0.0.1 of this host.

use super::ends::Ends;
use super::records::Recorder;
use super::sample::{DirectionSample, Sample};
use crate::clock::RunClock;
use crate::emulator::{LONGEST_PACKET, LONGEST_WAIT, READS_IN_A_ROW, Report, claim_priority};
use crate::packet::{End, Headers};
use crate::waiting::Waiting;
use crate::wire::Wire;
use dumbbell_sim::paths::Direction;
use dumbbell_units::Time;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU8, Ordering};
use tun_rs::SyncDevice;

/// The only flow of a shell's scenario.
const FLOW: u32 = 0;

/// After the end of the program, its last packets are carried until the link has been empty for this time.
const QUIET: Time = Time(20_000_000);

/// They are carried for this time at most.
const LONGEST_QUIET: Time = Time(2_000_000_000);

/// When the loop ends.
#[derive(Debug, Default)]
pub struct Stop(AtomicU8);

impl Stop {
    const DRAIN: u8 = 1;
    const NOW: u8 = 2;

    /// Ends the loop when the link is empty: connections that the program has closed may say so to their other end.
    pub fn when_empty(&self) {
        self.0.fetch_max(Stop::DRAIN, Ordering::Relaxed);
    }

    /// Ends the loop at once.
    pub fn now(&self) {
        self.0.store(Stop::NOW, Ordering::Relaxed);
    }
}

/// Carries packets until `stop` ends the loop. The wire is settled at the end. `links` is the number of links of the
/// scenario. Call it in a thread of its own, which gets the priority of [`claim_priority`].
///
/// # Errors
///
/// The clock, waiting or a device failed.
pub fn run(
    wire: &mut Wire,
    ends: &Ends,
    (clock, stop): (RunClock, &Stop),
    (links, interval): (usize, Time),
    recorder: Recorder,
) -> io::Result<Report> {
    let mut carrier = Carrier {
        wire,
        ends,
        clock,
        recorder,
        samples: [DirectionSample::default(); 2],
        links: links as u32,
        bytes: vec![0; LONGEST_PACKET],
        write_errors: 0,
    };
    let granted = claim_priority();
    let mut waiting = Waiting::new(clock, [&ends.inside, &ends.outside].into_iter());
    let mut sample_at = interval;
    // When the end of the program was noticed, and since when the link has been empty.
    let (mut ended, mut empty_since) = (None, Time::ZERO);
    loop {
        let now = carrier.deliver()?;
        let is_empty = carrier.wire.next_deadline() == Time::NEVER;
        match stop.0.load(Ordering::Relaxed) {
            Stop::NOW => break,
            Stop::DRAIN => {
                let ended = *ended.get_or_insert(now);
                empty_since = if is_empty { empty_since } else { now };
                if now.since(empty_since.max(ended)) >= QUIET || now.since(ended) >= LONGEST_QUIET {
                    break;
                }
            }
            _ => {}
        }
        if now >= sample_at {
            carrier.sample(now);
            // A loop that was stopped for longer than an interval makes one sample for all of them.
            sample_at = Time((now.0 / interval.0 + 1) * interval.0);
        }
        let longest_wait = if ended.is_some() { QUIET } else { LONGEST_WAIT };
        let deadline = carrier.wire.next_deadline().min(sample_at).min(now + longest_wait);
        waiting.until(deadline)?;
        for (direction, is_readable) in
            [Direction::Forward, Direction::Reverse].into_iter().zip(waiting.readable())
        {
            if is_readable {
                carrier.read(direction)?;
            }
        }
    }
    let elapsed = clock.now()?;
    carrier.sample(elapsed);
    let write_errors = carrier.write_errors;
    wire.end(elapsed);
    Ok(Report { elapsed, granted, write_errors })
}

struct Carrier<'a> {
    wire: &'a mut Wire,
    ends: &'a Ends,
    clock: RunClock,
    recorder: Recorder,
    /// What has happened since the last sample, forward and back.
    samples: [DirectionSample; 2],
    links: u32,
    bytes: Vec<u8>,
    write_errors: u64,
}

impl Carrier<'_> {
    /// Writes what is due, and returns the time.
    fn deliver(&mut self) -> io::Result<Time> {
        let mut now = self.clock.now()?;
        while let Some(output) = self.wire.poll(now) {
            let of_program = output.direction == Direction::Reverse;
            let is_written = device(self.ends, of_program).send(output.bytes).is_ok();
            self.write_errors += u64::from(!is_written);
            self.recorder.on_packet(now, of_program, output.bytes);
            self.samples[usize::from(of_program)].count_delivery(
                output.bytes.len(),
                output.due.since(output.entered),
                now.since(output.due),
            );
            now = self.clock.now()?;
        }
        Ok(now)
    }

    /// Reads what was sent in a direction.
    fn read(&mut self, direction: Direction) -> io::Result<()> {
        let of_program = direction == Direction::Forward;
        let device = device(self.ends, of_program);
        for _ in 0..READS_IN_A_ROW {
            let length = match device.recv(&mut self.bytes) {
                Ok(length) => length,
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) =>
                {
                    break;
                }
                Err(error) => return Err(error),
            };
            let now = self.clock.now()?;
            let bytes = &mut self.bytes[..length];
            self.recorder.on_packet(now, of_program, bytes);
            translate(bytes, direction, self.ends.block.loopback());
            // What the wire refuses, it counts.
            if self.wire.read_as(now, (FLOW, direction), bytes).is_ok() {
                self.samples[usize::from(!of_program)].count_arrival(length);
            }
        }
        Ok(())
    }

    /// Records the interval that ends at `now`.
    fn sample(&mut self, now: Time) {
        self.wire.settle(now);
        for (direction, sample) in [Direction::Forward, Direction::Reverse].into_iter().zip(&mut self.samples)
        {
            for link in 0..self.links {
                let counters = self.wire.flow_counters(link, FLOW, direction);
                sample.backlog_packets += counters.backlog_packets;
                sample.backlog_bytes += counters.backlog_bytes;
                sample.drops_total += counters.drops_queue
                    + counters.drops_early
                    + counters.drops_policer
                    + counters.drops_impairment;
            }
        }
        let ways = std::mem::take(&mut self.samples);
        let late_p99 = self.wire.lateness().quantile(0.99);
        self.recorder.on_sample(Sample { at: now, ways, late_p99 });
    }
}

/// The device of the program, or of this host.
fn device(ends: &Ends, of_program: bool) -> &SyncDevice {
    if of_program { &ends.inside } else { &ends.outside }
}

/// Lets the alias of the loopback address stand for it.
fn translate(bytes: &mut [u8], direction: Direction, alias: Ipv4Addr) {
    // Most packets are told from these by four bytes.
    let (at, from, to, end) = match direction {
        Direction::Forward => (16, alias, Ipv4Addr::LOCALHOST, End::Destination),
        Direction::Reverse => (12, Ipv4Addr::LOCALHOST, alias, End::Source),
    };
    if bytes.get(at..at + 4) != Some(&from.octets()) {
        return;
    }
    if let Ok(headers) = Headers::parse(bytes)
        && IpAddr::from(from) == if end == End::Source { headers.source } else { headers.destination }
    {
        headers.replace_address(bytes, end, to);
    }
}
