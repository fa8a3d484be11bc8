//! The sending end: which segment goes next, and when.
//!
//! The sender is told of acknowledgements, expired deadlines and data written by the application,
//! and is asked for segments until it has none. Loss recovery is one of four; the mechanisms C,
//! D, E, G, H and J of Vegas are switches of the same code, so that with all of them off nothing
//! but Reno is left.

mod acknowledgements;
mod limits;
mod pace;
mod stats;
mod timeout;
mod transmission;

pub use stats::SenderStats;

use crate::config::{PartialAck, Pipe, Recovery, TcpParams};
use crate::fine::FineTimeout;
use crate::outstanding::Outstanding;
use crate::rtt::{HostClock, RttEstimator};
use dumbbell_cc::{Algorithm, Context, Mechanisms, ReductionBase, Setup};
use dumbbell_units::{Time, prefetch};
use limits::Limits;
use pace::Pace;

/// Duplicate ACKs that signal a loss [RFC 5681 §3.2].
const DUPLICATE_THRESHOLD: u32 = 3;
/// Segments that mechanism H sends back to back.
const BURST_LIMIT: u64 = 3;
/// Retransmissions of one segment, by the timer, after which the next timeout gives the connection up [RFC 1122 §4.2.3.5].
const MAX_RETRANSMISSIONS: u32 = 12;

/// The last reason to cut the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastCut {
    None,
    DuplicateAcks,
    Timeout,
}

/// Where the connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    MustOpen,
    Opening,
    Open,
    /// Too many retransmissions of one segment: it sends nothing more and hears nothing.
    GivenUp,
}

/// The parameters a sender asks for often.
#[derive(Clone, Copy, Debug)]
struct Switches {
    recovery: Recovery,
    partial_ack: PartialAck,
    partial_deflation: bool,
    lasting_deflation: bool,
    retransmit_once: bool,
    timeout_keeps_duplicates: bool,
    pipe: Pipe,
    halving: ReductionBase,
    mechanisms: Mechanisms,
    timestamps: bool,
    limited_transmit: bool,
    deflation_fix: bool,
    careful: bool,
    check_both: bool,
    faults_of_ns2: bool,
    idle_restart: bool,
    recovery_burst: u64,
    rescue: bool,
    uses_fine_timeout: bool,
}

/// One connection's sender.
#[derive(Clone, Debug)]
pub struct Sender {
    congestion: Algorithm,
    switches: Switches,
    mss: u32,
    max_window: f64,
    loss_window: f64,

    snd_una: u64,
    snd_nxt: u64,
    snd_max: u64,
    /// Index of `snd_nxt` among the outstanding segments.
    next_index: usize,
    /// Bytes the application has written; `u64::MAX` without end.
    written: u64,
    outstanding: Outstanding,

    duplicates: u32,
    inflation: f64,
    /// What partial ACKs have taken from the window for good, in bytes: part of `inflation`, below zero.
    deflated: f64,
    /// Bytes in the network as a recovery with SACK counts them; a surplus of ACKs counts below zero.
    counted_pipe: i64,
    /// Duplicate ACKs mean nothing between a timeout and the first new ACK.
    is_deaf: bool,
    /// New bytes that limited transmit sent on the present duplicate ACKs.
    limited_bytes: u64,
    in_recovery: bool,
    recover: Option<u64>,
    saw_partial_ack: bool,
    last_cut: LastCut,
    resend_head: bool,
    /// The next segment of a recovery goes whatever is in the network.
    is_eager: bool,

    estimator: RttEstimator,
    retransmit_deadline: Time,
    /// The one segment being timed: its end and when it was sent.
    timed: Option<(u64, Time)>,
    phase: Phase,
    opened_at: Time,
    /// Timeouts since data was last acknowledged.
    timeouts_in_a_row: u32,
    last_sent: Time,

    fine: FineTimeout,
    last_reduction: Option<Time>,
    /// Window of the last cut by duplicate ACKs, in bytes; 0 after a timeout.
    cut_window: f64,
    checks_left: u32,
    burst_sent: u64,
    pace: Pace,
    limits: Limits,

    initial_slow_start_end: Option<u64>,
    retransmitted_at: Option<Time>,
    window_before: f64,
    stats: SenderStats,
}

impl Sender {
    /// A sender whose connection starts at `now`.
    pub fn new(params: &TcpParams, clock: HostClock, now: Time) -> Self {
        let mss = params.mss.0 as u32;
        let mechanisms = params.mechanisms;
        let two_segments = 2.0 * f64::from(mss);
        let (initial_window, loss_window) = if mechanisms.window_of_two {
            (two_segments, two_segments)
        } else {
            (params.initial_window.bytes(mss), params.loss_window.bytes(mss))
        };
        let setup = Setup::new(now, f64::from(mss), initial_window)
            .with_initial_ssthresh(params.initial_ssthresh.bytes(mss))
            .with_rules(params.window_rules())
            .with_mechanisms(mechanisms)
            .with_late_threshold(params.faults_of_ns2);
        Sender {
            congestion: Algorithm::new(&params.congestion, &setup),
            switches: Switches {
                recovery: params.recovery,
                partial_ack: params.partial_ack,
                partial_deflation: params.partial_deflation,
                lasting_deflation: params.lasting_deflation,
                retransmit_once: params.retransmit_once,
                timeout_keeps_duplicates: params.timeout_keeps_duplicates,
                pipe: params.pipe,
                halving: params.halving,
                mechanisms,
                timestamps: params.timestamps,
                limited_transmit: params.limited_transmit,
                deflation_fix: params.deflation_fix,
                careful: params.careful,
                check_both: params.check_both,
                faults_of_ns2: params.faults_of_ns2,
                idle_restart: params.idle_restart,
                recovery_burst: params.recovery_burst,
                rescue: params.rescue,
                uses_fine_timeout: mechanisms.fine_retransmit || mechanisms.check_after_retransmit,
            },
            mss,
            max_window: params.receive_buffer.bytes(mss).min(params.send_buffer.bytes(mss)),
            loss_window,
            snd_una: 0,
            snd_nxt: 0,
            snd_max: 0,
            next_index: 0,
            written: 0,
            outstanding: Outstanding::default(),
            duplicates: 0,
            inflation: 0.0,
            deflated: 0.0,
            counted_pipe: 0,
            is_deaf: false,
            limited_bytes: 0,
            in_recovery: false,
            recover: None,
            saw_partial_ack: false,
            last_cut: LastCut::None,
            resend_head: false,
            is_eager: false,
            estimator: RttEstimator::new(&params.timer, clock),
            retransmit_deadline: Time::NEVER,
            timed: None,
            phase: if params.handshake { Phase::MustOpen } else { Phase::Open },
            opened_at: now,
            timeouts_in_a_row: 0,
            last_sent: now,
            fine: FineTimeout::default(),
            // What ns-2 sends first it has sent at no later a time than that of the last cut.
            last_reduction: params.faults_of_ns2.then_some(now),
            cut_window: 0.0,
            checks_left: 0,
            burst_sent: 0,
            pace: Pace::new(now),
            limits: Limits::new(),
            initial_slow_start_end: None,
            retransmitted_at: None,
            window_before: 0.0,
            stats: SenderStats { rtt_min: f64::INFINITY, ..SenderStats::default() },
        }
    }

    /// Asks for what an acknowledgement needs to be brought into the cache.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(&self.congestion);
        prefetch(&self.switches);
        prefetch(&self.snd_una);
        prefetch(&self.next_index);
        prefetch(&self.outstanding);
        prefetch(&self.inflation);
        prefetch(&self.estimator);
        prefetch(&self.retransmit_deadline);
        prefetch(&self.timed);
        prefetch(&self.pace);
        prefetch(&self.limits);
        prefetch(&self.initial_slow_start_end);
        prefetch(&self.stats);
        prefetch(&self.stats.rtt_sum);
        prefetch(&self.mss);
        prefetch(&self.in_recovery);
    }

    /// The application writes `bytes` more; `u64::MAX` for data without end.
    pub fn write(&mut self, bytes: u64) {
        self.written = self.written.saturating_add(bytes);
    }

    /// The application writes nothing more.
    pub fn close(&mut self) {
        self.written = self.written.min(self.snd_max);
    }

    /// What has been counted so far.
    pub fn stats(&self) -> &SenderStats {
        &self.stats
    }

    /// True once everything written has been acknowledged.
    pub fn is_complete(&self) -> bool {
        self.snd_una >= self.written
    }

    /// True once the connection was given up, after too many retransmissions of one segment.
    pub fn has_given_up(&self) -> bool {
        self.phase == Phase::GivenUp
    }

    /// Oldest unacknowledged byte.
    pub fn snd_una(&self) -> u64 {
        self.snd_una
    }

    /// Next byte to send.
    pub fn snd_nxt(&self) -> u64 {
        self.snd_nxt
    }

    /// First byte never sent.
    pub fn snd_max(&self) -> u64 {
        self.snd_max
    }

    /// Payload of a full segment, in bytes.
    pub fn mss(&self) -> u32 {
        self.mss
    }

    /// The congestion control.
    pub fn congestion(&self) -> &Algorithm {
        &self.congestion
    }

    /// Congestion window with its inflation, in bytes.
    pub fn cwnd(&self) -> f64 {
        self.congestion.cwnd() + self.inflation
    }

    /// Congestion window without inflation, in bytes.
    pub fn cwnd_base(&self) -> f64 {
        self.congestion.cwnd() - self.deflated
    }

    /// Bytes between `snd_una` and `snd_nxt`; less than what was sent while data goes again after a timeout.
    pub fn flight_size(&self) -> u64 {
        self.snd_nxt - self.snd_una
    }

    /// Smoothed round-trip time of the retransmission timer, in seconds.
    pub fn srtt(&self) -> Option<f64> {
        self.estimator.srtt()
    }

    /// Retransmission timeout with its back-off.
    pub fn rto(&self) -> Time {
        self.estimator.timeout()
    }

    /// First byte sent after the initial slow start ended, once it has.
    pub fn initial_slow_start_end(&self) -> Option<u64> {
        self.initial_slow_start_end
    }

    /// When the sender wants to be told the time; [`Time::NEVER`] if it waits for nothing.
    pub fn next_deadline(&self) -> Time {
        self.retransmit_deadline.min(self.pace.deadline())
    }

    fn context(&self, now: Time) -> Context {
        let flight_size = (self.snd_max - self.snd_una) as f64;
        let mut context = Context::new(now, f64::from(self.mss))
            .with_sent(self.snd_una, self.snd_nxt)
            .with_flight_size(flight_size)
            .with_max_window(self.max_window);
        context.inflation = self.inflation;
        context.loss_window = self.loss_window;
        context.is_app_limited = self.limits.is_app_limited();
        context
    }

    /// True if recoveries with SACK count what is in the network.
    fn counts_pipe(&self) -> bool {
        self.switches.pipe == Pipe::Counted
    }

    fn end_initial_slow_start(&mut self) {
        if self.initial_slow_start_end.is_none() {
            self.initial_slow_start_end = Some(self.snd_max);
        }
    }

    fn go_back(&mut self) {
        self.snd_nxt = self.snd_una;
        self.next_index = 0;
        self.resend_head = false;
        self.is_eager = false;
    }

    /// Payload of the next new segment, in bytes; 0 without data to send.
    fn unsent_segment(&self) -> u32 {
        (self.written - self.snd_max.min(self.written)).min(u64::from(self.mss)) as u32
    }
}
