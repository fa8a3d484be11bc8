//! The bare loop: the same packets over the same links, without TCP.
//!
//! It has the engine's routes, links and event queue, and chains links as the engine does: a packet passes a link and every following link
//! that only that one feeds in one step, one ring-buffer operation in and one out for the chain and one operation of the heap. So it has as
//! many events per packet as the engine has for packets; what the engine takes beyond it is TCP's. A source keeps a fixed window: a packet
//! that arrives is answered by an acknowledgement, and an acknowledgement that arrives releases a packet, or two until the window is full.
//! Packets carry nothing, which makes the loop a little faster than one that moves the engine's packets.

use crate::cases::{HEADER, PAYLOAD};
use dumbbell_net::{Flights, Link, Offer, Packet, PacketKind};
use dumbbell_sim::Scenario;
use dumbbell_sim::events::{Event, EventQueue};
use dumbbell_sim::network::{END, Routes};
use dumbbell_sim::scenario::Start;
use dumbbell_units::spec::SpecError;
use dumbbell_units::{Stream, Time};

/// What a bare run has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Data packets that arrived.
    pub packets: u64,
    /// Events processed.
    pub events: u64,
    /// Packets that found no room; their place in the window is lost.
    pub dropped: u64,
}

struct Bare {
    now: Time,
    events: EventQueue,
    routes: Routes,
    links: Vec<Link>,
    flights: Flights<()>,
    /// Packets of each flow that have left and are not acknowledged.
    outstanding: Vec<u32>,
    window: u32,
    counts: Counts,
}

/// Runs the flows of a scenario with a fixed window of so many packets each.
pub fn run(scenario: &Scenario, window: u32) -> Result<Counts, SpecError> {
    let whole = (Time::ZERO, scenario.duration);
    let link = |spec| Link::new(spec, Stream::new(1, 0, "bare"), whole);
    let mut bare = Bare {
        now: Time::ZERO,
        events: EventQueue::default(),
        routes: Routes::new(scenario)?,
        links: scenario.links.iter().map(link).collect(),
        flights: Flights::default(),
        outstanding: vec![0; scenario.flows.len()],
        window,
        counts: Counts::default(),
    };
    for (number, flow) in scenario.flows.iter().enumerate() {
        let (Start::At(start) | Start::Uniform(start, _)) = flow.start;
        bare.events.push(start, Event::Flow(number as u32));
    }
    bare.run(scenario.duration);
    Ok(bare.counts)
}

impl Bare {
    fn run(&mut self, duration: Time) {
        while let Some((at, event)) = self.events.peek()
            && at <= duration
        {
            self.now = at;
            self.counts.events += 1;
            match event {
                Event::Arrival(link) => self.on_arrival(link),
                Event::Flow(flow) => {
                    self.events.pop_other();
                    self.release(flow);
                }
                Event::Deadline(_) | Event::Write(_) => self.events.pop_other(),
            }
        }
    }

    #[inline]
    fn on_arrival(&mut self, link: u32) {
        let Some((mut packet, next)) = self.links[link as usize].land(&mut self.flights) else {
            self.events.postpone_arrival(None);
            return;
        };
        self.events.postpone_arrival(next);
        if self.routes.hops[packet.hop as usize + 1] == END {
            self.deliver(&packet);
        } else {
            packet.hop += 1;
            self.forward(packet);
        }
    }

    #[inline]
    fn forward(&mut self, mut packet: Packet<()>) {
        let mut at = self.now;
        loop {
            let index = self.routes.hops[packet.hop as usize];
            let link = &mut self.links[index as usize];
            let Offer::Arrives(arrival) = link.offer(at, &mut packet) else {
                self.counts.dropped += 1;
                return;
            };
            let next = self.routes.hops[packet.hop as usize + 1];
            if next != END && self.routes.sole_feeder[next as usize] == Some(index) {
                packet.hop += 1;
                at = arrival;
                continue;
            }
            if link.launch(&mut self.flights, arrival, packet) {
                self.events.push(arrival, Event::Arrival(index));
            }
            return;
        }
    }

    #[inline]
    fn deliver(&mut self, packet: &Packet<()>) {
        let flow = packet.owner;
        if packet.kind == PacketKind::Ack {
            self.outstanding[flow as usize] -= 1;
            self.release(flow);
        } else {
            self.counts.packets += 1;
            let reverse = self.routes.begins[flow as usize].1;
            self.forward(self.packet(flow, PacketKind::Ack, HEADER, reverse));
        }
    }

    /// Two packets at most, while the window has room: it fills as in a slow start, and the queue does not overflow.
    #[inline]
    fn release(&mut self, flow: u32) {
        for _ in 0..2 {
            if self.outstanding[flow as usize] < self.window {
                self.outstanding[flow as usize] += 1;
                let forward = self.routes.begins[flow as usize].0;
                self.forward(self.packet(flow, PacketKind::Data, PAYLOAD + HEADER, forward));
            }
        }
    }

    #[inline]
    fn packet(&self, owner: u32, kind: PacketKind, size: u32, hop: u32) -> Packet<()> {
        Packet {
            size,
            hop,
            owner,
            generation: 0,
            kind,
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
            // The first round trips, and the tenth of the run over which flows start, fall short of the capacity.
            let used = counts.packets as f64 / capacity;
            assert!(used > 0.75 && used <= 1.0, "{}: {used}", case.name);
        }
    }

    #[test]
    fn a_packet_has_as_many_events_as_chains_on_its_way() {
        // One flow: every link behind the first is fed by one link only, so there is one chain each way.
        let events_per_packet = |case: usize| {
            let case = &CASES[case];
            let counts = run(&case.scenario(0.1).expect(case.name), case.window()).expect(case.name);
            counts.events as f64 / counts.packets as f64
        };
        assert!((events_per_packet(0) - 2.0).abs() < 0.01);
        // Ten flows: the bottleneck is fed by ten links and begins a second chain.
        assert!((events_per_packet(1) - 4.0).abs() < 0.01);
    }
}
