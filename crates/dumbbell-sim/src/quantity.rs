//! What probes record.

use dumbbell_cc::{AlgorithmSpec, ProbeInfo};
use dumbbell_units::spec::{Field, Node, SpecError, any_of, choice_schema};
use dumbbell_units::{Value, choice};
use serde_json::json;

choice! {
    /// Quantities that the engine measures for flows and links.
    pub enum Measure {
        /// Congestion window with its inflation, in segments.
        Cwnd = "cwnd",
        /// Congestion window without its inflation, in segments.
        CwndBase = "cwnd_base",
        /// Slow-start threshold, in segments; not recorded while unlimited.
        Ssthresh = "ssthresh",
        /// Bytes sent and not acknowledged, in segments.
        FlightSize = "flight_size",
        /// Receive window as the sender knows it, or send buffer if that is smaller, in segments; not recorded while
        /// unlimited.
        ReceiveWindow = "receive_window",
        /// Smoothed round-trip time of the retransmission timer, in seconds.
        Srtt = "srtt",
        /// Retransmission timeout, in seconds.
        Rto = "rto",
        /// Every round-trip time measured, of TCP or of the answers to a `ping`, in seconds.
        Rtt = "rtt",
        /// Pacing rate, in bit/s of payload; not recorded without one.
        PacingRate = "pacing_rate",
        /// Delivery rate of the latest sample, in bit/s of payload, also while the application limits it.
        DeliveryRate = "delivery_rate",
        /// First byte of every data segment sent; a SYN is not a data segment.
        SeqSent = "seq_sent",
        /// Cumulative acknowledgement, in bytes.
        SeqAcked = "seq_acked",
        /// Bytes delivered to the receiving application so far; for a datagram source, bytes on the wire.
        Delivered = "delivered",
        /// Losses, fast retransmissions, recoveries, timeouts and similar events, one row each with the state of the
        /// connection.
        TcpEvents = "tcp_events",
        /// Transfers of a workload and their groups, such as pages, one row each with size and completion time.
        Transfers = "transfers",
        /// Packets waiting behind the one in service.
        Backlog = "backlog",
        /// Packets dropped so far.
        Drops = "drops",
        /// Queueing time of every packet at the beginning of its transmission, in seconds.
        Wait = "wait",
        /// Packets marked "congestion experienced" so far.
        Marks = "marks",
        /// Number of every data packet lost by an impairment, in the numbering of the impairment `forced`.
        Losses = "losses",
    }
}

/// What a probe records: a measure of the engine, or a quantity declared by a congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Measured by the engine.
    Measured(Measure),
    /// Declared by some congestion controls.
    Declared(ProbeInfo),
}

impl Quantity {
    /// Its name in a scenario.
    pub fn name(&self) -> &'static str {
        match self {
            Quantity::Measured(measure) => measure.name(),
            Quantity::Declared(probe) => probe.name,
        }
    }

    /// True for quantities of links.
    pub fn is_of_link(&self) -> bool {
        let Quantity::Measured(measure) = self else { return false };
        matches!(
            measure,
            Measure::Backlog | Measure::Drops | Measure::Wait | Measure::Marks | Measure::Losses
        )
    }

    /// True if every event is recorded, not only changes of the value.
    pub(crate) fn is_event(&self) -> bool {
        self.is(Measure::SeqSent) || self.is(Measure::Wait) || self.is(Measure::Rtt)
    }

    /// True if only some flows have it.
    pub fn is_of_some_flows(&self) -> bool {
        matches!(self, Quantity::Declared(_)) || self.has_rows()
    }

    /// True if it has rows of its own form instead of values.
    pub fn has_rows(&self) -> bool {
        self.is(Measure::TcpEvents) || self.is(Measure::Transfers)
    }

    /// True if it is this measure.
    pub fn is(&self, measure: Measure) -> bool {
        *self == Quantity::Measured(measure)
    }

    /// The quantities declared by the congestion controls of the registry, each name once, with the algorithms that
    /// declare it.
    pub fn declared() -> Vec<(ProbeInfo, Vec<&'static str>)> {
        let mut declared: Vec<(ProbeInfo, Vec<&'static str>)> = Vec::new();
        for (&algorithm, probes) in AlgorithmSpec::NAMES.iter().zip(AlgorithmSpec::PROBES) {
            for &probe in *probes {
                match declared.iter_mut().find(|(known, _)| known.name == probe.name) {
                    Some((_, algorithms)) => algorithms.push(algorithm),
                    None => declared.push((probe, vec![algorithm])),
                }
            }
        }
        declared
    }

    /// Everything that a probe can record for some flow or link.
    pub fn all() -> Vec<Quantity> {
        let measured =
            Measure::ALL.iter().filter_map(|(name, _)| Measure::named(name)).map(Quantity::Measured);
        let declared = Quantity::declared().into_iter().map(|(probe, _)| Quantity::Declared(probe));
        measured.chain(declared).collect()
    }

    fn names() -> Vec<&'static str> {
        Quantity::all().iter().map(Quantity::name).collect()
    }

    fn named(name: &str) -> Option<Quantity> {
        let registered = Quantity::all().into_iter().find(|quantity| quantity.name() == name);
        registered.or_else(|| ProbeInfo::own(name).map(Quantity::Declared))
    }
}

impl Field for Quantity {
    fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
        match node.value().as_str() {
            Some(name) => Quantity::named(name).ok_or_else(|| node.unknown_name(name, &Quantity::names())),
            None => Err(node.error(Self::accepted())),
        }
    }
    fn encode(&self) -> Value {
        Value::from(self.name())
    }
    fn accepted() -> String {
        format!("one of {}", Quantity::names().join(", "))
    }
    fn schema() -> Value {
        let own = json!({ "type": "string", "pattern": "^own\\.[A-Za-z0-9_]{1,40}$" });
        any_of(vec![choice_schema(&Quantity::names()), own])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_congestion_control_declares_a_probe_name_of_the_engine() {
        let names = Quantity::names();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    }
}
