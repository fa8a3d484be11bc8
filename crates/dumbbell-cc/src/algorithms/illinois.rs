//! TCP-Illinois [liu2008 §3], whose increase and decrease follow the queueing delay.
//!
//! With the mean queueing delay d of a round trip and its maximum $d_m$: a round trip adds 10 segments while d is at
//! most
//! $d_m / 100$, and above that $alpha(d) = k_1 / (k_2 + d)$, which falls to 0.3 at $d_m$. A loss takes an eighth of the
//! window while d is at most $d_m / 10$, half of it from $0.8 d_m$ on, and a fraction in proportion between. A window
//! below 15 segments is Reno's.
//!
//! As in Linux [linux6 tcp_illinois.c], five round trips of low delay precede the largest increase once the delay has
//! been higher, the maximum never ages, and a timeout returns to Reno's constants until the next round trip. All
//! constants are those of Linux, which follows the paper; `form = "linux"` is its module in whole numbers.

use crate::linux::{self, Attached, Form, Module, module_hooks};
use crate::probes::{BASE_RTT, INCREASE};
use crate::toolbox::RenoWindow;
use crate::{
    Ack, Congestion, CongestionControl, Context, Control, ProbeInfo, RecoveryExit, Setup, window_in,
};
use dumbbell_units::params;

params! {
    /// Parameters of TCP-Illinois.
    pub struct IllinoisParams {
        /// Largest increase per round trip.
        alpha_max: f64 = 10.0, "segments", "[liu2008 §3]",
            |alpha| *alpha > 0.0, "a number of segments above 0";
        /// Least increase per round trip.
        alpha_min: f64 = 0.3, "segments", "[liu2008 §3]",
            |alpha| *alpha > 0.0, "a number of segments, above 0 and at most alpha_max";
        /// Least fraction that a loss takes.
        beta_min: f64 = 0.125, "-", "[liu2008 §3]",
            |beta| *beta > 0.0 && *beta < 1.0, "a fraction above 0 and below 1, at most beta_max";
        /// Largest fraction that a loss takes.
        beta_max: f64 = 0.5, "-", "[liu2008 §3]",
            |beta| *beta > 0.0 && *beta < 1.0, "a fraction above 0 and below 1";
        /// Least window that does not grow and is not reduced as Reno's.
        low_window: f64 = 15.0, "segments", "[linux6 tcp_illinois.c]",
            |window| *window >= 0.0, "a number of segments, at least 0";
        /// Round trips of low delay before the largest increase.
        low_rounds: u64 = 5, "-", "[linux6 tcp_illinois.c]";
        /// The rules: those of the paper, or of the module of Linux.
        form: Form = Form::Paper, "-", "[linux6 tcp_illinois.c]";
    }
}

impl IllinoisParams {
    /// The module of Linux, if the parameters ask for it.
    fn module(&self, setup: &Setup) -> Option<Box<Attached<linux::illinois::Illinois>>> {
        let alphas = (self.alpha_min, self.alpha_max);
        let betas = (self.beta_min, self.beta_max);
        let constants = linux::illinois::Constants::of(alphas, betas, self.low_window, self.low_rounds);
        (self.form == Form::Linux)
            .then(|| Box::new(Attached::new(linux::illinois::Illinois::new(constants), setup)))
    }
}

/// The state of TCP-Illinois.
#[derive(Clone, Debug)]
pub struct Illinois {
    params: IllinoisParams,
    window: RenoWindow,
    alpha: f64,
    beta: f64,
    /// Minimum and maximum round-trip time, in seconds.
    rtt_min: f64,
    rtt_max: f64,
    /// Sum and number of the samples of the round.
    sum: f64,
    samples: f64,
    /// First byte after the round.
    round_end: u64,
    /// True once the delay has been above the lowest hundredth, and the rounds below it since then.
    has_been_above: bool,
    rounds_below: u64,
    module: Option<Box<Attached<linux::illinois::Illinois>>>,
}

impl Illinois {
    /// A timeout: the parameters and the samples of the delay are those of the beginning (`tcp_illinois_state`).
    fn clear(&mut self) {
        (self.alpha, self.beta) = (1.0, 0.5);
        (self.sum, self.samples) = (0.0, 0.0);
        self.has_been_above = false;
        self.rounds_below = 0;
    }

    /// The increase at a mean queueing delay and its maximum, in seconds.
    fn alpha_at(&mut self, delay: f64, maximum: f64) -> f64 {
        let IllinoisParams { alpha_min, alpha_max, low_rounds, .. } = self.params;
        let low = maximum / 100.0;
        if delay <= low {
            if !self.has_been_above {
                return alpha_max;
            }
            self.rounds_below += 1;
            if self.rounds_below < low_rounds {
                return self.alpha;
            }
            self.has_been_above = false;
            self.rounds_below = 0;
            return alpha_max;
        }
        self.has_been_above = true;
        let range = maximum - low;
        range * alpha_max / (range + (delay - low) * (alpha_max - alpha_min) / alpha_min)
    }

    /// The fraction taken at a mean queueing delay and its maximum, in seconds.
    fn beta_at(&self, delay: f64, maximum: f64) -> f64 {
        let IllinoisParams { beta_min, beta_max, .. } = self.params;
        let (low, high) = (0.1 * maximum, 0.8 * maximum);
        if delay <= low {
            beta_min
        } else if delay >= high {
            beta_max
        } else {
            (beta_min * high - beta_max * low + (beta_max - beta_min) * delay) / (high - low)
        }
    }

    fn on_round_end(&mut self, segments: f64) {
        if segments < self.params.low_window {
            (self.alpha, self.beta) = (1.0, 0.5);
        } else if self.samples > 0.0 {
            let maximum = self.rtt_max - self.rtt_min;
            let delay = (self.sum / self.samples - self.rtt_min).max(0.0);
            self.alpha = self.alpha_at(delay, maximum);
            self.beta = self.beta_at(delay, maximum);
        }
        (self.sum, self.samples) = (0.0, 0.0);
    }
}

impl CongestionControl for Illinois {
    type Params = IllinoisParams;
    const SUMMARY: &'static str =
        "Reno whose increase falls and whose decrease rises with the queueing delay.";
    const SOURCE: &'static str = "[liu2008 §3]";
    const RECOVERY: Option<&'static str> = Some("sack");
    const TAKES_SLOW_START: bool = true;
    const PROBES: &'static [ProbeInfo] = &[BASE_RTT, INCREASE];

    fn new(params: &IllinoisParams, setup: &Setup) -> Self {
        Illinois {
            params: params.clone(),
            window: RenoWindow::new(setup),
            alpha: 1.0,
            beta: 0.5,
            rtt_min: f64::INFINITY,
            rtt_max: 0.0,
            sum: 0.0,
            samples: 0.0,
            round_end: 0,
            has_been_above: false,
            rounds_below: 0,
            module: params.module(setup),
        }
    }

    fn contradiction(params: &IllinoisParams) -> Option<(&'static str, &'static str)> {
        if params.alpha_min > params.alpha_max {
            return Some(("alpha_min", "at most alpha_max"));
        }
        (params.beta_min > params.beta_max).then_some(("beta_min", "at most beta_max"))
    }
}

impl Control for Illinois {
    window_in!(window);
    module_hooks!();

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if let Some(module) = &mut self.module {
            module.on_ack(&mut self.window, context, ack);
            return;
        }
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.secs();
            self.rtt_min = self.rtt_min.min(rtt);
            self.rtt_max = self.rtt_max.max(rtt);
            self.sum += rtt;
            self.samples += 1.0;
        }
        if ack.ack >= self.round_end {
            self.on_round_end(self.window.cwnd / context.mss);
            self.round_end = context.snd_nxt.max(ack.ack + 1);
        }
        let additions = self.window.slow_start(context, ack);
        if additions > 0.0 {
            let count = self.window.cwnd / (context.mss * self.alpha);
            self.window.grow(additions, count, context);
        }
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        if let Some(module) = &mut self.module {
            module.on_congestion(&mut self.window, context, congestion);
            return;
        }
        self.window.keep(1.0 - self.beta, context, congestion);
        if congestion.signal.restarts() {
            self.clear();
        }
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
        self.clear();
        self.window.restart(context, congestion);
    }

    fn probe(&self, index: usize) -> Option<f64> {
        let (base, increase) = match self.module.as_deref() {
            Some(Attached { module, .. }) => (module.base_secs(), module.increase()),
            None => (self.rtt_min.is_finite().then_some(self.rtt_min), self.alpha),
        };
        *[base, Some(increase)].get(index)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;
    use crate::algorithms::newvegas::tests::{MSS, context};
    use dumbbell_units::Time;

    /// A connection with a maximum queueing delay of 100 ms.
    fn illinois(segments: f64) -> Illinois {
        let setup = Setup::new(Time::ZERO, MSS, segments * MSS).with_initial_ssthresh(2.0 * MSS);
        let new = Illinois::new(&IllinoisParams::default(), &setup);
        Illinois { rtt_min: 0.1, rtt_max: 0.2, ..new }
    }

    /// Increase and decrease after a round of this mean delay.
    fn after_round(illinois: &mut Illinois, delay: f64) -> (f64, f64) {
        (illinois.sum, illinois.samples) = (10.0 * (0.1 + delay), 10.0);
        illinois.on_round_end(illinois.cwnd() / MSS);
        (illinois.alpha, illinois.beta)
    }

    #[test]
    fn the_increase_falls_from_10_to_0_3_and_the_decrease_rises_from_an_eighth_to_a_half() {
        let rows = [
            (0.000, 10.0, 0.125),
            (0.001, 10.0, 0.125),
            // 99 * 10 / (99 + 9 * 9.7 / 0.3) = 990 / 390.
            (0.010, 990.0 / 390.0, 0.125),
            // Half way from 10 to 80 ms: 0.125 + 0.375 / 2. 990 / (99 + 44 * 32.333) = 990 / 1521.67.
            (0.045, 0.650_60, 0.3125),
            (0.080, 990.0 / (99.0 + 79.0 * 97.0 / 3.0), 0.5),
            (0.100, 0.3, 0.5),
        ];
        for (delay, alpha, beta) in rows {
            let (measured_alpha, measured_beta) = after_round(&mut illinois(100.0), delay);
            assert!((measured_alpha - alpha).abs() < 1e-4, "{delay} s: {measured_alpha}");
            assert!((measured_beta - beta).abs() < 1e-9, "{delay} s: {measured_beta}");
        }
    }

    #[test]
    fn five_rounds_of_low_delay_precede_the_largest_increase() {
        let mut illinois = illinois(100.0);
        assert_eq!(after_round(&mut illinois, 0.0).0, 10.0);
        let lower = after_round(&mut illinois, 0.1).0;
        let increases: Vec<f64> = (0..6).map(|_| after_round(&mut illinois, 0.0).0).collect();
        assert_eq!(increases, [lower, lower, lower, lower, 10.0, 10.0]);
    }

    #[test]
    fn a_window_below_15_segments_is_renos() {
        assert_eq!(after_round(&mut illinois(14.9), 0.0), (1.0, 0.5));
        assert_eq!(after_round(&mut illinois(15.0), 0.0), (10.0, 0.125));
    }

    #[test]
    fn rounds_are_averaged_and_applied_to_growth_and_loss() {
        let mut illinois = illinois(20.0);
        let mut una = 0;
        for (number, milliseconds) in (0..20).map(|number| (number, if number % 2 == 0 { 110 } else { 180 }))
        {
            let sent = Context::new(Time(number), MSS).with_sent(una, una + 20_000);
            una += 1000;
            illinois.on_ack(&sent, &Ack::new(una, 1000).with_rtt(Some(Time(milliseconds * 1_000_000))));
        }
        // The first ACK was a round of one sample of 10 ms. The next round ends with the 20th: 9 samples of 10 ms and ten
        // of 80 ms are 46.842 ms on average: 0.125 + 0.375 * 36.842 / 70.
        assert!((illinois.beta - 0.322_37).abs() < 1e-4, "{}", illinois.beta);
        illinois.on_congestion(&context(100.0 * MSS), &Congestion::new(Signal::Timeout));
        assert!((illinois.ssthresh() - illinois.ssthresh().min(67.763 * MSS)).abs() < MSS);
        assert_eq!((illinois.alpha, illinois.beta), (1.0, 0.5));
    }
}
