//! Senders with the rules of a `tcp` table, and segments of 1000 bytes.

use dumbbell_cc::ExternalControl;
use dumbbell_tcp::{DataSegment, HostClock, Sender, Tcp, TcpParams};
use dumbbell_units::spec::{Field, Node};
use dumbbell_units::{Stream, Time, Value};

/// Payload of a full segment, in bytes.
pub const MSS: u64 = 1000;
/// A millisecond, in nanoseconds.
pub const MS: u64 = 1_000_000;
/// A clock whose ticks begin with the connection.
pub const CLOCK: HostClock = HostClock::Fraction(0.0);

/// The parameters of a table in a scenario that is classic.
pub fn params(rules: &Value) -> TcpParams {
    let scenario = Value::from_iter([("rules", "classic")]);
    Tcp::decode(&Node::part(rules, &scenario)).unwrap_or_else(|error| panic!("{rules}: {error}")).0
}

/// A sender at 0 ms that has nothing to send yet.
pub fn sender(rules: &Value) -> Sender {
    Sender::new(&params(rules), CLOCK, Time::ZERO, Stream::new(1, 0, "sender"))
}

/// The same with a congestion control from outside the registry.
pub fn external(rules: &Value, control: impl ExternalControl + 'static) -> Sender {
    let random = Stream::new(1, 0, "sender");
    Sender::external(&params(rules), CLOCK, Time::ZERO, random, |_| Box::new(control))
}

/// What is sent at once.
pub fn poll(sender: &mut Sender, now: Time) -> Vec<DataSegment> {
    std::iter::from_fn(|| sender.poll_transmit(now)).collect()
}
