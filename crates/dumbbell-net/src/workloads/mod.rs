//! Workloads: applications that send transfers over TCP, one file each. A workload decides when a transfer begins, its
//! size and its connection. It learns when the transfer ends, and is independent of the network.
//!
//! A transfer ends for its sender when the last byte is acknowledged. The acknowledgement stands for the next request of
//! the client as well: an answer that begins with it begins when a request would have arrived that the client sends
//! with the last byte of the answer before. So the time from the beginning of a transfer to its end is the time from a
//! request to the last byte, as seen by a client over a path with the same delay in both directions.

pub mod arrivals;
pub mod incast;
pub mod streaming;
pub mod transfers;
pub mod web;

use dumbbell_units::{Interval, Stream, Time};

/// An action of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Sends this many bytes.
    Send {
        /// Bytes, above 0.
        bytes: u64,
        /// The kept connection to use, which is opened if it is not open; `None` for a new connection that closes at
        /// the end of the transfer.
        over: Option<u32>,
    },
    /// Closes a kept connection that is not sending.
    Close(u32),
    /// A group of transfers begins, such as a page.
    Begin,
    /// The group ends, with this many bytes; false if a connection of it was given up.
    End(u64, bool),
    /// A transfer was refused because too many are in progress.
    Refuse,
}

/// The current instant, as a workload sees it.
pub struct Turn<'a> {
    /// Current time.
    pub now: Time,
    /// Random stream of the flow's traffic.
    pub random: &'a mut Stream,
    /// What the workload does, in order.
    pub orders: &'a mut Vec<Order>,
}

impl Turn<'_> {
    /// Sends `bytes` over a new connection.
    pub(crate) fn send(&mut self, bytes: u64) {
        self.orders.push(Order::Send { bytes, over: None });
    }

    /// Sends `bytes` over a kept connection.
    pub(crate) fn send_over(&mut self, connection: u32, bytes: u64) {
        self.orders.push(Order::Send { bytes, over: Some(connection) });
    }

    /// An exponential time with this mean.
    pub(crate) fn exponential(&mut self, mean: Time) -> Time {
        Time::from_secs(self.random.exponential(mean.secs()))
    }
}

/// The end of a transfer.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Bytes of the transfer.
    pub bytes: u64,
    /// Its kept connection, if it used one.
    pub over: Option<u32>,
    /// False if the connection was given up.
    pub is_complete: bool,
    /// When it began.
    pub began: Time,
}

/// What a viewer of adaptive video saw within the measurement window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Playback {
    /// Segments requested.
    pub segments: u64,
    /// Sum of their bitrates, in bit/s.
    pub bitrates: u128,
    /// Time without playback after the first start.
    pub rebuffering: Time,
    /// Changes of the bitrate from one segment to the next.
    pub switches: u64,
    /// Time from the start of the flow to the first playback.
    pub startup: Option<Time>,
}

impl Playback {
    /// Mean bitrate of the segments, in bit/s.
    pub fn bitrate_mean_bps(&self) -> Option<f64> {
        (self.segments > 0).then(|| self.bitrates as f64 / self.segments as f64)
    }

    /// What is seen in this and then in another period of the flow.
    pub fn and(&self, later: &Playback) -> Playback {
        Playback {
            segments: self.segments + later.segments,
            bitrates: self.bitrates + later.bitrates,
            rebuffering: self.rebuffering + later.rebuffering,
            switches: self.switches + later.switches,
            startup: self.startup.or(later.startup),
        }
    }
}

/// Parameters of a workload.
pub trait Workload {
    /// State during the flow.
    type State;

    /// What one transfer is called in results.
    const TRANSFER: &'static str;

    /// What a group of transfers is called, if there are groups. Results count groups then, otherwise transfers.
    const GROUP: Option<&'static str> = None;

    /// The flow starts.
    fn start(&self, turn: &mut Turn<'_>, window: Interval) -> Self::State;

    /// The time of the next action besides those at the end of transfers; [`Time::NEVER`] if there is none.
    fn next(&self, state: &Self::State) -> Time;

    /// The [`next`](Self::next) action is due.
    fn on_time(&self, state: &mut Self::State, turn: &mut Turn<'_>);

    /// A transfer has ended.
    fn on_end(&self, state: &mut Self::State, ended: &Ended, turn: &mut Turn<'_>);

    /// True if nothing follows any more.
    fn is_finished(&self, state: &Self::State) -> bool;

    /// True if the workload can finish.
    fn is_finite(&self) -> bool;

    /// What a viewer saw up to `now`; `None` if the video began after the window.
    fn playback(&self, _state: &Self::State, _now: Time) -> Option<Playback> {
        None
    }

    /// The parameter that contradicts others, and what is accepted; `None` if they are consistent.
    fn contradiction(&self) -> Option<(String, String)>;
}

/// The contradiction of a distribution of sizes in the parameter `member`.
fn of_sizes(member: &str, sizes: &crate::sizes::SizeSpec) -> Option<(String, String)> {
    sizes.contradiction().map(|(inner, accepted)| (format!("{member}.{inner}"), accepted))
}

/// Runs a workload in tests, without a network.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// A turn at a time in nanoseconds; returns the orders.
    pub(crate) fn turn<T>(
        at: u64,
        random: &mut Stream,
        act: impl FnOnce(&mut Turn<'_>) -> T,
    ) -> (T, Vec<Order>) {
        let mut orders = Vec::new();
        let result = act(&mut Turn { now: Time(at), random, orders: &mut orders });
        (result, orders)
    }

    /// The complete end of a transfer.
    pub(crate) fn ended(bytes: u64, over: Option<u32>) -> Ended {
        Ended { bytes, over, is_complete: true, began: Time::ZERO }
    }

    /// A measurement window that contains everything.
    pub(crate) const ALWAYS: Interval = Interval { from: Time::ZERO, until: Time::NEVER };
}
