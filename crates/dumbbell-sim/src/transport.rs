//! Flows carried by a stack that is not ours: a QUIC or TCP library, or an operating system's kernel.
//!
//! A scenario states the name of a transport, its version, a digest of its code and its parameters. Before a run, the
//! caller of the engine binds it to a host ([`TransportHost`]), which starts one or several stacks ([`Stack`]) for the
//! flows that name it. A stack has no clock, socket or thread that the engine would know of: it is given datagrams and
//! times, and asked for datagrams and its next deadline. Its randomness comes from the [`Stream`] of each flow.
//!
//! At one instant, the engine calls a stack in this order: [`Stack::on_datagram`], [`Stack::on_deadline`] or a method of
//! the application; then [`Stack::poll_transmit`] and [`Stack::poll_event`] until both return `None`; then
//! [`Stack::next_deadline`]. Times never decrease.

use dumbbell_units::spec::{Field, Members, Node, Params, SpecError, any_of, described, near_miss};
use dumbbell_units::{Ecn, Stream, Time, Value};
use serde_json::json;
use std::fmt::Debug;
use std::sync::Arc;

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The node at which the flow begins.
    Sender,
    /// The node at which it ends.
    Receiver,
}

impl End {
    /// The end to which the datagrams of this one are addressed.
    pub fn other(self) -> End {
        match self {
            End::Sender => End::Receiver,
            End::Receiver => End::Sender,
        }
    }
}

/// What a stack says about a datagram that it sends. Its bytes are in the buffer of [`Stack::poll_transmit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Position of the flow in the scenario.
    pub flow: u32,
    /// The end that sends it.
    pub from: End,
    /// Size by which links reckon, in bytes: that of the IP packet.
    pub size: u32,
    /// ECN codepoint.
    pub ecn: Ecn,
    /// It carries data of the application, so that it counts for forced and recorded losses.
    pub is_data: bool,
    /// Which of the connections of the flow it belongs to, so that queues can distinguish them.
    pub connection: u32,
}

/// What has happened to a connection of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackEvent {
    /// Everything that the application has written was acknowledged, or the connection was closed after that.
    Acknowledged {
        /// The connection.
        connection: u32,
    },
    /// The connection was given up.
    GivenUp {
        /// The connection.
        connection: u32,
    },
}

/// The state of a connection, as far as its stack shows it. What it does not show is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shown {
    /// Largest payload of a packet, in bytes: the unit of windows in segments.
    pub mss: u32,
    /// Congestion window, in bytes.
    pub cwnd: Option<f64>,
    /// Slow-start threshold, in bytes; infinite while unlimited.
    pub ssthresh: Option<f64>,
    /// Bytes in the network as far as the sender knows.
    pub in_flight: Option<u64>,
    /// Smoothed round-trip time, in seconds.
    pub srtt: Option<f64>,
    /// Retransmission timeout, in seconds.
    pub rto: Option<f64>,
    /// Latest round-trip time, in seconds.
    pub latest_rtt: Option<f64>,
    /// Minimum round-trip time, in seconds.
    pub min_rtt: Option<f64>,
    /// Pacing rate, in bit/s.
    pub pacing_rate: Option<f64>,
    /// Bytes acknowledged in order.
    pub acknowledged: u64,
    /// Bytes that the receiving application has got.
    pub delivered: u64,
    /// Data packets sent, including retransmissions.
    pub segments_sent: Option<u64>,
    /// Data packets retransmitted. A stack that never sends the same packet again has packets with retransmitted data.
    pub segments_retransmitted: Option<u64>,
    /// Bytes retransmitted.
    pub bytes_retransmitted: Option<u64>,
    /// Packets declared lost.
    pub lost: Option<u64>,
    /// Expirations of the retransmission timer.
    pub timeouts: Option<u64>,
}

/// A log that a stack may keep beside its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Log {
    /// The keys of its TLS as lines in the format of `SSLKEYLOGFILE`, with which captures of its packets can be read.
    Keys,
    /// Its events as qlog in JSON text sequences (RFC 7464).
    Events,
}

/// A running stack with both ends of its flows.
pub trait Stack: Debug + Send {
    /// The application of a flow opens a connection and writes `bytes`; without end for [`u64::MAX`]. Numbers of
    /// connections are unique in a run. With `is_kept`, more may be written later.
    fn open(&mut self, now: Time, flow: u32, connection: u32, bytes: u64, is_kept: bool);

    /// The application writes more on a connection that is kept.
    fn write(&mut self, now: Time, connection: u32, bytes: u64);

    /// The application writes no more: what it has written is still sent, of endless data nothing further.
    fn close(&mut self, now: Time, connection: u32);

    /// A connection is over: it was acknowledged and is closed, or given up. The engine will not name it again.
    fn release(&mut self, _now: Time, _connection: u32) {}

    /// A datagram reaches the `to` end of its flow. Returns the new bytes that the receiving application gets from it.
    fn on_datagram(&mut self, now: Time, flow: u32, to: End, ecn: Ecn, bytes: &[u8]) -> u64;

    /// When the stack wants to be woken; [`Time::NEVER`] if only a datagram or its application can wake it.
    fn next_deadline(&self) -> Time;

    /// The deadline has come.
    fn on_deadline(&mut self, now: Time);

    /// The next datagram that the stack sends now, which replaces the content of `bytes`.
    fn poll_transmit(&mut self, now: Time, bytes: &mut Vec<u8>) -> Option<Transmit>;

    /// The next event of a connection.
    fn poll_event(&mut self) -> Option<StackEvent>;

    /// What a connection shows now.
    fn shown(&mut self, now: Time, connection: u32) -> Shown;

    /// Takes what is new in a log; nothing if the stack does not keep it.
    fn take_log(&mut self, _log: Log) -> String {
        String::new()
    }

    /// Why the stack cannot go on, in one sentence. The run then ends without results.
    fn failure(&self) -> Option<String> {
        None
    }
}

/// A flow that a host is to carry.
#[derive(Clone, Debug)]
pub struct Carried<'a> {
    /// Position of the flow in the scenario.
    pub flow: u32,
    /// Name of the flow.
    pub name: &'a str,
    /// What the scenario states.
    pub spec: &'a TransportSpec,
    /// Its randomness.
    pub random: Stream,
}

/// Has transports, such as a library.
pub trait TransportHost: Debug + Send + Sync {
    /// The name by which scenarios state it.
    fn name(&self) -> &'static str;

    /// Its entry in the catalogue: `name`, `summary`, `version` and `parameters`, the last as
    /// [`catalogue`](dumbbell_units::spec::catalogue) gives them.
    fn entry(&self) -> Value;

    /// What a flow states, with version, digest and all parameters.
    ///
    /// # Errors
    ///
    /// A version or digest is stated that is not this host's, or a parameter that it does not have.
    fn complete(&self, flow: &str, spec: &TransportSpec) -> Result<TransportSpec, SpecError>;

    /// Starts the stacks that carry these flows, which name this host. Several flows may share a stack.
    ///
    /// # Errors
    ///
    /// A stack could not be started: why, in one sentence.
    fn start(&self, flows: Vec<Carried<'_>>) -> Result<Vec<Started>, String>;
}

/// A stack, and the flows that it carries by their positions in the scenario.
#[derive(Debug)]
pub struct Started {
    /// The stack.
    pub stack: Box<dyn Stack>,
    /// Its flows.
    pub flows: Vec<u32>,
}

/// What a scenario states about a transport that is not ours.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TransportSpec {
    /// Its host.
    pub name: String,
    /// Its version. A host runs no other.
    pub version: String,
    /// Digest of its code and configuration. A host runs no other.
    pub digest: String,
    /// Its parameters, which only its host can check.
    pub parameters: Members,
}

impl TransportSpec {
    /// Its parameters as a host declares them. The path of an error leads from the root of the scenario to the parameter.
    ///
    /// # Errors
    ///
    /// A parameter is not declared, or its value is not accepted.
    pub fn read<P: Params>(&self, flow: &str) -> Result<P, SpecError> {
        let root = json!({ "flows": { flow: { "transport": self.parameters } } });
        let path = ["flows", flow, "transport"];
        let table = path.iter().try_fold(Node::root(&root), |node, member| node.child(member));
        table.map_or_else(|| Ok(P::default()), |table| P::default().overlay(&table))
    }
}

/// A transport that is not ours, and its host once it is bound.
#[derive(Clone, Debug, Default)]
pub struct Transport {
    /// What the scenario states. Flows of a group share it.
    pub spec: Arc<TransportSpec>,
    host: Option<Arc<dyn TransportHost>>,
}

impl Transport {
    fn of(spec: TransportSpec) -> Self {
        Transport { spec: Arc::new(spec), host: None }
    }

    /// Finds the host of this name, and completes what is stated.
    ///
    /// # Errors
    ///
    /// There is no such host, or it refuses.
    pub fn bind(&mut self, flow: &str, hosts: &[Arc<dyn TransportHost>]) -> Result<(), SpecError> {
        let host = hosts.iter().find(|host| host.name() == self.spec.name);
        let host = host.ok_or_else(|| {
            let names: Vec<&str> = hosts.iter().map(|host| host.name()).collect();
            SpecError {
                field: format!("flows.{flow}.transport.name"),
                value: format!("\"{}\"", self.spec.name),
                accepted: match names.as_slice() {
                    [] => "no transport: only the TCP of the engine runs here".to_owned(),
                    names => format!("a transport that runs here: {}", names.join(", ")),
                },
                suggestion: near_miss(&self.spec.name, &names),
            }
        })?;
        self.spec = Arc::new(host.complete(flow, &self.spec)?);
        self.host = Some(Arc::clone(host));
        Ok(())
    }

    /// Its host, if it is bound.
    pub(crate) fn host(&self) -> Option<&Arc<dyn TransportHost>> {
        self.host.as_ref()
    }
}

/// Two are equal if they state the same: a host follows from that.
impl PartialEq for Transport {
    fn eq(&self, other: &Self) -> bool {
        self.spec == other.spec
    }
}

impl Field for Transport {
    fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
        if let Value::String(name) = node.value() {
            return Ok(Transport::of(TransportSpec { name: name.clone(), ..TransportSpec::default() }));
        }
        let mut parameters = node.table()?.clone();
        node.require(&["name"])?;
        let mut take = |member: &str| -> Result<String, SpecError> {
            let text = node.child(member).map_or(Ok(String::new()), |child| String::decode(&child))?;
            parameters.shift_remove(member);
            Ok(text)
        };
        let (name, version, digest) = (take("name")?, take("version")?, take("digest")?);
        Ok(Transport::of(TransportSpec { name, version, digest, parameters }))
    }
    fn encode(&self) -> Value {
        let TransportSpec { name, version, digest, parameters } = &*self.spec;
        let mut members = Members::new();
        for (member, text) in [("name", name), ("version", version), ("digest", digest)] {
            members.insert(member.into(), json!(text));
        }
        members.extend(parameters.clone());
        Value::Object(members)
    }
    fn accepted() -> String {
        "the name of a transport, or a table with `name` and its parameters".into()
    }
    fn schema() -> Value {
        let text = |about: &str| described(String::schema(), about);
        let table = json!({
            "type": "object",
            "properties": {
                "name": text("Name of the transport."),
                "version": text("Its version; no other is run. Completed if not given."),
                "digest": text("Digest of its code and configuration; no other is run. Completed if not given."),
            },
            "required": ["name"],
        });
        any_of(vec![String::schema(), table])
    }
}
