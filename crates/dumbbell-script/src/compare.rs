//! Comparing two hosts: one has a conversation, whose script the other one plays.

use crate::converse::{Conditions, converse};
use crate::play::{Failure, Host, Verdict, play};
use crate::script::{Action, Script};

/// What two hosts have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The conversation of the first.
    pub script: Script,
    /// The first difference of the second.
    pub difference: Option<Difference>,
}

/// The first difference between two hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Of a window, a threshold or a state, while all segments are equal.
    State(Failure),
    /// Of a segment.
    Segment(Failure),
}

/// Lets a host have a conversation, and plays its script on another one.
///
/// # Errors
///
/// A host could not be made, or one cannot be told something.
pub fn compare<A: Host, B: Host>(
    conditions: &Conditions,
    first: impl Fn(&Script) -> Result<A, String>,
    second: impl Fn(&Script) -> Result<B, String>,
) -> Result<Comparison, String> {
    let opening = conditions.opening();
    let mut script = converse(conditions, &mut first(&opening)?)?;
    (1..).zip(&mut script.events).for_each(|(line, event)| event.line = line);
    let difference = match play(&script, &mut second(&opening)?) {
        Verdict::Passed => None,
        Verdict::NotExpressible(failure) => return Err(failure.message),
        Verdict::Failed(failure) => {
            let segments = Script {
                events: script
                    .events
                    .iter()
                    .filter(|event| !matches!(event.action, Action::Check(_)))
                    .cloned()
                    .collect(),
                ..script.clone()
            };
            match play(&segments, &mut second(&opening)?) {
                Verdict::Failed(failure) => Some(Difference::Segment(failure)),
                Verdict::Passed | Verdict::NotExpressible(_) => Some(Difference::State(failure)),
            }
        }
    };
    Ok(Comparison { script, difference })
}

/// Leaves out what a difference does not need: as long as `differs` holds.
pub fn minimize(conditions: &Conditions, mut differs: impl FnMut(&Conditions) -> bool) -> Conditions {
    let mut least = conditions.clone();
    let mut take = |least: &mut Conditions, candidate: Conditions| {
        let is_less = candidate != *least && differs(&candidate);
        if is_less {
            *least = candidate;
        }
        is_less
    };
    for sent in conditions.lost.iter().rev() {
        let mut candidate = least.clone();
        candidate.lost.remove(sent);
        take(&mut least, candidate);
    }
    for sent in conditions.late.keys().rev() {
        let mut candidate = least.clone();
        candidate.late.remove(sent);
        take(&mut least, candidate);
    }
    for sent in conditions.marked.iter().rev() {
        let mut candidate = least.clone();
        candidate.marked.remove(sent);
        take(&mut least, candidate);
    }
    for number in conditions.lost_acks.iter().rev() {
        let mut candidate = least.clone();
        candidate.lost_acks.remove(number);
        take(&mut least, candidate);
    }
    for at in (0..conditions.arriving.len()).rev() {
        let mut candidate = least.clone();
        candidate.arriving.remove(at);
        take(&mut least, candidate);
    }
    while let Some(&(_, bytes)) = least.writes.last() {
        let mut candidate = least.clone();
        if bytes > SMALLEST_WRITE {
            if let Some(last) = candidate.writes.last_mut() {
                last.1 = bytes / 2 / SMALLEST_WRITE * SMALLEST_WRITE;
            }
        } else {
            candidate.writes.pop();
        }
        if !take(&mut least, candidate) {
            break;
        }
    }
    least
}

/// Bytes of writes are multiples of this, and writes of so many are left out as a whole.
const SMALLEST_WRITE: u64 = 1448;
