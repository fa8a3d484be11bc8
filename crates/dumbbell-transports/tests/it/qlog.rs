//! The log that quinn writes of a run of the engine, against what the engine records of the same run.

use crate::engine::{flow, scenario_of};
use dumbbell_sim::journal::Request;
use dumbbell_sim::transport::{
    Carried, End, Log, Shown, Stack, StackEvent, Started, Transmit, TransportHost, TransportSpec,
};
use dumbbell_sim::{Supervision, run_unless};
use dumbbell_units::spec::SpecError;
use dumbbell_units::{Ecn, Time, Value};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A host whose stacks leave their logs behind.
#[derive(Debug)]
struct LoggedHost {
    host: Arc<dyn TransportHost>,
    log: Arc<Mutex<String>>,
}

impl TransportHost for LoggedHost {
    fn name(&self) -> &'static str {
        self.host.name()
    }

    fn entry(&self) -> Value {
        self.host.entry()
    }

    fn complete(&self, flow: &str, spec: &TransportSpec) -> Result<TransportSpec, SpecError> {
        self.host.complete(flow, spec)
    }

    fn start(&self, flows: Vec<Carried<'_>>) -> Result<Vec<Started>, String> {
        let logged = |Started { stack, flows }| Started {
            stack: Box::new(Logged { stack, log: Arc::clone(&self.log) }),
            flows,
        };
        Ok(self.host.start(flows)?.into_iter().map(logged).collect())
    }
}

#[derive(Debug)]
struct Logged {
    stack: Box<dyn Stack>,
    log: Arc<Mutex<String>>,
}

impl Drop for Logged {
    fn drop(&mut self) {
        self.log.lock().expect("no panic").push_str(&self.stack.take_log(Log::Events));
    }
}

impl Stack for Logged {
    fn open(&mut self, now: Time, flow: u32, connection: u32, bytes: u64, is_kept: bool) {
        self.stack.open(now, flow, connection, bytes, is_kept);
    }

    fn write(&mut self, now: Time, connection: u32, bytes: u64) {
        self.stack.write(now, connection, bytes);
    }

    fn close(&mut self, now: Time, connection: u32) {
        self.stack.close(now, connection);
    }

    fn on_datagram(&mut self, now: Time, flow: u32, to: End, ecn: Ecn, bytes: &[u8]) -> u64 {
        self.stack.on_datagram(now, flow, to, ecn, bytes)
    }

    fn next_deadline(&self) -> Time {
        self.stack.next_deadline()
    }

    fn on_deadline(&mut self, now: Time) {
        self.stack.on_deadline(now);
    }

    fn poll_transmit(&mut self, now: Time, bytes: &mut Vec<u8>) -> Option<Transmit> {
        self.stack.poll_transmit(now, bytes)
    }

    fn poll_event(&mut self) -> Option<StackEvent> {
        self.stack.poll_event()
    }

    fn shown(&mut self, now: Time, connection: u32) -> Shown {
        self.stack.shown(now, connection)
    }
}

/// What quinn's log states, in its names; `lost` counts its events `packet_lost`.
type State = BTreeMap<&'static str, f64>;

/// The state at the end of each instant at which the log has metrics, by the bits of its time in ms: the log has times in
/// single precision.
fn of_log(log: &str) -> BTreeMap<u32, State> {
    let (mut state, mut states) = (State::from([("lost", 0.0)]), BTreeMap::new());
    for record in log.split('\u{1e}').skip(2) {
        let event: Value = serde_json::from_str(record).expect("JSON");
        let at = (event["time"].as_f64().expect("a time") as f32).to_bits();
        match event["name"].as_str().expect("a name") {
            "recovery:metrics_updated" => {
                for name in ["congestion_window", "bytes_in_flight", "ssthresh"] {
                    if let Some(value) = event["data"][name].as_f64() {
                        state.insert(name, value);
                    }
                }
                states.insert(at, state.clone());
            }
            "recovery:packet_lost" => *state.entry("lost").or_default() += 1.0,
            _ => {}
        }
    }
    states
}

/// The same as the engine has it.
fn of_shown(shown: &Shown) -> State {
    let count = |count: Option<u64>| count.map(|count| count as f64);
    let values = [
        ("congestion_window", shown.cwnd),
        ("bytes_in_flight", count(shown.in_flight)),
        ("ssthresh", shown.ssthresh.filter(|ssthresh| ssthresh.is_finite())),
        ("lost", count(shown.lost)),
    ];
    values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

#[test]
fn windows_and_losses_are_those_that_quinn_logs() {
    for congestion in ["cubic", "newreno", "bbr"] {
        let log = Arc::new(Mutex::new(String::new()));
        let host = dumbbell_transports::hosts_with(true).remove(0);
        let host: Arc<dyn TransportHost> = Arc::new(LoggedHost { host, log: Arc::clone(&log) });
        let stated = json!({ "name": "quinn", "congestion": congestion });
        let scenario = scenario_of(json!([flow("f", "transport", stated, json!("greedy"))]), &[host]);
        let scenario = scenario.expect("a scenario");
        let never = AtomicBool::new(false);
        let journal = Some(Request { flow: 0, window: (Time::ZERO, Time(20_000_000_000)) });
        let outcome = run_unless(Supervision { journal, ..Supervision::from(&never) }, &scenario, 1, 0);
        let outcome = outcome.expect("it is not stopped");
        let journal = outcome.journal.and_then(|journal| journal.carried).expect("a carried flow");
        let states = of_log(&log.lock().expect("no panic"));
        let mut compared = BTreeMap::new();
        let entries = &journal.entries;
        for (entry, next) in entries.iter().zip(entries.iter().skip(1)) {
            let at = Duration::from_nanos(entry.at.0).as_secs_f32() * 1000.0;
            let is_last = next.at > entry.at;
            let Some(logged) = states.get(&at.to_bits()).filter(|_| is_last) else { continue };
            for (name, value) in of_shown(&entry.after) {
                let Some(&theirs) = logged.get(name) else { continue };
                // Until data is acknowledged, what is in flight includes the acknowledgements that share the first datagram
                // with data: the congestion control is told the size of the datagram.
                if name != "bytes_in_flight" || entry.after.acknowledged > 0 {
                    assert_eq!(value, theirs, "{congestion}: {name} at {}", entry.at);
                }
                *compared.entry(name).or_insert(0) += 1;
            }
        }
        for name in ["congestion_window", "bytes_in_flight", "lost"] {
            assert!(compared[name] > 8_000, "{congestion}: {compared:?}");
        }
        assert_eq!(compared.contains_key("ssthresh"), congestion != "bbr");
        let lost = states.values().last().map(|state| state["lost"]);
        assert!(lost > Some(50.0), "{lost:?}");
    }
}
