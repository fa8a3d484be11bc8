//! BBR version 1 [cardwell2017], as the Linux kernel has it [linux6].
//!
//! A model of the path sets rate and window: the bandwidth is the largest delivery rate of ten rounds, the round-trip
//! time the smallest of ten seconds. Startup doubles the rate each round until the bandwidth stops growing, Drain
//! empties the queue, ProbeBW paces at cycling multiples of the bandwidth with twice the BDP as window, and ProbeRTT
//! empties the pipe when the smallest round-trip time has not been seen for a while.
//!
//! Like the kernel, it bounds the window by the ACK aggregation seen recently, paces at the rate of a token-bucket
//! policer where losses show one, conserves packets in the first round of a recovery, and starts the cycle of gains in
//! a random phase.
//!
//! With `form = "linux"`, it is the module of the kernel in whole numbers. Where it departs from the kernel otherwise:
//! quantities are real numbers, not integers with a scale. Segments leave one by one unless `bursts` is set; the window
//! provides for the kernel's bursts in any case. Losses that a recovery infers when it begins count with the next ACK. It
//! does not react to marks, so its packets are not ECN-capable; those of the kernel are, whatever the congestion control.

use crate::delivery::{Rounds, WindowedMax};
use crate::linux::bbr::{Numbers, gain};
use crate::linux::{self, Form};
use crate::model::{Aggregation, Repair, follows_model, quantum};
use crate::probes::{BANDWIDTH, BASE_RTT, EXTRA_ACKED, PACING_GAIN};
use crate::{
    Ack, Congestion, CongestionControl, Context, Control, LostSegment, ProbeInfo, RateSample, RecoveryExit,
    Restart, SenderState, SentSegment, Setup, Signal, Undo,
};
use dumbbell_units::math::{least, real, rounded_up, whole};
use dumbbell_units::{Bytes, Ecn, Rate, Stream, Time, params};

params! {
    /// Parameters of BBR version 1.
    pub struct BbrParams {
        /// Gain of rate and window in Startup, 2 / ln 2 in the kernel's 256ths.
        startup_gain: f64 = 739.0 / 256.0, "-", "[linux6]", |gain| *gain > 1.0, "a number above 1";
        /// Gain of the rate in Drain.
        drain_gain: f64 = 88.0 / 256.0, "-", "[linux6]",
            |gain| *gain > 0.0 && *gain < 1.0, "a fraction above 0 and below 1";
        /// Gain of the window in ProbeBW.
        cwnd_gain: f64 = 2.0, "-", "[linux6]", |gain| *gain >= 1.0, "a number, at least 1";
        /// Gain of the rate in the phase that probes for bandwidth.
        up_gain: f64 = 1.25, "-", "[cardwell2017]", |gain| *gain > 1.0, "a number above 1";
        /// Gain of the rate in the next phase.
        down_gain: f64 = 0.75, "-", "[cardwell2017]",
            |gain| *gain > 0.0 && *gain < 1.0, "a fraction above 0 and below 1";
        /// Phases of a cycle.
        phases: u64 = 8, "-", "[cardwell2017]", |phases| *phases >= 3 && *phases <= 64, "a whole number from 3 to 64";
        /// Phases in which a cycle may start, chosen at random among all but the second.
        random_phases: u64 = 7, "-", "[linux6]", |phases| *phases >= 1 && *phases <= 63, "a whole number from 1 to 63";
        /// Window of the bandwidth's maximum.
        bandwidth_rounds: u64 = 10, "rounds", "[linux6]", |rounds| *rounds >= 1, "a whole number, at least 1";
        /// Window of the round-trip time's minimum.
        min_rtt_window: Time = Time(10_000_000_000), "s", "[cardwell2017]";
        /// Duration of ProbeRTT, at least a round.
        probe_rtt_duration: Time = Time(200_000_000), "s", "[cardwell2017]";
        /// Least window, and the window in ProbeRTT.
        min_window: f64 = 4.0, "segments", "[linux6]", |window| *window >= 1.0, "a number of segments, at least 1";
        /// What the rate is below the bandwidth times the gain.
        pacing_margin: f64 = 0.01, "-", "[linux6]",
            |margin| *margin >= 0.0 && *margin < 1.0, "a fraction, at least 0 and below 1";
        /// Growth of the bandwidth below which a round counts as one that has filled the pipe.
        full_growth: f64 = 1.25, "-", "[linux6]", |growth| *growth >= 1.0, "a number, at least 1";
        /// Such rounds before Startup ends.
        full_rounds: u64 = 3, "rounds", "[linux6]", |rounds| *rounds >= 1, "a whole number, at least 1";
        /// Look for a policer.
        policer: bool = true, "-", "[linux6]";
        /// Least length of an interval that may show a policer; the greatest is four times that.
        policer_rounds: u64 = 4, "rounds", "[linux6]", |rounds| *rounds >= 1, "a whole number, at least 1";
        /// Bytes lost per byte delivered in such an interval.
        policer_loss: f64 = 50.0 / 256.0, "-", "[linux6]", |loss| *loss > 0.0, "a number above 0";
        /// Greatest difference of the rates of two such intervals in a row, as a part of the first.
        policer_ratio: f64 = 0.125, "-", "[linux6]", |ratio| *ratio >= 0.0, "a number, at least 0";
        /// The same as a rate; either suffices.
        policer_difference: Rate = Rate(4_000), "bit/s", "[linux6]";
        /// Rounds for which a policer's rate is used.
        policer_use: u64 = 48, "rounds", "[linux6]", |rounds| *rounds >= 1, "a whole number, at least 1";
        /// Weight of the ACK aggregation in the window; 0 for none.
        extra_acked_gain: f64 = 1.0, "-", "[linux6]", |gain| *gain >= 0.0, "a number, at least 0";
        /// Length of each of the two windows of the maximum of ACK aggregation.
        extra_acked_rounds: u64 = 5, "rounds", "[linux6]", |rounds| *rounds >= 1, "a whole number, at least 1";
        /// Most ACK aggregation, as a time at the bandwidth.
        extra_acked_limit: Time = Time(100_000_000), "s", "[linux6]";
        /// Length of a burst at the rate: 1/1024 s.
        burst_time: Time = Time(976_563), "s", "[linux6]";
        /// Most bytes of a burst.
        burst_bytes: Bytes = Bytes(65_535), "bytes", "[linux6]";
        /// Rate from which a burst has at least two segments.
        burst_rate: Rate = Rate(1_200_000), "bit/s", "[linux6]";
        /// Bursts for which the window provides beyond the model's target.
        burst_budget: f64 = 3.0, "-", "[linux6]", |bursts| *bursts >= 0.0, "a number, at least 0";
        /// Send such bursts instead of segments one by one.
        bursts: bool = false, "-", "[linux6]";
        /// A recovery that begins with the ACK that ends another goes on: the state is compared after each ACK.
        chains_recoveries: bool = false, "-", "[linux6]";
        /// Most segments of a burst that leave together: `gso_max_segs` of the network interface.
        burst_segments: u64 = 127, "segments", "[linux6]",
            |segments| *segments >= 1, "a whole number, at least 1";
        /// The rules: real numbers, or the whole numbers of the module of Linux.
        form: Form = Form::Paper, "-", "[linux6 tcp_bbr.c]";
        /// Clock of ProbeRTT and of the minimum's window, if the form is that of Linux.
        tick: Time = Time(4_000_000), "s", "[linux6 tcp_bbr.c]",
            |tick| tick.0 >= 100_000 && tick.0 <= 100_000_000, "a time from 0.1 ms to 100 ms";
    }
}

impl BbrParams {
    /// The kernel's, with its bursts, its chained recoveries and its whole numbers.
    pub fn linux() -> Self {
        BbrParams { bursts: true, chains_recoveries: true, form: Form::Linux, ..Self::default() }
    }

    /// The module of Linux with these parameters in whole numbers.
    pub(crate) fn module(&self, setup: &Setup) -> linux::bbr::Bbr {
        let clock = linux::Clock::new(self.tick);
        let numbers = Numbers {
            startup_gain: gain(self.startup_gain),
            drain_gain: gain(self.drain_gain),
            cwnd_gain: gain(self.cwnd_gain),
            up_gain: gain(self.up_gain),
            down_gain: gain(self.down_gain),
            phases: self.phases,
            random_phases: self.random_phases.min(self.phases - 1),
            bandwidth_rounds: self.bandwidth_rounds,
            min_rtt_window: clock.of(self.min_rtt_window),
            probe_rtt_duration: clock.of(self.probe_rtt_duration),
            min_window: linux::whole(self.min_window),
            paced: linux::whole((100.0 * (1.0 - self.pacing_margin)).round()),
            full_growth: gain(self.full_growth),
            full_rounds: self.full_rounds,
            policer: self.policer,
            policer_rounds: self.policer_rounds,
            policer_loss: gain(self.policer_loss),
            policer_ratio: gain(self.policer_ratio),
            policer_difference: self.policer_difference.0 / 8,
            policer_use: self.policer_use,
            extra_acked_gain: gain(self.extra_acked_gain),
            extra_acked_rounds: self.extra_acked_rounds,
            extra_acked_limit: self.extra_acked_limit.0 / 1000,
            bursts_per_second: ((1_000_000_000 + self.burst_time.0 / 2) / self.burst_time.0.max(1)).max(1),
            burst_bytes: self.burst_bytes.0,
            burst_rate: self.burst_rate.0 / 8,
            burst_budget: linux::whole(self.burst_budget),
        };
        linux::bbr::Bbr::new(numbers, clock, setup)
    }
}

/// Mode of BBR version 1, with the number that its probe reports.
const MODE: ProbeInfo = ProbeInfo::new(
    "bbr_mode",
    "-",
    "Mode of BBRv1: 0 Startup, 1 Drain, 2 ProbeBW, 3 ProbeRTT, 4 ProbeBW at the rate of a policer.",
);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// The search for a policer: two intervals in a row with high loss and about the same rate.
#[derive(Clone, Copy, Debug, Default)]
struct Policer {
    is_sampling: bool,
    /// True if `rate` is the policer's.
    is_found: bool,
    /// Rate of the last interval, or of the policer, in bytes per second; 0 if there is none.
    rate: f64,
    rounds: u64,
    since: Time,
    delivered: u64,
    lost: u64,
}

impl Policer {
    /// An interval begins with these totals.
    fn begin(&mut self, now: Time, delivered: u64, lost: u64) {
        (self.since, self.delivered, self.lost, self.rounds) = (now, delivered, lost, 0);
    }

    /// Takes the rate of an interval. True if it shows a policer.
    fn end(&mut self, rate: f64, params: &BbrParams) -> bool {
        let difference = (rate - self.rate).abs();
        let is_close = difference <= params.policer_ratio * self.rate
            || difference * 8.0 * (1.0 - params.pacing_margin) <= real(params.policer_difference.0);
        if self.rate > 0.0 && is_close {
            self.rate = (rate + self.rate) / 2.0;
            self.is_found = true;
            self.rounds = 0;
        } else {
            self.rate = rate;
        }
        self.is_found
    }
}

/// The state of BBR version 1.
#[derive(Clone, Debug)]
pub struct Bbr {
    params: Box<BbrParams>,
    mode: Mode,
    /// Phase of the cycle of gains; 0 probes for bandwidth, 1 empties the queue.
    phase: u64,
    pacing_gain: f64,
    cwnd_gain: f64,
    cwnd: f64,
    pacing_rate: f64,
    /// Segments of a burst at that rate.
    burst: f64,
    mss: f64,
    ssthresh: f64,
    rounds: Rounds,
    is_round_start: bool,
    bandwidth: WindowedMax,
    min_rtt: f64,
    min_rtt_at: Time,
    phase_began: Time,
    full_bandwidth: f64,
    full_rounds: u64,
    is_full: bool,
    has_rtt: bool,
    is_idle_restart: bool,
    repair: Repair,
    /// A recovery has ended with this ACK, unless another begins with it.
    is_leaving: bool,
    conserves_packets: bool,
    /// Bytes delivered by the last ACK.
    acked: f64,
    /// Bytes lost since the last ACK, and since the connection began.
    lost: (u64, u64),
    probe_rtt_end: Option<Time>,
    has_probed_round: bool,
    policer: Policer,
    aggregation: Aggregation,
    initial_window: f64,
    /// The last target of the window, in bytes, and the terms it was computed from.
    target: ([f64; 6], f64),
    random: Stream,
    /// The module of Linux, which then has the model, window and rate.
    module: Option<Box<linux::bbr::Bbr>>,
}

impl Bbr {
    /// The bandwidth of the model, in bytes per second.
    #[inline]
    fn bandwidth(&self) -> f64 {
        if self.policer.is_found { self.policer.rate } else { self.bandwidth.value() }
    }

    /// Sets the pacing rate and the segments of a burst at that rate.
    fn pace(&mut self, rate: f64) {
        let params = &self.params;
        let bytes = quantum(rate, params.burst_time, params.burst_bytes);
        let least_segments = if rate * 8.0 < real(params.burst_rate.0) { 1.0 } else { 2.0 };
        self.pacing_rate = rate;
        self.burst = whole(bytes / self.mss).clamp(least_segments, 127.0);
    }

    /// Whole segments of the BDP of this bandwidth, times a gain, in bytes.
    #[inline]
    fn bdp(&self, bandwidth: f64, gain: f64, mss: f64) -> f64 {
        if self.min_rtt.is_finite() {
            rounded_up(bandwidth * self.min_rtt * gain / mss) * mss
        } else {
            self.initial_window
        }
    }

    /// The same with what bursts and delayed acknowledgements need.
    #[inline]
    fn with_budget(&self, window: f64, mss: f64) -> f64 {
        let segments = rounded_up(window / mss) + self.params.burst_budget * self.burst;
        let even = rounded_up(segments / 2.0) * 2.0;
        let probe = if self.mode == Mode::ProbeBw && self.phase == 0 { 2.0 } else { 0.0 };
        (even + probe) * mss
    }

    #[inline]
    fn inflight(&self, gain: f64, mss: f64) -> f64 {
        self.with_budget(self.bdp(self.bandwidth.value(), gain, mss), mss)
    }

    fn set_gains(&mut self) {
        let params = &self.params;
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (params.startup_gain, params.startup_gain),
            Mode::Drain => (params.drain_gain, params.startup_gain),
            Mode::ProbeRtt => (1.0, 1.0),
            Mode::ProbeBw => {
                let gain = match self.phase {
                    _ if self.policer.is_found => 1.0,
                    0 => params.up_gain,
                    1 => params.down_gain,
                    _ => 1.0,
                };
                (gain, params.cwnd_gain)
            }
        };
    }

    /// ProbeBW begins in any phase but that which empties a queue.
    fn enter_probe_bw(&mut self, now: Time) {
        self.mode = Mode::ProbeBw;
        let (phases, random) = (self.params.phases, self.params.random_phases.min(self.params.phases - 1));
        let back = (self.random.uniform() * real(random)) as u64;
        self.phase = (phases - back) % phases;
        self.phase_began = now;
    }

    fn leave_probe_rtt(&mut self, now: Time) {
        if self.probe_rtt_end.is_some_and(|end| now > end) {
            self.min_rtt_at = now;
            self.cwnd = self.repair.restored(self.cwnd);
            if self.is_full {
                self.enter_probe_bw(now);
            } else {
                self.mode = Mode::Startup;
            }
            self.set_gains();
        }
    }

    fn save_cwnd(&mut self) {
        self.repair.save(self.cwnd, self.mode == Mode::ProbeRtt);
    }

    fn initial_rate(&self, rtt: f64) -> f64 {
        self.params.startup_gain * (1.0 - self.params.pacing_margin) * self.cwnd / rtt
    }

    fn on_rate(&mut self, now: Time, rate: &RateSample, losses: u64) -> f64 {
        self.is_round_start = self.rounds.advance(rate.prior_delivered);
        if self.is_round_start {
            self.conserves_packets = false;
        }
        let is_app_limited = rate.is_app_limited || self.rounds.was_limited(rate.prior_delivered);
        if self.params.policer && (self.policer.is_found || self.policer.is_sampling || losses > 0) {
            self.look_for_policer(now, losses, is_app_limited);
        }
        let sample = rate.delivery_rate();
        if !is_app_limited || sample >= self.bandwidth.value() {
            self.bandwidth.update(self.rounds.count, sample, self.params.bandwidth_rounds);
        }
        if !self.is_full && self.is_round_start && !is_app_limited { sample } else { 0.0 }
    }

    fn forget_policer(&mut self, now: Time) {
        self.policer = Policer::default();
        self.policer.begin(now, self.rounds.delivered, self.lost.1);
    }

    #[cold]
    fn look_for_policer(&mut self, now: Time, losses: u64, is_app_limited: bool) {
        if self.policer.is_found {
            if self.mode == Mode::ProbeBw && self.is_round_start {
                self.policer.rounds += 1;
                if self.policer.rounds >= self.params.policer_use {
                    self.forget_policer(now);
                    self.enter_probe_bw(now);
                }
            }
            return;
        }
        if !self.policer.is_sampling {
            if losses == 0 {
                return;
            }
            self.policer.begin(now, self.rounds.delivered, self.lost.1);
            self.policer.is_sampling = true;
        }
        if is_app_limited {
            self.forget_policer(now);
            return;
        }
        self.policer.rounds += u64::from(self.is_round_start);
        if self.policer.rounds < self.params.policer_rounds {
            return;
        }
        if self.policer.rounds > 4 * self.params.policer_rounds {
            self.forget_policer(now);
            return;
        }
        let delivered = real(self.rounds.delivered.saturating_sub(self.policer.delivered));
        let lost = real(self.lost.1.saturating_sub(self.policer.lost));
        let elapsed = now.since(self.policer.since);
        if losses == 0
            || delivered == 0.0
            || lost < self.params.policer_loss * delivered
            || elapsed < Time(1_000_000)
        {
            return;
        }
        if !self.policer.end(delivered / elapsed.secs(), &self.params) {
            self.policer.begin(now, self.rounds.delivered, self.lost.1);
        }
    }

    fn update_aggregation(&mut self, now: Time, acked: f64) {
        if self.is_round_start {
            self.aggregation.advance(self.params.extra_acked_rounds);
        }
        let extra = self.aggregation.sample(now, acked, self.bandwidth());
        self.aggregation.update(least(extra, self.cwnd));
    }

    /// ACK aggregation that the window provides for, in bytes.
    #[inline]
    fn extra_acked(&self) -> f64 {
        if !self.is_full {
            return 0.0;
        }
        let limit = self.bandwidth() * self.params.extra_acked_limit.secs();
        least(self.params.extra_acked_gain * self.aggregation.most(), limit)
    }

    /// What will be in flight when the pacer lets the next segment leave, in bytes: whole segments will be delivered
    /// until then, and a burst joins them while the gain is above 1 (`bbr_packets_in_net_at_edt`).
    fn in_flight_at_departure(&self, context: &Context, in_flight: f64) -> f64 {
        let wait = context.next_departure.since(context.now).secs();
        let delivered = whole(self.bandwidth() * wait / context.mss) * context.mss;
        let joining = if self.pacing_gain > 1.0 { self.burst * context.mss } else { 0.0 };
        (in_flight + joining - delivered).max(0.0)
    }

    /// True if the phase of the cycle ends.
    fn is_phase_over(&self, context: &Context, losses: u64) -> bool {
        let has_lasted = context.now.since(self.phase_began).secs() > self.min_rtt;
        if self.pacing_gain == 1.0 {
            return has_lasted;
        }
        let in_flight = self.in_flight_at_departure(context, context.in_flight);
        if self.pacing_gain > 1.0 {
            has_lasted && (losses > 0 || in_flight >= self.inflight(self.pacing_gain, context.mss))
        } else {
            has_lasted || in_flight <= self.inflight(1.0, context.mss)
        }
    }

    fn update_full(&mut self) {
        let bandwidth = self.bandwidth.value();
        if bandwidth >= self.full_bandwidth * self.params.full_growth {
            (self.full_bandwidth, self.full_rounds) = (bandwidth, 0);
        } else {
            self.full_rounds += 1;
            self.is_full = self.full_rounds >= self.params.full_rounds;
        }
    }

    fn update_min_rtt(&mut self, context: &Context, ack: &Ack) {
        let now = context.now;
        if self.min_rtt.is_infinite()
            && let Some(handshake) = context.srtt()
        {
            self.min_rtt = handshake;
        }
        let is_expired = now > self.min_rtt_at + self.params.min_rtt_window;
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.secs();
            // The acknowledgement of a lone short segment may have been delayed.
            let may_be_delayed = real(ack.acked) < context.mss;
            if rtt <= self.min_rtt || is_expired && !may_be_delayed {
                (self.min_rtt, self.min_rtt_at) = (rtt, now);
            }
        }
        if is_expired
            && !self.is_idle_restart
            && self.mode != Mode::ProbeRtt
            && self.params.probe_rtt_duration > Time::ZERO
        {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_end = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.rounds.limit(ack.in_flight);
            if self.probe_rtt_end.is_some() {
                self.has_probed_round |= self.is_round_start;
                if self.has_probed_round {
                    self.leave_probe_rtt(now);
                }
            } else if ack.in_flight <= self.params.min_window * context.mss {
                self.probe_rtt_end = Some(now + self.params.probe_rtt_duration);
                self.has_probed_round = false;
                self.rounds.restart();
            }
        }
        if ack.delivered > 0 {
            self.is_idle_restart = false;
        }
    }

    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bandwidth() * (1.0 - self.params.pacing_margin);
        if rate > self.pacing_rate || self.is_full && rate < self.pacing_rate {
            self.pace(rate);
        }
    }

    /// The window that the model asks for, in bytes. It is computed when one of its terms has changed.
    #[inline]
    fn target(&mut self, mss: f64) -> f64 {
        let is_probe = f64::from(u8::from(self.mode == Mode::ProbeBw && self.phase == 0));
        let terms =
            [self.bandwidth(), self.min_rtt, self.cwnd_gain, self.extra_acked(), self.burst, is_probe];
        if terms != self.target.0 {
            let bdp = self.bdp(terms[0], self.cwnd_gain, mss);
            self.target = (terms, self.with_budget(bdp + terms[3], mss));
        }
        self.target.1
    }

    fn set_cwnd(&mut self, context: &Context, ack: &Ack, losses: u64) {
        let mss = context.mss;
        if self.acked > 0.0 {
            if losses > 0 {
                self.cwnd = (self.cwnd - real(losses)).max(mss);
            }
            if self.conserves_packets {
                self.cwnd = self.cwnd.max(ack.in_flight + self.acked);
            } else {
                let target = self.target(mss);
                if self.is_full {
                    self.cwnd = least(self.cwnd + self.acked, target);
                } else if self.cwnd < target || real(self.rounds.delivered) < self.initial_window {
                    self.cwnd += self.acked;
                }
                self.cwnd = self.cwnd.max(self.params.min_window * mss);
            }
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = least(self.cwnd, self.params.min_window * mss);
        }
        self.cwnd = least(self.cwnd, context.max_window);
    }

    /// The module of Linux takes an event, if it has the model. What it decides is then that of this window.
    #[inline]
    fn by_module(&mut self, event: impl FnOnce(&mut linux::bbr::Bbr)) -> bool {
        let Some(module) = &mut self.module else { return false };
        event(module);
        self.cwnd = real(module.cwnd()) * self.mss;
        self.ssthresh = module.ssthresh().map_or(f64::INFINITY, |ssthresh| real(ssthresh) * self.mss);
        if self.pacing_rate != real(module.pacing_rate()) {
            self.pacing_rate = real(module.pacing_rate());
            self.burst = real(module.burst());
        }
        true
    }

    fn update(&mut self, context: &Context, ack: &Ack) {
        if self.by_module(|module| module.on_ack(context, ack)) {
            return;
        }
        let now = context.now;
        self.acked = real(ack.delivered);
        let losses = std::mem::take(&mut self.lost.0);
        if std::mem::take(&mut self.is_leaving) {
            self.end_repair();
        }
        if self.repair.is_ended_by(ack.ack) {
            self.end_repair();
        }
        self.rounds.on_ack(context, ack);
        self.is_round_start = false;
        let mut may_be_full = 0.0;
        if let Some(rate) = ack.rate {
            may_be_full = self.on_rate(now, rate, losses);
            if self.params.extra_acked_gain > 0.0 && self.acked > 0.0 {
                self.update_aggregation(now, self.acked);
            }
        }
        if self.mode == Mode::ProbeBw && self.is_phase_over(context, losses) {
            self.phase = (self.phase + 1) % self.params.phases;
            self.phase_began = now;
        }
        if may_be_full > 0.0 {
            self.update_full();
        }
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
            self.ssthresh = self.inflight(1.0, context.mss);
        }
        if self.mode == Mode::Drain
            && self.in_flight_at_departure(context, ack.in_flight) <= self.inflight(1.0, context.mss)
        {
            self.enter_probe_bw(now);
        }
        self.update_min_rtt(context, ack);
        self.set_gains();
        if !self.has_rtt
            && let Some(srtt) = context.srtt().or(ack.rtt.map(Time::secs)).filter(|srtt| *srtt > 0.0)
        {
            self.has_rtt = true;
            self.pace(self.initial_rate(srtt));
        }
        self.set_pacing_rate(self.pacing_gain);
        self.set_cwnd(context, ack, losses);
    }

    fn end_repair(&mut self) {
        self.cwnd = self.repair.end(self.cwnd);
        self.conserves_packets = false;
    }

    fn restart_from_idle(&mut self, now: Time) {
        self.is_idle_restart = true;
        self.aggregation.restart(now);
        if self.mode == Mode::ProbeBw {
            self.set_pacing_rate(1.0);
        }
    }
}

impl CongestionControl for Bbr {
    type Params = BbrParams;
    const SUMMARY: &'static str =
        "BBR version 1: rate and window from a model of bandwidth and round-trip time, as in Linux.";
    const SOURCE: &'static str = "[cardwell2017]";
    const RECOVERY: Option<&'static str> = Some("rack");
    const PROBES: &'static [ProbeInfo] = &[MODE, BANDWIDTH, BASE_RTT, PACING_GAIN, EXTRA_ACKED];

    fn new(params: &BbrParams, setup: &Setup) -> Self {
        let mut bbr = Bbr {
            params: Box::new(params.clone()),
            mode: Mode::Startup,
            phase: 0,
            pacing_gain: params.startup_gain,
            cwnd_gain: params.startup_gain,
            cwnd: setup.initial_window,
            pacing_rate: 0.0,
            burst: 1.0,
            mss: setup.mss,
            ssthresh: f64::INFINITY,
            rounds: Rounds::default(),
            is_round_start: false,
            bandwidth: WindowedMax::default(),
            min_rtt: f64::INFINITY,
            min_rtt_at: setup.now,
            phase_began: setup.now,
            full_bandwidth: 0.0,
            full_rounds: 0,
            is_full: false,
            has_rtt: false,
            is_idle_restart: false,
            repair: Repair::default(),
            is_leaving: false,
            conserves_packets: false,
            acked: 0.0,
            lost: (0, 0),
            probe_rtt_end: None,
            has_probed_round: false,
            policer: Policer::default(),
            aggregation: Aggregation::new(setup.now),
            initial_window: setup.initial_window,
            target: ([-1.0; 6], 0.0),
            random: setup.random.clone(),
            module: (params.form == Form::Linux).then(|| Box::new(params.module(setup))),
        };
        bbr.policer.since = setup.now;
        bbr.pace(bbr.initial_rate(0.001));
        bbr.by_module(|_| ());
        bbr
    }
}

impl Control for Bbr {
    follows_model!();

    fn send_quantum(&self) -> Option<f64> {
        self.params.bursts.then(|| least(self.burst, real(self.params.burst_segments)) * self.mss)
    }

    fn ecn_codepoint(&self) -> Ecn {
        if self.module.is_some() { Ecn::Ect0 } else { Ecn::NotEct }
    }

    fn on_initial_window(&mut self, cwnd: f64) {
        self.cwnd = cwnd;
        self.by_module(|module| module.on_initial_window(cwnd));
    }

    fn on_open(&mut self, context: &Context) {
        self.by_module(|module| module.on_open(context));
    }

    fn on_state(&mut self, _context: &Context, state: SenderState) {
        self.by_module(|module| module.on_state(state));
    }

    fn on_sent(&mut self, context: &Context, _sent: &SentSegment) {
        if self.by_module(|module| module.on_sent(context)) {
            return;
        }
        if context.flight_size == 0.0 && context.is_app_limited {
            self.restart_from_idle(context.now);
        }
    }

    fn on_loss(&mut self, _context: &Context, lost: &LostSegment) {
        if self.by_module(linux::bbr::Bbr::on_loss) {
            return;
        }
        self.lost.0 += u64::from(lost.bytes);
        self.lost.1 += u64::from(lost.bytes);
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        if self.by_module(|module| module.on_congestion(context, congestion)) {
            return;
        }
        match congestion.signal {
            Signal::EcnEcho => {}
            // The state is the same after the ACK as before: nothing is restored or conserved.
            Signal::FastRetransmit if std::mem::take(&mut self.is_leaving) => self.save_cwnd(),
            Signal::FastRetransmit => {
                self.save_cwnd();
                self.repair.begin_recovery();
                self.conserves_packets = true;
                self.rounds.restart();
                self.cwnd = least(self.cwnd, context.in_flight + self.acked).max(context.mss);
            }
            Signal::Restart | Signal::Timeout => {
                self.save_cwnd();
                self.repair.begin_timeout(context.snd_nxt);
                self.full_bandwidth = 0.0;
                self.is_round_start = true;
                if self.params.policer {
                    self.look_for_policer(context.now, 1, false);
                }
                self.cwnd = context.loss_window;
            }
        }
    }

    fn on_repeated_timeout(&mut self, context: &Context, congestion: &Congestion) {
        if !self.by_module(|module| module.on_repeated_timeout(context)) {
            self.on_congestion(context, congestion);
        }
    }

    fn on_recovery_exit(&mut self, _context: &Context, _exit: &RecoveryExit) {
        if self.by_module(linux::bbr::Bbr::on_recovery_exit) {
            return;
        }
        if self.params.chains_recoveries {
            self.is_leaving = true;
        } else {
            self.end_repair();
        }
    }

    fn on_undo(&mut self, context: &Context, undo: &Undo) {
        if self.by_module(|module| module.on_undo(undo)) {
            return;
        }
        self.is_leaving = false;
        (self.full_bandwidth, self.full_rounds) = (0.0, 0);
        self.forget_policer(context.now);
        self.end_repair();
        self.cwnd = self.cwnd.max(undo.cwnd);
    }

    fn on_restart(&mut self, context: &Context, _restart: &Restart) {
        if self.by_module(|module| module.on_restart(context)) {
            return;
        }
        self.restart_from_idle(context.now);
        if self.mode == Mode::ProbeRtt {
            self.leave_probe_rtt(context.now);
        }
    }

    fn probe(&self, index: usize) -> Option<f64> {
        if let Some(module) = &self.module {
            return match index {
                0 if module.mode == linux::bbr::Mode::ProbeBw && module.is_policed() => Some(4.0),
                0 => Some(f64::from(module.mode as u8)),
                1 => Some(module.bytes_per_second() * 8.0),
                2 => module.min_rtt_secs(),
                3 => Some(module.gain()),
                4 => Some(real(module.extra_acked()) * self.mss),
                _ => None,
            };
        }
        match index {
            0 if self.mode == Mode::ProbeBw && self.policer.is_found => Some(4.0),
            0 => Some(self.mode as u8 as f64),
            1 => Some(self.bandwidth() * 8.0),
            2 => Some(self.min_rtt).filter(|rtt| rtt.is_finite()),
            3 => Some(self.pacing_gain),
            4 => Some(self.extra_acked()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: f64 = 1000.0;
    /// Bytes per second: with 40 ms, a BDP of 50 segments.
    const BANDWIDTH: f64 = 1_250_000.0;

    /// A flow that has filled a pipe of 50 segments.
    fn full() -> Bbr {
        let params = BbrParams { extra_acked_gain: 0.0, ..BbrParams::default() };
        let mut bbr = Bbr::new(&params, &Setup::new(Time::ZERO, MSS, 10.0 * MSS));
        bbr.bandwidth.update(0, BANDWIDTH, 10);
        (bbr.min_rtt, bbr.is_full, bbr.has_rtt) = (0.04, true, true);
        (bbr.mode, bbr.phase, bbr.cwnd) = (Mode::ProbeBw, 2, 100.0 * MSS);
        bbr.set_gains();
        bbr.set_pacing_rate(1.0);
        bbr
    }

    /// An acknowledgement of a segment at the bandwidth; `is_round` if it ends a round.
    fn acknowledge(bbr: &mut Bbr, ms: u64, is_round: bool, rate: f64, in_flight: f64) {
        let context = Context::new(Time(ms * 1_000_000), MSS).with_in_flight(in_flight + MSS);
        let prior = if is_round { bbr.rounds.delivered } else { bbr.rounds.delivered.saturating_sub(5000) };
        let delivered = bbr.rounds.delivered + 1000 - prior;
        let interval = Time::from_secs(delivered as f64 / rate);
        let rate = RateSample::new(delivered, interval).with_prior_delivered(prior);
        let ack = Ack::new(0, 1000).with_rtt(Some(Time(40_000_000))).with_rate(Some(&rate));
        bbr.on_ack(&context, &ack.with_in_flight(in_flight));
    }

    #[test]
    fn the_window_is_two_bdps_and_three_bursts_in_even_segments() {
        let mut bbr = full();
        // 1 ms at 1.24 MB/s is a segment, but a burst has two above 1.2 Mb/s: 100 + 6, and two more while probing.
        assert_eq!(bbr.burst, 2.0);
        acknowledge(&mut bbr, 1, false, BANDWIDTH, 50.0 * MSS);
        (0..10).for_each(|_| acknowledge(&mut bbr, 1, false, BANDWIDTH, 50.0 * MSS));
        assert_eq!(bbr.cwnd, 106.0 * MSS);
        bbr.phase = 0;
        assert_eq!(bbr.inflight(1.25, MSS), (63.0 + 6.0 + 1.0 + 2.0) * MSS);
        // 65,535 bytes at most; 8 MB/s are 7.8 segments in 1/1024 s.
        bbr.pace(8e6);
        assert_eq!(bbr.burst, 7.0);
        bbr.pace(1e9);
        assert_eq!(bbr.burst, 65.0);
        bbr.pace(149_999.0);
        assert_eq!(bbr.burst, 1.0);
    }

    #[test]
    fn what_is_in_flight_is_that_at_the_next_departure() {
        let mut bbr = full();
        // 2.1 ms at 1.25 MB/s: two segments are delivered, and a part of the third.
        let context = Context::new(Time(10_000_000), MSS).with_next_departure(Time(12_100_000));
        assert_eq!(bbr.in_flight_at_departure(&context, 50.0 * MSS), 48.0 * MSS);
        // While probing, a burst of two leaves then.
        bbr.pacing_gain = 1.25;
        assert_eq!(bbr.in_flight_at_departure(&context, 50.0 * MSS), 50.0 * MSS);
        let free = context.with_next_departure(Time(9_000_000));
        assert_eq!(bbr.in_flight_at_departure(&free, 50.0 * MSS), 52.0 * MSS);
        assert_eq!(bbr.in_flight_at_departure(&context, MSS), MSS);
        bbr.pacing_gain = 0.75;
        assert_eq!(bbr.in_flight_at_departure(&context, MSS), 0.0);
    }

    #[test]
    fn startup_ends_after_three_rounds_that_grow_by_less_than_a_quarter() {
        let mut bbr = Bbr::new(&BbrParams::default(), &Setup::new(Time::ZERO, MSS, 10.0 * MSS));
        // 2.887 * 10 segments in 1 ms, less 1 %, until there is a round-trip time.
        assert!((bbr.pacing_rate - 0.99 * 2.88671875 * 1e7).abs() < 1.0);
        for (round, growth) in [1.0, 1.23, 1.23, 1.23].into_iter().enumerate() {
            assert_eq!((bbr.mode, bbr.full_rounds), (Mode::Startup, round.saturating_sub(1) as u64));
            acknowledge(&mut bbr, 40 * round as u64, true, growth * BANDWIDTH, 150.0 * MSS);
        }
        assert_eq!((bbr.mode, bbr.pacing_gain, bbr.cwnd_gain), (Mode::Drain, 0.34375, 2.88671875));
        // 61.5 segments of BDP, rounded up, and 6 for bursts.
        acknowledge(&mut bbr, 200, false, BANDWIDTH, 69.0 * MSS);
        assert_eq!(bbr.mode, Mode::Drain);
        acknowledge(&mut bbr, 201, false, BANDWIDTH, 68.0 * MSS);
        assert_eq!(bbr.mode, Mode::ProbeBw);
    }

    #[test]
    fn a_cycle_starts_in_every_phase_but_the_second() {
        let mut bbr = full();
        let mut found = [0; 8];
        for _ in 0..700 {
            bbr.enter_probe_bw(Time::ZERO);
            found[bbr.phase as usize] += 1;
        }
        assert_eq!(found[1], 0);
        assert!(found.iter().enumerate().all(|(phase, count)| phase == 1 || *count > 60), "{found:?}");
    }

    #[test]
    fn a_recovery_conserves_packets_for_a_round_and_then_restores_the_window() {
        let mut bbr = full();
        acknowledge(&mut bbr, 1, false, BANDWIDTH, 60.0 * MSS);
        let before = bbr.cwnd;
        let context = Context::new(Time(2_000_000), MSS).with_in_flight(59.0 * MSS);
        bbr.on_loss(&context, &LostSegment::new(0, 1000, Time::ZERO));
        bbr.on_congestion(&context, &Congestion::new(Signal::FastRetransmit));
        // 59 in flight, and one delivered.
        assert_eq!(bbr.cwnd, 60.0 * MSS);
        acknowledge(&mut bbr, 3, false, BANDWIDTH, 58.0 * MSS);
        assert_eq!(bbr.cwnd, 59.0 * MSS);
        // After the round, it grows by what is delivered.
        acknowledge(&mut bbr, 43, true, BANDWIDTH, 58.0 * MSS);
        assert_eq!(bbr.cwnd, 60.0 * MSS);
        bbr.on_recovery_exit(&context, &RecoveryExit::default());
        assert_eq!(bbr.cwnd, before);
        // A timeout restarts, and what was sent before it restores.
        bbr.on_congestion(&context.with_sent(0, 60_000), &Congestion::new(Signal::Timeout));
        assert_eq!((bbr.cwnd, bbr.full_bandwidth), (MSS, 0.0));
        let ack = Ack::new(60_000, 1000);
        bbr.on_ack(&Context::new(Time(90_000_000), MSS), &ack);
        assert!(bbr.cwnd >= before);
    }

    #[test]
    fn the_handshake_gives_the_first_minimum_of_the_round_trip_time() {
        let mut bbr = Bbr::new(&BbrParams::default(), &Setup::new(Time::ZERO, MSS, 10.0 * MSS));
        let context = Context::new(Time(80_000_000), MSS).with_rtts(0.038, f64::INFINITY);
        bbr.on_ack(&context, &Ack::new(1000, 1000).with_rtt(Some(Time(40_000_000))));
        assert_eq!(bbr.min_rtt, 0.038);
    }

    #[test]
    fn probe_rtt_returns_to_the_larger_window_of_before_it_and_of_the_last_recovery() {
        let mut bbr = full();
        bbr.repair.save(120.0 * MSS, false);
        acknowledge(&mut bbr, 10_001, false, BANDWIDTH, 50.0 * MSS);
        assert_eq!((bbr.mode, bbr.repair.restored(0.0)), (Mode::ProbeRtt, 120.0 * MSS));
    }

    #[test]
    fn two_lossy_intervals_of_about_the_same_rate_show_a_policer() {
        let params = BbrParams::default();
        let mut policer = Policer::default();
        assert!(!policer.end(1000.0, &params));
        // More than an eighth apart, and by more than 4 kb/s: 125 and 505 bytes/s.
        assert!(!policer.end(2000.0, &params));
        assert!(policer.end(1800.0, &params));
        assert_eq!(policer.rate, 1900.0);
        // 4 kb/s apart suffice, after the margin of 1 %: 505 bytes/s.
        let mut slow = Policer { rate: 1000.0, ..Policer::default() };
        assert!(slow.end(1504.0, &params));
        let mut slow = Policer { rate: 1000.0, ..Policer::default() };
        assert!(!slow.end(1506.0, &params));
    }
}
