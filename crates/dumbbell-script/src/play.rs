//! Plays a script on a host: what is sent must be what the script says, in its order and at its time.
//!
//! Times have packetdrill's meaning: a relative time counts from the event before, which for a segment that was sent is the
//! time at which it was. What is sent after the last segment of the script is not looked at.

use crate::expression::Statement;
use crate::script::{Action, Call, Event, Moment, Script, Segment, TcpOption};
use crate::shell::{Setting, settings};
use dumbbell_units::Time;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

/// How far a segment may be from its time, unless the script says otherwise (`--tolerance_usecs`).
const TOLERANCE: Time = Time(4_000_000);
/// How long a segment at any time is waited for.
const LONGEST_WAIT: Time = Time(3_600_000_000_000);
/// How long after the end of its time a missing segment is looked for, to be shown.
const LOOKED_AHEAD: Time = Time(10_000_000_000);

/// A segment that a host sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Outgoing {
    /// When it was sent.
    pub at: Time,
    /// The segment.
    pub segment: Segment,
}

/// A TCP under test with its application and its network interface. A host is at the time of the last event; each call
/// first lets the time pass until its own.
pub trait Host {
    /// The application calls, and never blocks. What the call returns; `None` if that means nothing, and -1 if it would
    /// block.
    ///
    /// # Errors
    ///
    /// What the host cannot be told.
    fn call(&mut self, now: Time, call: &Call) -> Result<Option<i64>, String>;

    /// A segment arrives.
    ///
    /// # Errors
    ///
    /// What the host cannot be told.
    fn deliver(&mut self, now: Time, segment: &Segment) -> Result<(), String>;

    /// The next segment that is sent, if that is until then.
    fn next_outgoing(&mut self, until: Time) -> Option<Outgoing>;

    /// The value of a field of `TCP_INFO`, as `tcpi_snd_cwnd`; `None` if the host does not have it.
    fn field(&mut self, now: Time, name: &str) -> Option<i64>;

    /// A command of the shell sets something during the connection.
    ///
    /// # Errors
    ///
    /// What the host cannot be told.
    fn set(&mut self, now: Time, setting: &Setting) -> Result<(), String>;

    /// The script calls the time `sent` by this value of a timestamp, in milliseconds.
    fn on_timestamp(&mut self, _value: u64, _sent: Time) {}

    /// True if segments have all the fields of real ones. Otherwise the window and options other than SACK are not compared.
    fn is_real(&self) -> bool;

    /// True if PSH is compared: the host writes it where packetdrill's does, which segments what it sends in its device.
    fn has_push(&self) -> bool {
        false
    }
}

/// The event at which a script ended early, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Line of the script, from 1; 0 for the script as a whole.
    pub line: usize,
    /// What was expected, and what was found; or what cannot be expressed.
    pub message: String,
}

/// How a script ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything was as it says.
    Passed,
    /// Something was not.
    Failed(Failure),
    /// The host cannot be told something.
    NotExpressible(Failure),
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (end, Failure { line, message }) = match self {
            Verdict::Passed => return write!(out, "passed"),
            Verdict::Failed(failure) => ("failed", failure),
            Verdict::NotExpressible(failure) => ("not expressible", failure),
        };
        if *line == 0 {
            write!(out, "{end}: {message}")
        } else {
            write!(out, "{end}: line {line}: {message}")
        }
    }
}

/// Plays a script on a host.
pub fn play(script: &Script, host: &mut impl Host) -> Verdict {
    let tolerance = script.options.iter().find(|(name, _)| name == "tolerance_usecs");
    let tolerance =
        tolerance.and_then(|(_, value)| value.parse().ok()).map_or(TOLERANCE, |us: u64| Time(us * 1000));
    let mut player = Player {
        host,
        now: Time::ZERO,
        tolerance,
        sent: VecDeque::new(),
        folder: script.folder.as_deref(),
        variables: BTreeMap::new(),
        blocked: None,
    };
    for event in &script.events {
        let end = player.step(event).map_err(|end| (event.line, end));
        let end = end.and_then(|()| player.wake());
        let Err((line, end)) = end else { continue };
        return match end {
            End::Failed(message) => Verdict::Failed(Failure { line, message }),
            End::NotExpressible(message) => Verdict::NotExpressible(Failure { line, message }),
        };
    }
    match player.blocked {
        Some(Blocked { line, call, .. }) => {
            Verdict::Failed(Failure { line, message: format!("{} does not return", call.name) })
        }
        None => Verdict::Passed,
    }
}

/// Calls that may block: what makes them return arrives.
const BLOCKING: [&str; 4] = ["accept", "connect", "read", "recv"];

/// A call that blocks.
struct Blocked<'a> {
    /// Its line of the script.
    line: usize,
    call: &'a Call,
    /// When it must return.
    end: Time,
}

enum End {
    Failed(String),
    NotExpressible(String),
}

struct Player<'a, H> {
    host: &'a mut H,
    /// End of the last event.
    now: Time,
    tolerance: Time,
    /// Segments sent that the script has not come to.
    sent: VecDeque<Outgoing>,
    /// Where files lie that commands name.
    folder: Option<&'a Path>,
    /// Names to which statements have given values.
    variables: BTreeMap<&'a str, i64>,
    /// The call that blocks.
    blocked: Option<Blocked<'a>>,
}

impl<'a, H: Host> Player<'a, H> {
    fn step(&mut self, event: &'a Event) -> Result<(), End> {
        let (from, until) = self.times(event.at);
        if let Action::Outbound(segment) = &event.action {
            return self.expect(segment, from, until);
        }
        self.now = self.now.max(from);
        match &event.action {
            Action::Call(call) => match call.blocks {
                None => self.call(call),
                Some(duration) => self.block(Blocked { line: event.line, call, end: self.now + duration }),
            },
            Action::Inbound(segment) => self.host.deliver(self.now, segment).map_err(End::NotExpressible),
            Action::Command(command) => self.command(command).map_err(End::NotExpressible),
            Action::Check(statements) => self.check(statements),
            Action::Outbound(_) => Ok(()),
        }
    }

    /// The earliest and the latest time of an event.
    fn times(&self, at: Moment) -> (Time, Time) {
        match at {
            Moment::At(time) => (time, time),
            Moment::After(time) => (self.now + time, self.now + time),
            Moment::Between(from, until) => (from, until),
            Moment::AfterBetween(from, until) => (self.now + from, self.now + until),
            Moment::Any => (Time::ZERO, self.now + LONGEST_WAIT),
        }
    }

    fn command(&mut self, command: &str) -> Result<(), String> {
        let settings = settings(command, self.folder)?;
        settings.iter().try_for_each(|setting| self.host.set(self.now, setting))
    }

    /// A call begins that returns later.
    fn block(&mut self, blocked: Blocked<'a>) -> Result<(), End> {
        let call = blocked.call;
        if !BLOCKING.contains(&call.name.as_str()) || self.blocked.is_some() {
            let message = format!("{} that blocks, other than one of {}", call.name, BLOCKING.join(", "));
            return Err(End::NotExpressible(message));
        }
        if call.name == "connect" {
            self.host.call(self.now, call).map_err(End::NotExpressible)?;
        }
        self.blocked = Some(blocked);
        Ok(())
    }

    /// Lets the call that blocks return, if it does after an event.
    fn wake(&mut self) -> Result<(), (usize, End)> {
        let Some(Blocked { line, call, end }) = self.blocked else { return Ok(()) };
        let found = self.host.call(self.now, call).map_err(|message| (line, End::NotExpressible(message)))?;
        if found == Some(-1) && call.result != Some(-1) {
            return Ok(());
        }
        self.blocked = None;
        if self.now + self.tolerance < end || self.now > end + self.tolerance {
            let (now, end) = (seconds(self.now), seconds(end));
            return Err((line, End::Failed(format!("{} returns at {now}, not at {end}", call.name))));
        }
        returned(call, found).map_err(|end| (line, end))
    }

    fn call(&mut self, call: &Call) -> Result<(), End> {
        let found = self.host.call(self.now, call).map_err(End::NotExpressible)?;
        returned(call, found)
    }

    fn check(&mut self, statements: &'a [Statement]) -> Result<(), End> {
        for statement in statements {
            let (Statement::Assert(expression) | Statement::Assign(_, expression)) = statement else {
                continue;
            };
            let now = self.now;
            let fields: Vec<(&str, i64)> = expression
                .names()
                .into_iter()
                .filter_map(|name| {
                    let variable = self.variables.get(name).copied();
                    Some((name, variable.or_else(|| self.host.field(now, name))?))
                })
                .collect();
            let field = |name: &str| fields.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
            let value = expression.value(&field).map_err(|name| {
                End::NotExpressible(format!(
                    "{name}: neither a field of TCP_INFO that the host has nor a constant of it"
                ))
            })?;
            if let Statement::Assign(name, _) = statement {
                self.variables.insert(name, value);
            } else if value == 0 {
                let values: Vec<String> =
                    fields.iter().map(|(name, value)| format!("{name} is {value}")).collect();
                return Err(End::Failed(format!("`assert {expression}` fails: {}", values.join(", "))));
            }
        }
        Ok(())
    }

    fn expect(&mut self, expected: &Segment, from: Time, until: Time) -> Result<(), End> {
        let found = match self.sent.pop_front() {
            Some(found) => Some(found),
            None => self.host.next_outgoing(until + self.tolerance),
        };
        let Some(mut found) = found else {
            let end = until + self.tolerance;
            let later = self.host.next_outgoing(end + LOOKED_AHEAD).map_or(String::new(), |later| {
                let shown = with_stated_fields(&later.segment, expected);
                format!("; the next is `{shown}` at {}", seconds(later.at))
            });
            let message = format!("expected `{expected}`, but nothing is sent until {}{later}", seconds(end));
            return Err(End::Failed(message));
        };
        while found.segment.len < expected.len {
            let next = self.sent.pop_front().or_else(|| self.host.next_outgoing(found.at));
            match next {
                Some(next) if continues(&found, &next) => {
                    found.segment.len += next.segment.len;
                    found.segment.flags.psh |= next.segment.flags.psh;
                    found.segment.flags.fin |= next.segment.flags.fin;
                }
                Some(other) => {
                    self.sent.push_front(other);
                    break;
                }
                None => break,
            }
        }
        self.compare(expected, &found)?;
        if found.at + self.tolerance < from || found.at > until + self.tolerance {
            let (from, until) = (seconds(from), seconds(until));
            let message =
                format!("`{expected}` is sent at {}, not from {from} to {until}", seconds(found.at));
            return Err(End::Failed(message));
        }
        if let Some((value, _)) = expected.timestamps() {
            self.host.on_timestamp(value, found.at);
        }
        self.now = self.now.max(found.at);
        Ok(())
    }

    fn compare(&self, expected: &Segment, found: &Outgoing) -> Result<(), End> {
        let segment = &found.segment;
        let mut flags = segment.flags;
        let mut is_same = segment.seq == expected.seq && segment.len == expected.len;
        is_same &= expected.ack.is_none_or(|ack| segment.ack == Some(ack));
        is_same &= expected.ecn.is_none_or(|ecn| segment.ecn == Some(ecn));
        is_same &= expected.options.is_none() || expected.flags.syn || segment.sack() == expected.sack();
        if self.host.is_real() {
            is_same &= expected.window.is_none_or(|window| segment.window == Some(window));
            is_same &= expected.options.is_none() || kinds(segment) == kinds(expected);
        }
        if !self.host.has_push() {
            flags.psh = expected.flags.psh;
        }
        if is_same && flags == expected.flags {
            return Ok(());
        }
        let at = seconds(found.at);
        let shown = with_stated_fields(segment, expected);
        Err(End::Failed(format!("expected `{expected}`, but `{shown}` is sent at {at}")))
    }
}

/// What a call returns must be what the script says.
fn returned(call: &Call, found: Option<i64>) -> Result<(), End> {
    match (call.result, found) {
        (Some(expected), Some(found)) if expected != found => {
            Err(End::Failed(format!("{} returns {found}, not {expected}", call.name)))
        }
        _ => Ok(()),
    }
}

/// A segment without what another one does not state, except SACK.
fn with_stated_fields(segment: &Segment, stated: &Segment) -> Segment {
    let mut options = segment.options.clone().unwrap_or_default();
    if stated.options.as_ref().is_none_or(Vec::is_empty) {
        options.retain(|option| matches!(option, TcpOption::Sack(_)));
    }
    Segment {
        ecn: stated.ecn.and(segment.ecn),
        window: stated.window.and(segment.window),
        options: Some(options),
        ..segment.clone()
    }
}

/// The kinds of the options of a segment, without padding.
fn kinds(segment: &Segment) -> Vec<std::mem::Discriminant<TcpOption>> {
    let options = segment.options.iter().flatten();
    options
        .filter(|option| !matches!(option, TcpOption::Nop | TcpOption::End))
        .map(std::mem::discriminant)
        .collect()
}

/// True if `next` continues a segment that one larger than the maximum would contain.
fn continues(found: &Outgoing, next: &Outgoing) -> bool {
    next.at == found.at && next.segment.len > 0 && next.segment.seq == found.segment.seq + found.segment.len
}

fn seconds(time: Time) -> String {
    format!("{:.6} s", time.0 as f64 / 1e9)
}
