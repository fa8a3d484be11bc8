//! An estimate of the packets that a scenario sends in a given time, which is rather too high than too low.

use crate::paths::{Paths, paths};
use dumbbell_cc::AlgorithmSpec;
use dumbbell_net::workloads::arrivals::ArrivalSpec;
use dumbbell_net::{ImpairmentSpec, LinkSpec, OpportunitySpec, SourceSpec};
use dumbbell_sim::Scenario;
use dumbbell_sim::flows::FlowSpec;
use dumbbell_tcp::rtt::{RttEstimator, TimerSpec};
use dumbbell_tcp::{HostClock, TcpParams};
use dumbbell_units::{Stream, Time};

/// Number of simulated emissions of a datagram source. Later ones are assumed to have the rate of the last half, which
/// may all belong to one burst.
const EMISSIONS: usize = 300;
/// Mean size of a tcplib conversation in bytes, with its tail truncated.
const CONVERSATION: f64 = 15_000.0;
/// Maximum number of dwells of a two-state impairment in a run.
const DWELLS: f64 = 2e5;
/// Retransmissions of one segment before a connection is given up.
const BACKOFFS: u32 = 12;

/// The work of a scenario over time.
#[derive(Debug)]
pub struct Work {
    /// What flows write or send; two for a source of datagrams over TCP.
    flows: Vec<FlowWork>,
    /// Maximum time, in seconds, for which impairments and clocks cost little.
    longest: f64,
}

/// The packets sent by a flow.
#[derive(Debug)]
enum FlowWork {
    /// Datagrams: times in seconds with the number of packets sent until then.
    Datagrams(Vec<(f64, f64)>),
    /// TCP segments and acknowledgements.
    Segments(Segments),
}

#[derive(Debug)]
struct Segments {
    /// Capacity of the path in segments per second.
    capacity: f64,
    /// Minimum round-trip time, in seconds.
    rtt: f64,
    /// Segments of the initial and of the maximum window.
    first: f64,
    window: f64,
    /// Doublings of the window per round trip in slow start, and whether one acknowledgement may cause several.
    doublings: f64,
    leaps: bool,
    offer: Offer,
    /// Connections opened at the start.
    opened: f64,
    /// Packets sent per delivered segment.
    cost: f64,
    /// Segments that a timeout sends at once, if the window is open after it, and the first timeout in seconds.
    after_timeout: f64,
    timeout: f64,
}

impl Work {
    /// The work of a valid scenario, assuming that all flows start at once.
    pub fn of(scenario: &Scenario) -> Self {
        let paths = paths(scenario);
        let mut users = vec![0.0_f64; scenario.links.len()];
        for link in paths.iter().flat_map(|paths| &paths.forward).flatten() {
            users[*link] += 1.0;
        }
        let capacity = |link: usize| fastest(&scenario.links[link]) / 8.0 / users[link].max(1.0);
        let flow = |(flow, paths): (&FlowSpec, &Paths)| {
            // Each message written is an event, as a datagram is.
            let datagrams = flow.source.is_datagram().then(|| FlowWork::Datagrams(datagrams(&flow.source)));
            let tcp = flow.tcp.as_ref();
            let segments =
                tcp.map(|tcp| FlowWork::Segments(segments(scenario, flow, &tcp.0, paths, capacity)));
            datagrams.into_iter().chain(segments)
        };
        let flows = scenario.flows.iter().zip(&paths).flat_map(flow).collect();
        let impairments = scenario.links.iter().flat_map(|link| &link.impairments);
        let longest = impairments.filter_map(|impairment| match impairment {
            ImpairmentSpec::TwoState(model) => Some(DWELLS * model.good.min(model.bad).secs()),
            _ => None,
        });
        Work { flows, longest: longest.fold(1e6, f64::min) }
    }

    /// Packets sent within `seconds`.
    pub fn packets(&self, seconds: f64) -> f64 {
        let packets = |flow: &FlowWork| match flow {
            FlowWork::Datagrams(sent) => {
                let before = sent.partition_point(|&(at, _)| at <= seconds);
                let (at, packets) = before.checked_sub(1).map_or((0.0, 0.0), |last| sent[last]);
                if before < EMISSIONS {
                    return packets;
                }
                let (half, by_then) = sent[EMISSIONS / 2];
                packets + (seconds - at) * (packets - by_then) / (at - half).max(1e-9)
            }
            FlowWork::Segments(tcp) => tcp.packets(seconds),
        };
        self.flows.iter().map(packets).sum()
    }

    /// The seconds after which about this many packets have been sent, or after which nothing more is sent; `None` if
    /// far more are sent at once.
    pub fn seconds_of(&self, packets: f64) -> Option<f64> {
        let (shortest, longest) = (1e-7_f64.min(self.longest), self.longest);
        if self.packets(shortest) > 3.0 * packets {
            return None;
        }
        let wanted = packets.min(0.95 * self.packets(longest));
        let (mut short, mut long) = (shortest, longest);
        for _ in 0..60 {
            let middle = (short * long).sqrt();
            match self.packets(middle) < wanted {
                true => short = middle,
                false => long = middle,
            }
        }
        Some(long)
    }
}

impl Segments {
    fn packets(&self, seconds: f64) -> f64 {
        if self.offer.opened_per_second > 0.0 {
            let opened = self.opened + seconds * self.offer.opened_per_second;
            let carried = (seconds * self.capacity).min(seconds * self.offer.segments_per_second);
            return (opened * (self.first + 4.0) + carried) * self.cost;
        }
        let rounds = seconds / self.rtt;
        let doublings = (rounds * self.doublings).min(60.0);
        let slow_start = self.first * (1_u64 << doublings as u32) as f64;
        let by_window = (1.0 + rounds) * self.window;
        let leap = if self.leaps { slow_start.min(self.window) } else { 0.0 };
        let carried = (self.first + seconds * self.capacity + leap).min(slow_start);
        let sent_again = self.after_timeout * backoffs(1.0 + seconds / self.timeout);
        let offered = self.offer.segments + seconds * self.offer.segments_per_second;
        (carried + sent_again).min(by_window).min(offered) * self.cost
    }
}

fn fastest(link: &LinkSpec) -> f64 {
    if let Some(OpportunitySpec { times, size, .. }) = &link.opportunities {
        let period_ms = times.last().copied().unwrap_or(1).max(1);
        return 8e3 * size.0 as f64 * times.len() as f64 / period_ms as f64;
    }
    let rates = link.changes.iter().filter_map(|change| change.rate);
    rates.chain([link.rate]).map(|rate| rate.0).max().unwrap_or(1) as f64
}

fn segments(
    scenario: &Scenario,
    flow: &FlowSpec,
    tcp: &TcpParams,
    paths: &Paths,
    capacity: impl Fn(usize) -> f64,
) -> Segments {
    let mss = tcp.mss.0 as f64;
    let sizes = tcp.wire_sizes();
    let segment = f64::from(sizes.segment(tcp.mss.0 as u32));
    let acknowledgement = f64::from(sizes.acknowledgement(&Default::default()));
    let forward = shortest(&scenario.links, &paths.forward, segment);
    let reverse = shortest(&scenario.links, &paths.reverse, acknowledgement);
    let rtt: f64 = (forward + reverse).clamp(1e-9, 1e9);
    let mut estimator = RttEstimator::new(&tcp.timer, HostClock::At(Time::ZERO));
    let initial = estimator.timeout().secs();
    // A connection without an acknowledgement by then is given up, and its user opens another one.
    let longest = longest_timeout(&tcp.timer);
    let given_up: f64 =
        (0..=BACKOFFS).map(|doublings| (initial * f64::from(1 << doublings)).min(longest)).sum();
    let of_window = |window: dumbbell_units::Window| (window.bytes(tcp.mss.0 as u32) / mss).max(1.0);
    let window = of_window(tcp.receive_buffer).min(of_window(tcp.send_buffer));
    let opened = opened_at_start(&flow.source);
    let offer = Offer::of(&flow.source, mss, rtt, given_up);
    // With a timeout below the round-trip time, everything is sent several times.
    estimator.sample(Time::ZERO, Time::from_secs(rtt));
    let timeout = estimator.timeout().secs().min(initial).max(1e-9);
    let repeats = backoffs(rtt / timeout).min(f64::from(BACKOFFS));
    let lost_window = of_window(tcp.loss_window).min(window).min(offer.segments.max(1.0));
    let first = of_window(tcp.initial_window).max(2.0).min(window.max(2.0));
    let (doublings, leaps) = match &tcp.congestion {
        AlgorithmSpec::Hybla(hybla) => ((rtt / hybla.reference.secs()).max(1.0), true),
        _ => (1.0, false),
    };
    Segments {
        capacity: fastest_of(&paths.forward, capacity) / segment,
        rtt,
        first,
        window,
        doublings,
        leaps,
        offer,
        opened,
        cost: 2.0 + repeats * lost_window,
        after_timeout: lost_window - 1.0,
        timeout,
    }
}

/// The capacity of the fastest path.
fn fastest_of(paths: &[Vec<usize>], capacity: impl Fn(usize) -> f64) -> f64 {
    let slowest = |path: &Vec<usize>| path.iter().map(|&link| capacity(link)).fold(f64::INFINITY, f64::min);
    paths.iter().map(slowest).fold(0.0, f64::max)
}

/// The time of a packet of this size over the shortest path, in seconds.
fn shortest(links: &[LinkSpec], paths: &[Vec<usize>], size: f64) -> f64 {
    let hop = |&link: &usize| links[link].min_delay().secs() + size * 8.0 / fastest(&links[link]);
    paths.iter().map(|path| path.iter().map(hop).sum()).fold(f64::INFINITY, f64::min)
}

/// What the application of a flow sends.
#[derive(Debug)]
struct Offer {
    /// Segments at the start.
    segments: f64,
    segments_per_second: f64,
    /// Connections opened per second; each sends whether or not the path has capacity.
    opened_per_second: f64,
}

impl Offer {
    /// The offer of a source to connections that are given up after `given_up` seconds without an acknowledgement.
    fn of(source: &SourceSpec, mss: f64, rtt: f64, given_up: f64) -> Self {
        let turn = rtt.min(given_up);
        let per_second = |segments, opened| Offer {
            segments: 0.0,
            segments_per_second: segments,
            opened_per_second: opened,
        };
        match source {
            SourceSpec::Transfer(transfer) => {
                Offer { segments: (transfer.size.0 as f64 / mss).ceil(), ..per_second(0.0, 0.0) }
            }
            SourceSpec::Tcplib(source) => {
                let cap = source.conversation_cap.map_or(f64::INFINITY, |cap| cap.0 as f64);
                let bytes = (CONVERSATION * source.size_multiplier).min(cap);
                let opened_per_second = 1.0 / source.interarrival.secs();
                per_second(bytes / mss * opened_per_second, opened_per_second)
            }
            SourceSpec::Transfers(source) => {
                let interval = match &source.arrivals {
                    ArrivalSpec::Closed(closed) => (closed.pause.secs() + turn) / closed.users as f64,
                    _ => source.arrivals.interval(&source.sizes).unwrap_or(turn),
                };
                per_second(source.sizes.mean() / mss / interval, 1.0 / interval)
            }
            SourceSpec::Web(web) => {
                let bytes = web.document.mean() + web.objects as f64 * web.sizes.mean();
                let interval = web.pause.secs() + turn;
                let segments = (bytes / mss + web.objects as f64) / interval;
                per_second(segments, opened_at_start(source) / interval)
            }
            SourceSpec::Streaming(source) => {
                let bitrate = source.bitrates.iter().map(|rate| rate.0).max().unwrap_or_default() as f64;
                let segments = bitrate / 8.0 / mss + 1.0 / source.segment.secs();
                let ahead = source.buffer.secs() + source.segment.secs();
                let opened = if given_up < rtt { 1.0 / given_up } else { 0.0 };
                Offer { segments: segments * ahead, ..per_second(segments, opened) }
            }
            SourceSpec::Incast(source) => {
                let interval = (source.pause.secs() + turn) / source.senders as f64;
                per_second(source.sizes.mean() / mss / interval, 1.0 / interval)
            }
            _ => Offer { segments: f64::INFINITY, ..per_second(0.0, 0.0) },
        }
    }
}

/// Connections that a source opens together at its start.
fn opened_at_start(source: &SourceSpec) -> f64 {
    let connections = match source {
        SourceSpec::Transfers(source) => match &source.arrivals {
            ArrivalSpec::Closed(closed) => closed.users,
            _ => 1,
        },
        SourceSpec::Web(source) => source.connections.min(source.objects.max(1)),
        SourceSpec::Incast(source) => source.senders,
        _ => 1,
    };
    connections as f64
}

/// The longest timeout, in seconds.
fn longest_timeout(timer: &TimerSpec) -> f64 {
    match timer {
        TimerSpec::Bsd(timer) => timer.max_ticks as f64 * timer.tick.secs(),
        TimerSpec::Rfc6298(timer) => timer.maximum.secs(),
        TimerSpec::Linux(timer) => timer.maximum.secs(),
    }
}

/// Packets of a datagram source over time, from a trial run. The first pause is left out, because it depends on the
/// seed.
fn datagrams(source: &SourceSpec) -> Vec<(f64, f64)> {
    let mut random = Stream::new(0, 0, "dry run");
    let Some(mut state) = source.start_datagrams(&mut random) else { return Vec::new() };
    let mut sent = Vec::new();
    let mut packets = 0.0;
    let mut pause = None;
    while sent.len() < EMISSIONS {
        let Some(emission) = source.next_datagrams(&mut state, &mut random) else { return sent };
        packets += (emission.bytes as f64 / f64::from(emission.packet)).ceil();
        let at = emission.after_start.secs();
        sent.push((at - *pause.get_or_insert(at), packets));
    }
    sent
}

/// Number of doublings of 1 until it is at least `value`.
fn backoffs(value: f64) -> f64 {
    let powers = std::iter::successors(Some(1.0), |power| Some(power * 2.0));
    powers.take(64).take_while(|&power| power < value).count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Packets of a flow in some seconds.
    fn packets(source: serde_json::Value, tcp: serde_json::Value, seconds: f64) -> f64 {
        let link = |from: &str, to: &str| json!({ "name": from, "from": from, "to": to, "rate": "1 Mbit/s", "delay": "1 ms" });
        let scenario = json!({
            "duration": "1 s", "rules": "classic", "nodes": ["a", "b"], "links": [link("a", "b"), link("b", "a")],
            "flows": [{ "name": "f", "from": "a", "to": "b", "source": source, "tcp": tcp }],
        });
        Work::of(&Scenario::from_value(&scenario).expect("a valid scenario")).packets(seconds)
    }

    #[test]
    fn connections_that_open_together_count_from_the_start() {
        let packets = |source| packets(source, json!("reno"), 1e-6);
        let pause = "1000 s";
        let one = packets(json!({ "kind": "transfers", "arrivals": "regular" }));
        for source in [
            json!({ "kind": "incast", "senders": 500, "pause": pause }),
            json!({ "kind": "web", "connections": 500, "objects": 600, "pause": pause }),
            json!({ "kind": "transfers", "arrivals": { "kind": "closed", "users": 500, "pause": pause } }),
        ] {
            assert!(packets(source.clone()) > 400.0 * one, "{source}");
        }
    }

    #[test]
    fn windows_that_are_sent_at_once_count_beyond_the_capacity_of_the_path() {
        let plain = packets(json!("greedy"), json!("reno"), 1.0);
        let leap = json!({ "congestion": { "name": "hybla", "reference": "1 ms" } });
        assert!(packets(json!("greedy"), leap, 1.0) > 10.0 * plain);
        let loss_window = json!({ "congestion": "reno", "loss_window": "10 MB" });
        // Also where slow start would still send little.
        for seconds in [5e-3, 1.0] {
            assert!(packets(json!("greedy"), loss_window.clone(), seconds) > 10.0 * plain, "{seconds} s");
        }
    }
}
