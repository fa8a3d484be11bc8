//! BIC, binary increase congestion control [xu2004 §3].
//!
//! After a loss, the window searches between the reduced window and the last maximum: a round trip adds a quarter of the
//! distance, at most 16 segments, and close to the maximum one segment in five round trips. Above the maximum, it leaves
//! as slowly as it came, and then probes faster. A loss keeps 0.8 of the window, and a window that did not reach its last
//! maximum remembers less of it. A window of at most 14 segments is Reno's.
//!
//! The constants are those of Linux [linux6 tcp_bic.c]; the paper's search goes half of the distance. As in Linux, growth
//! before the first loss is a twentieth of the window per round trip at least, and a timeout discards the maximum.
//!
//! Where it departs from Linux: counts are not rounded, and not corrected for delayed acknowledgements, which is the
//! matter of the rules of windows (`grow_per`). `form = "linux"` has both, in whole numbers.

use crate::linux::{self, Attached, Form, Module, module_hooks};
use crate::probes::W_MAX;
use crate::toolbox::RenoWindow;
use crate::{
    Ack, Congestion, CongestionControl, Context, Control, ProbeInfo, RecoveryExit, Setup, window_in,
};
use dumbbell_units::math::least;
use dumbbell_units::{Time, params};

params! {
    /// Parameters of BIC.
    pub struct BicParams {
        /// Largest growth per round trip.
        max_increment: f64 = 16.0, "segments", "[linux6 tcp_bic.c]",
            |most| *most >= 1.0, "a number of segments, at least 1";
        /// Part of the distance to the maximum that a round trip goes, as a divisor.
        search: f64 = 4.0, "-", "[linux6 tcp_bic.c]", |divisor| *divisor > 1.0, "a number above 1";
        /// Divided by `search`: round trips for a segment close to the maximum.
        smooth: f64 = 20.0, "-", "[linux6 tcp_bic.c]", |smooth| *smooth >= 1.0, "a number, at least 1";
        /// Fraction of the window that remains after a loss.
        beta: f64 = 819.0 / 1024.0, "-", "[linux6 tcp_bic.c]",
            |beta| *beta > 0.0 && *beta < 1.0, "a fraction above 0 and below 1";
        /// Remember less of a maximum that the window did not reach again.
        fast_convergence: bool = true, "-", "[xu2004 §3]";
        /// Largest window that grows and is reduced as Reno's.
        low_window: f64 = 14.0, "segments", "[linux6 tcp_bic.c]",
            |window| *window >= 0.0, "a number of segments, at least 0";
        /// The rules: those of the paper, or of the module of Linux.
        form: Form = Form::Paper, "-", "[linux6 tcp_bic.c]";
        /// Tick of the clock of Linux: 1/HZ.
        tick: Time = Time(4_000_000), "s", "[linux6 tcp_bic.c]",
            |tick| tick.0 >= 100_000 && tick.0 <= 100_000_000, "a time from 0.1 ms to 100 ms";
    }
}

impl BicParams {
    /// The module of Linux, if the parameters ask for it.
    fn module(&self, setup: &Setup) -> Option<Box<Attached<linux::bic::Bic>>> {
        let constants = linux::bic::Constants {
            max_increment: linux::whole(self.max_increment),
            search: linux::whole(self.search).max(2),
            smooth: linux::whole(self.smooth),
            beta: (self.beta * 1024.0) as u64,
            fast_convergence: self.fast_convergence,
            low_window: linux::whole(self.low_window),
        };
        (self.form == Form::Linux)
            .then(|| Box::new(Attached::new(linux::bic::Bic::new(constants, self.tick), setup)))
    }
}

/// The state of BIC.
#[derive(Clone, Debug)]
pub struct Bic {
    params: BicParams,
    window: RenoWindow,
    mss: f64,
    /// Window before the last reduction in segments, less after fast convergence; 0 before the first.
    w_max: f64,
    module: Option<Box<Attached<linux::bic::Bic>>>,
}

impl Bic {
    /// Acknowledgements that add a segment to a window of so many segments.
    fn count(&self, segments: f64) -> f64 {
        let BicParams { max_increment, search, smooth, low_window, .. } = self.params;
        if segments <= low_window {
            return segments;
        }
        let slow = segments * smooth / search;
        let count = if segments < self.w_max {
            let step = (self.w_max - segments) / search;
            if step > max_increment {
                segments / max_increment
            } else if step <= 1.0 {
                slow
            } else {
                segments / step
            }
        } else {
            let above = segments - self.w_max;
            if above < search {
                slow
            } else if above < max_increment * (search - 1.0) {
                segments * (search - 1.0) / above
            } else {
                segments / max_increment
            }
        };
        if self.w_max == 0.0 { least(count, 20.0) } else { count }
    }
}

impl CongestionControl for Bic {
    type Params = BicParams;
    const SUMMARY: &'static str = "Binary search between the reduced window and the last maximum.";
    const SOURCE: &'static str = "[xu2004 §3]";
    const RECOVERY: Option<&'static str> = Some("sack");
    const TAKES_SLOW_START: bool = true;
    const PROBES: &'static [ProbeInfo] = &[W_MAX];

    fn new(params: &BicParams, setup: &Setup) -> Self {
        Bic {
            params: params.clone(),
            window: RenoWindow::new(setup),
            mss: setup.mss,
            w_max: 0.0,
            module: params.module(setup),
        }
    }
}

impl Control for Bic {
    window_in!(window);
    module_hooks!();

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if let Some(module) = &mut self.module {
            module.on_ack(&mut self.window, context, ack);
            return;
        }
        let additions = self.window.slow_start(context, ack);
        if additions > 0.0 {
            let count = self.count(self.window.cwnd / self.mss);
            self.window.grow(additions, count, context);
        }
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        if let Some(module) = &mut self.module {
            module.on_congestion(&mut self.window, context, congestion);
            return;
        }
        let segments = self.window.cwnd / self.mss;
        self.w_max = if congestion.signal.restarts() {
            0.0
        } else if self.params.fast_convergence && segments < self.w_max {
            segments * (1.0 + self.params.beta) / 2.0
        } else {
            segments
        };
        let kept = if segments <= self.params.low_window { 0.5 } else { self.params.beta };
        self.window.keep(kept, context, congestion);
    }

    fn on_recovery_exit(&mut self, context: &Context, exit: &RecoveryExit) {
        self.module.iter_mut().for_each(|module| module.on_recovery_exit(context));
        self.window.on_recovery_exit(context, exit);
    }

    fn on_repeated_timeout(&mut self, context: &Context, congestion: &Congestion) {
        if let Some(module) = &mut self.module {
            module.on_repeated_timeout(&mut self.window, context, congestion);
            return;
        }
        self.w_max = 0.0;
        self.window.restart(context, congestion);
    }

    fn probe(&self, index: usize) -> Option<f64> {
        (index == 0).then(|| self.module.as_ref().map_or(self.w_max, |attached| attached.module.w_max()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;
    use crate::algorithms::newvegas::tests::{MSS, context};

    fn bic(segments: f64, w_max: f64) -> Bic {
        let setup = Setup::new(Time::ZERO, MSS, segments * MSS).with_initial_ssthresh(2.0 * MSS);
        Bic { w_max, ..Bic::new(&BicParams::default(), &setup) }
    }

    #[test]
    fn a_round_trip_adds_a_quarter_of_the_distance_within_a_fifth_and_16_segments() {
        // Segments per round trip of a window of 100, by its last maximum.
        let increments = [
            // Distances of 100, 40 and 3: 25, but at most 16; 10; 0.75, which is close.
            (200.0, 16.0),
            (140.0, 10.0),
            (103.0, 0.2),
            // 3, 30 and 50 above it: slow; 30 / 3; 16.
            (97.0, 0.2),
            (70.0, 10.0),
            (50.0, 16.0),
        ];
        for (w_max, increment) in increments {
            let bic = bic(100.0, w_max);
            assert!((100.0 / bic.count(100.0) - increment).abs() < 1e-9, "{w_max}");
        }
        // No loss yet: one in twenty, or 16 per round trip where that is more.
        assert_eq!((bic(100.0, 0.0).count(100.0), bic(100.0, 0.0).count(480.0)), (6.25, 20.0));
    }

    #[test]
    fn a_window_of_at_most_14_segments_is_renos() {
        let mut bic = bic(14.0, 100.0);
        bic.on_ack(&context(14.0 * MSS), &Ack::new(1000, 1000));
        assert!((bic.cwnd() - (14_000.0 + 1000.0 / 14.0)).abs() < 1e-9);
        let mut bic = self::bic(14.0, 0.0);
        bic.on_congestion(&context(14.0 * MSS), &Congestion::new(Signal::FastRetransmit));
        assert_eq!(bic.cwnd(), 7.0 * MSS);
    }

    #[test]
    fn a_loss_keeps_four_fifths_and_a_lower_maximum_is_remembered_in_part() {
        let after = |segments, w_max, signal| {
            let mut bic = bic(segments, w_max);
            bic.on_congestion(&context(segments * MSS), &Congestion::new(signal));
            (bic.ssthresh() / MSS, bic.w_max)
        };
        // 1024 * 819 / 1024.
        assert_eq!(after(1024.0, 0.0, Signal::FastRetransmit), (819.0, 1024.0));
        // 1024 * (1 + 819 / 1024) / 2.
        assert_eq!(after(1024.0, 2000.0, Signal::FastRetransmit), (819.0, 921.5));
        assert_eq!(after(1024.0, 2000.0, Signal::Timeout), (819.0, 0.0));
        // A timeout whose threshold is reduced already forgets it as well.
        let mut bic = bic(1024.0, 2000.0);
        bic.on_repeated_timeout(&context(MSS), &Congestion::new(Signal::Timeout));
        assert_eq!((bic.ssthresh(), bic.w_max), (2.0 * MSS, 0.0));
    }
}
