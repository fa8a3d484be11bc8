//! Vegas as Linux has it under the name `vegas` [linux6 tcp_vegas.c].
//!
//! As the paper's [brakmo1995 §3.2], it compares the expected with the actual rate once per round trip: with fewer than
//! `alpha` segments queued the window grows by one, with more than `beta` it shrinks by one. Its losses are those of Linux,
//! a loss halves the window, and it has none of the mechanisms of Vegas. Where it departs from the paper:
//!
//! * Slow start doubles in every round trip. With more than `gamma` segments queued it ends with the window that the actual
//!   rate fills, and a segment.
//! * The round-trip time of a round is its lowest. A round of at most two samples is Reno's, and so is the window outside
//!   the state Open. Above the threshold, the window changes with the end of a round alone.
//! * A round lifts the threshold to three quarters of the window.
//! * The window grows whether it limits the sender or not. A segment that finds the network empty begins another base.

use crate::linux::rounds::Rounds;
use crate::linux::{Attached, Module, Segments};
use crate::probes::{BASE_RTT, VEGAS_DIFF};
use crate::toolbox::RenoWindow;
use crate::{
    Ack, Congestion, CongestionControl, Context, Control, GrowWhen, ProbeInfo, RecoveryExit, Sample,
    SenderState, SentSegment, Setup, WindowRules, window_in,
};
use dumbbell_units::params;

/// Smallest window after a round, in segments.
const LEAST: u64 = 2;

params! {
    /// Parameters of Linux's Vegas.
    pub struct VegasLinuxParams {
        /// Segments queued below which the window grows.
        alpha: u64 = 2, "segments", "[linux6 tcp_vegas.c]";
        /// Segments queued above which the window shrinks.
        beta: u64 = 4, "segments", "[linux6 tcp_vegas.c]";
        /// Segments queued above which slow start ends.
        gamma: u64 = 1, "segments", "[linux6 tcp_vegas.c]";
    }
}

/// The state of Linux's Vegas.
#[derive(Clone, Debug)]
pub struct VegasLinux {
    window: RenoWindow,
    attached: Attached<Vegas>,
}

/// Its module.
#[derive(Clone, Debug)]
struct Vegas {
    params: VegasLinuxParams,
    rounds: Rounds,
    /// Segments queued in the last round.
    queued: u64,
    /// Reno's growth does not ask whether the window limits the sender either.
    grows_always: bool,
}

impl Vegas {
    fn end_round(&mut self, window: &mut RenoWindow, context: &Context, ack: &Ack) {
        let in_slow_start = window.in_slow_start();
        let mut segments = Segments::of(window, context);
        let (cwnd, Rounds { base, minimum, .. }) = (segments.cwnd(), self.rounds.clone());
        self.queued = cwnd * (minimum - base) / base;
        if in_slow_start && self.queued > self.params.gamma {
            segments.set(cwnd.min(cwnd * base / minimum + 1));
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if in_slow_start {
            window.slow_start(context, ack);
        } else if self.queued > self.params.beta {
            segments.set(cwnd - 1);
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if self.queued < self.params.alpha {
            segments.add(1);
        }
        let mss = context.mss;
        window.cwnd = window.cwnd.max(LEAST as f64 * mss);
        window.ssthresh = WindowRules::remembered_segments(window.cwnd, window.ssthresh, mss);
    }
}

impl Module for Vegas {
    fn on_sample(&mut self, _window: &RenoWindow, context: &Context, sample: &Sample) {
        self.rounds.on_sample(context, sample);
    }

    fn on_state(&mut self, context: &Context, state: SenderState) {
        self.rounds.on_state(context, state);
    }

    fn on_ack(&mut self, window: &mut RenoWindow, context: &Context, ack: &Ack) {
        let is_over = self.rounds.is_over(ack.ack);
        if self.rounds.is_on && is_over && self.rounds.has_enough() {
            self.end_round(window, context, ack);
        } else if !self.rounds.is_on || is_over {
            if ack.is_cwnd_limited || self.grows_always {
                window.increase(context, ack);
            }
        } else if window.in_slow_start() {
            window.slow_start(context, ack);
        }
        if self.rounds.is_on && is_over {
            self.rounds.begin(context.snd_nxt);
        }
    }

    fn on_congestion(&mut self, window: &mut RenoWindow, context: &Context, congestion: &Congestion) {
        window.halve(context, congestion);
    }
}

impl CongestionControl for VegasLinux {
    type Params = VegasLinuxParams;
    const SUMMARY: &'static str = "Vegas as the module `vegas` of Linux has it.";
    const SOURCE: &'static str = "[linux6 tcp_vegas.c]";
    const RECOVERY: Option<&'static str> = Some("sack");
    const TAKES_SLOW_START: bool = true;
    const PROBES: &'static [ProbeInfo] = &[BASE_RTT, VEGAS_DIFF];

    fn new(params: &VegasLinuxParams, setup: &Setup) -> Self {
        let grows_always = setup.rules.grow_when == GrowWhen::Always;
        let module = Vegas { params: params.clone(), rounds: Rounds::new(), queued: 0, grows_always };
        VegasLinux { window: RenoWindow::new(setup), attached: Attached::new(module, setup) }
    }

    fn contradiction(params: &VegasLinuxParams) -> Option<(&'static str, &'static str)> {
        (params.alpha > params.beta).then_some(("alpha", "at most beta"))
    }
}

impl Control for VegasLinux {
    window_in!(window);

    fn grows_unused(&self) -> bool {
        true
    }

    fn on_sample(&mut self, context: &Context, sample: &Sample) {
        self.attached.module.on_sample(&self.window, context, sample);
    }

    fn on_state(&mut self, context: &Context, state: SenderState) {
        self.attached.module.on_state(context, state);
    }

    fn on_sent(&mut self, context: &Context, _sent: &SentSegment) {
        self.attached.module.rounds.on_sent(context);
    }

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        self.attached.on_ack(&mut self.window, context, ack);
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        self.attached.on_congestion(&mut self.window, context, congestion);
    }

    fn on_repeated_timeout(&mut self, context: &Context, congestion: &Congestion) {
        self.attached.on_repeated_timeout(&mut self.window, context, congestion);
    }

    fn on_recovery_exit(&mut self, context: &Context, exit: &RecoveryExit) {
        self.attached.on_recovery_exit(context);
        self.window.on_recovery_exit(context, exit);
    }

    fn probe(&self, index: usize) -> Option<f64> {
        let Vegas { rounds, queued, .. } = &self.attached.module;
        *[rounds.base_secs(), Some(*queued as f64)].get(index)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::newvegas::tests::{MSS, context};
    use crate::linux::tests::setup;

    /// A round with this base and minimum, in microseconds, and three samples has ended: window and threshold in segments.
    fn after_round(segments: f64, ssthresh: f64, base: u64, minimum: u64) -> (f64, f64) {
        let setup = setup(segments, ssthresh);
        let mut vegas = VegasLinux::new(&VegasLinuxParams::default(), &setup);
        let rounds = &mut vegas.attached.module.rounds;
        (rounds.base, rounds.minimum, rounds.count) = (base, minimum, 3);
        vegas.on_ack(&context(segments * MSS), &Ack::new(1000, 1000).with_cwnd_limited(false));
        (vegas.cwnd() / MSS, vegas.ssthresh() / MSS)
    }

    #[test]
    fn a_round_moves_the_window_by_a_segment_and_lifts_the_threshold() {
        // 20 * 5 / 100 = 1, 20 * 15 / 100 = 3, 20 * 25 / 100 = 5 segments queued. 21 / 2 + 21 / 4 = 15.
        assert_eq!(after_round(20.0, 2.0, 100_000, 105_000), (21.0, 15.0));
        assert_eq!(after_round(20.0, 2.0, 100_000, 115_000), (20.0, 15.0));
        assert_eq!(after_round(20.0, 2.0, 100_000, 125_000), (19.0, 13.0));
    }

    #[test]
    fn slow_start_ends_with_what_the_actual_rate_fills_and_a_segment() {
        // 20 * 10 / 100 = 2 are queued: 20 * 100 / 110 + 1 = 19.
        assert_eq!(after_round(20.0, 100.0, 100_000, 110_000), (19.0, 19.0));
        assert_eq!(after_round(20.0, 100.0, 100_000, 105_000), (21.0, 100.0));
    }
}
