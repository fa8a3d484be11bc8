//! Scripts of TCP segments in packetdrill's syntax [cardwell2013]: what an application calls, what arrives from the
//! network, and what the TCP under test must send in return.
//!
//! [`parse`] reads a script and knows no TCP. [`play`] runs it on a [`Host`], which has a TCP of some kind: it calls,
//! delivers, compares and checks. [`Simulator`] is the host with the sender and the receiver of the simulation. So the same
//! script can be played on others.
//!
//! The language is a subset. What is outside of it, or cannot be said to a host, is *not expressible*, with the reason;
//! that is neither a syntax error nor a failure. `docs/scripts.md` describes the subset.

mod compare;
mod converse;
mod ending;
mod expression;
mod kinds;
mod parse;
mod peer;
mod play;
mod script;
mod shell;
mod simulator;
mod suite;
mod write;

pub use compare::{Comparison, Difference, compare, minimize};
pub use converse::{Conditions, Transmission, converse};
pub use expression::{Expression, Operator, Statement};
pub use kinds::{KINDS, Kind};
pub use parse::{ParseError, parse};
pub use play::{Failure, Host, Outgoing, Verdict, play};
pub use script::{Action, Argument, Call, Event, Flags, Moment, Script, Segment, TcpOption};
pub use shell::{Setting, settings};
pub use simulator::Simulator;
pub use suite::{judge, scripts};
