//! The clock of a guest: the messages of `include/uapi/linux/um_timetravel.h`, bytes in and bytes out.
//!
//! A guest runs in no time until it waits, and says before when it wants to run again. It is never allowed to run
//! freely, so that its time is that of the last grant.

use std::fmt;

/// Size of a message, in bytes: an operation, a sequence number, and a time in nanoseconds.
pub const MESSAGE: usize = 16;

/// Time of day at which each guest begins, in nanoseconds since 1970: 2020-01-01.
const TIME_OF_DAY: u64 = 1_577_836_800_000_000_000;

/// A guest without a timer asks for this time or a later one.
const FOREVER: u64 = i64::MAX as u64;

const ACK: u32 = 0;
const START: u32 = 1;
const REQUEST: u32 = 2;
const WAIT: u32 = 3;
const GET: u32 = 4;
const UPDATE: u32 = 5;
const RUN: u32 = 6;
const GET_TOD: u32 = 8;

/// A message that a guest should not have sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockError {
    /// There is no such operation.
    Operation(u32),
    /// It states a time before the present one, both in nanoseconds.
    Backwards(u64, u64),
    /// It asks for something while it waits for its turn, or waits twice.
    Waiting,
}

impl fmt::Display for ClockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClockError::Operation(operation) => write!(f, "unknown operation {operation} of the clock"),
            ClockError::Backwards(now, stated) => write!(f, "its clock went back from {now} to {stated} ns"),
            ClockError::Waiting => write!(f, "it waited twice for its turn"),
        }
    }
}

/// What to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing.
    None,
    /// These bytes.
    Bytes([u8; MESSAGE]),
    /// These bytes, with the descriptors that a guest expects of the first answer.
    First([u8; MESSAGE]),
}

/// The clock of one guest. Times are the guest's, in nanoseconds since its start.
#[derive(Clone, Debug)]
pub struct Calendar {
    now: u64,
    request: u64,
    is_waiting: bool,
    sequence: u32,
}

impl Default for Calendar {
    fn default() -> Self {
        Calendar { now: 0, request: FOREVER, is_waiting: false, sequence: 0 }
    }
}

impl Calendar {
    /// The present time.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// The time at which the guest wants to run again, if it wants to.
    pub fn request(&self) -> Option<u64> {
        (self.request < FOREVER).then_some(self.request)
    }

    /// True if the guest waits for its turn.
    pub fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// Time has passed while the guest waits, not beyond its request. It learns of that when it asks.
    pub fn pass(&mut self, to: u64) {
        debug_assert!(self.is_waiting && self.now <= to && to <= self.request);
        self.now = to;
    }

    /// The guest may run at the time of its request: the message that says so.
    pub fn grant(&mut self) -> [u8; MESSAGE] {
        debug_assert!(self.is_waiting && self.request < FOREVER);
        self.now = self.request;
        self.request = FOREVER;
        self.is_waiting = false;
        self.sequence = self.sequence.wrapping_add(1);
        message(RUN, self.sequence, self.now)
    }

    /// A message of the guest.
    ///
    /// # Errors
    ///
    /// It does not follow the protocol.
    pub fn on_message(&mut self, bytes: &[u8; MESSAGE]) -> Result<Answer, ClockError> {
        let (operation, sequence, time) = parse(bytes);
        let acknowledged = |time| Answer::Bytes(message(ACK, sequence, time));
        match operation {
            ACK => Ok(Answer::None),
            START => Ok(Answer::First(message(ACK, sequence, 0))),
            REQUEST => {
                if time < self.now {
                    return Err(ClockError::Backwards(self.now, time));
                }
                self.request = time;
                Ok(acknowledged(0))
            }
            WAIT => {
                if self.is_waiting {
                    return Err(ClockError::Waiting);
                }
                self.is_waiting = true;
                Ok(acknowledged(0))
            }
            GET => Ok(acknowledged(self.now)),
            UPDATE => {
                if time != self.now {
                    return Err(ClockError::Backwards(self.now, time));
                }
                Ok(acknowledged(0))
            }
            GET_TOD => Ok(acknowledged(TIME_OF_DAY.wrapping_add(self.now))),
            operation => Err(ClockError::Operation(operation)),
        }
    }
}

fn message(operation: u32, sequence: u32, time: u64) -> [u8; MESSAGE] {
    let mut bytes = [0; MESSAGE];
    bytes[..4].copy_from_slice(&operation.to_le_bytes());
    bytes[4..8].copy_from_slice(&sequence.to_le_bytes());
    bytes[8..].copy_from_slice(&time.to_le_bytes());
    bytes
}

fn parse(bytes: &[u8; MESSAGE]) -> (u32, u32, u64) {
    let [o0, o1, o2, o3, s0, s1, s2, s3, time @ ..] = *bytes;
    (u32::from_le_bytes([o0, o1, o2, o3]), u32::from_le_bytes([s0, s1, s2, s3]), u64::from_le_bytes(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(calendar: &mut Calendar, operation: u32, time: u64) -> Result<Answer, ClockError> {
        calendar.on_message(&message(operation, 7, time))
    }

    #[test]
    fn a_guest_runs_at_the_time_of_its_last_request() {
        let mut calendar = Calendar::default();
        assert_eq!(told(&mut calendar, START, 1), Ok(Answer::First(message(ACK, 7, 0))));
        assert_eq!(told(&mut calendar, REQUEST, 900), Ok(Answer::Bytes(message(ACK, 7, 0))));
        assert_eq!(told(&mut calendar, REQUEST, 500), Ok(Answer::Bytes(message(ACK, 7, 0))));
        assert_eq!(told(&mut calendar, WAIT, u64::MAX), Ok(Answer::Bytes(message(ACK, 7, 0))));
        assert_eq!(calendar.request(), Some(500));
        assert_eq!(calendar.grant(), message(RUN, 1, 500));
        assert_eq!((calendar.now(), calendar.request(), calendar.is_waiting()), (500, None, false));
        assert_eq!(told(&mut calendar, ACK, 0), Ok(Answer::None));
    }

    #[test]
    fn time_that_has_passed_is_told_when_the_guest_asks() {
        let mut calendar = Calendar::default();
        told(&mut calendar, REQUEST, 900).expect("a request");
        told(&mut calendar, WAIT, 0).expect("it waits");
        calendar.pass(400);
        assert_eq!(told(&mut calendar, GET, 0), Ok(Answer::Bytes(message(ACK, 7, 400))));
        assert_eq!(told(&mut calendar, GET_TOD, 0), Ok(Answer::Bytes(message(ACK, 7, TIME_OF_DAY + 400))));
    }

    #[test]
    fn a_guest_without_timers_asks_for_no_time() {
        let mut calendar = Calendar::default();
        told(&mut calendar, REQUEST, i64::MAX as u64).expect("a request");
        assert_eq!(calendar.request(), None);
    }

    #[test]
    fn what_breaks_the_protocol_is_an_error() {
        let mut calendar = Calendar::default();
        assert_eq!(told(&mut calendar, 99, 0), Err(ClockError::Operation(99)));
        assert_eq!(told(&mut calendar, RUN, 0), Err(ClockError::Operation(RUN)));
        told(&mut calendar, REQUEST, 10).expect("a request");
        told(&mut calendar, WAIT, 0).expect("it waits");
        assert_eq!(told(&mut calendar, WAIT, 0), Err(ClockError::Waiting));
        calendar.grant();
        assert_eq!(told(&mut calendar, REQUEST, 9), Err(ClockError::Backwards(10, 9)));
        assert_eq!(told(&mut calendar, UPDATE, 11), Err(ClockError::Backwards(10, 11)));
    }
}
