//! The results of a run.

use super::Simulation;
use super::work::Work;
use crate::forwarding::Forwarding;
use crate::outcome::{FlowOutcome, LinkOutcome, Outcome, Percentiles};
use crate::supervision::Overflow;
use crate::transport::End;
use dumbbell_net::PacketKind;

impl Simulation<'_> {
    /// The results. After an overflow there are none but the overflow.
    pub(crate) fn finish(mut self) -> Outcome {
        if let Some(overflow) = self.overflow {
            return self.overflowed(overflow);
        }
        if let Some(failure) = self.stacks.failure().cloned() {
            let (seed, run) = (self.seed, self.run);
            return Outcome { seed, run, failure: Some(failure), ..Outcome::default() };
        }
        self.merge_all_arrived();
        self.settle_counts();
        for owner in self.connections.owners() {
            if self.connections[owner].is_open {
                self.count_connection(owner);
            }
        }
        self.end_carried();
        self.record_unfinished();
        self.ledger.close(self.network.packet_count());
        let now = self.network.now;
        self.probes.finish(&mut self.network.links, now);
        if let Some(overflow) = self.probes.overflow(&self.network.links, now) {
            return self.overflowed(overflow);
        }
        self.window.until = self.window.until.min(now);
        for link in &mut self.network.links {
            link.end(now);
        }
        self.check_conservation();
        let flows = self.flows.numbers().map(|flow| self.flow_outcome(flow)).collect();
        let links = self.scenario.links.iter().zip(&self.network.links);
        let links = links.map(|(spec, link)| {
            LinkOutcome::new(&spec.name, link.stats(), link.waits(), self.window.length())
        });
        Outcome {
            scenario: self.scenario.name.clone(),
            seed: self.seed,
            run: self.run,
            fingerprint: self.fingerprint.0,
            simulated_s: now.secs(),
            events: self.event_count,
            flows,
            links: links.collect(),
            conservation: self.ledger.counts(),
            recordings: self.probes.into_recordings(),
            journal: self.journal,
            overflow: None,
            failure: None,
        }
    }

    fn overflowed(&self, overflow: Overflow) -> Outcome {
        Outcome { seed: self.seed, run: self.run, overflow: Some(overflow), ..Outcome::default() }
    }

    /// Checks that no packet appeared or vanished, and that links, flows and traces agree.
    ///
    /// # Panics
    ///
    /// A packet appeared or vanished: this is a fault of the engine, and the run is invalid.
    fn check_conservation(&self) {
        let whose = || format!("scenario \"{}\", seed {}, run {}", self.scenario.name, self.seed, self.run);
        let conservation = self.ledger.counts();
        assert!(conservation.holds(), "packets appeared or vanished: {conservation:?}; {}", whose());
        let (dropped, measured) = (self.dropped_by_links(), self.ledger.measured_drops());
        assert_eq!(dropped, measured, "links and conservation disagree about drops; {}", whose());
        for (flow, on_the_way) in self.flows.numbers().zip(self.packets_of_flows()) {
            let name = &self.scenario.flows[flow as usize].name;
            let undelivered = self.flows.hot(flow).undelivered;
            assert_eq!(undelivered, on_the_way, "packets of {name} appeared or vanished; {}", whose());
        }
    }

    /// Drops within the measurement window, as links count them.
    fn dropped_by_links(&self) -> u64 {
        self.network.links.iter().map(|link| link.stats().drops()).sum()
    }

    /// Number of packets of each flow that were dropped or are in flight, without acknowledgements.
    fn packets_of_flows(&self) -> Vec<u64> {
        let mut packets = self.ledger.dropped_of_flows();
        let in_flight = self.network.packets().filter_map(|packet| match packet.kind {
            PacketKind::Data | PacketKind::Syn => Some(packet.payload.flow()),
            PacketKind::Datagram => Some(packet.owner),
            PacketKind::Report if self.is_echo(packet) => Some(packet.owner),
            PacketKind::CarriedData | PacketKind::CarriedControl => {
                (packet.payload.to() == End::Receiver).then_some(packet.owner)
            }
            PacketKind::Ack | PacketKind::Report => None,
        });
        in_flight.for_each(|flow| packets[flow as usize] += 1);
        packets
    }

    fn flow_outcome(&self, flow: u32) -> FlowOutcome {
        let index = flow as usize;
        let (spec, now) = (&self.scenario.flows[index], self.network.now);
        let (state, hot) = (&self.flows[flow], self.flows.hot(flow));
        let active = state.active(hot.last_delivery, self.window, now).secs();
        let rate = |bytes: u64| if active > 0.0 { bytes as f64 * 8.0 / active } else { 0.0 };
        let [rtt, delay] = self.probes.times(index).map(|times| times.map(Percentiles::of_times));
        let work = state.work.as_deref();
        FlowOutcome {
            name: spec.name.clone(),
            goodput_bps: rate(hot.bytes_delivered),
            throughput_bps: rate(hot.bytes_on_wire),
            bytes_delivered: hot.bytes_delivered,
            completion_s: state.completed_at.map(|at| at.since(state.started_at).secs()),
            start_s: state.started_at.secs(),
            segments_lost: self.ledger.lost(index).segments,
            rtt: rtt.unwrap_or_default(),
            delay: delay.unwrap_or_default(),
            transfers: work.map(Work::outcome),
            messages: state.messages.as_ref().map(|messages| messages.outcome(now)),
            playback: work.and_then(|work| work.playback(&spec.source, now)),
            ..self.changes.measured(index, &state.totals).outcome()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::ledger::Drop;
    use crate::{Scenario, Supervision};
    use dumbbell_units::Time;
    use std::sync::atomic::AtomicBool;

    const SCENARIO: &str = r#"
        duration = "1 s"
        rules = "classic"
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
        end_after(|simulation| simulation.ledger.count_delivered());
    }

    #[test]
    #[should_panic(expected = "links and conservation disagree about drops")]
    fn a_drop_that_no_link_knows_ends_the_run() {
        end_after(|simulation| {
            let drop = Drop { at: Time::ZERO, flow: None, is_segment: false };
            simulation.ledger.count_sent();
            simulation.ledger.enter(drop, Time::NEVER, simulation.window);
        });
    }

    #[test]
    #[should_panic(expected = "packets of f appeared or vanished")]
    fn a_packet_of_another_flow_ends_the_run() {
        end_after(|simulation| simulation.flows.hot_mut(0).undelivered += 1);
    }
}
