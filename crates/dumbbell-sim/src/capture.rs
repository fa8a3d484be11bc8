//! What a run reports while it proceeds, if a tap is attached: every packet at chosen nodes, and the states of senders.
//!
//! A packet is seen once at each node: when it enters a link that leaves the node, before that link delays, marks or drops
//! it, or when it arrives at the node to which it is addressed. Nothing reported affects the run.

use crate::transport::{End, Shown};
use dumbbell_net::Report;
use dumbbell_tcp::{AckSegment, Cause, DataSegment, Sender};
use dumbbell_units::{Ecn, Time};
use std::sync::Arc;

/// Receives what a run reports.
pub trait Tap: Sync {
    /// What is to be reported.
    fn watch(&self) -> Watch;

    /// Takes sightings, which follow those taken before. A tap that needs no more of them stops the run.
    fn take(&self, sightings: &mut dyn Iterator<Item = Sighting>);

    /// Takes new lines of the key log of stacks that are not ours, before the packets for which they are needed.
    fn take_keys(&self, _keys: &str) {}
}

/// What is reported.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// Nodes at which packets are reported, by their positions in the scenario.
    pub nodes: Vec<usize>,
    /// Report also the packets of all flows with connections at their senders, and the states of these senders.
    pub senders: bool,
}

/// A packet at a node, or the state of a sender.
#[derive(Clone, Debug)]
pub struct Sighting {
    /// Its time. Sightings are reported in order of time, and at one instant in the order of cause and effect.
    pub at: Time,
    /// Position of the node in the scenario.
    pub node: u32,
    /// The node is that of the flow's sender.
    pub is_at_sender: bool,
    /// Position of the flow in the scenario.
    pub flow: u32,
    /// Number of the connection within the flow, counted from 1; 0 for a flow without TCP.
    pub connection: u64,
    /// What is seen.
    pub seen: Seen,
}

/// What is seen.
#[derive(Clone, Debug)]
pub enum Seen {
    /// A packet.
    Packet(SeenPacket),
    /// A sender, before each segment that it sends, and when it has sent all that it can.
    Sender(SenderState),
    /// What a connection of a stack that is not ours shows, whenever that has changed.
    Shown(Shown),
}

/// A packet with its content.
#[derive(Clone, Debug)]
pub struct SeenPacket {
    /// Size by which links reckon, in bytes.
    pub size: u32,
    /// ECN codepoint on arrival at the node.
    pub ecn: Ecn,
    /// The end that sent it sent it at this time.
    pub sent: Time,
    /// The time that a TCP timestamp echoes: of a segment, when the latest acknowledgement that had reached its sender was
    /// sent; of an acknowledgement, when the data that it answers was sent. `None` before there is one.
    pub echo: Option<Time>,
    /// Content.
    pub content: Content,
}

/// Content of a packet.
#[derive(Clone, Debug)]
pub enum Content {
    /// A SYN or a data segment.
    Segment(DataSegment),
    /// An acknowledgement, or the answer to a SYN.
    Ack(AckSegment),
    /// A datagram.
    Datagram,
    /// A report of the receiver of datagrams.
    Report(Report),
    /// A packet of a stack that is not ours, from the IP header on.
    Carried {
        /// The end to which it is addressed.
        to: End,
        /// Its bytes as they were sent. Only the ECN codepoint may have changed since.
        bytes: Arc<[u8]>,
    },
}

/// The state of a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderState {
    /// Congestion window with its inflation, in bytes.
    pub cwnd: f64,
    /// Slow-start threshold, in bytes; infinite while unlimited.
    pub ssthresh: f64,
    /// Oldest unacknowledged byte.
    pub snd_una: u64,
    /// First byte never sent.
    pub snd_max: u64,
    /// Bytes in the network as far as the sender knows.
    pub in_flight: u64,
    /// Smoothed round-trip time of the retransmission timer, in seconds.
    pub srtt: Option<f64>,
    /// The latest round-trip time, and the minimum, in seconds.
    pub rtts: Option<(f64, f64)>,
    /// A loss is being repaired.
    pub in_recovery: bool,
    /// Why the next segment would be sent again, if it is.
    pub cause: Cause,
}

impl SenderState {
    /// The current state.
    pub fn of(sender: &Sender) -> Self {
        let (stats, observed) = (sender.stats(), sender.observe());
        SenderState {
            cwnd: sender.cwnd(),
            ssthresh: observed.ssthresh,
            snd_una: observed.snd_una,
            snd_max: sender.snd_max(),
            in_flight: observed.in_flight,
            srtt: observed.srtt,
            rtts: (stats.rtt_count > 0).then_some((stats.rtt_latest, stats.rtt_min)),
            in_recovery: observed.in_recovery,
            cause: sender.retransmission_cause(),
        }
    }
}
