//! Probes during a run, and its results.

use super::Simulation;
use crate::forwarding::Forwarding;
use crate::outcome::{FlowOutcome, LinkOutcome, Outcome, Percentiles};
use crate::quantity::{Measure, Quantity};
use crate::supervision::{Excess, Overflow};
use crate::trace::Recording;
use dumbbell_net::PacketKind;
use dumbbell_tcp::Sender;
use dumbbell_units::Time;

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
        Measure::Srtt => sender.srtt(),
        Measure::Rto => Some(sender.rto().secs()),
        Measure::SeqAcked => Some(sender.snd_una() as f64),
        Measure::SeqSent
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

impl Simulation<'_> {
    pub(super) fn record(&mut self, flow: u32, measure: Measure, value: Option<f64>) {
        for &probe in &self.flow_probes[flow as usize] {
            let recording = &mut self.recordings[probe as usize];
            if recording.quantity.is(measure) {
                recording.record(self.network.now, value);
            }
        }
    }

    #[cold]
    pub(super) fn record_flow(&mut self, owner: u32, flow: u32) {
        if !self.rtts.is_empty() {
            self.measure_rtt(owner);
        }
        self.record_events(owner);
        let sender = &self.connections[owner as usize].sender;
        for &probe in &self.flow_probes[flow as usize] {
            let recording = &mut self.recordings[probe as usize];
            if let Some(value) = shown(sender, &recording.quantity) {
                recording.record(self.network.now, Some(value));
            }
        }
    }

    /// Finds out whether the probes have recorded too much.
    pub(super) fn check_samples(&mut self) {
        if self.recordings.is_empty() {
            return;
        }
        let kept: usize = self.recordings.iter().map(Recording::samples).sum();
        let traced =
            self.network.links.iter().zip(&self.link_probes).filter(|(_, probes)| !probes.is_empty());
        let waiting: usize = traced.map(|(link, _)| link.samples()).sum();
        let samples = (kept + waiting) as u64;
        if samples > self.max_samples {
            let (limit, at) = (self.max_samples, self.network.now);
            self.overflow = Some(Overflow { of: Excess::Samples, count: samples, limit, at });
        }
    }

    /// Finds out whether too many packets are in flight. False if they are.
    #[inline]
    pub(super) fn check_in_flight(&mut self, limit: u64) -> bool {
        let count = self.network.in_flight.most();
        if count > limit {
            self.overflow = Some(Overflow { of: Excess::Packets, count, limit, at: self.network.now });
        }
        count <= limit
    }

    /// The results. After an overflow there are none but the overflow.
    pub(crate) fn finish(mut self) -> Outcome {
        if self.overflow.is_some() {
            return self.overflowed();
        }
        self.merge_all_arrived();
        self.settle_counts();
        for owner in 0..self.connections.len() as u32 {
            if self.connections[owner as usize].is_open {
                self.count_connection(owner);
            }
        }
        self.record_unfinished();
        self.conservation.in_flight = (self.unsettled_drops.len() + self.network.packet_count()) as u64;
        self.finish_recordings();
        self.check_samples();
        if self.overflow.is_some() {
            return self.overflowed();
        }
        self.window.until = self.window.until.min(self.network.now);
        for link in &mut self.network.links {
            link.end(self.network.now);
        }
        self.check_conservation();
        let flows = (0..self.flows.len()).map(|index| self.flow_outcome(index)).collect();
        let links = (0..self.network.links.len()).map(|index| self.link_outcome(index)).collect();
        Outcome {
            scenario: self.scenario.name.clone(),
            seed: self.seed,
            run: self.run,
            fingerprint: self.fingerprint,
            simulated_s: self.network.now.secs(),
            events: self.event_count,
            flows,
            links,
            conservation: self.conservation,
            recordings: self.recordings,
            journal: self.journal,
            overflow: None,
        }
    }

    fn overflowed(&self) -> Outcome {
        let (seed, run) = (self.seed, self.run);
        Outcome { seed, run, overflow: self.overflow, ..Outcome::default() }
    }

    /// Checks that no packet appeared or vanished, and that links, flows and traces agree.
    ///
    /// # Panics
    ///
    /// A packet appeared or vanished: this is a fault of the engine, and the run is invalid.
    fn check_conservation(&self) {
        let whose = || format!("scenario \"{}\", seed {}, run {}", self.scenario.name, self.seed, self.run);
        let conservation = &self.conservation;
        assert!(conservation.holds(), "packets appeared or vanished: {conservation:?}; {}", whose());
        let (dropped, measured) = (self.dropped_by_links(), self.measured_drops);
        assert_eq!(dropped, measured, "links and conservation disagree about drops; {}", whose());
        for (spec, (hot, on_the_way)) in
            self.scenario.flows.iter().zip(self.hot_flows.iter().zip(self.packets_of_flows()))
        {
            let undelivered = hot.undelivered;
            assert_eq!(undelivered, on_the_way, "packets of {} appeared or vanished; {}", spec.name, whose());
        }
    }

    /// Drops within the measurement window, as links count them.
    fn dropped_by_links(&self) -> u64 {
        self.network.links.iter().map(|link| link.stats().drops()).sum()
    }

    /// Number of packets of each flow that were dropped or are in flight, without acknowledgements.
    fn packets_of_flows(&self) -> Vec<u64> {
        let mut packets: Vec<u64> = self.flows.iter().map(|flow| flow.packets_dropped).collect();
        let in_flight = self.network.packets().filter_map(|packet| match packet.kind {
            PacketKind::Data | PacketKind::Syn => Some(packet.payload.flow()),
            PacketKind::Datagram => Some(packet.owner),
            PacketKind::Ack | PacketKind::Report => None,
        });
        for flow in in_flight.chain(self.unsettled_drops.iter().filter_map(|drop| drop.flow)) {
            packets[flow as usize] += 1;
        }
        packets
    }

    pub(super) fn finish_recordings(&mut self) {
        for (link, probes) in self.link_probes.iter().enumerate() {
            let changes = self.network.links[link].take_changes(self.network.now);
            let samples = self.network.links[link].take_samples();
            for &probe in probes {
                let recording = &mut self.recordings[probe as usize];
                if recording.quantity.is(Measure::Backlog) {
                    for change in changes.iter().filter(|change| change.at <= self.network.now) {
                        recording.record(change.at, Some(change.waiting as f64));
                    }
                }
                let now = self.network.now;
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
            recording.finish(self.network.now);
        }
    }

    pub(super) fn flow_outcome(&self, index: usize) -> FlowOutcome {
        let spec = &self.scenario.flows[index];
        let (state, hot) = (&self.flows[index], &self.hot_flows[index]);
        let active = (state.active_before + self.present_activity(index)).secs();
        let rate = |bytes: u64| if active > 0.0 { bytes as f64 * 8.0 / active } else { 0.0 };
        FlowOutcome {
            name: spec.name.clone(),
            goodput_bps: rate(hot.bytes_delivered),
            throughput_bps: rate(hot.bytes_on_wire),
            bytes_delivered: hot.bytes_delivered,
            completion_s: state.completed_at.map(|at| at.since(state.started_at).secs()),
            start_s: state.started_at.secs(),
            segments_lost: state.segments_lost,
            rtt: self.rtts.get(index).map(Percentiles::of_times).unwrap_or_default(),
            delay: self.delays.get(index).map(Percentiles::of_times).unwrap_or_default(),
            transfers: self.transfers_outcome(index),
            playback: self.playback(index),
            ..self.measured(index).outcome()
        }
    }

    /// Active time of the flow within the measurement window since the current start.
    pub(super) fn present_activity(&self, flow: usize) -> Time {
        self.window.overlap(self.flows[flow].runs_since, self.activity_end(flow))
    }

    /// When the activity since the current start ends, at the latest now. Arrivals count after the stop if they were sent
    /// before it, and after the end of a workload if their connection was given up.
    pub(super) fn activity_end(&self, flow: usize) -> Time {
        let state = &self.flows[flow];
        let last_delivery = self.hot_flows[flow].last_delivery;
        let stop = state.stop.map_or(Time::NEVER, |stop| stop.max(last_delivery));
        let gave_up = state.totals.connections_given_up > 0;
        let completed = state.completed_at.unwrap_or(Time::NEVER);
        stop.min(if gave_up { completed.max(last_delivery) } else { completed }).min(self.network.now)
    }

    pub(super) fn link_outcome(&self, index: usize) -> LinkOutcome {
        let link = &self.network.links[index];
        let (stats, waits) = (link.stats(), link.waits());
        let window = self.window.length().0.max(1) as f64;
        LinkOutcome {
            name: self.scenario.links[index].name.clone(),
            utilization: stats.busy as f64 / window,
            drops_queue: stats.drops_queue,
            drops_early: stats.drops_early,
            drops_policer: stats.drops_policer,
            drops_impairment: stats.drops_impairment,
            duplicates: u64::from(stats.duplicates),
            marks: stats.marks,
            packets: stats.packets,
            wait_mean_s: stats.wait_mean(),
            backlog_mean_packets: stats.waited as f64 / window,
            backlog_max_packets: u64::from(stats.backlog_max),
            ..LinkOutcome::of_waits(waits)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scenario, Supervision};
    use std::sync::atomic::AtomicBool;

    const SCENARIO: &str = r#"
        duration = "1 s"
        nodes = ["a", "b"]
        links = [{ name = "ab", from = "a", to = "b", rate = "1 Mbit/s", delay = "1 ms" },
                 { name = "ba", from = "b", to = "a", rate = "1 Mbit/s", delay = "1 ms" }]
        flows = [{ name = "f", from = "a", to = "b", tcp = "reno" }]"#;

    /// The end of a run after a fault.
    fn end_after(fault: impl FnOnce(&mut Simulation<'_>)) {
        let scenario = Scenario::from_toml(SCENARIO).unwrap();
        let never = AtomicBool::new(false);
        let supervision = Supervision::from(&never);
        let mut simulation = Simulation::new(&scenario, (1, 0), &supervision);
        simulation.run(&supervision);
        fault(&mut simulation);
        simulation.finish();
    }

    #[test]
    fn a_sound_run_passes_the_check_of_conservation() {
        end_after(|_| ());
    }

    #[test]
    #[should_panic(expected = "packets appeared or vanished: ")]
    fn a_packet_that_appears_ends_the_run() {
        end_after(|simulation| simulation.conservation.delivered += 1);
    }

    #[test]
    #[should_panic(expected = "links and conservation disagree about drops")]
    fn a_drop_that_no_link_knows_ends_the_run() {
        end_after(|simulation| simulation.measured_drops += 1);
    }

    #[test]
    #[should_panic(expected = "packets of f appeared or vanished")]
    fn a_packet_of_another_flow_ends_the_run() {
        end_after(|simulation| simulation.hot_flows[0].undelivered += 1);
    }
}
