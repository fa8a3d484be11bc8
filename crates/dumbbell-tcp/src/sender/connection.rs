//! State shared by all recoveries: sequence numbers, scoreboard, timers, pacer and the congestion control.

use super::cause::Cause;
use super::duplicates::Duplicates;
use super::ecn::{EcnFeedback, Marks};
use super::limits::Limits;
use super::pacer::{Pacer, Release, Urgency};
use super::receive_window::ReceiveWindow;
use super::retransmission::RetransmissionTimer;
use super::send_queue::SendQueue;
use super::timers::{TimerKind, Timers};
use super::trace::{TcpEventKind, Trace};
use super::validation::Validation;
use super::{SenderStats, opening::Opening};
use crate::clock::HostClock;
use crate::config::{EcnMode, TcpParams};
use crate::rtt::TimerSpec;
use crate::scoreboard::Scoreboard;
use crate::segment::{AckSegment, DataSegment};
use dumbbell_cc::{
    Ack, Algorithm, Congestion, Context, ReductionBase, Reports, Sample, SenderState, SentSegment, Setup,
    Signal,
};
use dumbbell_units::math::{least, real};
use dumbbell_units::{Stream, Time};

/// Segments that mechanism H of Vegas sends back to back [hengartner2000 §VI].
const BURST_LIMIT: u64 = 3;

/// What is sent again, and why.
#[derive(Clone, Debug)]
pub(super) struct Resend {
    /// The oldest segment is sent next, for this reason.
    pub(super) head: Option<Cause>,
    /// Why the connection last went back to the oldest segment.
    pub(super) went_back: Cause,
}

/// Phases of a recovery that detects losses by time, besides the fast recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Phases {
    /// The window falls in proportion to what is delivered, because of a mark (CWR).
    pub(super) cwr: bool,
    /// What was considered lost at a timeout is being repaired.
    pub(super) loss: bool,
}

/// Segments sent on the current event, and their limit.
#[derive(Clone, Debug)]
pub(super) struct Burst {
    pub(super) sent: u64,
    pub(super) limit: u64,
}

impl Burst {
    /// Another event begins.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.sent = 0;
    }

    /// No more segments may be sent on the current event.
    pub(super) fn exhaust(&mut self) {
        self.sent = u64::MAX;
    }
}

/// When the connection last sent, and whether it restarts from the initial window after an idle period of one
/// retransmission timeout [RFC 5681 §4.1].
#[derive(Clone, Debug)]
pub(super) struct Idle {
    pub(super) restarts: bool,
    pub(super) last_sent: Time,
    /// Other rules for a window that is not used.
    pub(super) validation: Validation,
}

/// The connection before an ACK, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    /// Delivered since it began.
    pub(super) delivered: u64,
    /// Lost since it began.
    pub(super) lost: u64,
    /// In the network.
    pub(super) in_flight: u64,
}

/// Round trips. A round ends with the acknowledgement of data sent after it began.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    count: u64,
    /// First byte sent after the current round began.
    end: u64,
}

impl Rounds {
    /// Data up to `ack` was acknowledged, and the next byte to send is `snd_nxt`. True if a round begins.
    #[inline]
    pub(super) fn on_ack(&mut self, ack: u64, snd_nxt: u64) -> bool {
        let begins = ack > self.end;
        if begins {
            self.count += 1;
            self.end = snd_nxt;
        }
        begins
    }
}

/// The sender of one connection, without its recovery.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub(super) congestion: Algorithm,
    /// Payload of a full segment, in bytes.
    pub(super) mss: u32,
    /// Receive window and send buffer, whichever is smaller.
    pub(super) window: ReceiveWindow,
    /// Window after a timeout, in bytes.
    pub(super) loss_window: f64,

    pub(super) snd_una: u64,
    pub(super) snd_nxt: u64,
    pub(super) snd_max: u64,
    pub(super) send_queue: SendQueue,
    pub(super) scoreboard: Scoreboard,
    /// Index of `snd_nxt` on the scoreboard.
    pub(super) next_index: usize,

    pub(super) duplicates: Duplicates,
    /// A fast recovery is in progress.
    pub(super) in_recovery: bool,
    pub(super) phases: Phases,
    pub(super) resend: Resend,
    pub(super) burst: Burst,

    pub(super) timers: Timers,
    pub(super) retransmission: RetransmissionTimer,
    pub(super) pacer: Pacer,
    pub(super) opening: Opening,
    pub(super) idle: Idle,
    pub(super) rounds: Rounds,
    pub(super) limits: Limits,
    pub(super) ecn: EcnFeedback,

    pub(super) stats: SenderStats,
    /// Events, if requested.
    pub(super) trace: Option<Box<Trace>>,
}

/// The connection as its congestion control sees it. A closure over this borrows what it reads, not the congestion
/// control.
macro_rules! context_of {
    ($connection:ident, $now:ident) => {{
        let mut context = Context::new($now, f64::from($connection.mss))
            .with_sent($connection.snd_una, $connection.snd_nxt)
            .with_flight_size(real($connection.snd_max - $connection.snd_una))
            .with_max_window($connection.limits.most_cwnd)
            .with_rtts($connection.retransmission.srtt_or_infinity(), $connection.stats.rtt_min);
        context.inflation = $connection.duplicates.inflation;
        context.loss_window = $connection.loss_window;
        context.is_app_limited = $connection.limits.limits_samples(&$connection.scoreboard);
        context.in_flight = real($connection.scoreboard.pipe());
        context.delivered = $connection.scoreboard.delivered();
        context.lost = $connection.scoreboard.lost();
        context.marked = $connection.ecn.marked();
        context.round = $connection.rounds.count;
        context.next_departure = $connection.pacer.next_departure();
        context
    }};
}

/// The windows at the start and after a timeout, in bytes.
fn first_windows(params: &TcpParams) -> (f64, f64) {
    let mss = params.mss.0 as u32;
    if params.mechanisms.window_of_two {
        let two_segments = 2.0 * f64::from(mss);
        (two_segments, two_segments)
    } else {
        (params.initial_window.bytes(mss), params.loss_window.bytes(mss))
    }
}

/// A scoreboard that keeps what delivery-rate samples and the recovery need.
fn scoreboard_for(samples_rate: bool, params: &TcpParams, now: Time) -> Scoreboard {
    let mut scoreboard = Scoreboard::default();
    if samples_rate {
        scoreboard.sample_rate(now);
    }
    if params.recovery.properties().detects_by_time {
        scoreboard.detect_by_time();
    }
    if params.recovery.is_of_linux() {
        scoreboard.examine_once();
        scoreboard.count_whole(params.mss.0 as u32);
        scoreboard.sample_in_micros();
    }
    scoreboard
}

impl Connection {
    /// A connection that starts at `now`. `control` builds the congestion control from its setup; `random` is the
    /// control's random stream.
    pub(super) fn new(
        params: &TcpParams,
        clock: HostClock,
        now: Time,
        random: Stream,
        control: impl FnOnce(&Setup) -> Algorithm,
    ) -> Self {
        let mss = params.mss.0 as u32;
        let mechanisms = params.mechanisms;
        let recovery = params.recovery.properties();
        let (initial_window, loss_window) = first_windows(params);
        let buffers = params.receive_buffer.bytes(mss).min(params.send_buffer.bytes(mss));
        let setup = Setup::new(now, f64::from(mss), initial_window)
            .with_initial_ssthresh(params.initial_ssthresh.bytes(mss))
            .with_rules(params.window)
            .with_mechanisms(mechanisms)
            .with_late_threshold(recovery.defers_threshold)
            .with_ecn_capable(params.ecn != EcnMode::Off)
            .with_reports(Reports {
                samples: matches!(params.timer, TimerSpec::Linux(_)),
                states: params.recovery.is_of_linux(),
            })
            .with_random(random);
        let congestion = control(&setup);
        let ecn = EcnFeedback::new(params.ecn, congestion.reacts_to_marks());
        let scoreboard = scoreboard_for(congestion.uses_rate_samples(), params, now);
        Connection {
            congestion,
            mss,
            window: ReceiveWindow::new(params),
            loss_window,
            snd_una: 0,
            snd_nxt: 0,
            snd_max: 0,
            send_queue: SendQueue::new(params.nagle, mss, buffers),
            scoreboard,
            next_index: 0,
            duplicates: Duplicates::new(
                params.limited_transmit,
                recovery.stops_on_duplicates,
                params.window.reduction_base != ReductionBase::RealWindow,
            ),
            in_recovery: false,
            phases: Phases::default(),
            resend: Resend { head: None, went_back: Cause::Timeout },
            burst: Burst { sent: 0, limit: if mechanisms.burst_limit { BURST_LIMIT } else { u64::MAX } },
            timers: Timers::new(),
            retransmission: RetransmissionTimer::new(params, clock),
            pacer: Pacer::new(mechanisms.spike_suppression, &params.pacing, now)
                .at_most(params.max_pacing_rate)
                .by_linux(params.recovery.is_of_linux()),
            opening: Opening::new(params.handshake, params.timer.times_requests(), now),
            idle: Idle {
                restarts: params.idle_restart,
                last_sent: now,
                validation: Validation::new(params, initial_window, now),
            },
            rounds: Rounds::default(),
            limits: Limits::new(&params.window, buffers),
            ecn,
            stats: SenderStats { rtt_min: f64::INFINITY, ..SenderStats::default() },
            trace: None,
        }
    }

    /// Congestion window with its inflation, in bytes.
    #[inline]
    pub(super) fn cwnd(&self) -> f64 {
        self.congestion.cwnd() + self.duplicates.inflation
    }

    #[inline]
    pub(super) fn context(&self, now: Time) -> Context {
        context_of!(self, now)
    }

    /// Payload of the next new segment, in bytes; 0 if there is none to send now.
    #[inline]
    pub(super) fn unsent_segment(&self) -> u32 {
        self.send_queue.next_segment(self.snd_una, self.snd_max, self.mss)
    }

    /// Starts or restarts the retransmission timer.
    #[inline]
    pub(super) fn restart_retransmission_timer(&mut self, now: Time) {
        let mut deadline = self.retransmission.deadline(now);
        if let Some(delay) = self.pacing_delay(now) {
            deadline += delay;
        }
        self.timers.set(TimerKind::Retransmission, deadline);
    }

    /// By how much timers are later because of the pacer, in Linux: whole ticks.
    #[inline]
    pub(super) fn pacing_delay(&self, now: Time) -> Option<Time> {
        self.pacer.delay_of_linux(now).map(|delay| self.retransmission.whole_ticks(delay))
    }

    /// Retransmits everything outstanding from the oldest segment on.
    pub(super) fn go_back(&mut self, cause: Cause) {
        self.resend.went_back = cause;
        self.snd_nxt = self.snd_una;
        self.next_index = 0;
        self.resend.head = None;
    }

    /// Reports a loss or a mark to the congestion control. The bytes in flight exclude those sent by limited transmit.
    pub(super) fn reduce(&mut self, now: Time, signal: Signal, retransmitted_before: bool) {
        self.ecn.on_reduction(self.snd_max);
        let mut context = self.context(now);
        context.flight_size -= self.duplicates.limited_bytes() as f64;
        if let Some(used) = self.idle.validation.used() {
            // What was used counts, not what happened to be in flight [RFC 7661 §4.4.1].
            context.flight_size = context.flight_size.max(real(used));
        }
        context.in_flight = self.scoreboard.in_network(self.next_index) as f64;
        let congestion = Congestion::new(signal).with_retransmitted_before(retransmitted_before);
        let cwnd_before = self.congestion.cwnd();
        self.congestion.on_congestion(&context, &congestion);
        if signal == Signal::EcnEcho {
            self.note(now, TcpEventKind::EcnReduction, cwnd_before);
        }
    }

    /// The next segment that the window allows: data sent before, from `snd_nxt` on, then new data.
    #[inline(always)]
    pub(super) fn poll_window(&mut self, now: Time) -> Option<DataSegment> {
        let again = self.scoreboard.get(self.next_index).map(|sent| sent.len);
        let len = match again {
            Some(len) => len,
            None => self.unsent_segment(),
        };
        if len == 0 {
            return self.pause(false);
        }
        if self.idle.restarts && self.scoreboard.is_empty() {
            self.restart_if_idle(now);
        }
        let needed = real(self.snd_nxt - self.snd_una + u64::from(len));
        let cwnd = self.cwnd();
        if needed > least(cwnd, self.window.max) {
            if self.window.max <= cwnd {
                self.stats.receive_window_limited += 1;
                self.wait_for_window(now);
            }
            return self.pause_at(cwnd, true);
        }
        match again {
            Some(_) => {
                let segment = self.send_again(self.next_index, now);
                self.next_index += 1;
                self.snd_nxt = segment.seq + u64::from(segment.len);
                Some(segment)
            }
            None => {
                let segment = self.send_new(len, now);
                if self.limits.looks_at_each() {
                    self.pause_of_linux(self.cwnd(), true);
                }
                Some(segment)
            }
        }
    }

    /// Nothing is outstanding: restarts the connection after an idle period of one retransmission timeout.
    #[cold]
    fn restart_if_idle(&mut self, now: Time) {
        let restart = self.retransmission.idle(self.idle.last_sent, now).filter(|_| self.snd_max > 0);
        if let Some(restart) = restart {
            if self.validate_idle(now, &restart) {
                self.take_pacing_rate();
                return;
            }
            let context = self.context(now);
            let cwnd_before = self.congestion.cwnd();
            self.congestion.on_restart(&context, &restart);
            self.note(now, TcpEventKind::IdleRestart, cwnd_before);
            self.take_pacing_rate();
        }
    }

    /// Skips segments that the receiver has reported.
    #[inline]
    pub(super) fn skip_sacked(&mut self) {
        while let Some(sent) = self.scoreboard.get(self.next_index).filter(|sent| sent.is_sacked()) {
            self.snd_nxt = sent.end();
            self.next_index += 1;
        }
    }

    /// Nothing can be sent now, whether there is data or not.
    #[inline]
    pub(super) fn pause(&mut self, has_data: bool) -> Option<DataSegment> {
        self.pause_at(self.cwnd(), has_data)
    }

    /// The same for a known window.
    #[inline(always)]
    fn pause_at(&mut self, cwnd: f64, has_data: bool) -> Option<DataSegment> {
        if self.limits.needs_news() {
            self.pause_of_linux(cwnd, has_data);
            return None;
        }
        let is_full = real(self.snd_nxt - self.snd_una + u64::from(self.mss)) > cwnd;
        self.limits.on_pause(is_full, has_data, self.snd_una, self.snd_nxt);
        if self.limits.is_app_limited() {
            self.scoreboard.on_app_limited();
        }
        if self.idle.validation.is_on() {
            self.validate_window();
        }
        None
    }

    /// The same by the rules of Linux: only new data says something of the use of the window, or a full one that new data
    /// waits for, and data that was reported or lost does not fill it (`tcp_write_xmit`, `tcp_packets_in_flight`).
    #[inline(never)]
    fn pause_of_linux(&mut self, cwnd: f64, has_data: bool) {
        let has_pipe = self.scoreboard.detects_by_time();
        let in_flight = if has_pipe { self.scoreboard.pipe() } else { self.snd_nxt - self.snd_una };
        let is_full = real(in_flight + u64::from(self.mss)) > cwnd;
        let is_waiting = is_full && self.unsent_segment() > 0;
        if self.limits.has_news(self.snd_max, is_waiting) {
            self.limits.on_pause(is_full, has_data, self.snd_una, self.snd_nxt);
            if self.idle.validation.is_on() {
                self.validate_window();
            }
        } else {
            self.limits.set_app_limited(!is_full && !has_data);
        }
    }

    /// The application is about to write. By the rules of Linux, what it left unsent, or not, tells whether it limits the
    /// sender (`tcp_rate_check_app_limited`).
    pub(super) fn before_write(&mut self) {
        let is_limited = self.limits.needs_news()
            && self.scoreboard.samples_rate()
            && self.send_queue.unsent(self.snd_max) < u64::from(self.mss)
            && real(self.scoreboard.pipe()) + f64::from(self.mss) <= self.congestion.cwnd()
            && self.scoreboard.next_lost().is_none();
        if is_limited {
            self.scoreboard.on_app_limited();
        }
    }

    // Inlined, so that the segment that these two return is built in registers where it is used.
    #[inline(always)]
    pub(super) fn send_new(&mut self, len: u32, now: Time) -> DataSegment {
        let seq = self.snd_max;
        self.note_new(seq, len, now);
        let (ecn, is_cwr) = self.ecn.of_new_segment(|| self.congestion.ecn_codepoint());
        DataSegment { ecn, is_cwr, ..DataSegment::new(seq, len) }
    }

    #[inline(always)]
    pub(super) fn send_again(&mut self, index: usize, now: Time) -> DataSegment {
        let (seq, len) = self.note_again(index, now);
        let ecn = self.ecn.of_retransmission(|| self.congestion.ecn_codepoint());
        DataSegment { is_retransmission: true, ecn, ..DataSegment::new(seq, len) }
    }

    #[inline(never)]
    fn note_new(&mut self, seq: u64, len: u32, now: Time) {
        self.announce(SentSegment::new(seq, len), now);
        if !self.in_recovery {
            self.duplicates.on_new_segment(len);
        }
        self.scoreboard.push(seq, len, now);
        self.snd_max += u64::from(len);
        self.send_queue.on_sent(self.snd_max, len);
        self.snd_nxt = self.snd_max;
        self.next_index = self.scoreboard.len();
        self.retransmission.on_new_segment(self.snd_max, now);
        self.note_sent(len, now);
    }

    fn note_again(&mut self, index: usize, now: Time) -> (u64, u32) {
        let (seq, len) = self.scoreboard.get(index).map_or((self.snd_una, 0), |s| (s.seq, s.len));
        self.announce(SentSegment::new(seq, len).with_retransmission(true), now);
        self.scoreboard.mark_resent(index, now);
        self.retransmission.on_resent(seq + u64::from(len));
        self.stats.segments_retransmitted += 1;
        self.stats.bytes_retransmitted += u64::from(len);
        self.note_sent(len, now);
        (seq, len)
    }

    #[inline(always)]
    fn note_sent(&mut self, len: u32, now: Time) {
        self.stats.segments_sent += 1;
        self.stats.bytes_sent += u64::from(len);
        self.idle.last_sent = now;
        self.pacer.on_sent_of_linux(len, now);
        if !self.timers.is_set(TimerKind::Retransmission) {
            self.restart_retransmission_timer(now);
        }
    }

    /// Reports a duplicate ACK to the congestion control.
    #[inline(always)]
    pub(super) fn announce_duplicate(
        &mut self,
        now: Time,
        ack: &AckSegment,
        before: Before,
        rtt: Option<Time>,
        grows: bool,
    ) {
        let mut marks = Marks::default();
        if self.ecn.is_on() {
            marks = self.ecn.on_duplicate(ack, self.scoreboard.delivered() - before.delivered, self.mss);
            self.scoreboard.on_marked(self.ecn.marked());
        }
        self.take_rate_sample(rtt);
        let is_cwnd_limited = self.limits.is_cwnd_limited(&self.congestion);
        if grows {
            let delivered = self.scoreboard.delivered() - before.delivered;
            let event = Ack::new(self.snd_una, 0).with_delivered(delivered).with_rtt(rtt);
            let event = event.with_cwnd_limited(is_cwnd_limited).with_in_flight(real(self.scoreboard.pipe()));
            let event = event.with_marked(marks.bytes);
            self.congestion.on_ack(&context_of!(self, now), &event);
            self.idle.validation.on_growth(now);
            return;
        }
        self.congestion.on_duplicate_ack(|| {
            let delivered = self.scoreboard.delivered() - before.delivered;
            let duplicate = Ack::new(self.snd_una, 0)
                .with_delivered(delivered)
                .with_lost(self.scoreboard.lost() - before.lost)
                .with_rate(self.scoreboard.rate_sample())
                .with_rtt(rtt)
                .with_in_flight(real(self.scoreboard.pipe()))
                .with_prior_in_flight(real(before.in_flight))
                .with_cwnd_limited(is_cwnd_limited)
                .with_marked(marks.bytes)
                .with_marked_packets(marks.packets)
                .with_ecn_echo(marks.is_echo)
                .with_recovery(self.in_recovery);
            (context_of!(self, now), duplicate)
        });
    }

    /// Takes the sample of the delivery rate. Its interval is at least the minimum round-trip time: by the rules of Linux,
    /// that which its detection of losses knows.
    #[inline(always)]
    pub(super) fn take_rate_sample(&mut self, rtt: Option<Time>) {
        let known = self.scoreboard.deliveries().filter(|_| self.scoreboard.takes_ranges_in_order());
        let min_rtt = known.map_or(self.stats.rtt_min, |deliveries| deliveries.min_rtt().secs());
        self.scoreboard.take_rate_sample(rtt, min_rtt);
    }

    /// Reports the state to the congestion control.
    pub(super) fn announce_state(&mut self, now: Time, state: SenderState) {
        self.congestion.on_state(|| context_of!(self, now), state);
    }

    /// Reports what an acknowledgement tells to the congestion control. The window in the network remains, whatever it
    /// answers.
    pub(super) fn announce_sample(&mut self, now: Time, sample: &Sample) {
        let cwnd = self.congestion.cwnd();
        self.congestion.on_sample(|| context_of!(self, now), sample);
        if self.duplicates.inflation != 0.0 {
            self.duplicates.inflation -= self.congestion.cwnd() - cwnd;
        }
    }

    /// Reports each segment newly considered lost to the congestion control, before the congestion itself.
    #[inline(never)]
    pub(super) fn announce_losses(&mut self, now: Time) {
        while let Some(lost) = self.scoreboard.take_loss() {
            let context = self.context(now);
            self.congestion.on_loss(&context, &lost);
        }
    }

    /// Reports a segment to the congestion control before it is sent.
    #[inline]
    fn announce(&mut self, segment: SentSegment, now: Time) {
        self.congestion.on_sent(|| (context_of!(self, now), segment));
    }

    /// Updates the pacer if the congestion control paces; its rate may have changed.
    #[inline(always)]
    pub(super) fn take_pacing_rate(&mut self) {
        if let Some(rate) = self.congestion.pacing_rate() {
            let release = match self.congestion.send_quantum() {
                Some(bytes) => Release::Bursts { bytes, forgives: true },
                None => Release::Spread(f64::from(self.mss)),
            };
            self.pacer.set_rate(rate, release);
        } else if self.pacer.of_window.is_some() {
            self.pace_window();
        }
    }

    /// Spaces the segments of a window, once the first ones were sent and there is a round-trip time: a multiple of the
    /// window, or of what is in flight if that is more, per round-trip time.
    #[inline(never)]
    fn pace_window(&mut self) {
        let Some(pacing) = self.pacer.of_window.as_deref() else { return };
        let srtt = self.retransmission.srtt_or_infinity();
        if !srtt.is_finite() || self.stats.segments_sent < pacing.unpaced {
            return;
        }
        let (cwnd, ssthresh) = (self.congestion.cwnd(), self.congestion.ssthresh());
        let ratio = if cwnd < ssthresh / 2.0 { pacing.slow_start_ratio } else { pacing.ratio };
        let rate = ratio * cwnd.max(real(self.snd_max - self.snd_una)) / srtt;
        let bytes = pacing.quantum as f64 * f64::from(self.mss);
        self.pacer.set_rate(rate, Release::Bursts { bytes, forgives: pacing.forgives });
    }

    /// True if a transmission must wait for the pacer; starts the pacing timer.
    #[inline]
    pub(super) fn is_paced(&mut self, now: Time, urgency: Urgency) -> bool {
        match self.pacer.wait(now, urgency) {
            Some(at) => {
                self.timers.set(TimerKind::Pacing, at);
                true
            }
            None => false,
        }
    }
}
