//! Any text, parsed as TOML and as JSON. The parser never panics. An accepted scenario has a canonical form that parses
//! back to itself, and, if small enough, runs without a panic and loses no packet.

#![no_main]

use arbitrary::Unstructured;
use dumbbell_chaos::schema::{change, names};
use dumbbell_fuzz::count_events;
use dumbbell_net::workloads::arrivals::ArrivalSpec;
use dumbbell_net::{LinkSpec, SourceSpec};
use dumbbell_sim::flows::FlowSpec;
use dumbbell_sim::{Scenario, run};
use dumbbell_units::spec::Field;
use dumbbell_units::{Rate, Stream, Time, Value};
use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target, fuzzer_mutate};
use std::sync::LazyLock;

/// Maximum simulated time of a run.
const DURATION: Time = Time(50_000_000);
/// Maximum number of nodes, links, flows, probes and lost packets of a scenario that is run.
const COMPONENTS: usize = 24;
/// Maximum number of packets that a link or a source sends in that time, and of segments of a window.
const PACKETS: f64 = 2000.0;
/// Minimum time between samples of a probe and between conversations.
const SPACING: Time = Time(100_000);

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(bytes) else { return Corpus::Reject };
    let mut is_scenario = false;
    for read in [Scenario::from_toml, Scenario::from_json] {
        match read(text) {
            Ok(scenario) => {
                check(&scenario);
                is_scenario = true;
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    // Mutations start from valid scenarios only; invalid ones occur on the way.
    if is_scenario { Corpus::Keep } else { Corpus::Reject }
});

static SCHEMA: LazyLock<Value> = LazyLock::new(Scenario::schema);

// Of four mutations, one is blind and three follow the schema; otherwise hardly any result would be a scenario.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed.is_multiple_of(4) {
        return fuzzer_mutate(data, size, max_size);
    }
    match changed(&data[..size], seed) {
        Some(text) if text.len() <= max_size => {
            data[..text.len()].copy_from_slice(text.as_bytes());
            text.len()
        }
        _ => fuzzer_mutate(data, size, max_size),
    }
});

/// The scenario in JSON with one to four mutations that follow the schema; `None` if `text` is not a table.
fn changed(text: &[u8], seed: u32) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?;
    let mut value: Value = serde_json::from_str(text).ok().or_else(|| toml::from_str(text).ok())?;
    let mut random = Stream::new(u64::from(seed), 0, "change");
    let bytes: Vec<u8> = (0..1024).map(|_| (random.uniform() * 256.0) as u8).collect();
    let mut u = Unstructured::new(&bytes);
    let mut texts = names(&value);
    texts.push("*".to_owned());
    for _ in 0..u.int_in_range(1..=4).ok()? {
        change(&mut value, &SCHEMA, &texts, &mut u).ok()?;
    }
    Some(value.to_string())
}

fn check(scenario: &Scenario) {
    let small = bounded(scenario);
    if small.is_none() && scenario.flows.len() > COMPONENTS {
        // A group of flows may be large, and so is its canonical form.
        return;
    }
    let canonical = scenario.to_json();
    let again = match Scenario::from_json(&canonical) {
        Ok(again) => again,
        Err(error) => panic!("the canonical form is refused: {error}\n{canonical}"),
    };
    assert_eq!(again.to_json(), canonical, "the canonical form changes when it is read");
    assert_eq!(again.hash(), scenario.hash());
    let Some(small) = small else { return };
    let outcome = run(&small, 1, 0);
    count_events(outcome.events);
    assert!(outcome.simulated_s <= DURATION.secs());
}

/// The scenario limited to the maximum time of a run; `None` if it is still too large.
fn bounded(scenario: &Scenario) -> Option<Scenario> {
    let counts = [scenario.nodes.len(), scenario.links.len(), scenario.flows.len(), scenario.probes.len()];
    if counts.iter().any(|&count| count > COMPONENTS) {
        return None;
    }
    let smallest = scenario.flows.iter().map(smallest_packet).min().unwrap_or(1);
    let is_slow = |rate: Rate| packets(rate, smallest) <= PACKETS;
    let has_time = |period: Option<Time>| period.is_none_or(|period| period >= SPACING);
    let is_small_link = |link: &LinkSpec| {
        let mut rates = link.changes.iter().filter_map(|change| change.rate).chain([link.rate]);
        rates.all(is_slow) && link.impairments.len() <= COMPONENTS
    };
    let is_small = scenario.links.iter().all(is_small_link)
        && scenario.flows.iter().all(is_small_flow)
        && scenario.probes.iter().all(|probe| has_time(probe.period) && probe.quantities.len() <= COMPONENTS);
    if !is_small {
        return None;
    }
    let mut small = scenario.clone();
    small.duration = small.duration.min(DURATION);
    if small.measure_from >= small.measure_until() {
        small.measure_from = Time::ZERO;
    }
    // Only a scenario checked by its constructor may run.
    match Scenario::from_value(&small.encode()) {
        Ok(small) => Some(small),
        Err(error) => panic!("cutting a scenario short makes it invalid: {error}"),
    }
}

/// Packets of `size` bytes that `rate` transmits within the longest run.
fn packets(rate: Rate, size: u64) -> f64 {
    rate.0 as f64 * DURATION.secs() / 8.0 / size as f64
}

fn smallest_packet(flow: &FlowSpec) -> u64 {
    match (&flow.source, &flow.tcp) {
        (_, Some(tcp)) => tcp.0.headers.ack.0.min(tcp.0.headers.data.0.max(1)),
        (SourceSpec::ConstantRate(source), _) => source.packet.0,
        (SourceSpec::Poisson(source), _) => source.packet.0,
        (SourceSpec::OnOff(source), _) => source.packet.0,
        (SourceSpec::Video(source), _) => source.packet.0,
        (SourceSpec::Frames(source), _) => source.packet.0,
        (SourceSpec::Media(source), _) => source.packet.0.min(source.report.0),
        (SourceSpec::Ping(source), _) => source.packet.0,
        (_, None) => 1,
    }
}

fn is_small_flow(flow: &FlowSpec) -> bool {
    let is_slow = match &flow.source {
        SourceSpec::ConstantRate(source) => packets(source.rate, source.packet.0) <= PACKETS,
        SourceSpec::Poisson(source) => packets(source.rate, source.packet.0) <= PACKETS,
        SourceSpec::OnOff(source) => packets(source.rate, source.packet.0) <= PACKETS,
        SourceSpec::Video(source) => {
            let frames = source.frame_rate * DURATION.secs() + 1.0;
            frames * flow.source.largest_emission() as f64 <= PACKETS
        }
        SourceSpec::Frames(source) => {
            let frames = source.frame_rate * DURATION.secs() + 1.0;
            frames * flow.source.largest_emission() as f64 <= PACKETS
        }
        SourceSpec::Tcplib(source) => source.interarrival >= SPACING,
        SourceSpec::Media(source) => packets(source.max.max(source.min), source.packet.0) <= PACKETS,
        SourceSpec::Ping(source) => source.interval >= SPACING,
        SourceSpec::Transfers(source) => match &source.arrivals {
            ArrivalSpec::Closed(closed) => closed.users <= COMPONENTS as u64 && closed.pause >= SPACING,
            arrivals => arrivals.interval(&source.sizes).is_some_and(|gap| gap >= SPACING.secs()),
        },
        SourceSpec::Web(source) => {
            source.pause >= SPACING && source.objects.max(source.connections) <= COMPONENTS as u64
        }
        SourceSpec::Streaming(source) => source.segment >= SPACING,
        SourceSpec::Incast(source) => source.pause >= SPACING && source.senders <= COMPONENTS as u64,
        SourceSpec::Greedy(_) | SourceSpec::Transfer(_) => true,
    };
    let has_small_window = flow.tcp.as_ref().is_none_or(|tcp| {
        let mss = tcp.0.mss.0 as u32;
        let window = tcp.0.receive_buffer.bytes(mss).min(tcp.0.send_buffer.bytes(mss));
        let starts_small = tcp.0.initial_window.bytes(mss).max(tcp.0.loss_window.bytes(mss));
        window.min(starts_small) <= PACKETS * f64::from(mss)
    });
    is_slow && has_small_window
}
