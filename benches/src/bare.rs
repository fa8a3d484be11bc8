//! The bare loop: the same packets over the same links, without TCP.
//!
//! It has the engine's routes, links, wires and event queue, and passes chained links and takes in arrivals as the engine does. So it has
//! as many events per packet as the engine has for packets; what the engine takes beyond it is TCP's. A source keeps a fixed window: a packet
//! that arrives is answered by an acknowledgement, and an acknowledgement that arrives releases a packet, or two until the window is full.
//! Packets carry nothing, which makes the loop a little faster than one that moves the engine's packets.

use crate::cases::{HEADER, PAYLOAD};
use dumbbell_net::{Link, Offer, Packet, PacketKind};
use dumbbell_sim::Scenario;
use dumbbell_sim::events::{Event, EventQueue};
use dumbbell_sim::network::{After, Routes};
use dumbbell_sim::scenario::Start;
use dumbbell_sim::wires::Wires;
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
    wires: Wires<()>,
    /// Packets of each flow that have left and are not acknowledged.
    outstanding: Vec<u32>,
    window: u32,
    counts: Counts,
}

/// Runs the flows of a scenario with a fixed window of so many packets each.
pub fn run(scenario: &Scenario, window: u32) -> Result<Counts, SpecError> {
    let whole = (Time::ZERO, scenario.duration);
    let link = |spec| Link::new(spec, Stream::new(1, 0, "bare"), whole);
    let routes = Routes::new(scenario)?;
    let mut bare = Bare {
        now: Time::ZERO,
        events: EventQueue::default(),
        wires: Wires::new(&routes, &scenario.links),
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
                Event::Intake(link) => {
                    self.events.pop_other();
                    self.on_intake(link);
                }
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
        let Some((packet, next)) = self.wires.land(link) else {
            self.events.postpone_arrival(None);
            return;
        };
        self.events.postpone_arrival(next);
        self.deliver(&packet);
    }

    fn on_intake(&mut self, link: u32) {
        let Some(number) = self.wires.intake(link) else { return };
        if self.wires.begin_intake(number, self.now) {
            while let Some((at, mut packet)) = self.wires.take_in(number, self.now, u32::MAX) {
                packet.hop += 1;
                self.forward(at, packet);
            }
            self.wires.end_intake(&mut self.events, number);
        }
    }

    #[inline]
    fn forward(&mut self, mut at: Time, mut packet: Packet<()>) {
        loop {
            let index = self.routes.hops[packet.hop as usize];
            let Offer::Arrives(arrival) = self.links[index as usize].offer(at, &mut packet) else {
                self.counts.dropped += 1;
                return;
            };
            let after = self.routes.after[packet.hop as usize];
            if after != After::Chained {
                self.wires.launch(&mut self.events, index, after, arrival, packet);
                return;
            }
            packet.hop += 1;
            at = arrival;
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
            self.forward(self.now, self.packet(flow, PacketKind::Ack, HEADER, reverse));
        }
    }

    /// Two packets at most, while the window has room: it fills as in a slow start, and the queue does not overflow.
    #[inline]
    fn release(&mut self, flow: u32) {
        for _ in 0..2 {
            if self.outstanding[flow as usize] < self.window {
                self.outstanding[flow as usize] += 1;
                let forward = self.routes.begins[flow as usize].0;
                self.forward(self.now, self.packet(flow, PacketKind::Data, PAYLOAD + HEADER, forward));
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
    fn a_packet_has_an_event_at_each_host() {
        // One flow: every link behind the first is fed by one link only.
        let events_per_packet = |case: usize| {
            let case = &CASES[case];
            let counts = run(&case.scenario(0.1).expect(case.name), case.window()).expect(case.name);
            counts.events as f64 / counts.packets as f64
        };
        assert!((events_per_packet(0) - 2.0).abs() < 0.01);
        // Ten flows: the bottleneck is fed by ten links and takes in at once what has arrived in 20 ms.
        assert!((events_per_packet(1) - 2.0).abs() < 0.05);
    }
}
