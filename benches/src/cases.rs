//! Benchmark cases. Each is a dumbbell with packets of 1,000 bytes, a propagation delay of 20 ms on the bottleneck, and
//! access links that are ten times faster and have a delay of 1 ms.

use dumbbell_sim::Scenario;
use dumbbell_units::spec::SpecError;
use serde_json::{Value, json};

/// Payload of a full segment, in bytes.
pub const PAYLOAD: u32 = 960;
/// Size of the headers of a segment, and of an acknowledgement, in bytes.
pub const HEADER: u32 = 40;

/// One case.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Name on the command line.
    pub name: &'static str,
    /// Number of greedy flows, all in the same direction.
    pub flows: u32,
    /// Their congestion control, with its recovery unless another one is given.
    pub variant: &'static str,
    /// The environment of the senders.
    pub rules: &'static str,
    /// Their recovery, if it is not that of the variant.
    pub recovery: Option<&'static str>,
    /// Letters of Vegas mechanisms that are enabled in addition to those of the variant.
    pub mechanisms: &'static str,
    /// Rate of the bottleneck, in Mbit/s.
    pub megabits: u32,
    /// Capacity of the bottleneck's queue, in packets.
    pub buffer: u32,
    /// Discipline of that queue, with default parameters otherwise.
    pub queue: &'static str,
    /// Discipline of the queue for the acknowledgements on the reverse link.
    pub reverse_queue: &'static str,
    /// Packets that the bottleneck can transmit during the run, in millions.
    pub million_packets: f64,
}

const fn case(
    name: &'static str,
    flows: u32,
    variant: &'static str,
    megabits: u32,
    buffer: u32,
    million_packets: f64,
) -> Case {
    Case {
        name,
        flows,
        variant,
        rules: "classic",
        recovery: None,
        mechanisms: "",
        megabits,
        buffer,
        queue: "droptail",
        reverse_queue: "droptail",
        million_packets,
    }
}

/// The same network with another discipline at the bottleneck. Comparison with drop-tail gives its cost per packet.
const fn discipline(name: &'static str, queue: &'static str) -> Case {
    Case { queue, ..case(name, 20, "sack", 100, 1000, 3.0) }
}

/// Flows with detection of losses by time and proportional rate reduction, as today's senders have them: one at
/// 10 Mbit/s, or a hundred at 1 Gbit/s.
const fn today(name: &'static str, flows: u32, variant: &'static str) -> Case {
    let (megabits, buffer) = if flows == 1 { (10, 100) } else { (1000, 1000) };
    Case { recovery: Some("rack"), ..case(name, flows, variant, megabits, buffer, 3.0) }
}

/// The same networks with senders and receivers of Linux.
const fn linux(name: &'static str, flows: u32, variant: &'static str) -> Case {
    Case { rules: "linux", recovery: None, ..today(name, flows, variant) }
}

/// All cases. `d` runs longer: its windows of thousands of segments take minutes to recover from a loss.
pub const CASES: [Case; 25] = [
    case("a", 1, "newreno", 10, 100, 3.0),
    // The same flow with another congestion control.
    case("cubic", 1, "cubic", 10, 100, 3.0),
    case("b", 10, "reno", 50, 100, 3.0),
    case("c100", 100, "reno", 1000, 1000, 3.0),
    case("c1000", 1000, "reno", 1000, 1000, 3.0),
    case("d", 2, "sack", 1000, 3000, 7.5),
    discipline("droptail", "droptail"),
    discipline("red", "red"),
    discipline("codel", "codel"),
    discipline("fqcodel", "fqcodel"),
    // The reverse link is scheduled as well.
    Case { reverse_queue: "fqcodel", ..discipline("fqcodel2", "fqcodel") },
    // A hundred flow queues: their state exceeds the nearest cache.
    Case { queue: "fqcodel", ..case("fq100", 100, "sack", 1000, 1000, 3.0) },
    // Paced senders, for comparison with the case "droptail".
    Case { mechanisms: "J", ..discipline("paced", "droptail") },
    today("rack", 1, "cubic"),
    today("rack100", 100, "cubic"),
    today("bbr", 1, "bbr"),
    today("bbr100", 100, "bbr"),
    today("bbr3", 1, "bbr3"),
    today("bbr3x100", 100, "bbr3"),
    // A buffer of more than a BDP. In one of a fifth, flows of BBR lose many packets, and every ACK has reports.
    Case { buffer: 6000, ..today("bbr100deep", 100, "bbr") },
    Case { buffer: 6000, ..today("bbr3x100deep", 100, "bbr3") },
    linux("linux", 1, "cubic"),
    linux("linux100", 100, "cubic"),
    linux("linuxbbr", 1, "bbr"),
    linux("linuxbbr100", 100, "bbr"),
];

/// The case with this name, or all cases with names that start with it.
pub fn named(name: &str) -> Result<Vec<Case>, String> {
    if let Some(case) = CASES.iter().find(|case| case.name == name) {
        return Ok(vec![case.clone()]);
    }
    let found: Vec<Case> =
        CASES.iter().filter(|case| !name.is_empty() && case.name.starts_with(name)).cloned().collect();
    if found.is_empty() {
        let names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        return Err(format!("--case: \"{name}\" is not accepted; expected one of {}", names.join(", ")));
    }
    Ok(found)
}

impl Case {
    /// Summary for the table.
    pub fn summary(&self) -> String {
        let flows = if self.flows == 1 { "flow" } else { "flows" };
        let (count, variant, megabits, buffer, queue) =
            (self.flows, self.variant, self.megabits, self.buffer, self.queue);
        let reverse = if self.reverse_queue == "droptail" { "" } else { " in both directions" };
        format!("{count} {variant} {flows}, {megabits} Mbit/s, {queue}{reverse}, buffer {buffer}")
    }

    /// The scenario, shortened to `share` of its packets.
    pub fn scenario(&self, share: f64) -> Result<Scenario, SpecError> {
        let packet_bits = f64::from((PAYLOAD + HEADER) * 8);
        let duration = self.million_packets * share * packet_bits / f64::from(self.megabits);
        let bottleneck = |from: &str, to: &str, queue: &str| {
            let limit = match queue {
                "fqcodel" => json!(self.buffer),
                _ => json!(format!("{} packets", self.buffer)),
            };
            json!({
                "name": format!("{from}-{to}"), "from": from, "to": to,
                "rate": format!("{} Mbit/s", self.megabits), "delay": "20 ms",
                "queue": { "kind": queue, "limit": limit },
            })
        };
        let access = |from: &str, to: &str| {
            json!({
                "name": format!("{from}-{to}"), "from": from, "to": to,
                "rate": format!("{} Mbit/s", 10 * self.megabits), "delay": "1 ms",
            })
        };
        let mut nodes = vec![json!("r1"), json!("r2")];
        let mut links = vec![bottleneck("r1", "r2", self.queue), bottleneck("r2", "r1", self.reverse_queue)];
        let mut flows = Vec::new();
        for number in 0..self.flows {
            let (source, sink) = (format!("s{number}"), format!("d{number}"));
            for (host, router) in [(&source, "r1"), (&sink, "r2")] {
                links.extend([access(host, router), access(router, host)]);
                nodes.push(json!(host));
            }
            // Starts are spread over a tenth of the run, so that slow starts are not synchronized.
            let start = duration / 10.0 * f64::from(number) / f64::from(self.flows);
            let mut tcp = json!({
                "variant": self.variant, "mechanisms": self.mechanisms, "mss": format!("{PAYLOAD} bytes"),
                "headers": { "data": format!("{HEADER} bytes"), "ack": format!("{HEADER} bytes") },
            });
            if let Some(recovery) = self.recovery {
                tcp["recovery"] = json!(recovery);
            }
            flows.push(json!({
                "name": format!("f{number}"), "from": source, "to": sink, "start": format!("{start} s"),
                "tcp": tcp, "source": "greedy",
            }));
        }
        Scenario::from_value(&Value::Object(serde_json::Map::from_iter([
            ("name".to_owned(), json!(self.name)),
            ("duration".to_owned(), json!(format!("{duration} s"))),
            ("rules".to_owned(), json!(self.rules)),
            ("nodes".to_owned(), json!(nodes)),
            ("links".to_owned(), json!(links)),
            ("flows".to_owned(), json!(flows)),
        ])))
    }

    /// Window of each flow of the bare loop, in segments. All windows together fill the path and half of the queue.
    pub fn window(&self) -> u32 {
        let round_trip_ms = 2 * (1 + 20 + 1);
        let path = self.megabits * 1000 * round_trip_ms / ((PAYLOAD + HEADER) * 8);
        ((path + self.buffer / 2) / self.flows).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_a_scenario() {
        for case in CASES {
            let scenario = case.scenario(1.0).expect(case.name);
            assert_eq!(scenario.flows.len(), case.flows as usize);
            assert_eq!(scenario.links.len(), 2 + 4 * case.flows as usize);
        }
    }

    #[test]
    fn windows_fill_the_path_and_half_of_the_queue() {
        let window = |name| CASES.iter().find(|case| case.name == name).expect(name).window();
        // 10 Mbit/s for 44 ms is 55 packets of 1,000 bytes, plus half of 100.
        assert_eq!(window("a"), 105);
        // 1 Gbit/s for 44 ms is 5,500 packets; plus half of 1,000, that is 6 for each of 1,000 flows.
        assert_eq!(window("c1000"), 6);
    }
}
