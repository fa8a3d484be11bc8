//! The sender: which segment is sent next, and when.
//!
//! The sender receives acknowledgements, expired deadlines and data written by the application, and is polled for segments
//! until it has none. Its components do not know each other's rules: the scoreboard, the recovery with its loss detection,
//! the timers and the pacer. An ACK passes through them in a fixed order. The scoreboard records the reports. The recovery
//! handles a duplicate or new data. The scoreboard then removes what is acknowledged, the retransmission timer takes its
//! sample and restarts, the congestion control is informed, and the recovery and the pacer react.

mod access;
mod acknowledgements;
mod cause;
mod connection;
mod duplicates;
mod ecn;
mod limits;
mod observation;
mod opening;
mod pacer;
mod persist;
mod receive_window;
mod recording;
mod recovery;
mod retransmission;
mod send_queue;
mod stats;
mod timeout;
mod timers;
mod trace;
mod transmission;
mod unused;
mod validation;

pub use cause::Cause;
pub use observation::{Observation, TIMERS, TcpInfo};
pub use stats::SenderStats;
pub use trace::{TcpEvent, TcpEventKind};

use crate::clock::HostClock;
use crate::config::TcpParams;
use connection::Connection;
use dumbbell_cc::{Algorithm, ExternalControl, RateSample, Setup};
use dumbbell_units::{Stream, Time};
use opening::Phase;
use recovery::{Recovery, Start};
use timers::TimerKind;

/// One connection's sender.
#[derive(Clone, Debug)]
pub struct Sender {
    connection: Connection,
    recovery: Recovery,
}

impl Sender {
    /// A sender whose connection starts at `now`. `random` is the random stream of its congestion control.
    pub fn new(params: &TcpParams, clock: HostClock, now: Time, random: Stream) -> Self {
        let connection = Connection::new(params, clock, now, random, |setup| match &params.external {
            Some(external) => Algorithm::external(external.control(setup), setup),
            None => Algorithm::new(&params.congestion, setup),
        });
        Sender::of(connection, params, now)
    }

    /// The same with a congestion control from outside the registry instead of the one in the parameters.
    pub fn external(
        params: &TcpParams,
        clock: HostClock,
        now: Time,
        random: Stream,
        control: impl FnOnce(&Setup) -> Box<dyn ExternalControl>,
    ) -> Self {
        let control = |setup: &Setup| Algorithm::external(control(setup), setup);
        Sender::of(Connection::new(params, clock, now, random, control), params, now)
    }

    fn of(mut connection: Connection, params: &TcpParams, now: Time) -> Self {
        let start = Start { now, mechanisms: params.mechanisms };
        connection.take_pacing_rate();
        Sender { connection, recovery: Recovery::new(&params.recovery, &start) }
    }

    /// Prefetches what the sender refers to and an acknowledgement or a new segment needs; the sender itself must have
    /// been prefetched.
    #[inline]
    pub fn prefetch_queues(&self) {
        self.connection.scoreboard.prefetch();
    }

    /// The application writes `bytes` more; `u64::MAX` for unlimited data.
    pub fn write(&mut self, bytes: u64) {
        self.connection.limits.begin_write();
        self.connection.before_write();
        self.connection.send_queue.write(bytes);
    }

    /// The application has written everything: Nagle's algorithm no longer holds back the last segment.
    pub fn finish(&mut self) {
        self.connection.send_queue.finish();
    }

    /// The application stops writing.
    pub fn close(&mut self) {
        let snd_max = self.connection.snd_max;
        self.connection.send_queue.discard_unsent(snd_max);
    }

    /// The current counters.
    pub fn stats(&self) -> &SenderStats {
        &self.connection.stats
    }

    /// True once everything written is acknowledged.
    pub fn is_complete(&self) -> bool {
        self.connection.send_queue.is_acknowledged(self.connection.snd_una)
    }

    /// True once the connection is given up after too many retransmissions of one segment.
    pub fn has_given_up(&self) -> bool {
        self.connection.opening.phase == Phase::GivenUp
    }

    /// Oldest unacknowledged byte.
    pub fn snd_una(&self) -> u64 {
        self.connection.snd_una
    }

    /// Next byte to send.
    pub fn snd_nxt(&self) -> u64 {
        self.connection.snd_nxt
    }

    /// First byte never sent.
    pub fn snd_max(&self) -> u64 {
        self.connection.snd_max
    }

    /// Payload of a full segment, in bytes.
    pub fn mss(&self) -> u32 {
        self.connection.mss
    }

    /// Largest window that the buffers of both ends allow, in bytes.
    pub fn max_window(&self) -> f64 {
        self.connection.window.max
    }

    /// The congestion control.
    pub fn congestion(&self) -> &Algorithm {
        &self.connection.congestion
    }

    /// Congestion window with its inflation, in bytes.
    pub fn cwnd(&self) -> f64 {
        self.connection.cwnd()
    }

    /// Congestion window without inflation, in bytes.
    pub fn cwnd_base(&self) -> f64 {
        self.connection.congestion.cwnd() - self.recovery.deflated()
    }

    /// Bytes between `snd_una` and `snd_nxt`; less than was sent while data is retransmitted after a timeout.
    pub fn flight_size(&self) -> u64 {
        self.connection.snd_nxt - self.connection.snd_una
    }

    /// Smoothed round-trip time of the retransmission timer, in seconds.
    pub fn srtt(&self) -> Option<f64> {
        Some(self.connection.retransmission.srtt_or_infinity()).filter(|srtt| srtt.is_finite())
    }

    /// Retransmission timeout with its back-off.
    pub fn rto(&self) -> Time {
        self.connection.retransmission.timeout()
    }

    /// Pacing rate, in bytes of payload per second; `None` if segments are not paced.
    pub fn pacing_rate(&self) -> Option<f64> {
        self.connection.pacer.rate()
    }

    /// From now on, samples the delivery rate even if the congestion control does not use it.
    pub fn sample_rate(&mut self, now: Time) {
        if !self.connection.congestion.uses_rate_samples() {
            self.connection.scoreboard.observe_rate(now);
        }
    }

    /// Delivery rate of the latest sample, in bytes of payload per second, if it is sampled.
    pub fn delivery_rate(&self) -> Option<f64> {
        self.connection.scoreboard.latest_rate().map(RateSample::delivery_rate)
    }

    /// From now on, records events for [`drain_events`](Self::drain_events).
    pub fn keep_events(&mut self) {
        self.connection.trace = Some(Box::new(trace::Trace::new()));
    }

    /// Drains the events in order; none unless they are [recorded](Self::keep_events).
    pub fn drain_events(&mut self) -> impl Iterator<Item = TcpEvent> + '_ {
        self.connection.trace.as_mut().into_iter().flat_map(|trace| trace.drain())
    }

    /// An event observed in the network, with the current state of the connection.
    pub fn event(&self, now: Time, kind: TcpEventKind) -> TcpEvent {
        self.connection.event(now, kind, self.connection.congestion.cwnd())
    }

    /// When [`on_deadline`](Self::on_deadline) must be called; [`Time::NEVER`] if no timer is running.
    #[inline]
    pub fn next_deadline(&self) -> Time {
        self.connection.timers.earliest()
    }

    /// The same without the pacer.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.connection.timers.earliest_but_pacing()
    }

    /// When the pacer allows the next segment; [`Time::NEVER`] if none is waiting.
    #[inline]
    pub fn next_release(&self) -> Time {
        self.connection.timers.deadline(TimerKind::Pacing)
    }
}
