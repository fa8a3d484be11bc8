//! Samples of the flows: the probes of a scenario from `TCP_INFO`, and the counters at both ends of the measurement
//! window.

use crate::tcp_info::TcpInfo;
use crate::traffic::{Counts, Course, Live};
use dumbbell_cc::ProbeInfo;
use dumbbell_sim::Scenario;
use dumbbell_sim::quantity::{Measure, Quantity};
use dumbbell_sim::scenario::ProbeSpec;
use dumbbell_sim::trace::Recording;
use dumbbell_units::{Interval, Time};
use std::io;

/// Longest time between two samples, and shortest. A sample takes some 5 us per flow.
pub const PERIOD: Time = Time(10_000_000);
const SHORTEST_PERIOD: Time = Time(1_000_000);

/// What the testbed records of every probed flow besides the quantities of its probes.
const RETRANSMISSIONS: ProbeInfo =
    ProbeInfo::new("retransmissions", "segments", "Segments retransmitted so far.");
const OF_TESTBED: [Quantity; 2] =
    [Quantity::Declared(RETRANSMISSIONS), Quantity::Measured(Measure::PacingRate)];

/// The counters of all flows at a time of the run.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// When they were read.
    pub at: Time,
    /// Of each flow.
    pub counts: Vec<Counts>,
}

impl Snapshot {
    /// Reads the counters.
    fn take(lives: &[Live], at: Time) -> Snapshot {
        Snapshot { at, counts: lives.iter().map(Live::counts).collect() }
    }
}

/// A recording with the flow that it belongs to.
#[derive(Clone, Debug)]
struct OfFlow {
    flow: usize,
    recording: Recording,
}

/// What was sampled.
#[derive(Clone, Debug)]
pub struct Samples {
    recordings: Vec<OfFlow>,
    period: Time,
    window: Interval,
    /// The counters when the window opened and when it closed.
    pub edges: (Option<Snapshot>, Option<Snapshot>),
    /// Sum of the smoothed round-trip times sampled within the window, in seconds, and their number, of each flow.
    srtt: Vec<(f64, u64)>,
}

/// The recordings of a scenario's probes for flows or for links, with the index of the flow or link.
pub fn recordings(scenario: &Scenario, of_links: bool) -> Vec<(usize, Recording)> {
    let chosen = |names: &[String], name: &str| names.iter().any(|n| n == "*" || n == name);
    let mut found: Vec<(usize, Recording)> = Vec::new();
    for probe in &scenario.probes {
        let quantities = probe.quantities.iter().filter(|quantity| quantity.is_of_link() == of_links);
        for &quantity in quantities {
            let (names, wanted): (Vec<&str>, _) = if of_links {
                (scenario.links.iter().map(|link| link.name.as_str()).collect(), &probe.links)
            } else {
                (scenario.flows.iter().map(|flow| flow.name.as_str()).collect(), &probe.flows)
            };
            for (index, name) in names.iter().enumerate().filter(|(_, name)| chosen(wanted, name)) {
                found.push((index, Recording::new(name, quantity, probe)));
            }
        }
    }
    found
}

impl Samples {
    /// Nothing sampled yet.
    pub fn new(scenario: &Scenario) -> Samples {
        let own = |(flow, recording)| OfFlow { flow, recording };
        let mut recordings: Vec<OfFlow> = recordings(scenario, false).into_iter().map(own).collect();
        for (index, flow) in scenario.flows.iter().enumerate().filter(|(_, flow)| flow.tcp.is_some()) {
            let is_chosen =
                |probe: &&ProbeSpec| probe.flows.iter().any(|name| name == "*" || *name == flow.name);
            if let Some(probe) = scenario.probes.iter().find(is_chosen) {
                for quantity in OF_TESTBED {
                    let is_same =
                        |known: &OfFlow| known.flow == index && known.recording.quantity == quantity;
                    if !recordings.iter().any(is_same) {
                        let recording = Recording::new(&flow.name, quantity, probe);
                        recordings.push(OfFlow { flow: index, recording });
                    }
                }
            }
        }
        // Counters are zero at the beginning, and flows may have started before a thread can read them.
        let nothing = Snapshot { at: Time::ZERO, counts: vec![Counts::default(); scenario.flows.len()] };
        let opening = (scenario.measure_from == Time::ZERO).then_some(nothing);
        let periods = scenario.probes.iter().filter_map(|probe| probe.period);
        Samples {
            recordings,
            period: periods.min().unwrap_or(PERIOD).clamp(SHORTEST_PERIOD, PERIOD),
            window: Interval { from: scenario.measure_from, until: scenario.measure_until() },
            edges: (opening, None),
            srtt: vec![(0.0, 0); scenario.flows.len()],
        }
    }

    /// Samples the flows until the end of the run.
    ///
    /// # Errors
    ///
    /// The kernel has no monotonic clock.
    pub fn record(&mut self, lives: &[Live], course: &Course) -> io::Result<()> {
        let mut next = Time::ZERO;
        loop {
            let edge = match &self.edges {
                (None, _) => self.window.from,
                (Some(_), None) => self.window.until,
                (Some(_), Some(_)) => Time::NEVER,
            };
            let is_running = course.wait_until(next.min(edge))?;
            let now = course.clock.now()?;
            match &mut self.edges {
                (opening @ None, _) if now >= self.window.from => *opening = Some(Snapshot::take(lives, now)),
                (Some(_), closing @ None) if now >= self.window.until || !is_running => {
                    *closing = Some(Snapshot::take(lives, now));
                }
                _ => {}
            }
            if !is_running {
                return Ok(());
            }
            if now >= next {
                // The state at this sampling time, as long as the thread is not late by a whole period.
                self.sample(lives, if now.since(next) < self.period { next } else { now });
                next = Time((now.0 / self.period.0 + 1) * self.period.0);
            }
        }
    }

    fn sample(&mut self, lives: &[Live], at: Time) {
        let infos: Vec<Option<TcpInfo>> = lives.iter().map(Live::sender).collect();
        for OfFlow { flow, recording } in &mut self.recordings {
            let value = match recording.quantity {
                Quantity::Measured(Measure::Delivered) => Some(lives[*flow].bytes_delivered() as f64),
                quantity => infos[*flow].as_ref().and_then(|info| shown(info, &quantity)),
            };
            recording.record(at, value);
        }
        if self.window.contains(at) {
            for ((sum, count), info) in self.srtt.iter_mut().zip(&infos) {
                if let Some(srtt) = info.as_ref().and_then(TcpInfo::srtt) {
                    *sum += srtt;
                    *count += 1;
                }
            }
        }
    }

    /// Records a probe that a congestion control reports itself.
    pub fn report(&mut self, at: Time, flow: usize, name: &str, value: f64) {
        let reported = self.recordings.iter_mut().filter(|known| known.flow == flow);
        for OfFlow { recording, .. } in reported.filter(|known| known.recording.quantity.name() == name) {
            recording.record(at, Some(value));
        }
    }

    /// True if a flow has a probe of its congestion control.
    pub fn asks_control(&self, flow: usize) -> bool {
        let is_declared = |known: &OfFlow| {
            let quantity = known.recording.quantity;
            matches!(quantity, Quantity::Declared(_)) && !OF_TESTBED.contains(&quantity)
        };
        self.recordings.iter().any(|known| known.flow == flow && is_declared(known))
    }

    /// Mean of the smoothed round-trip times of a flow within the window, in seconds.
    pub fn srtt_mean(&self, flow: usize) -> Option<f64> {
        let (sum, count) = self.srtt[flow];
        (count > 0).then(|| sum / count as f64)
    }

    /// The recordings, complete up to the end of the run.
    pub fn finish(self, end: Time) -> Vec<Recording> {
        let finished = |mut own: OfFlow| {
            own.recording.finish(end);
            own.recording
        };
        self.recordings.into_iter().map(finished).collect()
    }
}

/// The current value of a quantity of a connection; `None` if it has none, or is not told by the kernel.
fn shown(info: &TcpInfo, quantity: &Quantity) -> Option<f64> {
    let measure = match quantity {
        Quantity::Declared(own) if *own == RETRANSMISSIONS => {
            return Some(info.segments_retransmitted() as f64);
        }
        // Congestion controls report these themselves.
        Quantity::Declared(_) => return None,
        Quantity::Measured(measure) => measure,
    };
    match measure {
        Measure::Cwnd | Measure::CwndBase => info.cwnd().map(f64::from),
        Measure::Ssthresh => info.ssthresh().map(f64::from),
        Measure::FlightSize => Some(f64::from(info.unacked())),
        Measure::Srtt => info.srtt(),
        Measure::Rto => Some(info.rto()),
        // The SYN counts as a byte.
        Measure::PacingRate => info.pacing_rate(),
        Measure::SeqAcked => Some(info.bytes_acked().saturating_sub(1) as f64),
        Measure::Delivered
        | Measure::DeliveryRate
        | Measure::ReceiveWindow
        | Measure::Rtt
        | Measure::SeqSent
        | Measure::TcpEvents
        | Measure::Backlog
        | Measure::Drops
        | Measure::Wait
        | Measure::Marks
        | Measure::Losses
        | Measure::Transfers => None,
    }
}
