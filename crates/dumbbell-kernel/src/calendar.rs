//! The clock of a guest: the messages of `include/uapi/linux/um_timetravel.h`, bytes in and bytes out.
//!
//! A guest runs in no time until it waits, and says before when it wants to run again. It is never allowed to run
//! freely beyond the instant, so that its time is that of the last grant.
//!
//! Guests since Linux 6.12 also know a memory that they share with the calendar ([`SHARED`]). Then they say nothing but
//! that they wait, which saves most of the messages.

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
const FREE_UNTIL: u32 = 7;
const GET_TOD: u32 = 8;

/// Size of the shared memory, in bytes: a page, and a part for the calendar and for the guest.
pub const SHARED: usize = PAGE + 2 * CLIENT;

const PAGE: usize = 4096;
const CLIENT: usize = 128;

/// Version of the shared memory.
const SHARED_VERSION: u32 = 2;

/// Number of the guest in the shared memory. The calendar has number 0.
const GUEST: u16 = 1;

/// A part of the shared memory that the guest writes: where it is, and its size, in bytes.
pub const GUEST_PART: (u64, usize) = ((PAGE + CLIENT) as u64, 16);

/// Where the times in the shared memory are, in bytes.
const TIMES: u64 = 8;

/// What a guest says when it waits because it has nothing to do, see `tree.toml`.
const IDLE: u64 = 1;

/// A client reads and writes times in the shared memory; and it wants to run.
const TIME_SHARE: u32 = 1;
const WANTS_TO_RUN: u32 = 1;

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
    /// Nothing runs in the guest while it waits.
    is_idle: bool,
    /// The guest uses the shared memory.
    is_shared: bool,
    sequence: u32,
}

impl Default for Calendar {
    fn default() -> Self {
        Calendar {
            now: 0,
            request: FOREVER,
            is_waiting: false,
            is_idle: false,
            is_shared: false,
            sequence: 0,
        }
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

    /// The guest is interrupted. True if what it wants is known without asking: to run now if it is idle, and nothing if
    /// it runs already. One that waits while a program runs may have the interrupt still before it.
    pub fn interrupt(&mut self) -> bool {
        if self.is_waiting {
            if !self.is_idle || !self.is_shared {
                return false;
            }
            self.request = self.now;
        }
        self.is_shared
    }

    /// Time has passed while the guest waits, not beyond its request. It learns of that when it asks.
    pub fn pass(&mut self, to: u64) {
        debug_assert!(self.is_waiting && self.now <= to && to <= self.request);
        self.now = to;
    }

    /// The guest may run at the time of its request: the messages that say so. Until the next instant, it needs not ask.
    pub fn grant(&mut self) -> Vec<u8> {
        debug_assert!(self.is_waiting && self.request < FOREVER);
        self.now = self.request;
        self.request = FOREVER;
        self.is_waiting = false;
        if self.is_shared {
            return self.message(RUN, self.now).to_vec();
        }
        [self.message(FREE_UNTIL, self.now + 1), self.message(RUN, self.now)].concat()
    }

    fn message(&mut self, operation: u32, time: u64) -> [u8; MESSAGE] {
        self.sequence = self.sequence.wrapping_add(1);
        message(operation, self.sequence, time)
    }

    /// True if the guest uses the shared memory.
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// The shared memory at the beginning.
    pub fn shared() -> Vec<u8> {
        let mut memory = vec![0; SHARED];
        memory[..4].copy_from_slice(&SHARED_VERSION.to_le_bytes());
        memory[4..8].copy_from_slice(&(SHARED as u32).to_le_bytes());
        memory[24..26].copy_from_slice(&GUEST.to_le_bytes());
        memory[26..28].copy_from_slice(&2_u16.to_le_bytes());
        memory[PAGE..PAGE + 4].copy_from_slice(&TIME_SHARE.to_le_bytes());
        memory
    }

    /// What is to be in the shared memory now, and where: until when the guest may run, and the present time. The guest
    /// looks at the number of the one that runs only to find out whether that one uses the shared memory.
    pub fn share(&self) -> (u64, [u8; 16]) {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&(self.now + 1).to_le_bytes());
        bytes[8..].copy_from_slice(&self.now.to_le_bytes());
        (TIMES, bytes)
    }

    /// The guest has written its part of the shared memory.
    ///
    /// # Errors
    ///
    /// It wants to run at a time before the present one.
    pub fn on_shared(&mut self, bytes: &[u8; GUEST_PART.1]) -> Result<(), ClockError> {
        let (abilities, flags, time) = parse(bytes);
        self.is_shared |= abilities & TIME_SHARE != 0;
        if !self.is_shared || !self.is_waiting {
            return Ok(());
        }
        self.request = if flags & WANTS_TO_RUN != 0 { time } else { FOREVER };
        if self.request < self.now { Err(ClockError::Backwards(self.now, self.request)) } else { Ok(()) }
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
            START => Ok(Answer::First(message(ACK, sequence, GUEST.into()))),
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
                self.is_idle = time == IDLE;
                Ok(if self.is_shared { Answer::None } else { acknowledged(0) })
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
        assert_eq!(told(&mut calendar, START, 1), Ok(Answer::First(message(ACK, 7, 1))));
        assert_eq!(told(&mut calendar, REQUEST, 900), Ok(Answer::Bytes(message(ACK, 7, 0))));
        assert_eq!(told(&mut calendar, REQUEST, 500), Ok(Answer::Bytes(message(ACK, 7, 0))));
        assert_eq!(told(&mut calendar, WAIT, u64::MAX), Ok(Answer::Bytes(message(ACK, 7, 0))));
        assert_eq!(calendar.request(), Some(500));
        assert_eq!(calendar.grant(), [message(FREE_UNTIL, 1, 501), message(RUN, 2, 500)].concat());
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
    fn a_guest_that_shares_memory_is_told_less() {
        let mut calendar = Calendar::default();
        assert_eq!(Calendar::shared().len(), SHARED);
        calendar.on_shared(&message(1, 0, 0)).expect("it runs");
        assert!(calendar.is_shared());
        assert_eq!(calendar.share(), (8, *b"\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"));
        assert_eq!(told(&mut calendar, WAIT, 0), Ok(Answer::None));
        calendar.on_shared(&message(1, 1, 70)).expect("it wants to run");
        assert_eq!(calendar.request(), Some(70));
        calendar.pass(60);
        assert_eq!(calendar.share().1, *b"\x3d\0\0\0\0\0\0\0\x3c\0\0\0\0\0\0\0");
        assert_eq!(calendar.on_shared(&message(1, 1, 59)), Err(ClockError::Backwards(60, 59)));
        calendar.on_shared(&message(1, 1, 60)).expect("it wants to run");
        assert_eq!(calendar.grant(), message(RUN, 1, 60));
    }

    #[test]
    fn only_an_idle_guest_runs_at_once_when_it_is_interrupted() {
        let mut calendar = Calendar::default();
        calendar.on_shared(&message(1, 0, 0)).expect("it runs");
        let mut interrupted = |waits: u64| {
            told(&mut calendar, WAIT, waits).expect("it waits");
            calendar.on_shared(&message(1, 1, 70)).expect("it wants to run");
            let told = (calendar.interrupt(), calendar.request());
            calendar.grant();
            told
        };
        assert_eq!(interrupted(IDLE), (true, Some(0)));
        assert_eq!(interrupted(0), (false, Some(70)));
        assert!(calendar.interrupt(), "it runs");
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
