//! BBR version 3, as the working copy of draft-ietf-ccwg-bbr of 3 August 2026 specifies it [bbr2026].
//!
//! Rate and window follow from a model of the path, as in version 1, with bounds: the long-term bound of the data in
//! flight follows losses of bandwidth probes above 2 %, the short-term bounds of bandwidth and data in flight any loss in
//! between, and each probe starts with a round that fills the pipe. ProbeBW goes through DOWN, CRUISE, REFILL and UP;
//! probes are 2 to 3 s apart, or as many rounds as a Reno flow needs to grow to the same window.
//!
//! With `form = "kernel"`, it is the branch of the Linux kernel of 2023 [bbr2023] in what differs: the gains of Drain and
//! DOWN, no limit of rounds for Drain, two windows of five rounds for ACK aggregation, a pipe that may be seen to grow on
//! every ACK, the test for too much loss also on every ACK, and the bound that a timeout sets.
//!
//! Where it departs from the draft, or decides what the draft leaves open: each state sets its gains when it begins. The
//! window of ProbeRTT is half a BDP, as in the code of the draft, not the minimum window of its text. Bounds begin infinite,
//! rounds of losses with 0 bytes, and the minimum for ProbeRTT at the start. State is saved once per episode of losses: the
//! code saves it in each round with a loss, and would then restore what the episode itself has reduced. Losses count as
//! of a connection with selective acknowledgements. The sender decides how segments leave, one by one unless `bursts` is set;
//! the window provides for the draft's bursts in any case. The draft specifies no reaction to marks: packets are not
//! ECN-capable, unless `ecn` is set, which is the kernel's reaction.

use crate::delivery::{Rounds, WindowedMax};
use crate::model::{Aggregation, Repair, quantum};
use crate::probes::{BANDWIDTH, BASE_RTT, EXTRA_ACKED, MARKED_FRACTION, PACING_GAIN};
use crate::{
    Ack, Congestion, CongestionControl, Context, Control, LostSegment, ProbeInfo, RateSample, RecoveryExit, Restart,
    SentSegment, Setup, Signal, Undo,
};
use dumbbell_units::math::{least, real};
use dumbbell_units::{Bytes, Ecn, Stream, Time, choice, params};

choice! {
    /// The text that BBR version 3 follows where there are two.
    pub enum Form {
        /// The draft of August 2026.
        Draft = "draft",
        /// The branch of the Linux kernel of 2023.
        Kernel = "kernel",
    }
}

params! {
    /// Parameters of BBR version 3.
    pub struct Bbr3Params {
        /// The text it follows where draft and kernel differ.
        form: Form = Form::Draft, "-", "[bbr2026]";
        /// Gain of the rate in Startup: 4 ln 2.
        startup_gain: f64 = 2.77, "-", "[bbr2026]", |gain| *gain > 1.0, "a number above 1";
        /// Gain of the rate in Drain; by default 0.5, and 88/256 in the kernel.
        drain_gain: Option<f64> = None, "-", "[bbr2026]",
            |gain| gain.is_none_or(|gain| gain > 0.0 && gain < 1.0), "a fraction above 0 and below 1";
        /// Gain of the rate in DOWN; by default 0.90, and 0.91 in the kernel.
        down_gain: Option<f64> = None, "-", "[bbr2026]",
            |gain| gain.is_none_or(|gain| gain > 0.0 && gain < 1.0), "a fraction above 0 and below 1";
        /// Gain of the rate in UP.
        up_gain: f64 = 1.25, "-", "[bbr2026]", |gain| *gain > 1.0, "a number above 1";
        /// Gain of the window, except in UP and ProbeRTT.
        cwnd_gain: f64 = 2.0, "-", "[bbr2026]", |gain| *gain >= 1.0, "a number, at least 1";
        /// Gain of the window in UP.
        up_cwnd_gain: f64 = 2.25, "-", "[bbr2026]", |gain| *gain >= 1.0, "a number, at least 1";
        /// Gain of the window in ProbeRTT.
        probe_rtt_gain: f64 = 0.5, "-", "[bbr2026]", |gain| *gain > 0.0, "a number above 0";
        /// Fraction of losses above which a probe is too high.
        loss_threshold: f64 = 0.02, "-", "[bbr2026]",
            |loss| *loss > 0.0 && *loss < 1.0, "a fraction above 0 and below 1";
        /// Factor by which a round with losses reduces bounds at most.
        beta: f64 = 0.7, "-", "[bbr2026]", |beta| *beta > 0.0 && *beta < 1.0, "a fraction above 0 and below 1";
        /// Part of the long-term bound that CRUISE leaves free.
        headroom: f64 = 0.15, "-", "[bbr2026]",
            |part| *part >= 0.0 && *part < 1.0, "a fraction, at least 0 and below 1";
        /// Least window.
        min_window: f64 = 4.0, "segments", "[bbr2026]", |window| *window >= 1.0, "a number of segments, at least 1";
        /// What the rate is below the bandwidth times the gain.
        pacing_margin: f64 = 0.01, "-", "[bbr2026]",
            |margin| *margin >= 0.0 && *margin < 1.0, "a fraction, at least 0 and below 1";
        /// Growth of the bandwidth below which a round counts as one that has filled the pipe.
        full_growth: f64 = 1.25, "-", "[bbr2026]", |growth| *growth >= 1.0, "a number, at least 1";
        /// Such rounds before the pipe counts as full.
        full_rounds: u64 = 3, "rounds", "[bbr2026]", |rounds| *rounds >= 1, "a whole number, at least 1";
        /// Ranges lost in a round that end Startup if the losses are above the threshold.
        full_losses: u64 = 6, "-", "[bbr2026]", |losses| *losses >= 1, "a whole number, at least 1";
        /// Rounds after which Drain ends in any case; not in the kernel.
        drain_rounds: u64 = 3, "rounds", "[bbr2026]", |rounds| *rounds >= 1, "a whole number, at least 1";
        /// Window of the maximum of ACK aggregation after Startup; one round in Startup.
        extra_acked_rounds: u64 = 10, "rounds", "[bbr2026]", |rounds| *rounds >= 1, "a whole number, at least 1";
        /// Window of the round-trip time's minimum.
        min_rtt_window: Time = Time(10_000_000_000), "s", "[bbr2026]";
        /// Time without a new minimum after which ProbeRTT begins.
        probe_rtt_interval: Time = Time(5_000_000_000), "s", "[bbr2026]";
        /// Duration of ProbeRTT, at least a round.
        probe_rtt_duration: Time = Time(200_000_000), "s", "[bbr2026]";
        /// Least time from one DOWN to the next probe.
        probe_wait: Time = Time(2_000_000_000), "s", "[bbr2026]";
        /// Largest random addition to it.
        probe_wait_random: Time = Time(1_000_000_000), "s", "[bbr2026]";
        /// Most rounds from one UP to the next probe; fewer if the pipe holds fewer segments.
        probe_rounds: u64 = 63, "rounds", "[bbr2026]", |rounds| *rounds >= 1, "a whole number, at least 1";
        /// Length of a burst at the rate.
        burst_time: Time = Time(1_000_000), "s", "[bbr2026]";
        /// Most bytes of a burst.
        burst_bytes: Bytes = Bytes(65_536), "bytes", "[bbr2026]";
        /// Bursts for which the window provides at least.
        burst_budget: f64 = 3.0, "-", "[bbr2026]", |bursts| *bursts >= 0.0, "a number, at least 0";
        /// Send bursts of that length instead of the sender's default.
        bursts: bool = false, "-", "[bbr2026]";
        /// React to marks as the kernel does.
        ecn: bool = false, "-", "[bbr2023]";
        /// Largest minimum round-trip time with which marks count.
        ecn_max_rtt: Time = Time(5_000_000), "s", "[bbr2023]";
        /// Weight of a round in the smoothed fraction of marks.
        ecn_gain: f64 = 0.0625, "-", "[bbr2023]", |gain| *gain > 0.0 && *gain <= 1.0, "a fraction above 0, at most 1";
        /// Part of that fraction by which a round with marks reduces the short-term bound.
        ecn_factor: f64 = 1.0 / 3.0, "-", "[bbr2023]",
            |factor| *factor >= 0.0 && *factor <= 1.0, "a fraction, at least 0, at most 1";
        /// Fraction of marks above which a probe is too high.
        ecn_threshold: f64 = 0.5, "-", "[bbr2023]",
            |part| *part > 0.0 && *part <= 1.0, "a fraction above 0, at most 1";
        /// Such rounds that end Startup.
        ecn_full_rounds: u64 = 2, "rounds", "[bbr2023]", |rounds| *rounds >= 1, "a whole number, at least 1";
    }
}

/// State of BBR version 3, with the number that its probe reports.
const STATE: ProbeInfo = ProbeInfo::new(
    "bbr3_state",
    "-",
    "State of BBRv3: 0 Startup, 1 Drain, 2 DOWN, 3 CRUISE, 4 REFILL, 5 UP, 6 ProbeRTT.",
);
const INFLIGHT_LONG: ProbeInfo = ProbeInfo::new(
    "inflight_longterm",
    "bytes",
    "Long-term bound of the data in flight; 0 while there is none.",
);
const INFLIGHT_SHORT: ProbeInfo = ProbeInfo::new(
    "inflight_shortterm",
    "bytes",
    "Short-term bound of the data in flight; 0 while there is none.",
);
const BW_SHORT: ProbeInfo =
    ProbeInfo::new("bw_shortterm", "bit/s", "Short-term bound of the bandwidth; 0 while there is none.");
const MAX_BW: ProbeInfo = ProbeInfo::new("max_bw", "bit/s", "Largest delivery rate of the last two probes.");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    /// True in the states that probe for bandwidth.
    fn probes(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }

    /// True in the states of ProbeBW.
    fn is_probe_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }
}

/// What the samples of the current acknowledgements belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// What is restored if losses were spurious.
#[derive(Clone, Copy, Debug)]
struct Saved {
    /// Startup or UP, if the losses ended it.
    state: Option<State>,
    bw_short: f64,
    inflight_short: f64,
    inflight_long: f64,
}

/// Marks, as far as the reaction of the kernel needs them.
#[derive(Clone, Copy, Debug)]
struct Marks {
    is_eligible: bool,
    alpha: f64,
    /// Bytes delivered and marked in the round.
    delivered: f64,
    marked: f64,
    /// A mark was echoed in the round of losses.
    in_round: bool,
    full_rounds: u64,
}

/// The state of BBR version 3.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    params: Box<Bbr3Params>,
    state: State,
    pacing_gain: f64,
    cwnd_gain: f64,
    cwnd: f64,
    pacing_rate: f64,
    ssthresh: f64,
    rounds: Rounds,
    is_round_start: bool,
    /// Largest rate of the previous and of the current cycle of probes.
    max_bw: [f64; 2],
    bandwidth: f64,
    bw_short: f64,
    inflight_short: f64,
    inflight_long: f64,
    min_rtt: f64,
    min_rtt_at: Time,
    probe_rtt_min: f64,
    probe_rtt_min_at: Time,
    is_probe_rtt_due: bool,
    probe_rtt_end: Option<Time>,
    has_probed_round: bool,
    full_bw: f64,
    full_count: u64,
    is_full_now: bool,
    is_full: bool,
    drain_start: u64,
    bw_latest: f64,
    inflight_latest: f64,
    loss_round_delivered: u64,
    is_loss_round_start: bool,
    has_loss_in_round: bool,
    /// Ranges lost in the round, and the end of the last.
    ranges: (u64, u64),
    /// Bytes lost since the connection began.
    lost: u64,
    ack_phase: AckPhase,
    is_probe_sample: bool,
    was_too_high: bool,
    was_precautionary: bool,
    cycle_at: Time,
    wait: Time,
    rounds_since_up: u64,
    up_rounds: u64,
    up_acked: f64,
    acked_per_step: f64,
    /// ACK aggregation, with the kernel's maximum of it.
    aggregation: Aggregation,
    /// The draft's maximum of ACK aggregation.
    extra: WindowedMax,
    has_rtt: bool,
    is_idle_restart: bool,
    repair: Repair,
    is_saved: bool,
    saved: Saved,
    marks: Marks,
    initial_window: f64,
    random: Stream,
}

impl Bbr3 {
    #[inline]
    fn is_kernel(&self) -> bool {
        self.params.form == Form::Kernel
    }

    #[inline]
    fn max_bw(&self) -> f64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// Length of a burst, in bytes.
    #[inline]
    fn burst(&self, mss: f64) -> f64 {
        quantum(self.pacing_rate, self.params.burst_time, self.params.burst_bytes).max(2.0 * mss)
    }

    #[inline]
    fn bdp(&self, bandwidth: f64, gain: f64) -> f64 {
        if self.min_rtt.is_finite() { gain * bandwidth * self.min_rtt } else { self.initial_window }
    }

    #[inline]
    fn with_budget(&self, inflight: f64, mss: f64) -> f64 {
        let inflight =
            inflight.max(self.params.burst_budget * self.burst(mss)).max(self.params.min_window * mss);
        if self.state == State::Up { inflight + 2.0 * mss } else { inflight }
    }

    #[inline]
    fn inflight(&self, bandwidth: f64, mss: f64) -> f64 {
        self.with_budget(self.bdp(bandwidth, 1.0), mss)
    }

    fn inflight_with_headroom(&self, mss: f64) -> f64 {
        let headroom = mss.max(self.params.headroom * self.inflight_long);
        if self.inflight_long.is_finite() {
            (self.inflight_long - headroom).max(self.params.min_window * mss)
        } else {
            f64::INFINITY
        }
    }

    fn target_inflight(&self) -> f64 {
        least(self.bdp(self.bandwidth, 1.0), self.cwnd)
    }

    fn probe_rtt_cwnd(&self, mss: f64) -> f64 {
        self.bdp(self.bandwidth, self.params.probe_rtt_gain).max(self.params.min_window * mss)
    }

    fn enter(&mut self, state: State) {
        let params = &self.params;
        let is_kernel = params.form == Form::Kernel;
        self.state = state;
        (self.pacing_gain, self.cwnd_gain) = match state {
            State::Startup => (params.startup_gain, params.cwnd_gain),
            State::Drain => {
                (params.drain_gain.unwrap_or(if is_kernel { 88.0 / 256.0 } else { 0.5 }), params.cwnd_gain)
            }
            State::Down => (params.down_gain.unwrap_or(if is_kernel { 0.91 } else { 0.9 }), params.cwnd_gain),
            State::Cruise | State::Refill => (1.0, params.cwnd_gain),
            State::Up => (params.up_gain, params.up_cwnd_gain),
            State::ProbeRtt => (1.0, params.probe_rtt_gain),
        };
    }

    fn enter_down(&mut self, now: Time) {
        self.reset_signals();
        self.acked_per_step = f64::INFINITY;
        self.rounds_since_up = u64::from(self.random.chance(0.5));
        let random = self.random.uniform() * self.params.probe_wait_random.secs();
        self.wait = self.params.probe_wait + Time::from_secs(random);
        self.cycle_at = now;
        self.ack_phase = AckPhase::Stopping;
        self.rounds.restart();
        self.enter(State::Down);
    }

    fn enter_refill(&mut self) {
        self.reset_short_term();
        (self.up_rounds, self.up_acked) = (0, 0.0);
        self.was_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.rounds.restart();
        self.enter(State::Refill);
    }

    fn enter_up(&mut self, rate: f64, mss: f64) {
        self.ack_phase = AckPhase::Starting;
        self.rounds.restart();
        self.reset_full(rate);
        self.enter(State::Up);
        self.raise_slope(mss);
    }

    fn reset_full(&mut self, full_bw: f64) {
        (self.full_bw, self.full_count, self.is_full_now) = (full_bw, 0, false);
    }

    fn reset_signals(&mut self) {
        self.has_loss_in_round = false;
        self.marks.in_round = false;
        (self.bw_latest, self.inflight_latest) = (0.0, 0.0);
    }

    fn reset_short_term(&mut self) {
        (self.bw_short, self.inflight_short) = (f64::INFINITY, f64::INFINITY);
    }

    fn raise_slope(&mut self, mss: f64) {
        let growth = real(1 << self.up_rounds);
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.acked_per_step = (self.cwnd / growth).max(mss);
    }

    /// Signals of the round, the maximum of the bandwidth, and the short-term bounds.
    fn update_signals(&mut self, rate: &RateSample, sample: f64, is_app_limited: bool) {
        self.bw_latest = self.bw_latest.max(sample);
        self.inflight_latest = self.inflight_latest.max(real(rate.delivered));
        if rate.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = self.rounds.delivered;
            self.is_loss_round_start = true;
        }
        self.is_round_start = self.rounds.advance(rate.prior_delivered);
        self.rounds_since_up += u64::from(self.is_round_start);
        if !is_app_limited || sample >= self.max_bw() {
            self.max_bw[1] = self.max_bw[1].max(sample);
        }
        if self.is_loss_round_start {
            if !self.state.probes() && (self.has_loss_in_round || self.marks.in_round) {
                self.lower_bounds();
            }
            self.has_loss_in_round = false;
            self.marks.in_round = false;
        }
    }

    fn lower_bounds(&mut self) {
        let beta = self.params.beta;
        if self.inflight_short.is_infinite() {
            self.inflight_short = self.cwnd;
        }
        let by_marks = if self.marks.in_round {
            self.inflight_short * (1.0 - self.params.ecn_factor * self.marks.alpha)
        } else {
            f64::INFINITY
        };
        if self.has_loss_in_round {
            if self.bw_short.is_infinite() {
                self.bw_short = self.max_bw();
            }
            self.bw_short = self.bw_latest.max(beta * self.bw_short);
            self.inflight_short = self.inflight_latest.max(beta * self.inflight_short);
        }
        self.inflight_short = least(self.inflight_short, by_marks);
    }

    /// The kernel's fraction of marks, per round.
    fn update_marks(&mut self, ack: &Ack) {
        self.marks.delivered += real(ack.delivered);
        self.marks.marked += real(ack.marked);
        if !self.marks.is_eligible {
            self.marks.is_eligible = self.min_rtt <= self.params.ecn_max_rtt.secs();
            return;
        }
        self.marks.in_round |= ack.marked > 0;
        if self.is_round_start && self.marks.delivered > 0.0 {
            let ratio = least(self.marks.marked / self.marks.delivered, 1.0);
            self.marks.alpha += self.params.ecn_gain * (ratio - self.marks.alpha);
            (self.marks.delivered, self.marks.marked) = (0.0, 0.0);
            let is_high = ratio > self.params.ecn_threshold;
            self.marks.full_rounds = if is_high { self.marks.full_rounds + 1 } else { 0 };
        }
    }

    fn update_extra_acked(&mut self, now: Time, acked: f64) {
        let extra = least(self.aggregation.sample(now, acked, self.bandwidth), self.cwnd);
        if self.is_kernel() {
            if self.is_round_start {
                self.aggregation.advance(self.params.extra_acked_rounds.div_ceil(2));
            }
            self.aggregation.update(extra);
        } else {
            let window = if self.is_full { self.params.extra_acked_rounds } else { 1 };
            self.extra.update(self.rounds.count, extra, window);
        }
    }

    /// ACK aggregation that the window provides for, in bytes. The kernel limits it to 100 ms, and has none in Startup.
    fn extra_acked(&self) -> f64 {
        if !self.is_kernel() {
            self.extra.value()
        } else if self.is_full {
            least(self.aggregation.most(), 0.1 * self.bandwidth)
        } else {
            0.0
        }
    }

    fn update_full(&mut self, sample: f64, is_app_limited: bool) {
        if self.is_full_now || is_app_limited || !self.is_round_start && !self.is_kernel() {
            return;
        }
        if sample >= self.full_bw * self.params.full_growth {
            self.reset_full(sample);
        } else if self.is_round_start {
            self.full_count += 1;
            self.is_full_now = self.full_count >= self.params.full_rounds;
            self.is_full |= self.is_full_now;
        }
    }

    fn is_too_high(&self, lost: u64, tx_in_flight: f64) -> bool {
        real(lost) > tx_in_flight * self.params.loss_threshold
    }

    /// True if losses or marks since the newest delivered segment was sent are too many.
    fn is_sample_too_high(&self, rate: &RateSample) -> bool {
        self.is_too_high(rate.lost, rate.tx_in_flight)
            || self.marks.is_eligible && real(rate.marked) > self.params.ecn_threshold * real(rate.delivered)
    }

    /// Startup ends if a whole round in recovery loses too much.
    fn check_startup_losses(&mut self, rate: &RateSample) {
        let has_lost = self.is_loss_round_start
            && self.repair.is_recovery()
            && self.ranges.0 >= self.params.full_losses
            && self.is_too_high(rate.lost, rate.tx_in_flight);
        let has_marks = self.marks.full_rounds >= self.params.ecn_full_rounds;
        if has_lost || has_marks {
            self.saved.state = Some(State::Startup);
            (self.is_full, self.is_full_now) = (true, true);
            self.inflight_long = self.bdp(self.bandwidth, 1.0).max(self.inflight_latest);
        }
    }

    fn handle_too_high(&mut self, now: Time, tx_in_flight: f64, is_app_limited: bool) {
        self.was_too_high = true;
        self.is_probe_sample = false;
        if !is_app_limited {
            self.inflight_long = tx_in_flight.max(self.params.beta * self.target_inflight());
        }
        if self.state == State::Up {
            self.saved.state = Some(State::Up);
            self.enter_down(now);
        }
    }

    /// The bounds that probes raise. True if a probe begins.
    fn adapt_long_term(&mut self, context: &Context, ack: &Ack, rate: &RateSample, is_app_limited: bool) -> bool {
        if self.is_round_start && self.ack_phase == AckPhase::Starting {
            self.ack_phase = AckPhase::Feedback;
        } else if self.is_round_start && self.ack_phase == AckPhase::Stopping {
            self.is_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() {
                if !is_app_limited && self.max_bw[1] > 0.0 {
                    self.max_bw = [self.max_bw[1], 0.0];
                }
                if self.was_precautionary && !self.was_too_high {
                    self.enter_refill();
                    return true;
                }
            }
        }
        if self.is_sample_too_high(rate) {
            if self.is_kernel() && self.is_probe_sample {
                self.handle_too_high(context.now, rate.tx_in_flight, is_app_limited);
            }
            return false;
        }
        if self.inflight_long.is_infinite() {
            return false;
        }
        self.inflight_long = self.inflight_long.max(rate.tx_in_flight);
        if self.state == State::Up && ack.is_cwnd_limited && self.cwnd >= self.inflight_long {
            self.up_acked += real(ack.delivered);
            if self.up_acked >= self.acked_per_step {
                let steps = (self.up_acked / self.acked_per_step).floor();
                self.up_acked -= steps * self.acked_per_step;
                self.inflight_long += steps * context.mss;
            }
            if self.is_round_start {
                self.raise_slope(context.mss);
            }
        }
        false
    }

    fn is_time_to_probe(&self, now: Time, mss: f64) -> bool {
        now > self.cycle_at + self.wait
            || real(self.rounds_since_up) >= least(self.target_inflight() / mss, real(self.params.probe_rounds))
    }

    fn is_time_to_go_down(&mut self, ack: &Ack, sample: f64) -> bool {
        if self.was_too_high && ack.in_flight >= self.inflight_long {
            self.was_precautionary = true;
            return true;
        }
        if ack.is_cwnd_limited && self.cwnd >= self.inflight_long {
            self.reset_full(sample);
            return false;
        }
        self.is_full_now
    }

    fn update_cycle(&mut self, context: &Context, ack: &Ack, rate: &RateSample, sample: f64, is_app_limited: bool) {
        if !self.is_full || self.adapt_long_term(context, ack, rate, is_app_limited) {
            return;
        }
        let (now, mss, state) = (context.now, context.mss, self.state);
        match state {
            State::Down | State::Cruise if self.is_time_to_probe(now, mss) => self.enter_refill(),
            State::Down
                if ack.in_flight <= self.inflight_with_headroom(mss)
                    && ack.in_flight <= self.inflight(self.max_bw(), mss) =>
            {
                self.enter(State::Cruise);
            }
            State::Refill if self.is_round_start => {
                self.is_probe_sample = true;
                self.enter_up(sample, mss);
            }
            State::Up if self.is_time_to_go_down(ack, sample) => {
                self.was_too_high = false;
                self.enter_down(now);
            }
            _ => {}
        }
    }

    fn update_min_rtt(&mut self, now: Time, ack: &Ack) {
        self.is_probe_rtt_due = now > self.probe_rtt_min_at + self.params.probe_rtt_interval;
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.secs();
            let is_lower = rtt < self.probe_rtt_min || self.is_kernel() && rtt <= self.probe_rtt_min;
            if is_lower || self.is_probe_rtt_due {
                (self.probe_rtt_min, self.probe_rtt_min_at) = (rtt, now);
            }
        }
        let is_expired = now > self.min_rtt_at + self.params.min_rtt_window;
        let is_lower = self.probe_rtt_min < self.min_rtt || self.is_kernel() && self.probe_rtt_min <= self.min_rtt;
        if self.probe_rtt_min.is_finite() && (is_lower || is_expired) {
            (self.min_rtt, self.min_rtt_at) = (self.probe_rtt_min, self.probe_rtt_min_at);
        }
    }

    fn check_probe_rtt(&mut self, context: &Context, ack: &Ack) {
        let now = context.now;
        if self.state != State::ProbeRtt && self.is_probe_rtt_due && !self.is_idle_restart {
            self.save_cwnd();
            self.enter(State::ProbeRtt);
            self.probe_rtt_end = None;
            self.ack_phase = AckPhase::Stopping;
            self.rounds.restart();
        }
        if self.state == State::ProbeRtt {
            self.rounds.limit(ack.in_flight);
            if self.probe_rtt_end.is_some() {
                self.has_probed_round |= self.is_round_start;
                if self.has_probed_round {
                    self.leave_probe_rtt(now);
                }
            } else if ack.in_flight <= self.probe_rtt_cwnd(context.mss) {
                self.probe_rtt_end = Some(now + self.params.probe_rtt_duration);
                self.has_probed_round = false;
                self.rounds.restart();
            }
        }
        if ack.delivered > 0 {
            self.is_idle_restart = false;
        }
    }

    fn leave_probe_rtt(&mut self, now: Time) {
        if self.probe_rtt_end.is_some_and(|end| now > end) {
            self.probe_rtt_min_at = now;
            self.cwnd = self.repair.restored(self.cwnd);
            self.reset_short_term();
            if self.is_full {
                self.enter_down(now);
                self.enter(State::Cruise);
            } else {
                self.enter(State::Startup);
            }
        }
    }

    fn save_cwnd(&mut self) {
        self.repair.save(self.cwnd, self.state == State::ProbeRtt);
    }

    /// An episode of losses begins.
    fn save_state(&mut self) {
        if !std::mem::replace(&mut self.is_saved, true) {
            self.save_cwnd();
            self.saved = Saved {
                state: None,
                bw_short: self.bw_short,
                inflight_short: self.inflight_short,
                inflight_long: self.inflight_long,
            };
        }
    }

    fn end_repair(&mut self) {
        self.cwnd = self.repair.end(self.cwnd);
        self.is_saved = false;
    }

    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bandwidth * (1.0 - self.params.pacing_margin);
        if self.is_full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn set_cwnd(&mut self, context: &Context, acked: f64) {
        let mss = context.mss;
        let target = self.with_budget(self.bdp(self.bandwidth, self.cwnd_gain) + self.extra_acked(), mss);
        if self.is_full {
            self.cwnd = least(self.cwnd + acked, target);
        } else if self.cwnd < target || real(self.rounds.delivered) < self.initial_window {
            self.cwnd += acked;
        }
        let floor = self.params.min_window * mss;
        let bound = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_long,
            State::Cruise => self.inflight_with_headroom(mss),
            State::ProbeRtt => least(self.inflight_with_headroom(mss), self.probe_rtt_cwnd(mss)),
            State::Startup | State::Drain => f64::INFINITY,
        };
        let bound = least(bound, self.inflight_short).max(floor);
        self.cwnd = least(least(self.cwnd.max(floor), bound), context.max_window);
    }

    fn update(&mut self, context: &Context, ack: &Ack) {
        let now = context.now;
        if self.repair.is_ended_by(ack.ack) {
            self.end_repair();
        }
        self.rounds.on_ack(context, ack);
        (self.is_round_start, self.is_loss_round_start) = (false, false);
        let mut sample = 0.0;
        if let Some(rate) = ack.rate {
            sample = rate.delivery_rate();
            let is_app_limited = rate.is_app_limited || self.rounds.was_limited(rate.prior_delivered);
            self.update_signals(rate, sample, is_app_limited);
            if self.params.ecn {
                self.update_marks(ack);
            }
            self.update_extra_acked(now, real(ack.delivered));
            self.update_full(sample, is_app_limited);
            if self.state == State::Startup {
                if !self.is_full {
                    self.check_startup_losses(rate);
                }
                if self.is_full {
                    self.enter(State::Drain);
                    self.drain_start = self.rounds.count;
                    self.ssthresh = self.inflight(self.max_bw(), context.mss);
                }
            }
            if self.is_loss_round_start {
                self.ranges.0 = 0;
            }
            if self.state == State::Drain {
                let is_over = !self.is_kernel() && self.rounds.count > self.drain_start + self.params.drain_rounds;
                if is_over || ack.in_flight <= self.inflight(self.bandwidth, context.mss) {
                    self.enter_down(now);
                }
            }
            self.update_cycle(context, ack, rate, sample, is_app_limited);
        }
        self.update_min_rtt(now, ack);
        self.check_probe_rtt(context, ack);
        if self.is_loss_round_start {
            self.bw_latest = sample;
            self.inflight_latest = ack.rate.map_or(0.0, |rate| real(rate.delivered));
        }
        self.bandwidth = least(self.max_bw(), self.bw_short);
        if !self.has_rtt
            && let Some(srtt) = context.srtt().or(ack.rtt.map(Time::secs)).filter(|srtt| *srtt > 0.0)
        {
            self.has_rtt = true;
            self.pacing_rate = self.params.startup_gain * self.initial_window / srtt;
        }
        self.set_pacing_rate(self.pacing_gain);
        self.set_cwnd(context, real(ack.delivered));
    }

    fn restart_from_idle(&mut self, now: Time) {
        self.is_idle_restart = true;
        self.aggregation.since = now;
        if self.state.is_probe_bw() {
            self.set_pacing_rate(1.0);
        }
    }
}

impl CongestionControl for Bbr3 {
    type Params = Bbr3Params;
    const SUMMARY: &'static str =
        "BBR version 3: version 1 with bounds that follow losses, and bandwidth probes of a limited loss.";
    const SOURCE: &'static str = "[bbr2026]";
    const RECOVERY: Option<&'static str> = Some("sack");
    const PROBES: &'static [ProbeInfo] = &[
        STATE,
        BANDWIDTH,
        BASE_RTT,
        PACING_GAIN,
        EXTRA_ACKED,
        MAX_BW,
        BW_SHORT,
        INFLIGHT_SHORT,
        INFLIGHT_LONG,
        MARKED_FRACTION,
    ];

    fn new(params: &Bbr3Params, setup: &Setup) -> Self {
        Bbr3 {
            params: Box::new(params.clone()),
            state: State::Startup,
            pacing_gain: params.startup_gain,
            cwnd_gain: params.cwnd_gain,
            cwnd: setup.initial_window,
            pacing_rate: params.startup_gain * setup.initial_window / 0.001,
            ssthresh: f64::INFINITY,
            rounds: Rounds::default(),
            is_round_start: false,
            max_bw: [0.0; 2],
            bandwidth: 0.0,
            bw_short: f64::INFINITY,
            inflight_short: f64::INFINITY,
            inflight_long: f64::INFINITY,
            min_rtt: f64::INFINITY,
            min_rtt_at: setup.now,
            probe_rtt_min: f64::INFINITY,
            probe_rtt_min_at: setup.now,
            is_probe_rtt_due: false,
            probe_rtt_end: None,
            has_probed_round: false,
            full_bw: 0.0,
            full_count: 0,
            is_full_now: false,
            is_full: false,
            drain_start: 0,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            loss_round_delivered: 0,
            is_loss_round_start: false,
            has_loss_in_round: false,
            ranges: (0, 0),
            lost: 0,
            ack_phase: AckPhase::Init,
            is_probe_sample: false,
            was_too_high: false,
            was_precautionary: false,
            cycle_at: setup.now,
            wait: Time::ZERO,
            rounds_since_up: 0,
            up_rounds: 0,
            up_acked: 0.0,
            acked_per_step: f64::INFINITY,
            aggregation: Aggregation::new(setup.now),
            extra: WindowedMax::default(),
            has_rtt: false,
            is_idle_restart: false,
            repair: Repair::default(),
            is_saved: false,
            saved: Saved {
                state: None,
                bw_short: f64::INFINITY,
                inflight_short: f64::INFINITY,
                inflight_long: f64::INFINITY,
            },
            marks: Marks {
                is_eligible: false,
                alpha: 1.0,
                delivered: 0.0,
                marked: 0.0,
                in_round: false,
                full_rounds: 0,
            },
            initial_window: setup.initial_window,
            random: setup.random.clone(),
        }
    }
}

impl Control for Bbr3 {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn pacing_rate(&self) -> Option<f64> {
        Some(self.pacing_rate)
    }

    fn send_quantum(&self) -> Option<f64> {
        self.params.bursts.then(|| quantum(self.pacing_rate, self.params.burst_time, self.params.burst_bytes))
    }

    fn ecn_codepoint(&self) -> Ecn {
        if self.params.ecn { Ecn::Ect0 } else { Ecn::NotEct }
    }

    fn uses_rate_samples(&self) -> bool {
        true
    }

    fn reacts_to_marks(&self) -> bool {
        true
    }

    fn is_model_based(&self) -> bool {
        true
    }

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        self.update(context, ack);
    }

    fn on_duplicate_ack(&mut self, context: &Context, ack: &Ack) {
        self.update(context, ack);
    }

    fn on_loss(&mut self, context: &Context, lost: &LostSegment) {
        let size = f64::from(lost.bytes);
        self.lost += u64::from(lost.bytes);
        if !self.has_loss_in_round {
            self.has_loss_in_round = true;
            self.loss_round_delivered = self.rounds.delivered;
            self.save_state();
        }
        if self.ranges.1 != lost.seq || self.ranges.0 == 0 {
            self.ranges.0 += 1;
        }
        self.ranges.1 = lost.seq + u64::from(lost.bytes);
        if !self.is_probe_sample {
            return;
        }
        let since_sent = self.lost.saturating_sub(lost.lost);
        if self.is_too_high(since_sent, lost.tx_in_flight) {
            // What was in flight when the losses crossed the threshold, perhaps within the segment.
            let (before, lost_before) = (lost.tx_in_flight - size, real(since_sent) - size);
            let threshold = self.params.loss_threshold;
            let prefix = (threshold * before - lost_before) / (1.0 - threshold);
            let is_app_limited = lost.is_app_limited || self.rounds.was_limited(lost.delivered);
            self.handle_too_high(context.now, before + prefix, is_app_limited);
        }
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        match congestion.signal {
            Signal::EcnEcho => {}
            Signal::FastRetransmit => {
                self.save_state();
                self.repair.begin_recovery();
            }
            Signal::Restart | Signal::Timeout => {
                self.save_state();
                self.repair.begin_timeout(context.snd_nxt);
                if self.is_kernel() && !self.state.probes() && self.inflight_short.is_infinite() {
                    self.inflight_short = self.repair.restored(self.cwnd);
                }
                self.cwnd = context.loss_window;
            }
        }
    }

    fn on_recovery_exit(&mut self, _context: &Context, _exit: &RecoveryExit) {
        self.end_repair();
    }

    fn on_undo(&mut self, _context: &Context, undo: &Undo) {
        self.end_repair();
        self.cwnd = self.cwnd.max(undo.cwnd);
        self.has_loss_in_round = false;
        self.reset_full(0.0);
        self.bw_short = self.bw_short.max(self.saved.bw_short);
        self.inflight_short = self.inflight_short.max(self.saved.inflight_short);
        self.inflight_long = self.inflight_long.max(self.saved.inflight_long);
        match self.saved.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.is_full = false;
                if self.state != State::ProbeRtt {
                    self.enter(State::Startup);
                }
            }
            Some(State::Up) if !matches!(self.state, State::Up | State::ProbeRtt) => self.enter_refill(),
            _ => {}
        }
    }

    fn on_restart(&mut self, context: &Context, _restart: &Restart) {
        self.restart_from_idle(context.now);
        if self.state == State::ProbeRtt {
            self.leave_probe_rtt(context.now);
        }
    }

    fn on_sent(&mut self, context: &Context, _sent: &SentSegment) {
        if context.flight_size == 0.0 && context.is_app_limited {
            self.restart_from_idle(context.now);
        }
    }

    fn probe(&self, index: usize) -> Option<f64> {
        let bound = |value: f64| if value.is_finite() { value } else { 0.0 };
        match index {
            0 => Some(self.state as u8 as f64),
            1 => Some(self.bandwidth * 8.0),
            2 => Some(self.min_rtt).filter(|rtt| rtt.is_finite()),
            3 => Some(self.pacing_gain),
            4 => Some(self.extra_acked()),
            5 => Some(self.max_bw() * 8.0),
            6 => Some(bound(self.bw_short * 8.0)),
            7 => Some(bound(self.inflight_short)),
            8 => Some(bound(self.inflight_long)),
            9 => Some(if self.params.ecn { self.marks.alpha } else { 0.0 }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    //! The test cases of the draft's appendix that depend on single acknowledgements, by number. Those that need a path are
    //! tests of the simulator.

    use super::*;

    const MSS: f64 = 1000.0;
    /// Bandwidth of the path, in bytes per second: with 40 ms, a BDP of 50 segments.
    const BANDWIDTH: f64 = 1_250_000.0;
    const RTT: Time = Time(40_000_000);

    /// What an acknowledgement of a segment says.
    #[derive(Clone, Copy)]
    struct Say {
        /// Time, in milliseconds.
        ms: u64,
        /// It ends a round.
        is_round: bool,
        rate: f64,
        in_flight: f64,
        lost: u64,
        tx_in_flight: f64,
        is_app_limited: bool,
        is_cwnd_limited: bool,
    }

    const ACK: Say = Say {
        ms: 0,
        is_round: true,
        rate: BANDWIDTH,
        in_flight: 50.0 * MSS,
        lost: 0,
        tx_in_flight: 50.0 * MSS,
        is_app_limited: false,
        is_cwnd_limited: false,
    };

    fn acknowledge(bbr: &mut Bbr3, say: Say) {
        let context = Context::new(Time(say.ms * 1_000_000), MSS).with_rtts(RTT.secs(), RTT.secs());
        let prior = if say.is_round { bbr.rounds.delivered } else { bbr.rounds.delivered.saturating_sub(5000) };
        let delivered = bbr.rounds.delivered + 1000 - prior;
        let rate = RateSample::new(delivered, Time::from_secs(delivered as f64 / say.rate))
            .with_prior_delivered(prior)
            .with_lost(say.lost)
            .with_tx_in_flight(say.tx_in_flight)
            .with_app_limited(say.is_app_limited)
            .with_rtt(Some(RTT));
        let ack = Ack::new(0, 1000)
            .with_rtt(Some(RTT))
            .with_rate(Some(&rate))
            .with_in_flight(say.in_flight)
            .with_cwnd_limited(say.is_cwnd_limited);
        bbr.update(&context, &ack);
    }

    fn start(params: Bbr3Params) -> Bbr3 {
        let mut bbr = Bbr3::new(&params, &Setup::new(Time::ZERO, MSS, 10.0 * MSS));
        acknowledge(&mut bbr, ACK);
        bbr
    }

    /// A flow that has filled the pipe, in a state of ProbeBW.
    fn probing(state: State) -> Bbr3 {
        let mut bbr = start(Bbr3Params::default());
        (bbr.is_full, bbr.cwnd) = (true, 100.0 * MSS);
        bbr.rounds_since_up = 0;
        bbr.wait = Time(2_500_000_000);
        bbr.enter(state);
        bbr.ack_phase = AckPhase::Init;
        bbr
    }

    fn lose(bbr: &mut Bbr3, ms: u64, seq: u64, tx_in_flight: f64, is_app_limited: bool) {
        let context = Context::new(Time(ms * 1_000_000), MSS);
        let lost = LostSegment::new(seq, 1000, Time::ZERO)
            .with_delivered(bbr.rounds.delivered)
            .with_tx_in_flight(tx_in_flight)
            .with_app_limited(is_app_limited);
        bbr.on_loss(&context, &lost);
    }

    #[test]
    fn case_1_startup_ends_after_three_rounds_without_growth() {
        let mut bbr = start(Bbr3Params::default());
        for round in 1..=3 {
            assert_eq!((bbr.state, bbr.full_count), (State::Startup, round - 1));
            // 24 % more is no growth.
            let say = Say { rate: 1.24 * BANDWIDTH, in_flight: 80.0 * MSS, ..ACK };
            acknowledge(&mut bbr, Say { ms: 40 * round, ..say });
        }
        assert_eq!((bbr.state, bbr.is_full_now, bbr.is_full), (State::Drain, true, true));
        // 25 % more is: the count begins again.
        let mut bbr = start(Bbr3Params::default());
        acknowledge(&mut bbr, ACK);
        acknowledge(&mut bbr, Say { rate: 1.2501 * BANDWIDTH, ..ACK });
        assert_eq!(bbr.full_count, 0);
        assert!(bbr.full_bw > 1.25 * BANDWIDTH);
    }

    #[test]
    fn case_2_losses_end_an_application_limited_startup() {
        // Six ranges in a round of recovery, and 2 of 50 segments lost since the newest was sent: 4 %.
        let high = Say { is_app_limited: true, lost: 2000, ..ACK };
        for (ranges, lost, ends) in [(6, 2000, true), (5, 2000, false), (6, 1000, false)] {
            let mut bbr = start(Bbr3Params::default());
            (0..ranges).for_each(|range| lose(&mut bbr, 10, 2000 * range, 50.0 * MSS, true));
            let congestion = Congestion::new(Signal::FastRetransmit);
            bbr.on_congestion(&Context::new(Time::ZERO, MSS), &congestion);
            acknowledge(&mut bbr, Say { ms: 50, lost, ..high });
            assert_eq!(bbr.state != State::Startup, ends, "{ranges} ranges, {lost} bytes");
            assert_eq!((bbr.is_full_now, bbr.is_full), (ends, ends));
            // max(bdp, bytes delivered in the round).
            assert_eq!(bbr.inflight_long.is_finite(), ends);
        }
        // Segments in sequence are one range.
        let mut bbr = start(Bbr3Params::default());
        (0..6).for_each(|range| lose(&mut bbr, 10, 1000 * range, 50.0 * MSS, true));
        assert_eq!(bbr.ranges.0, 1);
    }

    #[test]
    fn case_3_drain_ends_when_a_bdp_is_in_flight() {
        let mut bbr = probing(State::Drain);
        bbr.drain_start = bbr.rounds.count;
        assert_eq!(bbr.pacing_gain, 0.5);
        acknowledge(&mut bbr, Say { ms: 1, is_round: false, in_flight: 51.0 * MSS, ..ACK });
        assert_eq!(bbr.state, State::Drain);
        // Without a long-term bound, the same acknowledgement also ends DOWN.
        let mut bounded = bbr.clone();
        acknowledge(&mut bbr, Say { ms: 2, is_round: false, ..ACK });
        assert_eq!((bbr.state, bbr.pacing_gain), (State::Cruise, 1.0));
        bounded.inflight_long = 50.0 * MSS;
        acknowledge(&mut bounded, Say { ms: 2, is_round: false, ..ACK });
        assert_eq!((bounded.state, bounded.pacing_gain), (State::Down, 0.9));
    }

    #[test]
    fn case_4_drain_ends_after_three_rounds_but_not_in_the_kernel() {
        for (form, expected) in [(Form::Draft, State::Down), (Form::Kernel, State::Drain)] {
            let mut bbr = start(Bbr3Params { form, ..Bbr3Params::default() });
            (bbr.is_full, bbr.drain_start) = (true, bbr.rounds.count);
            bbr.enter(State::Drain);
            for round in 1..=3 {
                acknowledge(&mut bbr, Say { ms: 40 * round, in_flight: 60.0 * MSS, ..ACK });
                assert_eq!(bbr.state, State::Drain);
            }
            acknowledge(&mut bbr, Say { ms: 160, in_flight: 60.0 * MSS, ..ACK });
            assert_eq!(bbr.state, expected);
        }
        let kernel = start(Bbr3Params { form: Form::Kernel, ..Bbr3Params::default() });
        let gain = |state| {
            let mut bbr = kernel.clone();
            bbr.enter(state);
            bbr.pacing_gain
        };
        assert_eq!((gain(State::Drain), gain(State::Down)), (0.34375, 0.91));
    }

    #[test]
    fn case_5_up_ends_after_three_rounds_without_growth() {
        let mut bbr = probing(State::Refill);
        acknowledge(&mut bbr, Say { ms: 40, ..ACK });
        assert_eq!((bbr.state, bbr.pacing_gain, bbr.cwnd_gain), (State::Up, 1.25, 2.25));
        for round in 2..=3 {
            acknowledge(&mut bbr, Say { ms: 40 * round, ..ACK });
            assert_eq!(bbr.state, State::Up);
        }
        acknowledge(&mut bbr, Say { ms: 160, in_flight: 60.0 * MSS, ..ACK });
        assert_eq!((bbr.state, bbr.was_too_high), (State::Down, false));
    }

    #[test]
    fn case_6_losses_end_up_but_application_limited_ones_leave_the_bound() {
        // Here case and pseudocode of the draft conflict. The case wants the long-term bound updated whatever the
        // application does; HandleInflightTooHigh updates it only if the lost packet was not application-limited. The
        // pseudocode holds here.
        for (is_app_limited, expected) in [(true, f64::INFINITY), (false, 50.0 * MSS)] {
            let mut bbr = probing(State::Up);
            bbr.is_probe_sample = true;
            // 1 of 50 segments is not more than 2 %; 2 are. Before the second, 49 were in flight and 1 lost:
            // (0.02 * 49 - 1) / 0.98 = -0.0204 segments more.
            lose(&mut bbr, 10, 0, 50.0 * MSS, is_app_limited);
            assert_eq!(bbr.state, State::Up);
            lose(&mut bbr, 10, 2000, 50.0 * MSS, is_app_limited);
            assert_eq!(bbr.state, State::Down);
            assert!(bbr.was_too_high && !bbr.is_probe_sample);
            let bound = bbr.inflight_long;
            assert!(bound == expected || (bound - (49.0 - 0.02 / 0.98) * MSS).abs() < 1e-6, "{bound}");
            assert_eq!(bound.is_infinite(), is_app_limited);
        }
    }

    #[test]
    fn case_7_application_limited_rounds_without_loss_end_neither_startup_nor_up() {
        let slow = Say { rate: BANDWIDTH / 2.0, is_app_limited: true, in_flight: 10.0 * MSS, ..ACK };
        for (mut bbr, state) in
            [(start(Bbr3Params::default()), State::Startup), (probing(State::Up), State::Up)]
        {
            for round in 0..100 {
                acknowledge(&mut bbr, Say { ms: 40 * round, ..slow });
                assert_eq!(bbr.state, state);
            }
        }
    }

    #[test]
    fn case_8_down_ends_with_headroom_and_no_more_than_a_bdp_in_flight() {
        // 85 % of a bound of 50 segments are 42.5; of 100, more than the BDP of 50.
        for (bound, most) in [(50.0, 42.5), (100.0, 50.0), (f64::INFINITY, 50.0)] {
            let mut bbr = probing(State::Down);
            bbr.inflight_long = bound * MSS;
            let quiet = Say { ms: 1, is_round: false, tx_in_flight: 10.0 * MSS, ..ACK };
            acknowledge(&mut bbr, Say { in_flight: (most + 0.1) * MSS, ..quiet });
            assert_eq!(bbr.state, State::Down);
            acknowledge(&mut bbr, Say { in_flight: most * MSS, ..quiet });
            assert_eq!((bbr.state, bbr.pacing_gain), (State::Cruise, 1.0));
        }
    }

    #[test]
    fn case_9_down_with_too_much_in_flight_goes_to_refill_after_the_wait() {
        let mut bbr = probing(State::Down);
        bbr.rounds_since_up = 0;
        let busy = Say { is_round: false, in_flight: 60.0 * MSS, ..ACK };
        acknowledge(&mut bbr, Say { ms: 2500, ..busy });
        assert_eq!(bbr.state, State::Down);
        acknowledge(&mut bbr, Say { ms: 2501, ..busy });
        assert_eq!(bbr.state, State::Refill);
        // Or after as many rounds as the pipe holds segments, at most 63.
        for (count, state) in [(48, State::Down), (49, State::Refill)] {
            let mut bbr = probing(State::Down);
            bbr.rounds_since_up = count;
            acknowledge(&mut bbr, Say { ms: 41, in_flight: 60.0 * MSS, ..ACK });
            assert_eq!(bbr.state, state);
        }
    }

    #[test]
    fn the_wait_between_probes_is_two_to_three_seconds() {
        let mut bbr = probing(State::Up);
        let mut rounds = [0, 0];
        for _ in 0..200 {
            bbr.enter_down(Time::ZERO);
            assert!((2.0..=3.0).contains(&bbr.wait.secs()));
            rounds[bbr.rounds_since_up as usize] += 1;
        }
        assert!(rounds[0] > 60 && rounds[1] > 60);
    }

    #[test]
    fn case_10_probe_rtt_begins_after_five_seconds_and_returns_to_cruise() {
        let mut bbr = probing(State::Cruise);
        bbr.wait = Time(60_000_000_000);
        // Round-trip times that are no new minimum: with 30 ms, the BDP is 37.5 segments.
        bbr.probe_rtt_min = 0.03;
        let idle = Say { is_round: false, ..ACK };
        acknowledge(&mut bbr, Say { ms: 5000, ..idle });
        assert_eq!(bbr.state, State::Cruise);
        acknowledge(&mut bbr, Say { ms: 5001, ..idle });
        assert_eq!((bbr.state, bbr.cwnd_gain), (State::ProbeRtt, 0.5));
        assert_eq!(bbr.cwnd, 18.75 * MSS);
        // 200 ms and a round begin when no more than that is left.
        acknowledge(&mut bbr, Say { ms: 5020, in_flight: 18.0 * MSS, ..idle });
        acknowledge(&mut bbr, Say { ms: 5100, in_flight: 18.0 * MSS, ..ACK });
        acknowledge(&mut bbr, Say { ms: 5220, in_flight: 18.0 * MSS, ..idle });
        assert_eq!(bbr.state, State::ProbeRtt);
        acknowledge(&mut bbr, Say { ms: 5221, in_flight: 18.0 * MSS, ..idle });
        assert_eq!((bbr.state, bbr.ack_phase), (State::Cruise, AckPhase::Stopping));
        // The window returns to twice the BDP, and what ACK aggregation adds.
        assert!(bbr.cwnd >= 75.0 * MSS, "{}", bbr.cwnd);
    }

    #[test]
    fn case_11_an_idle_period_takes_the_place_of_probe_rtt() {
        let mut bbr = probing(State::Cruise);
        bbr.wait = Time(60_000_000_000);
        let context = Context::new(Time(6_000_000_000), MSS).with_app_limited(true);
        bbr.on_sent(&context, &SentSegment::new(0, 1000));
        assert!(bbr.is_idle_restart);
        // It paces at exactly the bandwidth less the margin.
        assert!((bbr.pacing_rate - 0.99 * BANDWIDTH).abs() < 1e-6);
        acknowledge(&mut bbr, Say { ms: 6040, ..ACK });
        assert_eq!((bbr.state, bbr.is_idle_restart), (State::Cruise, false));
    }

    #[test]
    fn cases_12_and_13_the_window_provides_for_the_largest_aggregate() {
        let mut bbr = probing(State::Cruise);
        bbr.wait = Time(60_000_000_000);
        // Ten segments at once, 8 ms after the last: at the bandwidth, that is what 8 ms deliver. Twenty are ten more.
        bbr.aggregation.since = Time(100_000_000);
        bbr.aggregation.acked = 1.0;
        bbr.bandwidth = BANDWIDTH;
        bbr.update_extra_acked(Time(108_000_000), 20_000.0);
        // The interval begins again, as the data delivered before was less than expected: 20 segments.
        assert_eq!(bbr.extra_acked(), 20.0 * MSS);
        bbr.update_extra_acked(Time(116_000_000), 5_000.0);
        // 25 delivered in 8 ms, in which 10 are expected: 15 are no more than 20.
        assert_eq!(bbr.extra_acked(), 20.0 * MSS);
        bbr.set_cwnd(&Context::new(Time(116_000_000), MSS), 100.0 * MSS);
        assert!((bbr.cwnd - (2.0 * 50.0 + 20.0) * MSS).abs() < 1e-6, "{}", bbr.cwnd);
        // It counts for ten rounds.
        bbr.rounds.count += 11;
        bbr.update_extra_acked(Time(900_000_000), 1000.0);
        assert_eq!(bbr.extra_acked(), MSS);
    }

    #[test]
    fn case_14_the_window_is_never_below_four_segments() {
        let mut bbr = probing(State::Cruise);
        bbr.max_bw = [0.0, 1000.0];
        bbr.bandwidth = 1000.0;
        bbr.params.burst_budget = 0.0;
        bbr.set_cwnd(&Context::new(Time::ZERO, MSS), 0.0);
        assert_eq!(bbr.cwnd, 4.0 * MSS);
    }

    #[test]
    fn case_15_the_steps_of_the_long_term_bound_double_each_round() {
        let mut bbr = probing(State::Up);
        (bbr.cwnd, bbr.inflight_long, bbr.up_rounds) = (64.0 * MSS, 64.0 * MSS, 0);
        let per_round: Vec<f64> = (0..5)
            .map(|_| {
                bbr.raise_slope(MSS);
                // Segments per window acknowledged.
                bbr.cwnd / bbr.acked_per_step
            })
            .collect();
        assert_eq!(per_round, [1.0, 2.0, 4.0, 8.0, 16.0]);
        // With 16 per 64 segments, the fourth acknowledged adds one.
        bbr.up_acked = 3.0 * MSS;
        let full = Say { is_round: false, is_cwnd_limited: true, tx_in_flight: 10.0 * MSS, ..ACK };
        acknowledge(&mut bbr, Say { ms: 1, ..full });
        assert_eq!((bbr.inflight_long, bbr.up_acked), (65.0 * MSS, 0.0));
    }

    #[test]
    fn case_16_a_round_with_losses_lowers_the_short_term_bounds_and_two_cycles_the_maximum() {
        let mut bbr = probing(State::Cruise);
        bbr.wait = Time(60_000_000_000);
        lose(&mut bbr, 50, 0, 50.0 * MSS, false);
        // The round delivers a tenth: max(0.1, 0.7) of the bandwidth, and 0.7 of the window of 100 segments.
        bbr.bw_latest = 0.0;
        acknowledge(&mut bbr, Say { ms: 60, rate: BANDWIDTH / 10.0, ..ACK });
        assert!((bbr.bandwidth - 0.7 * BANDWIDTH).abs() < 1e-6);
        assert!((70.0..=71.0).contains(&(bbr.inflight_short / MSS)), "{}", bbr.inflight_short);
        // Each cycle forgets the maximum of the cycle before the last.
        for expected in [BANDWIDTH, BANDWIDTH / 10.0] {
            bbr.ack_phase = AckPhase::Stopping;
            acknowledge(&mut bbr, Say { ms: 100, rate: BANDWIDTH / 10.0, ..ACK });
            acknowledge(&mut bbr, Say { ms: 140, rate: BANDWIDTH / 10.0, ..ACK });
            assert!((bbr.max_bw() - expected).abs() < 1e-3 * BANDWIDTH, "{} {expected}", bbr.max_bw());
        }
    }

    #[test]
    fn cases_18_and_19_a_spurious_recovery_or_timeout_restores_bounds_and_state() {
        for signal in [Signal::FastRetransmit, Signal::Timeout] {
            let mut bbr = probing(State::Up);
            bbr.is_probe_sample = true;
            bbr.inflight_long = 90.0 * MSS;
            let (cwnd, context) = (bbr.cwnd, Context::new(Time(10_000_000), MSS).with_sent(0, 100_000));
            (0..3).for_each(|number| lose(&mut bbr, 10, 2000 * number, 50.0 * MSS, false));
            bbr.on_congestion(&context, &Congestion::new(signal));
            bbr.on_recovery_enter(&context);
            // UP has ended. In a recovery, rounds with losses also lower the short-term bounds.
            assert_eq!(bbr.state, State::Down);
            assert!(bbr.inflight_long <= 50.0 * MSS);
            if signal == Signal::FastRetransmit {
                acknowledge(&mut bbr, Say { ms: 20, in_flight: 80.0 * MSS, ..ACK });
                lose(&mut bbr, 50, 90_000, 50.0 * MSS, false);
                acknowledge(&mut bbr, Say { ms: 60, in_flight: 80.0 * MSS, ..ACK });
                assert!(bbr.inflight_short.is_finite());
            } else {
                assert_eq!(bbr.cwnd, MSS);
            }
            bbr.on_undo(&context, &Undo::new(signal, cwnd, f64::INFINITY));
            assert_eq!((bbr.inflight_long, bbr.inflight_short), (90.0 * MSS, f64::INFINITY));
            assert_eq!((bbr.bw_short, bbr.full_bw), (f64::INFINITY, 0.0));
            // Back to UP through REFILL.
            assert_eq!((bbr.state, bbr.cwnd), (State::Refill, cwnd));
        }
        // A spurious loss that ended Startup.
        let mut bbr = start(Bbr3Params::default());
        lose(&mut bbr, 10, 0, 50.0 * MSS, false);
        (bbr.saved.state, bbr.is_full) = (Some(State::Startup), true);
        bbr.enter(State::Drain);
        let undo = Undo::new(Signal::FastRetransmit, 10.0 * MSS, f64::INFINITY);
        bbr.on_undo(&Context::new(Time::ZERO, MSS), &undo);
        assert_eq!((bbr.state, bbr.is_full), (State::Startup, false));
    }

    #[test]
    fn case_20_probe_rtt_within_startup_returns_to_it() {
        let mut bbr = start(Bbr3Params::default());
        bbr.probe_rtt_min = 0.03;
        let slow = Say { is_app_limited: true, in_flight: 4.0 * MSS, ..ACK };
        for ms in [5001, 5002, 5050] {
            acknowledge(&mut bbr, Say { ms, ..slow });
            assert_eq!(bbr.state, State::ProbeRtt);
        }
        acknowledge(&mut bbr, Say { ms: 5203, ..slow });
        assert_eq!((bbr.state, bbr.pacing_gain), (State::Startup, 2.77));
    }

    #[test]
    fn case_21_a_loss_in_up_cuts_the_bound_by_beta_at_most() {
        let mut bbr = probing(State::Up);
        (bbr.is_probe_sample, bbr.inflight_long) = (true, 90.0 * MSS);
        // With 10 segments in flight, one lost is too much; 9 + (0.18 - 0) / 0.98 are less than 0.7 of the BDP of 50.
        lose(&mut bbr, 10, 0, 10.0 * MSS, false);
        assert!((bbr.inflight_long - 35.0 * MSS).abs() < 1e-6, "{}", bbr.inflight_long);
        assert_eq!(bbr.state, State::Down);
    }

    #[test]
    fn case_22_application_limited_samples_in_refill_do_not_lower_the_maximum() {
        let mut bbr = probing(State::Cruise);
        bbr.enter_refill();
        let slow = Say { rate: BANDWIDTH / 10.0, is_app_limited: true, in_flight: 4.0 * MSS, ..ACK };
        acknowledge(&mut bbr, Say { ms: 10, is_round: false, ..slow });
        assert_eq!((bbr.state, bbr.max_bw()), (State::Refill, BANDWIDTH));
        acknowledge(&mut bbr, Say { ms: 50, ..slow });
        assert_eq!((bbr.state, bbr.max_bw()), (State::Up, BANDWIDTH));
        // A sample above the maximum counts even so.
        acknowledge(&mut bbr, Say { ms: 60, rate: 2.0 * BANDWIDTH, ..slow });
        assert!((bbr.max_bw() / BANDWIDTH - 2.0).abs() < 1e-6);
    }

    #[test]
    fn a_precautionary_probe_goes_up_again_at_once() {
        let mut bbr = probing(State::Up);
        (bbr.was_too_high, bbr.inflight_long) = (true, 40.0 * MSS);
        acknowledge(&mut bbr, Say { ms: 10, is_round: false, tx_in_flight: 10.0 * MSS, ..ACK });
        assert_eq!((bbr.state, bbr.was_precautionary, bbr.was_too_high), (State::Down, true, false));
        acknowledge(&mut bbr, Say { ms: 60, tx_in_flight: 10.0 * MSS, ..ACK });
        assert_eq!(bbr.state, State::Refill);
    }

    #[test]
    fn marks_lower_the_bound_by_a_third_of_their_fraction_as_in_the_kernel() {
        let params = Bbr3Params { ecn: true, ecn_max_rtt: Time(50_000_000), ..Bbr3Params::default() };
        let mut bbr = start(params);
        (bbr.is_full, bbr.cwnd, bbr.wait) = (true, 90.0 * MSS, Time(60_000_000_000));
        bbr.enter(State::Cruise);
        bbr.marks = Marks { is_eligible: true, alpha: 0.5, in_round: true, ..bbr.marks };
        // 90 * (1 - 0.5 / 3) = 75 segments; the bandwidth is unchanged.
        bbr.lower_bounds();
        assert!((bbr.inflight_short - 75.0 * MSS).abs() < 1e-9 && bbr.bw_short.is_infinite());
        assert_eq!(bbr.ecn_codepoint(), Ecn::Ect0);
    }
}
