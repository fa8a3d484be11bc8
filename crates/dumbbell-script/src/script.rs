//! A script as data.

use crate::expression::Statement;
use dumbbell_units::{Ecn, Time};
use std::path::PathBuf;

/// A script: settings of the player and of the host, and events in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// Where files lie that its commands name, if it is in a file itself.
    pub folder: Option<PathBuf>,
    /// `--name=value` lines: settings of the player.
    pub options: Vec<(String, String)>,
    /// Commands in backticks before the first event: settings of the host.
    pub setup: Vec<String>,
    /// The events.
    pub events: Vec<Event>,
    /// Commands after the last event, which nothing follows on.
    pub cleanup: Vec<String>,
}

impl Script {
    /// The segments that arrive.
    pub fn arriving(&self) -> impl Iterator<Item = &Segment> {
        self.events.iter().filter_map(|event| match &event.action {
            Action::Inbound(segment) => Some(segment),
            _ => None,
        })
    }

    /// True if the host asks for the connection.
    pub fn is_active(&self) -> bool {
        self.arriving().find(|segment| segment.flags.syn).is_some_and(|syn| syn.flags.ack)
    }
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Line of the script in which it begins, from 1.
    pub line: usize,
    /// When it happens.
    pub at: Moment,
    /// What happens.
    pub action: Action,
}

/// When an event happens. Relative times count from the end of the event before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// At this time since the beginning.
    At(Time),
    /// This time after the event before.
    After(Time),
    /// Between two times since the beginning.
    Between(Time, Time),
    /// Between two times after the event before.
    AfterBetween(Time, Time),
    /// At any time.
    Any,
}

/// What happens.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// The application calls the host.
    Call(Call),
    /// A segment arrives.
    Inbound(Segment),
    /// A segment must be sent.
    Outbound(Segment),
    /// A command of the shell.
    Command(String),
    /// Statements about the state of the connection must hold.
    Check(Vec<Statement>),
}

/// A system call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Its name.
    pub name: String,
    /// Its arguments.
    pub arguments: Vec<Argument>,
    /// What it must return; `None` for any value.
    pub result: Option<i64>,
    /// The error that it must return, as `EAGAIN`.
    pub errno: Option<String>,
    /// How long after it began it must return, if it blocks.
    pub blocks: Option<Time>,
}

/// An argument of a system call.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// `...`, which the host chooses.
    Any,
    /// A number.
    Number(i64),
    /// A name, or several joined by `|`.
    Name(String),
    /// Text in quotation marks.
    Text(String),
    /// `[...]`.
    List(Vec<Argument>),
    /// `{...}`, which is not read.
    Struct,
}

/// A TCP segment. Sequence numbers count from the SYN of each side, which is 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Segment {
    /// The flags.
    pub flags: Flags,
    /// The codepoint of the IP header, if the script states one.
    pub ecn: Option<Ecn>,
    /// First sequence number.
    pub seq: u64,
    /// Payload in bytes.
    pub len: u64,
    /// Acknowledgement.
    pub ack: Option<u64>,
    /// Window field, without its scale.
    pub window: Option<u64>,
    /// Options in their order; `None` for `<...>`, any of them.
    pub options: Option<Vec<TcpOption>>,
}

impl Segment {
    /// The value that `select` finds among the options.
    pub fn option<T>(&self, select: impl Fn(&TcpOption) -> Option<T>) -> Option<T> {
        self.options.iter().flatten().find_map(select)
    }

    /// Value and echo of its timestamps.
    pub fn timestamps(&self) -> Option<(u64, u64)> {
        self.option(|option| {
            if let TcpOption::Timestamps(value, echo) = option { Some((*value, *echo)) } else { None }
        })
    }

    /// Its SACK blocks.
    pub fn sack(&self) -> &[(u64, u64)] {
        let blocks = self.options.iter().flatten().find_map(|option| match option {
            TcpOption::Sack(blocks) => Some(blocks.as_slice()),
            _ => None,
        });
        blocks.unwrap_or_default()
    }
}

/// Flags of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(
    missing_docs,
    clippy::struct_excessive_bools,
    reason = "they are the bits of the header, with their names"
)]
pub struct Flags {
    pub syn: bool,
    pub fin: bool,
    pub rst: bool,
    pub psh: bool,
    pub ack: bool,
    pub ece: bool,
    pub cwr: bool,
}

/// An option of TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TcpOption {
    /// Maximum segment size.
    Mss(u64),
    /// SACK is permitted.
    SackPermitted,
    /// Value and echo.
    Timestamps(u64, u64),
    /// Shift of the window field.
    WindowScale(u64),
    /// Ranges, the first of which may have arrived twice.
    Sack(Vec<(u64, u64)>),
    /// Padding.
    Nop,
    /// End of the options.
    End,
}
