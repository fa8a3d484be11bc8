//! BBR version 1 in whole numbers [linux6 tcp_bbr.c].
//!
//! Data counts in segments, times in microseconds, gains in 256ths and bandwidth in 2^-24 segments per microsecond. The
//! model is computed with every acknowledgement (`bbr_main`), and the sender's states decide what a recovery does to the
//! window. The three-way handshake counts as a delivered segment. Times of ten seconds and of `ProbeRTT` are ticks.
//!
//! Where it departs: `ProbeRTT` that ends while nothing is in flight restores the window after the idle period of a timeout,
//! not with the first segment. Segments that are not full count by their bytes.

use super::{Clock, micros, whole};
use crate::delivery::{Rounds, WindowedMax};
use crate::setup::Reports;
use crate::{Ack, Congestion, Context, RateSample, SenderState, Setup, Signal, Undo};
use dumbbell_units::math::real;
use dumbbell_units::{Stream, Time};

/// One, as a gain.
const UNIT: u64 = 256;
/// A segment per microsecond, as a bandwidth.
const BANDWIDTH_UNIT: u64 = 1 << 24;
/// The initial window of Linux, in segments (`TCP_INIT_CWND`).
const INITIAL_WINDOW: u64 = 10;
/// A minimum round-trip time before the first sample.
const NONE: u64 = u32::MAX as u64;
/// Most segments of a burst.
const MOST_TOGETHER: u64 = 127;
/// Segments counted for the aggregation of acknowledgements from which the count begins again, less one.
const MOST_COUNTED: u64 = (1 << 20) - 1;

/// Modes, with the numbers of the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// The parameters in whole numbers.
#[derive(Clone, Debug)]
pub struct Numbers {
    pub startup_gain: u64,
    pub drain_gain: u64,
    pub cwnd_gain: u64,
    pub up_gain: u64,
    pub down_gain: u64,
    pub phases: u64,
    pub random_phases: u64,
    pub bandwidth_rounds: u64,
    /// Ticks.
    pub min_rtt_window: u64,
    pub probe_rtt_duration: u64,
    pub min_window: u64,
    /// Percent of the bandwidth.
    pub paced: u64,
    pub full_growth: u64,
    pub full_rounds: u64,
    pub policer: bool,
    pub policer_rounds: u64,
    pub policer_loss: u64,
    pub policer_ratio: u64,
    /// Bytes per second.
    pub policer_difference: u64,
    pub policer_use: u64,
    pub extra_acked_gain: u64,
    pub extra_acked_rounds: u64,
    /// Microseconds.
    pub extra_acked_limit: u64,
    pub bursts_per_second: u64,
    pub burst_bytes: u64,
    /// Bytes per second.
    pub burst_rate: u64,
    pub burst_budget: u64,
}

/// A factor in 256ths.
pub fn gain(factor: f64) -> u64 {
    whole((factor * UNIT as f64).round())
}

/// The search for a policer, whose rate is the long-term bandwidth.
#[derive(Clone, Copy, Debug, Default)]
struct Policer {
    is_sampling: bool,
    is_found: bool,
    bandwidth: u64,
    rounds: u64,
    /// When the interval began, in milliseconds, and what was delivered and lost then.
    since: u64,
    delivered: u64,
    lost: u64,
}

/// What an acknowledgement tells of the path (`struct rate_sample`).
#[derive(Clone, Copy, Debug, Default)]
struct Delivery {
    /// Segments delivered over an interval above 0; nothing without such a sample.
    rate: Option<(u64, u64)>,
    prior_delivered: u64,
    is_app_limited: bool,
    acked: u64,
    losses: u64,
    prior_in_flight: u64,
    in_flight: u64,
    rtt: Option<u64>,
    may_be_delayed: bool,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Bbr {
    numbers: Numbers,
    clock: Clock,
    reports: Reports,
    random: Stream,
    mss: u64,
    cwnd: u64,
    ssthresh: Option<u64>,
    /// Bytes per second.
    pacing_rate: u64,
    pub mode: Mode,
    phase: u64,
    phase_began: u64,
    pacing_gain: u64,
    cwnd_gain: u64,
    /// Segments delivered, rounds, and what counts as limited because of `ProbeRTT`.
    rounds: Rounds,
    round_end: u64,
    is_round_start: bool,
    /// Bytes delivered, and when the last of them was, in microseconds.
    delivered: u64,
    delivered_at: u64,
    lost: u64,
    bandwidth: WindowedMax,
    min_rtt: u64,
    /// Ticks.
    min_rtt_at: u64,
    probe_rtt_end: Option<u64>,
    has_probed_round: bool,
    has_rtt: bool,
    is_idle_restart: bool,
    full_bandwidth: u64,
    full_rounds: u64,
    is_full: bool,
    /// The state of the sender, and that at the last acknowledgement.
    state: SenderState,
    prior_state: SenderState,
    /// The repair after a timeout ends with this byte, if the sender reports no states.
    recover: u64,
    conserves_packets: bool,
    prior_cwnd: u64,
    policer: Policer,
    extra_acked: [u64; 2],
    extra_acked_rounds: u64,
    epoch: u64,
    epoch_acked: u64,
}

/// The smoothed round-trip time in microseconds.
fn smoothed(context: &Context) -> Option<u64> {
    context.srtt().map(|srtt| ((srtt * 8e6 + 1e-3) as u64 >> 3).max(1))
}

impl Bbr {
    /// With these parameters and this clock.
    pub fn new(numbers: Numbers, clock: Clock, setup: &Setup) -> Self {
        let startup_gain = numbers.startup_gain;
        let mut bbr = Bbr {
            numbers,
            clock,
            reports: setup.reports,
            random: setup.random.clone(),
            mss: setup.mss as u64,
            cwnd: (setup.initial_window / setup.mss) as u64,
            ssthresh: None,
            pacing_rate: 0,
            mode: Mode::Startup,
            phase: 0,
            phase_began: 0,
            pacing_gain: startup_gain,
            cwnd_gain: startup_gain,
            rounds: Rounds::default(),
            round_end: 1,
            is_round_start: false,
            delivered: 0,
            delivered_at: setup.now.0 / 1000,
            lost: 0,
            bandwidth: WindowedMax::default(),
            min_rtt: NONE,
            min_rtt_at: clock.at(setup.now),
            probe_rtt_end: None,
            has_probed_round: false,
            has_rtt: false,
            is_idle_restart: false,
            full_bandwidth: 0,
            full_rounds: 0,
            is_full: false,
            state: SenderState::Open,
            prior_state: SenderState::Open,
            recover: 0,
            conserves_packets: false,
            prior_cwnd: 0,
            policer: Policer::default(),
            extra_acked: [0; 2],
            extra_acked_rounds: 0,
            epoch: setup.now.0 / 1000,
            epoch_acked: 0,
        };
        bbr.rounds.delivered = 1;
        bbr.begin_interval();
        bbr.set_initial_rate(1000);
        bbr
    }

    /// Bytes as segments, a part of one as a whole.
    fn segments(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.mss)
    }

    pub fn cwnd(&self) -> u64 {
        self.cwnd
    }

    pub fn ssthresh(&self) -> Option<u64> {
        self.ssthresh
    }

    /// Bytes per second.
    pub fn pacing_rate(&self) -> u64 {
        self.pacing_rate
    }

    /// True if the bandwidth is that of a policer.
    pub fn is_policed(&self) -> bool {
        self.policer.is_found
    }

    /// The bandwidth in bytes per second.
    pub fn bytes_per_second(&self) -> f64 {
        real(self.bandwidth()) * real(self.mss) * 1e6 / BANDWIDTH_UNIT as f64
    }

    /// The minimum round-trip time in seconds.
    pub fn min_rtt_secs(&self) -> Option<f64> {
        (self.min_rtt < NONE).then_some(real(self.min_rtt) * 1e-6)
    }

    /// The gain of the pacing rate.
    pub fn gain(&self) -> f64 {
        real(self.pacing_gain) / UNIT as f64
    }

    pub fn on_initial_window(&mut self, cwnd: f64) {
        self.cwnd = cwnd as u64 / self.mss;
    }

    /// The largest bandwidth of the last rounds.
    fn most(&self) -> u64 {
        self.bandwidth.value() as u64
    }

    fn bandwidth(&self) -> u64 {
        if self.policer.is_found { self.policer.bandwidth } else { self.most() }
    }

    /// Bytes per second at which this bandwidth is paced, with a gain.
    fn paced(&self, bandwidth: u64, gain: u64) -> u64 {
        let rate = bandwidth.saturating_mul(self.mss).saturating_mul(gain) / UNIT;
        rate.saturating_mul(10_000 * self.numbers.paced) / BANDWIDTH_UNIT
    }

    fn set_initial_rate(&mut self, rtt: u64) {
        self.pacing_rate =
            self.paced(self.cwnd.saturating_mul(BANDWIDTH_UNIT) / rtt, self.numbers.startup_gain);
    }

    fn set_pacing_rate(&mut self, context: &Context, gain: u64) {
        if !self.has_rtt
            && let Some(srtt) = smoothed(context)
        {
            self.has_rtt = true;
            self.set_initial_rate(srtt);
        }
        let rate = self.paced(self.bandwidth(), gain);
        if self.is_full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Segments of a burst at the pacing rate.
    pub fn burst(&self) -> u64 {
        let bytes = (self.pacing_rate / self.numbers.bursts_per_second).min(self.numbers.burst_bytes);
        let least = if self.pacing_rate < self.numbers.burst_rate { 1 } else { 2 };
        (bytes / self.mss).max(least).min(MOST_TOGETHER)
    }

    fn bdp(&self, bandwidth: u64, gain: u64) -> u64 {
        if self.min_rtt == NONE {
            return INITIAL_WINDOW;
        }
        (bandwidth.saturating_mul(self.min_rtt).saturating_mul(gain) / UNIT).div_ceil(BANDWIDTH_UNIT)
    }

    fn with_budget(&self, segments: u64) -> u64 {
        let even = (segments + self.numbers.burst_budget * self.burst()).next_multiple_of(2);
        if self.mode == Mode::ProbeBw && self.phase == 0 { even + 2 } else { even }
    }

    fn inflight(&self, gain: u64) -> u64 {
        self.with_budget(self.bdp(self.most(), gain))
    }

    /// See [`Bbr`](crate::algorithms::bbr::Bbr): what will be in flight at the next departure.
    fn in_flight_at_departure(&self, context: &Context, in_flight: u64) -> u64 {
        let wait = context.next_departure.since(context.now).0 / 1000;
        let delivered = self.bandwidth().saturating_mul(wait) / BANDWIDTH_UNIT;
        let joining = if self.pacing_gain > UNIT { self.burst() } else { 0 };
        (in_flight + joining).saturating_sub(delivered)
    }

    /// ACK aggregation that the window provides for.
    pub fn extra_acked(&self) -> u64 {
        if !self.is_full {
            return 0;
        }
        let limit = self.bandwidth().saturating_mul(self.numbers.extra_acked_limit) / BANDWIDTH_UNIT;
        let [first, second] = self.extra_acked;
        (self.numbers.extra_acked_gain.saturating_mul(first.max(second)) / UNIT).min(limit)
    }

    fn save_cwnd(&mut self) {
        let is_reduced = matches!(self.prior_state, SenderState::Recovery | SenderState::Loss)
            || self.mode == Mode::ProbeRtt;
        self.prior_cwnd = if is_reduced { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    fn advance_phase(&mut self) {
        self.phase = (self.phase + 1) % self.numbers.phases;
        self.phase_began = self.delivered_at;
    }

    /// `ProbeBW` begins in any phase but that which empties a queue.
    fn enter_probe_bw(&mut self) {
        self.mode = Mode::ProbeBw;
        let drawn = (self.random.uniform() * real(self.numbers.random_phases)) as u64;
        self.phase = self.numbers.phases - 1 - drawn;
        self.advance_phase();
    }

    fn begin_interval(&mut self) {
        let policer = &mut self.policer;
        (policer.since, policer.rounds) = (self.delivered_at / 1000, 0);
        (policer.delivered, policer.lost) = (self.rounds.delivered, self.lost);
    }

    fn forget_policer(&mut self) {
        self.policer = Policer::default();
        self.begin_interval();
    }

    /// `bbr_lt_bw_sampling`.
    fn look_for_policer(&mut self, losses: u64, is_app_limited: bool) {
        let numbers = &self.numbers;
        if self.policer.is_found {
            if self.mode == Mode::ProbeBw && self.is_round_start {
                self.policer.rounds += 1;
                if self.policer.rounds >= numbers.policer_use {
                    self.forget_policer();
                    self.enter_probe_bw();
                }
            }
            return;
        }
        if !self.policer.is_sampling {
            if losses == 0 {
                return;
            }
            self.begin_interval();
            self.policer.is_sampling = true;
        }
        if is_app_limited {
            self.forget_policer();
            return;
        }
        self.policer.rounds += u64::from(self.is_round_start);
        if self.policer.rounds < self.numbers.policer_rounds {
            return;
        }
        if self.policer.rounds > self.numbers.policer_rounds.saturating_mul(4) {
            self.forget_policer();
            return;
        }
        let lost = self.lost - self.policer.lost;
        let delivered = self.rounds.delivered - self.policer.delivered;
        let elapsed = (self.delivered_at / 1000).saturating_sub(self.policer.since);
        let is_lossy = lost * UNIT >= self.numbers.policer_loss.saturating_mul(delivered);
        if losses > 0 && delivered > 0 && is_lossy && elapsed > 0 {
            self.end_interval(delivered * BANDWIDTH_UNIT / (1000 * elapsed));
        }
    }

    /// An interval had this bandwidth.
    fn end_interval(&mut self, bandwidth: u64) {
        let known = self.policer.bandwidth;
        let difference = bandwidth.abs_diff(known);
        let is_close = difference * UNIT <= self.numbers.policer_ratio.saturating_mul(known)
            || self.paced(difference, UNIT) <= self.numbers.policer_difference;
        if known > 0 && is_close {
            self.policer.bandwidth = (bandwidth + known) / 2;
            self.policer.is_found = true;
            self.policer.rounds = 0;
            self.pacing_gain = UNIT;
        } else {
            self.policer.bandwidth = bandwidth;
            self.begin_interval();
        }
    }

    fn update_bandwidth(&mut self, delivery: &Delivery) {
        self.is_round_start = false;
        let Some((delivered, interval)) = delivery.rate else { return };
        if delivery.prior_delivered >= self.round_end {
            self.round_end = self.rounds.delivered;
            self.rounds.count += 1;
            self.is_round_start = true;
            self.conserves_packets = false;
        }
        if self.numbers.policer {
            self.look_for_policer(delivery.losses, delivery.is_app_limited);
        }
        let bandwidth = delivered * BANDWIDTH_UNIT / interval;
        if !delivery.is_app_limited || bandwidth >= self.most() {
            self.bandwidth.update(self.rounds.count, real(bandwidth), self.numbers.bandwidth_rounds);
        }
    }

    fn update_aggregation(&mut self, delivery: &Delivery) {
        if self.numbers.extra_acked_gain == 0 || delivery.acked == 0 || delivery.rate.is_none() {
            return;
        }
        if self.is_round_start {
            self.extra_acked_rounds += 1;
            if self.extra_acked_rounds >= self.numbers.extra_acked_rounds {
                self.extra_acked_rounds = 0;
                self.extra_acked = [0, self.extra_acked[0]];
            }
        }
        let elapsed = self.delivered_at - self.epoch;
        let mut expected = self.bandwidth().saturating_mul(elapsed) / BANDWIDTH_UNIT;
        if self.epoch_acked <= expected || self.epoch_acked + delivery.acked > MOST_COUNTED {
            (self.epoch_acked, self.epoch, expected) = (0, self.delivered_at, 0);
        }
        self.epoch_acked = (self.epoch_acked + delivery.acked).min(MOST_COUNTED);
        let extra = (self.epoch_acked - expected).min(self.cwnd);
        self.extra_acked[0] = self.extra_acked[0].max(extra);
    }

    /// True if the phase of the cycle ends.
    fn is_phase_over(&self, context: &Context, delivery: &Delivery) -> bool {
        let has_lasted = self.delivered_at - self.phase_began > self.min_rtt;
        if self.pacing_gain == UNIT {
            return has_lasted;
        }
        let in_flight = self.in_flight_at_departure(context, delivery.prior_in_flight);
        if self.pacing_gain > UNIT {
            has_lasted && (delivery.losses > 0 || in_flight >= self.inflight(self.pacing_gain))
        } else {
            has_lasted || in_flight <= self.inflight(UNIT)
        }
    }

    fn update_full(&mut self, delivery: &Delivery) {
        if self.is_full || !self.is_round_start || delivery.is_app_limited {
            return;
        }
        if self.most() >= self.full_bandwidth.saturating_mul(self.numbers.full_growth) / UNIT {
            (self.full_bandwidth, self.full_rounds) = (self.most(), 0);
        } else {
            self.full_rounds += 1;
            self.is_full = self.full_rounds >= self.numbers.full_rounds;
        }
    }

    fn update_drain(&mut self, context: &Context, delivery: &Delivery) {
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
            self.ssthresh = Some(self.inflight(UNIT));
        }
        if self.mode == Mode::Drain
            && self.in_flight_at_departure(context, delivery.in_flight) <= self.inflight(UNIT)
        {
            self.enter_probe_bw();
        }
    }

    fn leave_probe_rtt(&mut self, now: Time) {
        if self.probe_rtt_end.is_none_or(|end| self.clock.at(now) <= end) {
            return;
        }
        self.min_rtt_at = self.clock.at(now);
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.is_full {
            self.enter_probe_bw();
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn update_min_rtt(&mut self, context: &Context, delivery: &Delivery) {
        let ticks = self.clock.at(context.now);
        let is_expired = ticks > self.min_rtt_at + self.numbers.min_rtt_window;
        if let Some(rtt) = delivery.rtt
            && (rtt < self.min_rtt || is_expired && !delivery.may_be_delayed)
        {
            (self.min_rtt, self.min_rtt_at) = (rtt, ticks);
        }
        if is_expired
            && !self.is_idle_restart
            && self.mode != Mode::ProbeRtt
            && self.numbers.probe_rtt_duration > 0
        {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_end = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.rounds.limit(real(delivery.in_flight));
            if self.probe_rtt_end.is_some() {
                self.has_probed_round |= self.is_round_start;
                if self.has_probed_round {
                    self.leave_probe_rtt(context.now);
                }
            } else if delivery.in_flight <= self.numbers.min_window {
                self.probe_rtt_end = Some(ticks + self.numbers.probe_rtt_duration);
                self.has_probed_round = false;
                self.round_end = self.rounds.delivered;
            }
        }
        if delivery.rate.is_some() {
            self.is_idle_restart = false;
        }
    }

    fn set_gains(&mut self) {
        let numbers = &self.numbers;
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (numbers.startup_gain, numbers.startup_gain),
            Mode::Drain => (numbers.drain_gain, numbers.startup_gain),
            Mode::ProbeRtt => (UNIT, UNIT),
            Mode::ProbeBw => {
                let gain = match self.phase {
                    _ if self.policer.is_found => UNIT,
                    0 => numbers.up_gain,
                    1 => numbers.down_gain,
                    _ => UNIT,
                };
                (gain, numbers.cwnd_gain)
            }
        };
    }

    /// What a recovery makes of the window. True if packets are conserved.
    fn recover_or_restore(&mut self, delivery: &Delivery) -> bool {
        let is_repair = |state| matches!(state, SenderState::Recovery | SenderState::Loss);
        let before = std::mem::replace(&mut self.prior_state, self.state);
        if delivery.losses > 0 {
            self.cwnd = self.cwnd.saturating_sub(delivery.losses).max(1);
        }
        let conserved = delivery.in_flight + delivery.acked;
        if self.state == SenderState::Recovery && before != SenderState::Recovery {
            self.conserves_packets = true;
            self.round_end = self.rounds.delivered;
            self.cwnd = conserved;
        } else if is_repair(before) && !is_repair(self.state) {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.conserves_packets = false;
        }
        if self.conserves_packets {
            self.cwnd = self.cwnd.max(conserved);
        }
        self.conserves_packets
    }

    fn set_cwnd(&mut self, context: &Context, delivery: &Delivery) {
        if delivery.acked > 0 && !self.recover_or_restore(delivery) {
            let target = self.bdp(self.bandwidth(), self.cwnd_gain) + self.extra_acked();
            let target = self.with_budget(target);
            if self.is_full {
                self.cwnd = (self.cwnd + delivery.acked).min(target);
            } else if self.cwnd < target || self.rounds.delivered < INITIAL_WINDOW {
                self.cwnd += delivery.acked;
            }
            self.cwnd = self.cwnd.max(self.numbers.min_window);
        }
        if context.max_window.is_finite() {
            self.cwnd = self.cwnd.min((context.max_window as u64 / self.mss).max(1));
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(self.numbers.min_window);
        }
    }

    fn delivery(&mut self, context: &Context, ack: &Ack) -> Delivery {
        let rate = |sample: &RateSample| {
            let interval = sample.interval.0 / 1000;
            (interval > 0).then(|| (self.segments(sample.delivered), interval))
        };
        let prior_delivered = ack.rate.map_or(0, |sample| 1 + self.segments(sample.prior_delivered));
        Delivery {
            rate: ack.rate.and_then(rate),
            prior_delivered,
            is_app_limited: ack.rate.is_some_and(|sample| sample.is_app_limited)
                || self.rounds.was_limited(prior_delivered),
            acked: self.segments(ack.delivered),
            losses: self.segments(ack.lost),
            prior_in_flight: self.segments(ack.prior_in_flight as u64),
            in_flight: self.segments(ack.in_flight as u64),
            rtt: ack.rtt.map(|rtt| micros(context.now, rtt)),
            may_be_delayed: ack.acked < self.mss,
        }
    }

    /// Every acknowledgement, also a duplicate.
    pub fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if !self.reports.states && self.state == SenderState::Loss && ack.ack >= self.recover {
            self.state = SenderState::Open;
        }
        self.delivered = match ack.rate {
            Some(sample) => sample.prior_delivered + sample.delivered,
            None => self.delivered + ack.delivered,
        };
        self.rounds.delivered = 1 + self.segments(self.delivered);
        if ack.delivered > 0 {
            self.delivered_at = context.now.0 / 1000;
        }
        let delivery = self.delivery(context, ack);
        self.update_bandwidth(&delivery);
        self.update_aggregation(&delivery);
        if self.mode == Mode::ProbeBw && self.is_phase_over(context, &delivery) {
            self.advance_phase();
        }
        self.update_full(&delivery);
        self.update_drain(context, &delivery);
        self.update_min_rtt(context, &delivery);
        self.set_gains();
        self.set_pacing_rate(context, self.pacing_gain);
        self.set_cwnd(context, &delivery);
    }

    /// The handshake gave the first round-trip time (`bbr_init`).
    pub fn on_open(&mut self, context: &Context) {
        if let Some(srtt) = smoothed(context) {
            self.min_rtt = srtt;
            self.has_rtt = true;
            self.set_initial_rate(srtt);
        }
        self.min_rtt_at = self.clock.at(context.now);
        self.epoch = context.now.0 / 1000;
    }

    pub fn on_loss(&mut self) {
        self.lost += 1;
    }

    pub fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        self.save_cwnd();
        if congestion.signal.restarts() {
            self.on_repeated_timeout(context);
        }
        if !self.reports.states {
            match congestion.signal {
                Signal::EcnEcho => {}
                Signal::FastRetransmit => self.state = SenderState::Recovery,
                Signal::Restart | Signal::Timeout => {
                    self.recover = context.snd_nxt;
                    self.on_state(SenderState::Loss);
                }
            }
        }
    }

    pub fn on_repeated_timeout(&mut self, context: &Context) {
        self.cwnd = self.segments(context.loss_window as u64).max(1);
    }

    pub fn on_recovery_exit(&mut self) {
        if !self.reports.states {
            self.state = SenderState::Open;
        }
    }

    pub fn on_state(&mut self, state: SenderState) {
        self.state = state;
        if state == SenderState::Loss {
            self.prior_state = state;
            self.full_bandwidth = 0;
            self.is_round_start = true;
            if self.numbers.policer {
                self.look_for_policer(1, false);
            }
        }
    }

    pub fn on_undo(&mut self, undo: &Undo) {
        (self.full_bandwidth, self.full_rounds) = (0, 0);
        self.forget_policer();
        if let Some(ssthresh) = &mut self.ssthresh {
            *ssthresh = (*ssthresh).max((undo.ssthresh / real(self.mss)) as u64);
        }
    }

    /// A segment is about to be sent.
    pub fn on_sent(&mut self, context: &Context) {
        if context.flight_size == 0.0 {
            self.delivered_at = context.now.0 / 1000;
        }
        let is_limited = context.is_app_limited || self.rounds.was_limited(self.rounds.delivered);
        if context.in_flight > 0.0 || !is_limited {
            return;
        }
        self.is_idle_restart = true;
        (self.epoch, self.epoch_acked) = (context.now.0 / 1000, 0);
        if self.mode == Mode::ProbeBw {
            self.set_pacing_rate(context, UNIT);
        }
    }

    /// The connection was idle for a timeout.
    pub fn on_restart(&mut self, context: &Context) {
        if self.mode == Mode::ProbeRtt {
            self.leave_probe_rtt(context.now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::bbr::BbrParams;

    const MSS: f64 = 1000.0;
    /// Segments per microsecond times 2^24: 50 per 40 ms are 20,971.52.
    const BANDWIDTH: u64 = 20_971;

    fn new() -> Bbr {
        let reports = Reports { samples: true, states: true };
        let setup = Setup::new(Time::ZERO, MSS, 10.0 * MSS).with_reports(reports);
        let params = BbrParams { tick: Time(1_000_000), ..BbrParams::linux() };
        params.module(&setup)
    }

    fn at(micros: u64) -> Context {
        Context::new(Time(micros * 1000), MSS).with_rtts(0.04, 0.04)
    }

    /// A flow that has filled a pipe of 50 segments, in a phase without probing.
    fn full() -> Bbr {
        let mut bbr = new();
        bbr.on_open(&at(40_000));
        bbr.bandwidth.update(0, BANDWIDTH as f64, 10);
        (bbr.is_full, bbr.mode, bbr.phase, bbr.cwnd) = (true, Mode::ProbeBw, 2, 100);
        bbr.numbers.extra_acked_gain = 0;
        bbr.set_gains();
        bbr
    }

    /// An acknowledgement of one of some segments delivered in an interval, whose first was sent after so many others.
    fn acknowledge(bbr: &mut Bbr, micros: u64, prior: u64, interval: u64, in_flight: u64) {
        let rate = RateSample::new((bbr.delivered + 1000) - 1000 * prior, Time(interval * 1000))
            .with_prior_delivered(1000 * prior);
        let ack = Ack::new(0, 1000).with_rtt(Some(Time(40_000_000))).with_rate(Some(&rate));
        let ack = ack.with_in_flight(1000.0 * in_flight as f64);
        bbr.on_ack(&at(micros), &ack.with_prior_in_flight(1000.0 * in_flight as f64 + 1000.0));
    }

    #[test]
    fn the_rate_is_that_of_the_window_per_round_trip_time_of_the_handshake_in_whole_numbers() {
        let mut bbr = new();
        // 10 segments per millisecond: 167,772 of 2^24. Times 1000 bytes and 739 / 256: 484,310,578. 99 % of a million
        // of that, by 2^24: 28,578,488 bytes per second.
        assert_eq!(bbr.pacing_rate(), 28_578_488);
        // The handshake took 100 ms: 1677, and 285,662 bytes per second.
        bbr.on_open(&Context::new(Time(100_000_000), MSS).with_rtts(0.1, 0.1));
        assert_eq!((bbr.pacing_rate(), bbr.min_rtt), (285_662, 100_000));
        assert_eq!(bbr.burst(), 2);
    }

    #[test]
    fn the_window_is_two_bdps_and_three_bursts_in_even_segments() {
        let mut bbr = full();
        // 20,971 * 40,000 / 2^24 = 49.9988, rounded up; twice that are 99.998. A burst has two segments.
        assert_eq!((bbr.bdp(BANDWIDTH, 256), bbr.bdp(BANDWIDTH, 512), bbr.burst()), (50, 100, 2));
        (0..10).for_each(|_| acknowledge(&mut bbr, 50_000, 0, 1_000_000, 60));
        assert_eq!(bbr.cwnd(), 106);
        // While it probes for bandwidth, two more.
        bbr.phase = 0;
        assert_eq!(bbr.inflight(256), 50 + 6 + 2);
    }

    #[test]
    fn a_bandwidth_is_segments_per_microsecond_in_whole_numbers_and_limited_samples_only_raise_it() {
        let mut bbr = new();
        // 3 * 2^24 / 41,001 = 1227.57.
        bbr.delivered = 2000;
        acknowledge(&mut bbr, 41_001, 0, 41_001, 9);
        assert_eq!((bbr.most(), bbr.rounds.delivered, bbr.rounds.count), (1227, 4, 1));
        let mut limited = |delivered: u64| {
            let rate = RateSample::new(delivered, Time(41_001_000)).with_prior_delivered(3000);
            let rate = rate.with_app_limited(true);
            bbr.on_ack(&at(60_000), &Ack::new(0, 1000).with_rate(Some(&rate)));
            bbr.most()
        };
        assert_eq!([limited(2000), limited(4000)], [1227, 1636]);
    }

    #[test]
    fn startup_doubles_until_three_rounds_grow_by_less_than_a_quarter() {
        use Mode::{Drain, Startup};
        let mut bbr = new();
        bbr.on_open(&at(40_000));
        // Each round begins with data sent after the last one did: 2, 4 and then 4 segments in 40 ms.
        let mut ends = Vec::new();
        for (round, delivered) in [2, 4, 4, 4, 4].into_iter().enumerate() {
            let prior = bbr.rounds.delivered - 1;
            bbr.delivered += 1000 * (delivered - 1);
            acknowledge(&mut bbr, 40_000 * (round as u64 + 2), prior, 40_000, 60);
            ends.push((bbr.full_rounds, bbr.mode));
        }
        assert_eq!(ends, [(0, Startup), (0, Startup), (1, Startup), (2, Startup), (3, Drain)]);
        // 1677 * 40,000 / 2^24 = 3.998 segments, and three bursts of two at the rate of Startup.
        assert_eq!((bbr.ssthresh(), bbr.pacing_gain, bbr.cwnd_gain), (Some(10), 88, 739));
    }

    #[test]
    fn a_recovery_conserves_packets_for_a_round_and_its_end_restores_the_window() {
        let mut bbr = full();
        acknowledge(&mut bbr, 50_000, 0, 1_000_000, 60);
        let congestion = Congestion::new(Signal::FastRetransmit);
        bbr.on_congestion(&at(51_000), &congestion);
        bbr.on_state(SenderState::Recovery);
        assert_eq!(bbr.cwnd(), 101);
        // 57 in flight, and one delivered.
        acknowledge(&mut bbr, 51_000, 0, 1_000_000, 57);
        assert_eq!(bbr.cwnd(), 58);
        // A loss in this round takes no more than what is in flight allows.
        let rate = RateSample::new(3000, Time(1_000_000_000));
        let ack = Ack::new(0, 1000).with_lost(2000).with_rate(Some(&rate)).with_in_flight(56_000.0);
        bbr.on_ack(&at(52_000), &ack);
        assert_eq!(bbr.cwnd(), 57);
        // With the next round, it grows by what is delivered.
        let prior = bbr.rounds.delivered;
        acknowledge(&mut bbr, 92_000, prior, 1_000_000, 40);
        assert_eq!((bbr.cwnd(), bbr.conserves_packets), (58, false));
        bbr.on_state(SenderState::Open);
        acknowledge(&mut bbr, 93_000, prior, 1_000_000, 40);
        assert_eq!(bbr.cwnd(), 102);
    }

    #[test]
    fn recoveries_in_a_row_are_one() {
        let mut bbr = full();
        bbr.on_congestion(&at(50_000), &Congestion::new(Signal::FastRetransmit));
        bbr.on_state(SenderState::Recovery);
        acknowledge(&mut bbr, 50_000, 0, 1_000_000, 30);
        let prior = bbr.rounds.delivered;
        acknowledge(&mut bbr, 90_000, prior, 1_000_000, 40);
        // One acknowledgement ends it and begins another: nothing is restored or conserved.
        bbr.on_state(SenderState::Open);
        bbr.on_congestion(&at(91_000), &Congestion::new(Signal::FastRetransmit));
        bbr.on_state(SenderState::Recovery);
        acknowledge(&mut bbr, 91_000, prior, 1_000_000, 20);
        assert_eq!((bbr.cwnd(), bbr.conserves_packets), (33, false));
    }

    #[test]
    fn a_timeout_leaves_what_is_in_the_network_and_a_segment_and_forgets_the_full_bandwidth() {
        let mut bbr = full();
        bbr.full_bandwidth = 1000;
        bbr.on_congestion(&at(300_000).with_loss_window(3000.0), &Congestion::new(Signal::Timeout));
        bbr.on_state(SenderState::Loss);
        assert_eq!((bbr.cwnd(), bbr.full_bandwidth, bbr.prior_cwnd), (3, 0, 100));
        // A repetition does not replace the window that is restored.
        bbr.on_repeated_timeout(&at(600_000).with_loss_window(1000.0));
        assert_eq!((bbr.cwnd(), bbr.prior_cwnd), (1, 100));
        // The least window is four segments, and the end of the repair restores the other.
        acknowledge(&mut bbr, 640_000, 0, 1_000_000, 0);
        assert_eq!(bbr.cwnd(), 4);
        bbr.on_state(SenderState::Open);
        acknowledge(&mut bbr, 641_000, 0, 1_000_000, 0);
        assert_eq!(bbr.cwnd(), 101);
    }

    #[test]
    fn only_a_lower_round_trip_time_begins_the_ten_seconds_of_the_minimum_again() {
        let mut bbr = full();
        acknowledge(&mut bbr, 5_000_000, 0, 9_000_000, 60);
        assert_eq!((bbr.min_rtt, bbr.min_rtt_at), (40_000, 40));
        // After 10,000 ticks nothing has changed; with the next one, the window is that of ProbeRTT.
        acknowledge(&mut bbr, 10_040_999, 0, 12_000_000, 60);
        assert_eq!(bbr.mode, Mode::ProbeBw);
        acknowledge(&mut bbr, 10_041_000, 0, 12_000_000, 60);
        assert_eq!((bbr.mode, bbr.cwnd(), bbr.probe_rtt_end), (Mode::ProbeRtt, 4, None));
        // 200 ms from four segments in flight on, and a round.
        acknowledge(&mut bbr, 10_100_000, 0, 12_000_000, 4);
        let prior = bbr.rounds.delivered;
        acknowledge(&mut bbr, 10_250_000, prior, 12_000_000, 4);
        acknowledge(&mut bbr, 10_300_000, prior, 12_000_000, 4);
        assert_eq!(bbr.mode, Mode::ProbeRtt);
        acknowledge(&mut bbr, 10_301_000, prior, 12_000_000, 4);
        assert_eq!((bbr.mode, bbr.cwnd() > 100), (Mode::ProbeBw, true));
    }

    #[test]
    fn two_lossy_intervals_of_about_the_same_rate_show_a_policer() {
        let mut bbr = full();
        bbr.end_interval(1000);
        assert!(!bbr.policer.is_found);
        // An eighth more: the mean of both.
        bbr.end_interval(1125);
        assert_eq!((bbr.policer.is_found, bbr.bandwidth(), bbr.pacing_gain), (true, 1062, 256));
        let mut bbr = full();
        bbr.end_interval(1000);
        bbr.end_interval(1126);
        assert_eq!((bbr.policer.is_found, bbr.policer.bandwidth), (false, 1126));
        // 4 kbit/s, which are 500 bytes per second, after the margin of 1 %: 8 of 2^24 are 472, and 9 are 531.
        for (difference, is_found) in [(8, true), (9, false)] {
            let mut slow = full();
            slow.end_interval(10);
            slow.end_interval(10 + difference);
            assert_eq!(slow.policer.is_found, is_found, "{difference}");
        }
    }

    #[test]
    fn an_undo_restores_the_threshold_alone_if_it_was_larger() {
        let mut bbr = full();
        for (ssthresh, expected) in [(None, None), (Some(56), Some(75)), (Some(80), Some(80))] {
            bbr.ssthresh = ssthresh;
            bbr.on_undo(&Undo::new(Signal::Timeout, 30_000.0, 75_000.0));
            assert_eq!((bbr.ssthresh(), bbr.cwnd()), (expected, 100));
        }
    }

    #[test]
    fn parameters_of_any_size_are_computed_with() {
        let absurd = BbrParams {
            startup_gain: 1e300,
            cwnd_gain: 1e300,
            up_gain: 1e300,
            min_window: 1e300,
            full_growth: 1e300,
            policer_loss: 1e300,
            policer_ratio: 1e300,
            extra_acked_gain: 1e300,
            burst_budget: 1e300,
            policer_rounds: u64::MAX,
            extra_acked_limit: Time(u64::MAX),
            burst_time: Time(u64::MAX),
            ..BbrParams::linux()
        };
        let reports = Reports { samples: true, states: true };
        let mut bbr = absurd.module(&Setup::new(Time::ZERO, MSS, 10.0 * MSS).with_reports(reports));
        bbr.on_open(&at(40_000));
        for (round, state) in [SenderState::Open, SenderState::Recovery, SenderState::Loss].iter().enumerate()
        {
            bbr.on_state(*state);
            let prior = bbr.rounds.delivered;
            acknowledge(&mut bbr, 60_000 * (round as u64 + 2), prior, 40_000, 60);
        }
        bbr.end_interval(1000);
        bbr.end_interval(2000);
        (bbr.is_full, bbr.mode) = (true, Mode::ProbeBw);
        let prior = bbr.rounds.delivered;
        acknowledge(&mut bbr, 400_000, prior, 40_000, 60);
        // Parameters count up to 10^9; the last acknowledgement adds a segment.
        assert_eq!((bbr.cwnd(), bbr.burst()), (1_000_000_001, 65));
    }

    #[test]
    fn what_the_application_sends_from_idle_leaves_at_the_bandwidth() {
        let mut bbr = full();
        bbr.pacing_gain = 320;
        bbr.set_pacing_rate(&at(50_000), 320);
        // 20,971 * 1000 * 320 / 256, and 99 % of a million of that by 2^24: 1,546,836 bytes per second.
        assert_eq!(bbr.pacing_rate(), 1_546_836);
        for (context, rate) in [
            (at(60_000), 1_546_836),
            (at(60_000).with_app_limited(true).with_in_flight(1000.0), 1_546_836),
            (at(60_000).with_app_limited(true), 1_237_469),
        ] {
            bbr.on_sent(&context);
            assert_eq!(bbr.pacing_rate(), rate);
        }
    }
}
