//! What the kernel is told, so that its TCP follows a scenario: hosts, addresses, routes, settings, congestion controls,
//! and the times of the flows.
//!
//! Each flow has two hosts of its own, so that every rule holds for one flow alone. Random times are drawn from the
//! named streams of the simulation: the same seed and run start the same flows at the same times.
//!
//! The environment `linux` has the rules of the kernel. A rule that the kernel cannot follow is refused with the field's
//! path. Under a recovery other than `rack`, the kernel still detects losses by RACK (RFC 8985) and, in recovery, moves the
//! window by PRR (RFC 9937); `docs/testbed.md` lists this and the rules that are less than a segment from the kernel's.

mod control;
mod rules;

pub use control::Control;

use crate::host::{HostSpec, Peer};
use dumbbell_bpf::Twin;
use dumbbell_net::SourceSpec;
use dumbbell_sim::Scenario;
use dumbbell_sim::flows::{FlowSpec, Start};
use dumbbell_sim::network::Routes;
use dumbbell_sim::quantity::{Measure, Quantity};
use dumbbell_tcp::Nagle;
use dumbbell_units::spec::{Members, SpecError};
use dumbbell_units::{Ecn, Rate, Stream, Time};
use rules::Rules;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::Ipv4Addr;

/// Maximum number of flows: each takes two network namespaces.
pub const MOST_FLOWS: usize = 250;

/// Maximum rate of the slowest link on a path with TCP. Up to it, the emulator delivers within 1 ms.
pub const MOST_RATE: Rate = Rate(200_000_000);

/// Port of the receiver of the first flow; the others follow.
pub(crate) const FIRST_PORT: u16 = 5001;

/// Headers of a datagram: 20 bytes of IPv4 and 8 of UDP.
pub const DATAGRAM_HEADERS: u32 = 28;

/// Smallest size of packets that a host can be limited to, in bytes (RFC 1122 §3.3.2). Smaller segments are announced.
const LEAST_MTU: u32 = 576;
/// Largest packet of IP, in bytes.
const LARGEST_PACKET: u32 = 65_535;

/// What a TCP connection is told.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpPlan {
    /// Its congestion control.
    pub control: Control,
    /// Headers of a data segment, in bytes.
    pub headers: u32,
    /// A partial segment waits while data is outstanding.
    pub nagle: bool,
    /// Its segments carry queueing times.
    pub aqt: bool,
}

/// A period in which a flow is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// When it begins.
    pub start: Time,
    /// When the application stops writing; never if not given.
    pub stop: Option<Time>,
}

/// A flow and its hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowPlan {
    /// Its periods, in order of time. Each opens a new connection.
    pub periods: Vec<Period>,
    /// Its connections; `None` for datagrams.
    pub tcp: Option<TcpPlan>,
    /// The host that sends.
    pub sender: HostSpec,
    /// The host that receives.
    pub receiver: HostSpec,
    /// The port at which it receives.
    pub port: u16,
}

impl FlowPlan {
    /// The eBPF twin that it needs, with its settings; `None` if it needs none.
    pub fn twin(&self) -> Option<(Twin, &Members)> {
        match &self.tcp.as_ref()?.control {
            Control::Twin(twin, settings) => Some((*twin, settings)),
            Control::Kernel(_) => None,
        }
    }
}

/// What the kernel is told about each flow of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// In the order of the scenario.
    pub flows: Vec<FlowPlan>,
}

/// Congestion controls that replace those of the scenario, by the name of the flow, or `*` for all others: the name of
/// one of the kernel, or `twin` for the eBPF twin where the kernel's own would be used.
pub type Replacements = BTreeMap<String, String>;

fn refuse(field: String, value: impl Display, accepted: impl Into<String>) -> SpecError {
    SpecError { field, value: value.to_string(), accepted: accepted.into(), suggestion: None }
}

/// Refuses a value with its name in quotation marks.
fn refuse_name(field: String, name: &str, accepted: impl Into<String>) -> SpecError {
    refuse(field, format!("\"{name}\""), accepted)
}

impl Plan {
    /// What the kernel is told so that it follows a scenario.
    ///
    /// # Errors
    ///
    /// The kernel cannot follow a rule, or the emulator a rate. The error names the field, its value and what is
    /// accepted.
    pub fn new(
        scenario: &Scenario,
        (seed, run): (u64, u64),
        replacements: &Replacements,
    ) -> Result<Plan, SpecError> {
        if scenario.flows.len() > MOST_FLOWS {
            let accepted = format!("at most {MOST_FLOWS} flows, each with two network namespaces");
            return Err(refuse("flows".into(), format!("a list of {}", scenario.flows.len()), accepted));
        }
        let is_flow = |name: &&String| *name == "*" || scenario.flows.iter().any(|flow| flow.name == **name);
        if let Some(name) = replacements.keys().find(|name| !is_flow(name)) {
            return Err(refuse_name("congestion".into(), name, "the name of a flow, or *"));
        }
        refuse_fast_links(scenario)?;
        if scenario.delay_percentiles {
            let accepted = "false: the testbed does not measure percentiles of delays";
            return Err(refuse("delay_percentiles".into(), "true", accepted));
        }
        let flows: Vec<FlowPlan> = (0..)
            .zip(&scenario.flows)
            .map(|(index, flow)| {
                let replacement = replacements.get(&flow.name).or_else(|| replacements.get("*"));
                flow_plan(index, flow, (seed, run), replacement.map(String::as_str))
            })
            .collect::<Result<_, _>>()?;
        refuse_probes(scenario, &flows)?;
        Ok(Plan { flows })
    }
}

/// Refuses TCP over a path on which no link is slow enough for the emulator.
fn refuse_fast_links(scenario: &Scenario) -> Result<(), SpecError> {
    let routes = Routes::new(scenario)?;
    for (flow, &(forward, _)) in scenario.flows.iter().zip(&routes.begins) {
        let slowest =
            routes.links_from(forward).map(|link| &scenario.links[link]).min_by_key(|link| link.rate);
        if let Some(link) = slowest
            && flow.tcp.is_some()
            && link.rate > MOST_RATE
        {
            let accepted = format!("a link of at most {MOST_RATE} on the path of {}", flow.name);
            return Err(refuse(format!("links.{}.rate", link.name), link.rate, accepted));
        }
    }
    Ok(())
}

fn flow_plan(
    index: u8,
    flow: &FlowSpec,
    (seed, run): (u64, u64),
    replacement: Option<&str>,
) -> Result<FlowPlan, SpecError> {
    let path = format!("flows.{}", flow.name);
    let (source, is_tcplib) = (&flow.source, matches!(flow.source, SourceSpec::Tcplib(_)));
    if is_tcplib || source.is_workload() || source.reports().is_some() {
        let accepted = "greedy, transfer or an unresponsive source of datagrams";
        return Err(refuse_name(format!("{path}.source"), flow.source.name(), accepted));
    }
    if flow.writes_messages() {
        let accepted = "greedy or transfer: the testbed writes no messages over TCP";
        return Err(refuse_name(format!("{path}.source"), flow.source.name(), accepted));
    }
    if flow.source.ecn() != Ecn::NotEct {
        return Err(refuse_name(
            format!("{path}.source.ecn"),
            "an ECN codepoint",
            "not-ect: datagrams of the kernel have none",
        ));
    }
    let start = match flow.start {
        Start::At(at) => at,
        Start::Uniform(from, to) => {
            let mut stream = Stream::new(seed, run, &format!("flow:{}:start", flow.name));
            Time::from_secs(stream.uniform_between(from.secs(), to.secs()))
        }
    };
    let mut periods = vec![Period { start, stop: flow.stop }];
    periods.extend(flow.restarts.iter().map(|restart| Period { start: restart.start, stop: restart.stop }));
    let addresses = (Ipv4Addr::new(10, 77, index, 1), Ipv4Addr::new(10, 77, index, 2));
    let port = FIRST_PORT + u16::from(index);
    let Some(tcp) = &flow.tcp else {
        let packet = flow.source.packet().map_or(0, |packet| packet.0);
        if packet <= u64::from(DATAGRAM_HEADERS) || packet > u64::from(LARGEST_PACKET) {
            let accepted =
                format!("more than {DATAGRAM_HEADERS} bytes of headers, and at most {LARGEST_PACKET}");
            return Err(refuse(format!("{path}.source.packet"), format!("{packet} bytes"), accepted));
        }
        let host = |address, peer| HostSpec {
            address,
            mtu: (packet as u32).max(LEAST_MTU) as u16,
            peers: vec![Peer { address: peer, route: Vec::new() }],
            settings: Vec::new(),
        };
        let (sender, receiver) = (host(addresses.0, addresses.1), host(addresses.1, addresses.0));
        return Ok(FlowPlan { periods, tcp: None, sender, receiver, port });
    };
    let rules = Rules { params: &tcp.0, path: format!("{path}.tcp") };
    let control = rules.control(replacement)?;
    rules.check()?;
    let (sender, receiver) = rules.hosts(addresses)?;
    let plan = TcpPlan {
        control,
        headers: rules.headers(),
        nagle: rules.params.nagle != Nagle::Off,
        aqt: rules.params.aqt,
    };
    Ok(FlowPlan { periods, tcp: Some(plan), sender, receiver, port })
}

/// Refuses probes that the kernel has no answer to.
fn refuse_probes(scenario: &Scenario, flows: &[FlowPlan]) -> Result<(), SpecError> {
    for (index, probe) in scenario.probes.iter().enumerate() {
        let is_chosen = |name: &String| probe.flows.iter().any(|chosen| chosen == "*" || chosen == name);
        for quantity in &probe.quantities {
            let is_known = match quantity {
                Quantity::Measured(measure) => is_answered(*measure),
                // Other flows do not have the quantity in the simulator either.
                Quantity::Declared(declared) => scenario
                    .flows
                    .iter()
                    .zip(flows)
                    .filter(|(spec, _)| is_chosen(&spec.name) && declares(spec, declared.name))
                    .all(|(_, flow)| reports(flow, declared.name)),
            };
            if !is_known {
                let field = format!("probes.{index}.quantities");
                let accepted = "cwnd, cwnd_base, ssthresh, flight_size, srtt, rto, seq_acked, delivered, backlog, \
                                drops, and the probes of eBPF twins";
                return Err(refuse_name(field, quantity.name(), accepted));
            }
        }
    }
    Ok(())
}

/// True if the kernel or the emulator measures this quantity.
fn is_answered(measure: Measure) -> bool {
    use Measure::{Losses, Marks, SeqSent, TcpEvents, Transfers, Wait};
    !matches!(measure, SeqSent | TcpEvents | Losses | Wait | Marks | Transfers)
}

fn declares(flow: &FlowSpec, probe: &str) -> bool {
    let probes = flow.tcp.as_ref().map_or(&[][..], |tcp| tcp.0.congestion.probes());
    probes.iter().any(|declared| declared.name == probe)
}

/// True if the congestion control of a flow is a twin that reports this probe.
fn reports(flow: &FlowPlan, probe: &str) -> bool {
    flow.twin().is_some_and(|(twin, _)| twin.probes().iter().any(|known| known.name == probe))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_units::Value;
    use serde_json::json;

    /// The rules of TCP that the kernel follows, over the defaults of the RFCs.
    fn rules() -> Value {
        json!({
            "recovery": "sack", "mss": "1448 bytes", "headers": { "data": "52 bytes", "ack": "52 bytes" },
            "timestamps": true, "initial_window": "10 segments", "timer": { "minimum": "200 ms" },
        })
    }

    /// A flow `f` over a link of 10 Mbit/s, after replacing members of its table and of its rules.
    fn scenario(flow: &Value, tcp: &Value) -> Scenario {
        let mut rules = rules();
        for (name, value) in tcp.as_object().expect("a table") {
            rules[name] = value.clone();
        }
        let mut table = json!({ "name": "f", "from": "a", "to": "b", "tcp": rules });
        for (name, value) in flow.as_object().expect("a table") {
            table[name] = value.clone();
        }
        let table = table.as_object_mut().expect("a table");
        table.retain(|_, value| !value.is_null());
        let link = |from: &str, to: &str| json!({ "name": from, "from": from, "to": to, "rate": "10 Mbit/s", "delay": "1 ms" });
        let value = json!({
            "duration": "5 s", "rules": "classic", "nodes": ["a", "b"], "links": [link("a", "b"), link("b", "a")], "flows": [table],
        });
        Scenario::from_value(&value).unwrap_or_else(|error| panic!("{error}"))
    }

    fn plan(flow: Value, tcp: Value) -> Result<FlowPlan, SpecError> {
        Plan::new(&scenario(&flow, &tcp), (1, 0), &Replacements::new()).map(|mut plan| plan.flows.remove(0))
    }

    fn setting<'a>(host: &'a HostSpec, name: &str) -> &'a str {
        let path = format!("ipv4/{name}");
        &host.settings.iter().find(|(known, _)| *known == path).expect("a setting").1
    }

    #[test]
    fn rules_of_a_connection_become_routes_and_settings() {
        let plan = plan(json!({}), json!({ "ecn": "classic", "idle_restart": false })).unwrap();
        let tcp = plan.tcp.as_ref().unwrap();
        assert_eq!((&tcp.control, tcp.headers), (&Control::Kernel("reno".into()), 52));
        // 1448 bytes of payload, 12 of timestamps and 40 of headers are 1500; the MSS option does not count the 40.
        assert_eq!(plan.sender.mtu, 1500);
        assert_eq!(plan.sender.peers[0].route, ["advmss", "1460", "initcwnd", "10"]);
        assert_eq!(plan.receiver.peers[0].route, ["advmss", "1460", "quickack", "1"]);
        for (name, value) in [
            ("tcp_rto_min_us", "200000"),
            ("tcp_rto_max_ms", "60000"),
            ("tcp_ecn", "1"),
            ("tcp_sack", "1"),
            ("tcp_timestamps", "1"),
            ("tcp_slow_start_after_idle", "0"),
        ] {
            assert_eq!(setting(&plan.sender, name), value, "{name}");
            assert_eq!(setting(&plan.receiver, name), value, "{name}");
        }
    }

    #[test]
    fn the_kernel_follows_the_scenario_of_the_documentation() {
        let text = include_str!("../../../docs/testbed.md");
        let (_, from) = text.split_once("```toml\n").expect("a scenario");
        let (scenario, _) = from.split_once("```").expect("its end");
        let scenario = Scenario::from_toml(scenario).unwrap_or_else(|error| panic!("{error}"));
        assert!(Plan::new(&scenario, (1, 0), &Replacements::new()).is_ok());
    }

    #[test]
    fn small_segments_without_options_keep_the_smallest_packet_of_the_device() {
        let headers = json!({ "data": "40 bytes", "ack": "40 bytes" });
        let newreno = json!({ "kind": "newreno", "partial_ack": "slow-but-steady" });
        let tcp = json!({ "mss": "500 bytes", "timestamps": false, "headers": headers, "recovery": newreno,
            "delayed_ack": { "segments": 2 } });
        let plan = plan(json!({}), tcp).unwrap();
        assert_eq!((plan.sender.mtu, setting(&plan.sender, "tcp_sack")), (576, "0"));
        assert_eq!(plan.receiver.peers[0].route, ["advmss", "500"]);
    }

    #[test]
    fn periods_begin_as_in_the_simulator() {
        let flow = json!({ "start": { "uniform": ["1 s", "2 s"] }, "stop": "3 s", "restarts": [{ "start": "4 s" }] });
        let periods = plan(flow.clone(), json!({})).unwrap().periods;
        let simulated = dumbbell_sim::run(&scenario(&flow, &json!({})), 1, 0).flows[0].start_s;
        assert_eq!(periods[0].start.secs(), simulated);
        assert_eq!(periods[0].stop, Some(Time::from_secs(3.0)));
        assert_eq!(periods[1], Period { start: Time::from_secs(4.0), stop: None });
    }

    #[test]
    fn an_algorithm_with_a_twin_keeps_its_parameters_and_mechanisms() {
        let congestion = json!({ "name": "vegas", "alpha": 2.0 });
        let plan = plan(json!({}), json!({ "congestion": congestion, "mechanisms": "ABG" })).unwrap();
        assert_eq!(plan.sender.peers[0].route, ["advmss", "1460", "initcwnd", "2"]);
        let Some(Control::Twin(twin, settings)) = plan.tcp.map(|tcp| tcp.control) else { panic!("no twin") };
        assert_eq!((twin.name(), &settings["alpha"]), ("vegas", &json!(2.0)));
        let switches: Vec<&Value> =
            ["slow_start_detection", "avoidance_detection", "quarter_cut", "growth_guard"]
                .map(|name| &settings[name])
                .to_vec();
        assert_eq!(switches, [true, true, false, false]);
    }

    #[test]
    fn queueing_times_shorten_what_a_packet_carries() {
        let tcp = json!({ "congestion": "rovegas", "mechanisms": "ABFI", "mss": "1440 bytes" });
        let plan = plan(json!({}), tcp).unwrap();
        let tcp = plan.tcp.unwrap();
        // 1440 bytes of payload, 8 of queueing times, 12 of timestamps and 40 of headers.
        assert_eq!((plan.sender.mtu, tcp.headers, tcp.aqt), (1500, 60, true));
    }

    /// The plan of a flow with this table and nothing else.
    fn planned(tcp: Value) -> Result<FlowPlan, SpecError> {
        let mut value = serde_json::from_str::<Value>(&scenario(&json!({}), &json!({})).to_json()).unwrap();
        value["flows"][0]["tcp"] = tcp;
        let scenario = Scenario::from_value(&value).unwrap_or_else(|error| panic!("{error}"));
        Plan::new(&scenario, (1, 0), &Replacements::new()).map(|mut plan| plan.flows.remove(0))
    }

    #[test]
    fn the_kernels_own_congestion_controls_have_its_parameters_only() {
        for name in rules::OWN {
            let plan = planned(json!({ "rules": "linux", "congestion": name }));
            let plan = plan.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(plan.tcp.map(|tcp| tcp.control), Some(Control::Kernel(name.into())));
        }
        // The devices of a run take single segments, so that the simulator may do so as well.
        let single = |segments: u64| json!({ "name": "bbr", "burst_segments": segments });
        assert!(planned(json!({ "rules": "linux", "congestion": single(1) })).is_ok());
        assert!(planned(json!({ "rules": "linux", "congestion": single(2) })).is_err());
        let error = planned(json!({ "rules": "linux", "congestion": { "name": "cubic", "beta": 0.5 } }));
        let error = error.unwrap_err();
        assert_eq!((error.field.as_str(), error.value.as_str()), ("flows.f.tcp.congestion.beta", "0.5"));
    }

    #[test]
    fn the_environment_linux_needs_no_further_field() {
        let reno = planned(json!({ "rules": "linux" })).unwrap();
        assert_eq!(reno.tcp.as_ref().unwrap().control, Control::Kernel("reno".into()));
        assert_eq!((reno.sender.mtu, setting(&reno.sender, "tcp_sack")), (1500, "1"));
        assert_eq!(setting(&reno.sender, "tcp_rto_min_us"), "200000");
        let route = &reno.receiver.peers[0].route;
        assert!(!route.contains(&"quickack".to_owned()), "{route:?}");
        let newreno = planned(json!({ "rules": "linux", "variant": "newreno" })).unwrap();
        assert_eq!(setting(&newreno.sender, "tcp_sack"), "0");
        for twin in Twin::all() {
            let plan = planned(json!({ "rules": "linux", "congestion": twin.name() }));
            let plan = plan.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(
                plan.twin().map(|(twin, _)| twin.name()),
                (twin.name() != "reno").then_some(twin.name())
            );
        }
    }

    #[test]
    fn datagrams_have_hosts_without_settings() {
        let source = json!({ "kind": "cbr", "rate": "1 Mbit/s", "packet": "1000 bytes" });
        let plan = plan(json!({ "tcp": null, "source": source }), json!({})).unwrap();
        assert_eq!((plan.tcp, plan.sender.mtu, plan.sender.settings.len()), (None, 1000, 0));
    }

    #[test]
    fn what_the_kernel_cannot_do_is_refused_with_its_path() {
        let refused = |tcp: Value| plan(json!({}), tcp).unwrap_err();
        let cases = [
            (json!({ "recovery": "reno" }), "recovery"),
            (json!({ "recovery": "newreno" }), "recovery.partial_ack"),
            (json!({ "congestion": "vegas", "mechanisms": "ABH" }), "mechanisms"),
            (json!({ "congestion": "nsvegas", "mechanisms": "" }), "congestion"),
            (json!({ "timer": "bsd" }), "timer"),
            (json!({ "timer": { "whole_ticks": true } }), "timer.whole_ticks"),
            (json!({ "timer": { "maximum": "500 s" } }), "timer.maximum"),
            (json!({ "ecn": "accurate" }), "ecn"),
            (json!({ "congestion": { "name": "reno", "beta_ecn": 0.8 } }), "congestion.beta_ecn"),
            (json!({ "limited_transmit": false }), "limited_transmit"),
            (json!({ "window": { "grow_when": "always" } }), "window.grow_when"),
            (json!({ "initial_window": "2.5 segments" }), "initial_window"),
            (json!({ "initial_ssthresh": "20 segments" }), "initial_ssthresh"),
            (json!({ "receive_buffer": "64 KiB" }), "receive_buffer"),
            (json!({ "headers": { "data": "40 bytes" } }), "headers.data"),
            (json!({ "mss": "100 bytes" }), "mss"),
            (json!({ "delayed_ack": { "segments": 3 } }), "delayed_ack.segments"),
        ];
        for (tcp, field) in cases {
            let error = refused(tcp);
            assert_eq!(error.field, format!("flows.f.tcp.{field}"), "{error}");
            assert!(!error.accepted.is_empty() && !error.value.is_empty(), "{error}");
        }
        let error = refused(json!({ "recovery": "newreno" }));
        assert_eq!(
            error.to_string(),
            "flows.f.tcp.recovery.partial_ack: \"impatient\" is not accepted; expected \"slow-but-steady\": the kernel \
             restarts the timer at every partial ACK"
        );
        let error = plan(json!({ "source": "tcplib" }), json!({})).unwrap_err();
        assert_eq!((error.field.as_str(), error.value.as_str()), ("flows.f.source", "\"tcplib\""));
        assert_eq!(plan(json!({ "source": "web" }), json!({})).unwrap_err().field, "flows.f.source");
        let media = json!({ "tcp": null, "source": "media" });
        assert_eq!(plan(media, json!({})).unwrap_err().field, "flows.f.source");
    }

    #[test]
    fn a_path_without_a_slow_link_is_refused() {
        let mut fast = scenario(&json!({}), &json!({}));
        fast.links[0].rate = Rate(1_000_000_000);
        let error = Plan::new(&fast, (1, 0), &Replacements::new()).unwrap_err();
        assert_eq!(error.field, "links.a.rate");
        assert!(error.accepted.contains("200 Mbit/s"), "{error}");
    }

    #[test]
    fn replacements_name_algorithms_of_the_kernel_or_the_twin() {
        let replaced = |flow: &str, name: &str| {
            let replacements = Replacements::from([(flow.to_owned(), name.to_owned())]);
            let plan = Plan::new(&scenario(&json!({}), &json!({})), (1, 0), &replacements)?;
            Ok::<_, SpecError>(plan.flows[0].tcp.as_ref().map(|tcp| tcp.control.clone()))
        };
        assert_eq!(replaced("*", "cubic"), Ok(Some(Control::Kernel("cubic".into()))));
        let Ok(Some(Control::Twin(twin, _))) = replaced("f", "twin") else { panic!("no twin") };
        assert_eq!(twin.name(), "reno");
        assert_eq!(replaced("g", "cubic").unwrap_err().field, "congestion");
        assert_eq!(replaced("f", "a-b").unwrap_err().field, "flows.f.tcp.congestion");
    }

    #[test]
    fn probes_are_those_that_the_kernel_answers() {
        let probed = |quantity: &str, congestion: &str, replacement: Option<&str>| {
            let mut value = serde_json::from_str::<Value>(
                &scenario(&json!({}), &json!({ "congestion": congestion, "mechanisms": "" })).to_json(),
            )
            .unwrap();
            value["probes"] = json!([{ "flows": ["*"], "links": ["*"], "quantities": [quantity] }]);
            let replacements =
                replacement.map(|name| ("*".to_owned(), name.to_owned())).into_iter().collect();
            Plan::new(&Scenario::from_value(&value).unwrap(), (1, 0), &replacements).map(drop)
        };
        for quantity in ["cwnd", "ssthresh", "srtt", "rto", "delivered", "backlog", "drops"] {
            assert_eq!(probed(quantity, "reno", None), Ok(()), "{quantity}");
        }
        assert_eq!(probed("base_rtt", "vegas", None), Ok(()));
        for (quantity, congestion, replacement) in
            [("seq_sent", "reno", None), ("losses", "reno", None), ("base_rtt", "vegas", Some("cubic"))]
        {
            let error = probed(quantity, congestion, replacement).unwrap_err();
            assert_eq!(error.field, "probes.0.quantities");
        }
    }
}
