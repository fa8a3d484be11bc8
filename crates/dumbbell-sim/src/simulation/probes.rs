//! What the probes of a scenario record, and the distributions of times that it asks for.

use crate::journal::{Journal, Place};
use crate::quantity::{Measure, Quantity};
use crate::scenario::{Chosen, Scenario};
use crate::supervision::{Excess, Overflow};
use crate::trace::{FlowEvent, Recording, TransferRow};
use crate::transport::Shown;
use dumbbell_net::Link;
use dumbbell_net::waits::Records;
use dumbbell_tcp::{DataSegment, Sender, TcpEventKind};
use dumbbell_units::{Histogram, Time};

/// What is needed to record the events of a connection.
#[derive(Clone, Debug)]
pub(super) struct Tracer {
    /// Number of the connection within its flow, counted from 1.
    pub number: u64,
    /// No new data has followed the last fast retransmission yet.
    awaits_new_data: bool,
}

impl Tracer {
    pub(super) fn new(number: u64) -> Self {
        Tracer { number, awaits_new_data: false }
    }
}

/// The current value of a quantity of a sender; `None` for quantities recorded by event.
fn shown(sender: &Sender, quantity: &Quantity) -> Option<f64> {
    let mss = f64::from(sender.mss());
    let measure = match quantity {
        Quantity::Measured(measure) => measure,
        Quantity::Declared(probe) => {
            let control = sender.congestion();
            let index = control.probes().iter().position(|declared| declared.name == probe.name)?;
            return control.probe(index);
        }
    };
    match measure {
        Measure::Cwnd => Some(sender.cwnd() / mss),
        Measure::CwndBase => Some(sender.cwnd_base() / mss),
        Measure::Ssthresh => {
            Some(sender.congestion().ssthresh() / mss).filter(|ssthresh| ssthresh.is_finite())
        }
        Measure::FlightSize => Some(sender.flight_size() as f64 / mss),
        Measure::ReceiveWindow => Some(sender.max_window() / mss).filter(|window| window.is_finite()),
        Measure::Srtt => sender.srtt(),
        Measure::Rto => Some(sender.rto().secs()),
        Measure::SeqAcked => Some(sender.snd_una() as f64),
        Measure::PacingRate => sender.pacing_rate().map(|bytes_per_s| bytes_per_s * 8.0),
        Measure::DeliveryRate => sender.delivery_rate().map(|bytes_per_s| bytes_per_s * 8.0),
        Measure::Rtt
        | Measure::SeqSent
        | Measure::Delivered
        | Measure::TcpEvents
        | Measure::Transfers
        | Measure::Backlog
        | Measure::Drops
        | Measure::Wait
        | Measure::Marks
        | Measure::Losses => None,
    }
}

/// The value of a quantity that stacks show, `None` for other quantities.
fn of_stack(shown: &Shown, quantity: &Quantity) -> Option<Option<f64>> {
    let Quantity::Measured(measure) = quantity else { return None };
    let segments = |bytes: f64| bytes / f64::from(shown.mss.max(1));
    Some(match measure {
        Measure::Cwnd => shown.cwnd.map(segments),
        Measure::Ssthresh => shown.ssthresh.filter(|ssthresh| ssthresh.is_finite()).map(segments),
        Measure::FlightSize => shown.in_flight.map(|bytes| segments(bytes as f64)),
        Measure::Srtt => shown.srtt,
        Measure::Rto => shown.rto,
        Measure::SeqAcked => Some(shown.acknowledged as f64),
        Measure::PacingRate => shown.pacing_rate,
        _ => return None,
    })
}

#[derive(Clone, Debug)]
pub(super) struct Probes {
    recordings: Vec<Recording>,
    /// Recordings of each flow and of each link.
    of_flows: Vec<Vec<u32>>,
    of_links: Vec<Vec<u32>>,
    /// Samples that they may have.
    max_samples: u64,
    /// Round-trip times and one-way delays of each flow within the measurement window; empty if not requested.
    rtts: Vec<Histogram>,
    delays: Vec<Histogram>,
}

impl Probes {
    pub(super) fn new(scenario: &Scenario, max_samples: u64) -> Self {
        let of_percentiles = vec![Histogram::default(); scenario.flows.len()];
        let of_percentiles = if scenario.delay_percentiles { of_percentiles } else { Vec::new() };
        let mut probes = Probes {
            recordings: Vec::new(),
            of_flows: vec![Vec::new(); scenario.flows.len()],
            of_links: vec![Vec::new(); scenario.links.len()],
            max_samples,
            rtts: of_percentiles.clone(),
            delays: of_percentiles,
        };
        for probe in &scenario.probes {
            let (links, flows) = (Chosen::new(&probe.links), Chosen::new(&probe.flows));
            for &quantity in &probe.quantities {
                let (names, wanted, numbers) = if quantity.is_of_link() {
                    (scenario.link_names(), &links, &mut probes.of_links)
                } else {
                    (scenario.flow_names(), &flows, &mut probes.of_flows)
                };
                for (index, name) in names.iter().enumerate() {
                    if wanted.contains(name) {
                        numbers[index].push(probes.recordings.len() as u32);
                        let recording = Recording::new(name, quantity, probe);
                        probes.recordings.push(recording.limited_to(max_samples));
                    }
                }
            }
        }
        probes
    }

    /// Lets links keep what is recorded of them.
    pub(super) fn trace_links(&self, links: &mut [Link]) {
        for (link, numbers) in links.iter_mut().zip(&self.of_links) {
            let measures = |measure| self.quantities(numbers).any(|quantity| quantity.is(measure));
            if measures(Measure::Backlog) {
                link.records_mut().trace_backlog();
            }
            if measures(Measure::Wait) || measures(Measure::Marks) {
                link.records_mut().trace_samples(measures(Measure::Wait));
            }
        }
    }

    fn quantities(&self, numbers: &[u32]) -> impl Iterator<Item = Quantity> {
        numbers.iter().map(|&number| self.recordings[number as usize].quantity)
    }

    /// True if a probe follows the packets of a flow. Transfers are recorded when they end, not with every packet.
    pub(super) fn follow_packets(&self, flow: usize) -> bool {
        self.quantities(&self.of_flows[flow]).any(|quantity| !quantity.is(Measure::Transfers))
    }

    /// True if a probe records the events of a flow.
    pub(super) fn keep_events(&self, flow: u32) -> bool {
        self.quantities(&self.of_flows[flow as usize]).any(|quantity| quantity.is(Measure::TcpEvents))
    }

    /// True if a probe records the delivery rates of a flow.
    pub(super) fn sample_rates(&self, flow: u32) -> bool {
        self.quantities(&self.of_flows[flow as usize]).any(|quantity| quantity.is(Measure::DeliveryRate))
    }

    /// Lets the recordings of this quantity of a flow take what is new.
    fn with(&mut self, flow: u32, measure: Measure, mut take: impl FnMut(&mut Recording)) {
        for &number in &self.of_flows[flow as usize] {
            let recording = &mut self.recordings[number as usize];
            if recording.quantity.is(measure) {
                take(recording);
            }
        }
    }

    pub(super) fn record(&mut self, flow: u32, measure: Measure, at: Time, value: f64) {
        self.with(flow, measure, |recording| recording.record(at, Some(value)));
    }

    pub(super) fn record_event(&mut self, flow: u32, event: FlowEvent) {
        self.with(flow, Measure::TcpEvents, |recording| recording.events.push(event));
    }

    pub(super) fn record_transfer(&mut self, flow: u32, row: TransferRow) {
        self.with(flow, Measure::Transfers, |recording| recording.transfers.push(row));
    }

    /// Records the state of a sender.
    pub(super) fn record_sender(&mut self, flow: u32, at: Time, sender: &Sender) {
        for &number in &self.of_flows[flow as usize] {
            let recording = &mut self.recordings[number as usize];
            if let Some(value) = shown(sender, &recording.quantity) {
                recording.record(at, Some(value));
            }
        }
    }

    /// True if a probe records quantities of the senders of a flow that a stack shows.
    pub(super) fn shows_senders(&self, flow: u32) -> bool {
        let of_senders = |quantity: Quantity| of_stack(&Shown::default(), &quantity).is_some();
        self.quantities(&self.of_flows[flow as usize]).any(of_senders)
    }

    /// Records what a stack shows of a connection.
    pub(super) fn record_shown(&mut self, flow: u32, at: Time, shown: &Shown) {
        for &number in &self.of_flows[flow as usize] {
            let recording = &mut self.recordings[number as usize];
            if let Some(value) = of_stack(shown, &recording.quantity) {
                recording.record(at, value);
            }
        }
    }

    /// Records the events that a sender reports, also in a journal that covers them.
    pub(super) fn record_events(
        &mut self,
        flow: u32,
        (sender, tracer): (&mut Sender, &mut Tracer),
        journal: Option<&mut Journal>,
        now: Time,
    ) {
        let journal = journal.filter(|journal| journal.covers(flow, now));
        let mut journal = journal.map(|journal| (journal, sender.observe()));
        for event in sender.drain_events() {
            match event.kind {
                TcpEventKind::FastRetransmit => tracer.awaits_new_data = true,
                TcpEventKind::Timeout => tracer.awaits_new_data = false,
                _ => {}
            }
            if let Some((journal, state)) = &mut journal {
                journal.on_event(Place { at: now, connection: tracer.number }, event, state);
            }
            self.record_event(flow, FlowEvent::of_sender(tracer.number, event));
        }
    }

    /// Records a segment that a sender sends, if it is the first new data after a fast retransmission.
    pub(super) fn record_new_data(
        &mut self,
        flow: u32,
        (sender, tracer): (&mut Sender, &mut Tracer),
        segment: DataSegment,
        now: Time,
    ) {
        if !segment.is_retransmission && std::mem::take(&mut tracer.awaits_new_data) {
            let told = sender.event(now, TcpEventKind::NewData);
            let event = FlowEvent { seq: Some(segment.seq), ..FlowEvent::of_sender(tracer.number, told) };
            self.record_event(flow, event);
        }
    }

    /// Records a drop; `lost` is the number of a data packet that an impairment lost.
    pub(super) fn record_drop(&mut self, at: Time, link: u32, lost: Option<u64>) {
        for &number in &self.of_links[link as usize] {
            let recording = &mut self.recordings[number as usize];
            if recording.quantity.is(Measure::Drops) {
                let dropped = recording.last().unwrap_or(0.0) + 1.0;
                recording.record(at, Some(dropped));
            } else if recording.quantity.is(Measure::Losses)
                && let Some(lost) = lost
            {
                recording.record(at, Some(lost as f64));
            }
        }
    }

    /// Adds the one-way delay of a packet within the measurement window.
    pub(super) fn add_delay(&mut self, flow: u32, delay: Time) {
        if let Some(delays) = self.delays.get_mut(flow as usize) {
            delays.add(delay.0);
        }
    }

    /// Adds a round-trip time within the measurement window.
    pub(super) fn add_rtt(&mut self, flow: u32, rtt: Time) {
        if let Some(rtts) = self.rtts.get_mut(flow as usize) {
            rtts.add(rtt.0);
        }
    }

    /// The round-trip times and one-way delays of a flow.
    pub(super) fn times(&self, flow: usize) -> [Option<&Histogram>; 2] {
        [self.rtts.get(flow), self.delays.get(flow)]
    }

    /// What they have recorded with the links, if it is too much.
    pub(super) fn overflow(&self, links: &[Link], at: Time) -> Option<Overflow> {
        if self.recordings.is_empty() {
            return None;
        }
        let kept: usize = self.recordings.iter().map(Recording::samples).sum();
        let traced = links.iter().zip(&self.of_links).filter(|(_, numbers)| !numbers.is_empty());
        let waiting: usize = traced.filter_map(|(link, _)| link.records()).map(Records::samples).sum();
        let (count, limit) = ((kept + waiting) as u64, self.max_samples);
        (count > limit).then_some(Overflow { of: Excess::Samples, count, limit, at })
    }

    /// Samples what links have kept of backlogs that are only recorded periodically, so that memory does not grow with the
    /// number of packets. A link may be ahead of the clock: what is after the end is removed there.
    pub(super) fn sample_backlogs(&mut self, links: &mut [Link]) {
        for (link, numbers) in links.iter_mut().zip(&self.of_links) {
            let chosen = || numbers.iter().map(|&number| number as usize);
            let backlogs =
                || chosen().filter(|&number| self.recordings[number].quantity.is(Measure::Backlog));
            if backlogs().next().is_none() || !backlogs().all(|number| self.recordings[number].is_periodic())
            {
                continue;
            }
            let numbers: Vec<usize> = backlogs().collect();
            for change in link.records_mut().take_changes() {
                for &number in &numbers {
                    self.recordings[number].record(change.at, Some(change.waiting as f64));
                }
            }
        }
    }

    /// Records what the links have kept until now, and ends all recordings.
    pub(super) fn finish(&mut self, links: &mut [Link], now: Time) {
        for (link, numbers) in links.iter_mut().zip(&self.of_links) {
            let changes = link.take_changes(now);
            let samples = link.take_samples();
            for &number in numbers {
                let recording = &mut self.recordings[number as usize];
                if recording.quantity.is(Measure::Backlog) {
                    for change in changes.iter().filter(|change| change.at <= now) {
                        recording.record(change.at, Some(change.waiting as f64));
                    }
                }
                if recording.quantity.is(Measure::Wait) {
                    for &(at, wait) in samples.waits.iter().filter(|(at, _)| *at <= now) {
                        recording.record(at, Some(wait.secs()));
                    }
                }
                if recording.quantity.is(Measure::Marks) {
                    for (count, &at) in (1_u64..).zip(samples.marks.iter().filter(|at| **at <= now)) {
                        recording.record(at, Some(count as f64));
                    }
                }
            }
        }
        for recording in &mut self.recordings {
            recording.finish(now);
        }
    }

    pub(super) fn into_recordings(self) -> Vec<Recording> {
        self.recordings
    }
}
