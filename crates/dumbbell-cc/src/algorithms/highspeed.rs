//! HighSpeed TCP [RFC 3649 §5], whose increase and decrease depend on the window.
//!
//! Above 38 segments, a round trip adds $a(w)$ segments and a loss takes the fraction $b(w)$:
//!
//! $$b(w) = 0.5 + (0.1 - 0.5) (ln w - ln 38) / (ln 83000 - ln 38)$$
//!
//! $$a(w) = 2 w^2 p(w) b(w) / (2 - b(w)),   p(w) = 0.078 / w^1.2$$
//!
//! Below, it is Reno.
//!
//! Where it departs from the RFC: a and b change with whole segments of the window. The table of Linux, RFC 3649
//! appendix B, has whole increases; `whole_increase` rounds them down and leaves the decrease as it is, which the table
//! takes at the lower end of each row. `form = "linux"` is the table, with an increase per acknowledgement.

use crate::linux::{self, Attached, Form, Module, module_hooks, module_repairs};
use crate::probes::INCREASE;
use crate::toolbox::RenoWindow;
use crate::{Ack, Congestion, CongestionControl, Context, Control, ProbeInfo, Setup, window_in};
use dumbbell_units::math::{ln, pow};
use dumbbell_units::params;

/// The window of a loss rate of one in ten million, in segments.
const HIGH_WINDOW: f64 = 83_000.0;
/// The decrease at that window.
const HIGH_DECREASE: f64 = 0.1;

params! {
    /// Parameters of HighSpeed TCP.
    pub struct HighSpeedParams {
        /// Largest window that grows and is reduced as Reno's.
        low_window: f64 = 38.0, "segments", "[RFC 3649 §5]",
            |window| *window >= 1.0 && *window < HIGH_WINDOW, "a number of segments, at least 1 and below 83000";
        /// Increase by whole segments per round trip; true in Linux.
        whole_increase: bool = false, "-", "[RFC 3649 appendix B]";
        /// The rules: those of the paper, or of the module of Linux.
        form: Form = Form::Paper, "-", "[linux6 tcp_highspeed.c]";
    }
}

/// The state of HighSpeed TCP.
#[derive(Clone, Debug)]
pub struct HighSpeed {
    params: HighSpeedParams,
    window: RenoWindow,
    /// Increase and decrease at the window below.
    increase: f64,
    decrease: f64,
    /// Whole segments of the window for which they hold.
    segments: f64,
    module: Option<Box<Attached<linux::highspeed::HighSpeed>>>,
}

/// Increase in segments per round trip, and the fraction that a loss takes.
fn response(params: &HighSpeedParams, segments: f64) -> (f64, f64) {
    if segments <= params.low_window {
        return (1.0, 0.5);
    }
    let share = (ln(segments) - ln(params.low_window)) / (ln(HIGH_WINDOW) - ln(params.low_window));
    let decrease = (0.5 + (HIGH_DECREASE - 0.5) * share).max(HIGH_DECREASE);
    let loss_rate = 0.078 / pow(segments, 1.2);
    let increase = 2.0 * segments * segments * loss_rate * decrease / (2.0 - decrease);
    (if params.whole_increase { increase.floor() } else { increase }.max(1.0), decrease)
}

impl HighSpeed {
    #[inline]
    fn follow(&mut self, mss: f64) {
        let segments = self.window.cwnd / mss;
        if segments < self.segments || segments >= self.segments + 1.0 {
            self.segments = segments.floor();
            (self.increase, self.decrease) = response(&self.params, self.segments);
        }
    }
}

impl CongestionControl for HighSpeed {
    type Params = HighSpeedParams;
    const SUMMARY: &'static str =
        "Reno whose increase rises and whose decrease falls with a window above 38 segments.";
    const SOURCE: &'static str = "[RFC 3649 §5]";
    const RECOVERY: Option<&'static str> = Some("sack");
    const TAKES_SLOW_START: bool = true;
    const PROBES: &'static [ProbeInfo] = &[INCREASE];

    fn new(params: &HighSpeedParams, setup: &Setup) -> Self {
        let window = RenoWindow::new(setup);
        let module = (params.form == Form::Linux)
            .then(|| Box::new(Attached::new(linux::highspeed::HighSpeed::default(), setup)));
        HighSpeed { params: params.clone(), window, increase: 1.0, decrease: 0.5, segments: 0.0, module }
    }
}

impl Control for HighSpeed {
    window_in!(window);
    module_hooks!();
    module_repairs!();

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if let Some(module) = &mut self.module {
            module.on_ack(&mut self.window, context, ack);
            return;
        }
        let additions = self.window.slow_start(context, ack);
        if additions > 0.0 {
            self.follow(context.mss);
            let count = self.window.cwnd / (context.mss * self.increase);
            self.window.grow(additions, count, context);
        }
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        if let Some(module) = &mut self.module {
            module.on_congestion(&mut self.window, context, congestion);
            return;
        }
        self.follow(context.mss);
        self.window.keep(1.0 - self.decrease, context, congestion);
    }

    fn probe(&self, index: usize) -> Option<f64> {
        (index == 0)
            .then(|| self.module.as_ref().map_or(self.increase, |attached| attached.module.increase()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::newvegas::tests::{MSS, context};
    use crate::periodic_loss::mean_window;
    use crate::{AlgorithmSpec, Signal};
    use dumbbell_units::Time;

    #[test]
    fn increases_become_whole_where_the_table_of_the_rfc_says() {
        // RFC 3649 appendix B: the first windows with each whole increase, and their decreases. The formula has 494 for
        // 495 and 849 for 851.
        let whole = HighSpeedParams { whole_increase: true, ..HighSpeedParams::default() };
        let rows = [(118.0, 0.44), (221.0, 0.41), (347.0, 0.38), (495.0, 0.37), (663.0, 0.35), (851.0, 0.34)];
        for ((window, decrease), increase) in rows.into_iter().zip([2.0, 3.0, 4.0, 5.0, 6.0, 7.0]) {
            let (before, _) = response(&whole, window - 3.0);
            let (at, taken) = response(&whole, window);
            assert_eq!((before, at), (increase - 1.0, increase), "{window}");
            assert!((taken - decrease).abs() < 0.006, "{window}: {taken}");
        }
        // 2 * 83000^2 * 0.078 / 83000^1.2 * 0.1 / 1.9 = 70.7 segments per round trip, and a tenth.
        let (increase, decrease) = response(&HighSpeedParams::default(), 83_000.0);
        assert!((increase - 70.7).abs() < 0.1 && (decrease - 0.1).abs() < 1e-12, "{increase}");
    }

    #[test]
    fn a_window_of_at_most_38_segments_is_renos() {
        let setup = Setup::new(Time::ZERO, MSS, 38.0 * MSS).with_initial_ssthresh(2.0 * MSS);
        let mut highspeed = HighSpeed::new(&HighSpeedParams::default(), &setup);
        highspeed.on_ack(&context(38.0 * MSS), &Ack::new(1000, 1000));
        assert!((highspeed.cwnd() - (38_000.0 + 1000.0 / 38.0)).abs() < 1e-9);
        highspeed.on_congestion(&context(38.0 * MSS), &Congestion::new(Signal::FastRetransmit));
        assert_eq!(highspeed.cwnd(), 19_000.0);
    }

    #[test]
    fn mean_windows_at_periodic_loss_are_those_of_the_response_function() {
        // 0.12 / p^0.835: RFC 9438 table 1 has 38 for 1e-3, 263 for 1e-4 and 1795 for 1e-5.
        let spec = AlgorithmSpec::named("highspeed").expect("a registered name");
        for (interval, expected) in [(1e3, 38.0), (1e4, 263.0), (1e5, 1795.0)] {
            let mean = mean_window(&spec, 0.1, interval, expected / 2.0);
            assert!((mean / expected - 1.0).abs() < 0.06, "{mean} against {expected}");
        }
    }
}
