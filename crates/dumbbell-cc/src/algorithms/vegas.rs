//! TCP Vegas [brakmo1995 §3], taken apart into its mechanisms [hengartner2000 §VI].
//!
//! Once per round trip Vegas compares the rate it expects with the rate it gets,
//! `diff = (expected - actual) * base_rtt` [hengartner2000 §VII.C, eq. 1-2], and keeps between
//! `alpha` and `beta` segments queued. This file owns mechanisms A, B, F and I; with all of them
//! off it is Reno to the byte.
//!
//! Where it departs from the papers: the released code's numerator (eq. 3), its reset of the base
//! RTT and its late reaction to a timeout are three switches (`fix_*`), all corrected by default;
//! the rules that the papers leave open (growth every other RTT starting with the second check,
//! the cut by an eighth on leaving slow start) follow the released code.

use crate::{Ack, Congestion, CongestionControl, Context, Mechanisms, Probe, Setup, Signal, WindowRules};
use dumbbell_units::{choice, params, Time};

choice! {
    /// Which round-trip time of the past round enters the actual rate.
    pub enum RttChoice {
        /// The mean of its samples.
        Mean = "mean",
        /// The newest sample.
        Newest = "newest",
        /// The smallest sample.
        Minimum = "minimum",
    }
}

choice! {
    /// What the expected rate divides by the base RTT.
    pub enum Numerator {
        /// The bytes in transit when the check falls due [hengartner2000 §VII.C].
        InTransit = "in-transit",
        /// The congestion window.
        Cwnd = "cwnd",
        /// The bytes in transit after the ACK, and one segment, as ns-2 computes them.
        Ns2 = "ns2",
    }
}

params! {
    /// Parameters of Vegas.
    pub struct VegasParams {
        /// Grow while fewer segments than this are queued.
        alpha: f64 = 1.0, "segments", "[hengartner2000 §VII.D]",
            |alpha| *alpha >= 0.0, "a number of segments, at least 0";
        /// Shrink while more segments than this are queued.
        beta: f64 = 3.0, "segments", "[hengartner2000 §IX.A]",
            |beta| *beta >= 0.0, "a number of segments, at least alpha";
        /// Leave slow start when more segments than this are queued.
        gamma: f64 = 1.0, "segments", "[brakmo1995 §3.3]",
            |gamma| *gamma >= 0.0, "a number of segments, at least 0";
        /// Round the difference to whole segments before comparing, as ns-2 does.
        round_diff: bool = false, "-", "[brakmo1995 §3.2]";
        /// Which round-trip time enters the actual rate.
        rtt: RttChoice = RttChoice::Mean, "-", "[hengartner2000 §VII.C]";
        /// What the expected rate divides by the base RTT.
        numerator: Numerator = Numerator::InTransit, "-", "[hengartner2000 §VII.C]";
        /// Open exponentially at once after a timeout, instead of after the next check.
        fix_timeout: bool = true, "-", "[hengartner2000 §VII.A]";
        /// Let the base RTT be the minimum of measured times, instead of also taking over the length of a
        /// round and resetting it when one segment was sent in a round.
        fix_base_rtt: bool = true, "-", "[hengartner2000 §VII.B]";
        /// Keep expected at least actual: no last term in eq. 3, and a fresh round after a timeout.
        fix_invariant: bool = true, "-", "[hengartner2000 §VII.C]";
    }
}

/// The two rates' numerators at one check, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Check {
    /// Numerator of the expected rate (eq. 3).
    pub window_size: f64,
    /// Numerator of the actual rate (eq. 4).
    pub rtt_len: f64,
}

/// The state of Vegas.
#[derive(Clone, Debug)]
pub struct Vegas {
    params: VegasParams,
    mechanisms: Mechanisms,
    rules: WindowRules,
    initial_window: f64,
    cwnd: f64,
    ssthresh: f64,
    base_rtt: f64,
    beg_seq: u64,
    beg_time: Time,
    rtt_sum: f64,
    rtt_count: u32,
    rtt_newest: f64,
    rtt_minimum: f64,
    /// Growth per ACK in bytes until the next check: a segment, its share, or nothing.
    increment: f64,
    grow_this_rtt: bool,
    diff: Option<f64>,
    last_check: Check,
}

impl Vegas {
    /// The numerators of the last check.
    pub fn last_check(&self) -> Check {
        self.last_check
    }

    /// First byte of the round that the next check will cover.
    pub fn beg_seq(&self) -> u64 {
        self.beg_seq
    }

    fn is_below_ssthresh(&self) -> bool {
        if self.mechanisms.slow_start_detection || self.mechanisms.avoidance_detection {
            self.cwnd < self.ssthresh
        } else {
            self.rules.in_slow_start(self.cwnd, self.ssthresh)
        }
    }

    fn round_rtt(&self, now: Time) -> f64 {
        if self.rtt_count == 0 {
            // After a timeout ACKs jump, and a round may last less than any round-trip time. The
            // released code believes it; the corrected one keeps to measured times.
            let elapsed = now.since(self.beg_time).secs();
            let is_measured = self.params.fix_base_rtt && self.base_rtt.is_finite();
            return if is_measured { elapsed.max(self.base_rtt) } else { elapsed };
        }
        match self.params.rtt {
            RttChoice::Mean => self.rtt_sum / f64::from(self.rtt_count),
            RttChoice::Newest => self.rtt_newest,
            RttChoice::Minimum => self.rtt_minimum,
        }
    }

    fn check(&mut self, context: &Context, ack: &Ack) {
        let rtt = self.round_rtt(context.now);
        let snd_nxt_after = context.snd_nxt.max(ack.ack);
        let next_round = match self.params.numerator {
            Numerator::Ns2 => snd_nxt_after,
            Numerator::InTransit | Numerator::Cwnd => context.snd_nxt,
        };
        let rtt_len = next_round as f64 - self.beg_seq as f64;
        let window_size = match self.params.numerator {
            Numerator::Cwnd => self.cwnd,
            Numerator::Ns2 => (snd_nxt_after - ack.ack) as f64 + context.mss,
            Numerator::InTransit => {
                let in_transit = (context.snd_nxt - context.snd_una.min(context.snd_nxt)) as f64;
                let large_ack = (context.mss - ack.acked as f64).min(0.0);
                if self.params.fix_invariant { in_transit } else { in_transit + large_ack }
            }
        };
        self.last_check = Check { window_size, rtt_len };

        let resets = !self.params.fix_base_rtt && (rtt < self.base_rtt || rtt_len <= context.mss);
        if resets || !self.base_rtt.is_finite() {
            self.base_rtt = rtt;
        }
        let expected = window_size / self.base_rtt;
        let actual = rtt_len / rtt;
        let mut diff = (expected - actual) * self.base_rtt / context.mss;
        if self.params.round_diff {
            diff = (diff + 0.5).floor();
        }
        self.diff = Some(diff);
        self.decide(diff, context.mss);

        self.begin_round(next_round, context.now);
    }

    fn begin_round(&mut self, first: u64, now: Time) {
        self.beg_seq = first;
        self.beg_time = now;
        self.rtt_sum = 0.0;
        self.rtt_count = 0;
        self.rtt_minimum = f64::INFINITY;
    }

    fn decide(&mut self, diff: f64, mss: f64) {
        if self.is_below_ssthresh() {
            if self.mechanisms.slow_start_detection {
                self.grow_this_rtt = !self.grow_this_rtt;
                self.increment = if !self.grow_this_rtt {
                    0.0
                } else if diff > self.params.gamma {
                    self.ssthresh = 2.0 * mss;
                    self.cwnd = (self.cwnd - self.cwnd / 8.0).max(2.0 * mss);
                    0.0
                } else {
                    mss
                };
            }
        } else if self.mechanisms.avoidance_detection {
            self.increment = if diff > self.params.beta {
                self.cwnd = (self.cwnd - mss).max(2.0 * mss);
                0.0
            } else if diff < self.params.alpha {
                mss * mss / self.cwnd
            } else {
                0.0
            };
        }
    }

    fn growth(&self, mss: f64) -> f64 {
        if self.is_below_ssthresh() {
            if self.mechanisms.slow_start_detection { self.increment } else { mss }
        } else if self.mechanisms.avoidance_detection {
            self.increment
        } else {
            self.rules.linear_growth(self.cwnd, mss)
        }
    }
}

impl CongestionControl for Vegas {
    type Params = VegasParams;
    const SUMMARY: &'static str =
        "Keeps between alpha and beta segments queued by comparing expected and actual rates.";
    const SOURCE: &'static str = "[brakmo1995 §3], [hengartner2000 §VI]";

    fn new(params: &VegasParams, setup: &Setup) -> Self {
        Vegas {
            params: params.clone(),
            mechanisms: setup.mechanisms,
            rules: setup.rules,
            initial_window: setup.initial_window,
            cwnd: setup.initial_window,
            ssthresh: setup.initial_ssthresh,
            base_rtt: f64::INFINITY,
            beg_seq: 0,
            beg_time: setup.now,
            rtt_sum: 0.0,
            rtt_count: 0,
            rtt_newest: 0.0,
            rtt_minimum: f64::INFINITY,
            increment: 0.0,
            grow_this_rtt: true,
            diff: None,
            last_check: Check::default(),
        }
    }

    fn contradiction(params: &VegasParams) -> Option<(&'static str, &'static str)> {
        (params.alpha > params.beta).then_some(("alpha", "at most beta"))
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if !ack.in_recovery {
            // An ACK for data of before a timeout voids the round. If none of the round has been
            // sent again there is nothing to check either.
            let corrected = self.params.fix_invariant;
            if ack.ack > self.beg_seq && !(corrected && context.snd_nxt <= self.beg_seq) {
                self.check(context, ack);
            }
            if corrected && ack.ack > context.snd_nxt {
                self.begin_round(ack.ack, context.now);
            }
            // The segment just acknowledged still counts, as in the released code.
            let outstanding = (context.snd_nxt.max(ack.ack) - ack.ack) as f64 + context.mss;
            let keeps_up = !self.mechanisms.growth_guard
                || self.cwnd - outstanding <= 2.0 * context.mss;
            if self.increment >= context.mss && self.cwnd >= self.ssthresh {
                self.increment = 0.0;
            }
            if keeps_up && self.cwnd < context.max_window {
                self.cwnd = (self.cwnd + self.growth(context.mss)).min(context.max_window);
            }
        }
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.secs();
            self.rtt_sum += rtt;
            self.rtt_count += 1;
            self.rtt_newest = rtt;
            self.rtt_minimum = self.rtt_minimum.min(rtt);
            self.base_rtt = self.base_rtt.min(rtt);
        }
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        let mss = context.mss;
        let (ssthresh, halved) = self.rules.halved(self.cwnd, context);
        match congestion.signal {
            Signal::FastRetransmit if self.mechanisms.quarter_cut => {
                let window = (self.cwnd + context.inflation).min(context.max_window);
                let segments = (window / mss).floor();
                let kept = if segments <= 3.0 {
                    2.0
                } else if congestion.retransmitted_before {
                    (segments / 2.0).floor()
                } else {
                    segments - (segments / 4.0).floor()
                };
                self.cwnd = kept * mss;
                self.ssthresh = 2.0 * mss;
            }
            Signal::FastRetransmit => {
                self.ssthresh = ssthresh;
                self.cwnd = halved;
            }
            Signal::Restart | Signal::Timeout => {
                self.ssthresh = ssthresh;
                self.cwnd = context.loss_window;
                if self.params.fix_timeout {
                    self.increment = mss;
                    self.grow_this_rtt = true;
                }
            }
        }
    }

    fn on_recovery_exit(&mut self, _context: &Context, kept_inflation: f64) {
        self.cwnd += kept_inflation;
    }

    fn on_restart(&mut self, _context: &Context) {
        self.cwnd = self.cwnd.min(self.initial_window);
    }

    fn probe(&self) -> Probe {
        Probe {
            base_rtt: self.base_rtt.is_finite().then_some(self.base_rtt),
            vegas_diff: self.diff,
        }
    }
}
