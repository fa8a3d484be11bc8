//! The results of a run: rows per flow, rows per link, traces and a fingerprint.

use crate::journal::Journal;
use crate::supervision::Overflow;
use crate::trace::Recording;
use dumbbell_net::waits::Waits;
use dumbbell_net::{LinkStats, Playback};
use dumbbell_units::{Histogram, Time};
use serde_json::{Map, Value, json};

/// Mean, maximum and percentiles. Percentiles are within 0.8 %; see [`Histogram`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Percentiles {
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Maximum.
    pub max: Option<f64>,
}

impl Percentiles {
    /// Those of a histogram whose values are in units of `unit`.
    pub fn of(histogram: &Histogram, unit: f64) -> Self {
        let percentile = |share: f64| histogram.percentile(share).map(|value| value * unit);
        Percentiles {
            mean: histogram.mean().map(|mean| mean * unit),
            p50: percentile(0.5),
            p95: percentile(0.95),
            p99: percentile(0.99),
            max: histogram.max().map(|max| max as f64 * unit),
        }
    }

    /// Those of times in nanoseconds, in seconds.
    pub fn of_times(histogram: &Histogram) -> Self {
        Percentiles::of(histogram, 1e-9)
    }
}

/// The transfers of a workload that began within the measurement window; for web pages and incast, its pages and
/// requests. Their ends count until the end of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TransfersOutcome {
    /// Transfers begun.
    pub begun: u64,
    /// Transfers completed.
    pub completed: u64,
    /// Arrivals refused because too many transfers were in progress.
    pub refused: u64,
    /// Times from the beginning until the last byte was acknowledged, in seconds.
    pub completion_s: Percentiles,
    /// Completion times divided by those of an empty path without slow start.
    pub slowdown: Percentiles,
}

/// The messages that a source of datagrams wrote over TCP or another transport within the measurement window: packets, or
/// frames of a video. Their ends count until the end of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessagesOutcome {
    /// Messages written.
    pub written: u64,
    /// Of these, delivered after their deadline, or not until the end although it has passed; `None` without a deadline.
    pub late: Option<u64>,
    /// Messages that were not written because too much waited; `None` without a limit of the backlog.
    pub skipped: Option<u64>,
}

/// One flow within the measurement window; only `completion_s`, `start_s` and `rtt_min_s` cover the whole run. A counter is
/// `None` if the stack of the flow does not show it.
#[derive(Clone, Debug, Default)]
pub struct FlowOutcome {
    /// Name of the flow.
    pub name: String,
    /// New bytes delivered in order, in bit/s over the active time of the flow within the window.
    pub goodput_bps: f64,
    /// All bytes sent, including headers, in bit/s over the same time.
    pub throughput_bps: f64,
    /// New bytes delivered in order.
    pub bytes_delivered: u64,
    /// Data segments sent, including retransmissions; a SYN is not a data segment.
    pub segments_sent: u64,
    /// Segments retransmitted.
    pub segments_retransmitted: Option<u64>,
    /// Payload bytes retransmitted.
    pub bytes_retransmitted: Option<u64>,
    /// Expirations of the retransmission timer, including those that retransmit a SYN.
    pub timeouts: Option<u64>,
    /// Fast retransmissions.
    pub fast_retransmits: Option<u64>,
    /// Time from the start until the last byte is acknowledged, in seconds; of a workload, until its last transfer has
    /// ended, completed or given up.
    pub completion_s: Option<f64>,
    /// Start time, in seconds.
    pub start_s: f64,
    /// Mean round-trip time of segments sent once and not selectively acknowledged before, or of answers to pings, in
    /// seconds.
    pub rtt_mean_s: Option<f64>,
    /// Minimum round-trip time of segments sent once, or of answers to pings, from the start of the run to the end of the
    /// window, in seconds.
    pub rtt_min_s: Option<f64>,
    /// Data segments dropped; a SYN is not a data segment. Of a ping, probes and answers.
    pub segments_lost: u64,
    /// TCP connections opened.
    pub connections: u64,
    /// Of these, connections given up after too many retransmissions of one segment.
    pub connections_given_up: u64,
    /// Number of times that the receive window stopped the sender.
    pub receive_window_limited: Option<u64>,
    /// Round-trip times, in seconds, if requested.
    pub rtt: Percentiles,
    /// One-way delays of arriving data packets from the sender to the receiver, in seconds, if requested.
    pub delay: Percentiles,
    /// Transfers, if the source is a workload.
    pub transfers: Option<TransfersOutcome>,
    /// What the viewer of adaptive video saw.
    pub playback: Option<Playback>,
    /// Messages, if a source of datagrams writes them.
    pub messages: Option<MessagesOutcome>,
}

impl FlowOutcome {
    fn summary(&self) -> Value {
        let mut row = json!({
            "name": self.name,
            "goodput_bps": self.goodput_bps,
            "throughput_bps": self.throughput_bps,
            "bytes_delivered": self.bytes_delivered,
            "segments_sent": self.segments_sent,
            "segments_retransmitted": self.segments_retransmitted,
            "bytes_retransmitted": self.bytes_retransmitted,
            "timeouts": self.timeouts,
            "fast_retransmits": self.fast_retransmits,
            "connections_given_up": self.connections_given_up,
            "completion_s": self.completion_s,
            "rtt_mean_s": self.rtt_mean_s,
            "rtt_min_s": self.rtt_min_s,
        });
        if let Value::Object(members) = &mut row {
            members.extend(self.optional_members());
        }
        row
    }

    /// Members of the summary that only some flows have.
    fn optional_members(&self) -> Map<String, Value> {
        let percentiles = |of: &Percentiles| json!({ "mean": of.mean, "p50": of.p50, "p95": of.p95, "p99": of.p99, "max": of.max });
        let mut members = Map::new();
        for (name, of) in [("rtt_s", &self.rtt), ("delay_s", &self.delay)] {
            if of.max.is_some() {
                members.insert(name.into(), percentiles(of));
            }
        }
        if let Some(transfers) = &self.transfers {
            let table = json!({
                "begun": transfers.begun,
                "completed": transfers.completed,
                "refused": transfers.refused,
                "completion_s": percentiles(&transfers.completion_s),
                "slowdown": percentiles(&transfers.slowdown),
            });
            members.insert("transfers".into(), table);
        }
        if let Some(seen) = &self.playback {
            let table = json!({
                "bitrate_mean_bps": seen.bitrate_mean_bps(),
                "bitrate_switches": seen.switches,
                "rebuffering_s": seen.rebuffering.secs(),
                "startup_s": seen.startup.map(|time| time.secs()),
            });
            members.insert("video".into(), table);
        }
        if let Some(messages) = &self.messages {
            let table =
                json!({ "written": messages.written, "late": messages.late, "skipped": messages.skipped });
            members.insert("messages".into(), table);
        }
        members
    }
}

/// One link within the measurement window.
#[derive(Clone, Debug, Default)]
pub struct LinkOutcome {
    /// Name of the link.
    pub name: String,
    /// Fraction of the window spent transmitting.
    pub utilization: f64,
    /// Packets dropped because the queue was full.
    pub drops_queue: u64,
    /// Packets dropped early by active queue management.
    pub drops_early: u64,
    /// Packets dropped by a policer.
    pub drops_policer: u64,
    /// Packets lost by impairments and in outages.
    pub drops_impairment: u64,
    /// Copies made by impairments that arrive besides their packets.
    pub duplicates: u64,
    /// Packets marked "congestion experienced".
    pub marks: u64,
    /// Packets offered.
    pub packets: u64,
    /// Mean number of packets waiting behind the one in service.
    pub backlog_mean_packets: f64,
    /// Maximum number of packets waiting behind the one in service.
    pub backlog_max_packets: u64,
    /// Mean waiting time of a packet before its transmission, in seconds: by Little's law, the mean backlog divided by
    /// the packet rate.
    pub wait_mean_s: Option<f64>,
    /// Median queueing time of transmitted packets, in seconds, within 1.6 %. This and the following columns have values
    /// only if the link records the distribution (`wait_percentiles`).
    pub wait_p50_s: Option<f64>,
    /// 95th percentile.
    pub wait_p95_s: Option<f64>,
    /// 99th percentile.
    pub wait_p99_s: Option<f64>,
    /// Maximum, exact.
    pub wait_max_s: Option<f64>,
    /// Mean queueing time of packets of the low-latency queue of `dualpi2`, in seconds.
    pub wait_l_mean_s: Option<f64>,
    /// Their 99th percentile.
    pub wait_l_p99_s: Option<f64>,
    /// Mean queueing time of packets of the classic queue of `dualpi2`, in seconds.
    pub wait_c_mean_s: Option<f64>,
    /// Their 99th percentile.
    pub wait_c_p99_s: Option<f64>,
}

impl LinkOutcome {
    fn summary(&self) -> Value {
        json!({
            "name": self.name,
            "utilization": self.utilization,
            "drops": {
                "queue": self.drops_queue,
                "early": self.drops_early,
                "policer": self.drops_policer,
                "impairment": self.drops_impairment,
            },
            "duplicates": self.duplicates,
            "marks": self.marks,
            "backlog_mean_packets": self.backlog_mean_packets,
            "backlog_max_packets": self.backlog_max_packets,
            "wait_mean_s": self.wait_mean_s,
            "wait_p50_s": self.wait_p50_s,
            "wait_p95_s": self.wait_p95_s,
            "wait_p99_s": self.wait_p99_s,
            "wait_max_s": self.wait_max_s,
        })
    }

    /// The columns of a link with these counters in a window of this length.
    pub fn new(name: &str, stats: &LinkStats, waits: Option<&Waits>, window: Time) -> Self {
        let length = window.0.max(1) as f64;
        let of_queue = |queue: usize| {
            let dual = waits.and_then(|waits| waits.dual.as_ref());
            dual.map(|dual| Percentiles::of_times(&dual[queue])).unwrap_or_default()
        };
        let all = waits.map(|waits| Percentiles::of_times(&waits.all)).unwrap_or_default();
        let (low, classic) = (of_queue(0), of_queue(1));
        LinkOutcome {
            name: name.to_owned(),
            utilization: stats.busy as f64 / length,
            drops_queue: stats.drops_queue,
            drops_early: stats.drops_early,
            drops_policer: stats.drops_policer,
            drops_impairment: stats.drops_impairment,
            duplicates: u64::from(stats.duplicates),
            marks: stats.marks,
            packets: stats.packets,
            backlog_mean_packets: stats.waited as f64 / length,
            backlog_max_packets: u64::from(stats.backlog_max),
            wait_mean_s: stats.wait_mean(),
            wait_p50_s: all.p50,
            wait_p95_s: all.p95,
            wait_p99_s: all.p99,
            wait_max_s: all.max,
            wait_l_mean_s: low.mean,
            wait_l_p99_s: low.p99,
            wait_c_mean_s: classic.mean,
            wait_c_p99_s: classic.p99,
        }
    }

    /// Packets dropped for any reason.
    pub fn drops(&self) -> u64 {
        self.drops_queue + self.drops_early + self.drops_policer + self.drops_impairment
    }
}

/// Packets over the whole run: sent + duplicated = delivered + dropped + in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conservation {
    /// Packets sent by hosts.
    pub sent: u64,
    /// Copies of packets that impairments have made.
    pub duplicated: u64,
    /// Packets that reached their destination.
    pub delivered: u64,
    /// Packets dropped by queues and impairments.
    pub dropped: u64,
    /// Packets on links at the end.
    pub in_flight: u64,
}

impl Conservation {
    /// True if no packet appeared or vanished.
    pub fn holds(&self) -> bool {
        self.sent + self.duplicated == self.delivered + self.dropped + self.in_flight
    }
}

/// The results of one run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of the run.
    pub seed: u64,
    /// Run number within the seed.
    pub run: u64,
    /// Hash of all deliveries, deadlines, writes and source events with their times, independent of the order in which
    /// they were handled.
    pub fingerprint: u64,
    /// Simulated time, in seconds.
    pub simulated_s: f64,
    /// Events processed.
    pub events: u64,
    /// Rows per flow.
    pub flows: Vec<FlowOutcome>,
    /// Rows per link.
    pub links: Vec<LinkOutcome>,
    /// Packets over the whole run.
    pub conservation: Conservation,
    /// The recordings of the probes.
    pub recordings: Vec<Recording>,
    /// What a flow did, if the caller asked.
    pub journal: Option<Box<Journal>>,
    /// The run was ended because it needed too much memory; nothing else is known of it.
    pub overflow: Option<Overflow>,
    /// The run was ended because a stack that is not ours failed, as this sentence says; nothing else is known of it.
    pub failure: Option<String>,
}

impl Outcome {
    /// The summary as one JSON object.
    pub fn summary(&self) -> Value {
        json!({
            "scenario": self.scenario,
            "seed": self.seed,
            "run": self.run,
            "fingerprint": format!("{:016x}", self.fingerprint),
            "simulated_s": self.simulated_s,
            "events": self.events,
            "flows": self.flows.iter().map(FlowOutcome::summary).collect::<Value>(),
            "links": self.links.iter().map(LinkOutcome::summary).collect::<Value>(),
            "conservation": {
                "sent": self.conservation.sent,
                "duplicated": self.conservation.duplicated,
                "delivered": self.conservation.delivered,
                "dropped": self.conservation.dropped,
                "in_flight": self.conservation.in_flight,
            },
        })
    }
}
