//! The bare loop: the same packets over the same links, without TCP.
//!
//! It uses the engine's routes, links, event queue and packets in flight, and handles chained links, answers and merge
//! points like the engine. It therefore has the same number of packet events, and the additional cost of the engine is
//! that of TCP. A source has a fixed window: each arriving packet is acknowledged, and each arriving acknowledgement
//! releases one packet, or two until the window is full. Packets have no payload, which makes the loop slightly faster
//! than one that moves the engine's packets.

use crate::cases::{HEADER, PAYLOAD};
use dumbbell_net::{FifoLink, LinkSpec, Offer, Packet, PacketKind, QueueSpec};
use dumbbell_sim::Scenario;
use dumbbell_sim::events::{Event, EventQueue};
use dumbbell_sim::flows::Start;
use dumbbell_sim::in_flight::InFlight;
use dumbbell_sim::network::{After, Routes};
use dumbbell_units::spec::SpecError;
use dumbbell_units::{Ecn, Interval, Stream, Time};

/// Counters of a bare run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Data packets that arrived.
    pub packets: u64,
    /// Events processed.
    pub events: u64,
    /// Packets dropped by queues; the window remains smaller by one packet for each.
    pub dropped: u64,
}

struct Bare {
    now: Time,
    end: Time,
    events: EventQueue,
    routes: Routes,
    links: Vec<FifoLink>,
    in_flight: InFlight<()>,
    /// Unacknowledged packets of each flow.
    outstanding: Vec<u32>,
    window: u32,
    counts: Counts,
}

/// Runs the flows of a scenario with a fixed window of `window` packets each.
pub fn run(scenario: &Scenario, window: u32) -> Result<Counts, SpecError> {
    let whole = Interval { from: Time::ZERO, until: scenario.duration };
    // Always drop-tail, so that the loop is the same reference for all disciplines.
    let mut scenario = scenario.clone();
    for link in &mut scenario.links {
        if !matches!(link.queue, QueueSpec::DropTail(_)) {
            link.queue = QueueSpec::default();
        }
    }
    let scenario = &scenario;
    let link = |spec: &LinkSpec| FifoLink::new(spec, Stream::new(1, 0, "bare"), whole);
    let mut routes = Routes::new(scenario)?;
    routes.find_receivers(scenario, |_| false);
    let mut bare = Bare {
        now: Time::ZERO,
        end: scenario.duration,
        events: EventQueue::default(),
        in_flight: InFlight::new(&routes, scenario.links.iter()),
        routes,
        links: scenario.links.iter().map(link).collect(),
        outstanding: vec![0; scenario.flows.len()],
        window,
        counts: Counts::default(),
    };
    for (number, flow) in scenario.flows.iter().enumerate() {
        let (Start::At(start) | Start::Uniform(start, _)) = flow.start;
        bare.events.push(start, Event::Flow(number as u32));
    }
    bare.run();
    Ok(bare.counts)
}

impl Bare {
    fn run(&mut self) {
        while let Some((at, event)) = self.events.peek()
            && at <= self.end
        {
            self.now = at;
            self.counts.events += 1;
            match event {
                Event::Arrival(link) => self.on_arrival(link),
                Event::Merge(link) => {
                    self.events.pop_other();
                    self.on_merge(link);
                }
                Event::Flow(flow) => {
                    self.events.pop_other();
                    self.release(flow);
                }
                Event::Unordered(_)
                | Event::Departure(_)
                | Event::Deadline(_)
                | Event::Write(_)
                | Event::Stack(_)
                | Event::CarriedWrite(_) => {
                    self.events.pop_other();
                }
            }
        }
    }

    #[inline]
    fn on_arrival(&mut self, link: u32) {
        let Some((slot, next)) = self.in_flight.pop(link) else {
            self.events.postpone_arrival(None);
            return;
        };
        self.events.postpone_arrival(next);
        let packet = self.in_flight.take(slot);
        self.deliver(&packet);
    }

    fn on_merge(&mut self, link: u32) {
        let Some(number) = self.in_flight.merge_point(link) else { return };
        if self.in_flight.begin_merge(number, self.now) {
            while let Some(arrived) = self.in_flight.next_arrived(number, self.now, u32::MAX) {
                let packet = self.in_flight.take(arrived.slot);
                self.forward(arrived.at, arrived.hop + 1, packet);
            }
            self.in_flight.end_merge(&mut self.events, number);
        }
    }

    #[inline]
    fn forward(&mut self, mut at: Time, mut number: u32, mut packet: Packet<()>) {
        loop {
            let hop = self.routes.hops[number as usize];
            let Offer::Arrives(arrival) = self.links[hop.link as usize].offer(at, &mut packet) else {
                self.counts.dropped += 1;
                return;
            };
            match hop.after {
                After::Chained => number += 1,
                After::Receiver if arrival <= self.end => number = self.answer(&mut packet),
                _ => {
                    self.in_flight.push(&mut self.events, (number, hop), arrival, &packet);
                    return;
                }
            }
            at = arrival;
        }
    }

    #[inline]
    fn deliver(&mut self, packet: &Packet<()>) {
        if packet.kind == PacketKind::Ack {
            self.outstanding[packet.owner as usize] -= 1;
            self.release(packet.owner);
        } else {
            let mut answer = *packet;
            let begin = self.answer(&mut answer);
            self.forward(self.now, begin, answer);
        }
    }

    /// Turns an arrived data packet into its acknowledgement. Returns the first hop of the reverse path.
    #[inline]
    fn answer(&mut self, packet: &mut Packet<()>) -> u32 {
        self.counts.packets += 1;
        packet.kind = PacketKind::Ack;
        packet.size = HEADER;
        self.routes.begins[packet.owner as usize].1
    }

    /// Sends at most two packets, while the window has room. The window fills as in slow start, and the queue does not
    /// overflow.
    #[inline]
    fn release(&mut self, flow: u32) {
        for _ in 0..2 {
            if self.outstanding[flow as usize] < self.window {
                self.outstanding[flow as usize] += 1;
                let forward = self.routes.begins[flow as usize].0;
                self.forward(self.now, forward, self.packet(flow));
            }
        }
    }

    #[inline]
    fn packet(&self, owner: u32) -> Packet<()> {
        Packet {
            size: PAYLOAD + HEADER,
            owner,
            generation: 0,
            kind: PacketKind::Data,
            ecn: Ecn::NotEct,
            flow: 0,
            timestamp: self.now,
            queueing: Time::ZERO,
            payload: (),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::CASES;

    #[test]
    fn the_bottleneck_is_full_and_nothing_is_dropped() {
        for case in CASES {
            let share = 0.1;
            let counts = run(&case.scenario(share).expect(case.name), case.window()).expect(case.name);
            let capacity = case.million_packets * 1e6 * share;
            assert_eq!(counts.dropped, 0, "{}", case.name);
            // The link is not full during the first round trips and the first tenth of the run, over which flows start.
            let used = counts.packets as f64 / capacity;
            assert!(used > 0.75 && used <= 1.0, "{}: {used}", case.name);
        }
    }

    #[test]
    fn each_packet_has_one_event_for_its_acknowledgement() {
        // One flow: every link after the first is fed by only one link.
        let events_per_packet = |case: usize| {
            let case = &CASES[case];
            let counts = run(&case.scenario(0.1).expect(case.name), case.window()).expect(case.name);
            counts.events as f64 / counts.packets as f64
        };
        assert!((events_per_packet(0) - 1.0).abs() < 0.01);
        // Ten flows: the bottleneck is fed by ten links and merges the arrivals of 20 ms in one event.
        assert!((events_per_packet(1) - 1.0).abs() < 0.05);
    }
}
