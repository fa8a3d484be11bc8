//! TCP Hybla [caini2004 §3], which gives long paths the growth of a path of 25 ms.
//!
//! With rho = RTT / 25 ms, at least 1, an acknowledgement adds $2^rho - 1$ segments in slow start and $rho^2 / W$ above
//! the threshold, so that the rate grows over time as Reno's would over 25 ms. A loss halves the window.
//!
//! rho follows the lowest smoothed round-trip time, as in Linux [linux6 tcp_hybla.c]. The algorithm smooths the samples
//! itself, since the retransmission timer's may be in coarse ticks. Linux has the same reference of 25 ms.
//!
//! Where it departs from Linux, unless `form = "linux"`: rho is not rounded to eighths, the initial window is that of the
//! environment instead of rho, and the window is not limited to 65535 segments. Slow start adds at most $2^32$ segments at
//! once, and does not pass the threshold.

use crate::linux::{self, Attached, Form, Module, module_hooks, module_repairs};
use crate::toolbox::RenoWindow;
use crate::{Ack, Congestion, CongestionControl, Context, Control, Setup, window_in};
use dumbbell_units::math::{least, pow};
use dumbbell_units::{Time, params};

params! {
    /// Parameters of Hybla.
    pub struct HyblaParams {
        /// Round-trip time of the path whose growth it has.
        reference: Time = Time(25_000_000), "s", "[caini2004 §3]",
            |reference| *reference > Time::ZERO, "a time above 0";
        /// The rules: those of the paper, or of the module of Linux.
        form: Form = Form::Paper, "-", "[linux6 tcp_hybla.c]";
    }
}

/// The state of Hybla.
#[derive(Clone, Debug)]
pub struct Hybla {
    reference: f64,
    window: RenoWindow,
    /// Smoothed round-trip time in seconds, and its minimum; infinite before the first sample.
    srtt: f64,
    srtt_min: f64,
    /// Square of rho, and growth by an acknowledgement in slow start, in segments.
    rho_squared: f64,
    doubling: f64,
    module: Option<Box<Attached<linux::hybla::Hybla>>>,
}

impl Hybla {
    fn take_rtt(&mut self, rtt: f64) {
        self.srtt = if self.srtt.is_finite() { self.srtt + (rtt - self.srtt) / 8.0 } else { rtt };
        if self.srtt >= self.srtt_min {
            return;
        }
        self.srtt_min = self.srtt;
        let rho = (self.srtt / self.reference).max(1.0);
        self.rho_squared = rho * rho;
        self.doubling = pow(2.0, least(rho, 32.0)) - 1.0;
    }
}

impl CongestionControl for Hybla {
    type Params = HyblaParams;
    const SUMMARY: &'static str = "Reno whose growth on a long path is that of a path of 25 ms.";
    const SOURCE: &'static str = "[caini2004 §3]";
    const RECOVERY: Option<&'static str> = Some("sack");

    fn new(params: &HyblaParams, setup: &Setup) -> Self {
        Hybla {
            reference: params.reference.secs(),
            window: RenoWindow::new(setup),
            srtt: f64::INFINITY,
            srtt_min: f64::INFINITY,
            rho_squared: 1.0,
            doubling: 1.0,
            module: (params.form == Form::Linux)
                .then(|| Box::new(Attached::new(linux::hybla::Hybla::new(params.reference), setup))),
        }
    }
}

impl Control for Hybla {
    window_in!(window);
    module_hooks!();
    module_repairs!();

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if let Some(module) = &mut self.module {
            module.on_ack(&mut self.window, context, ack);
            return;
        }
        if let Some(rtt) = ack.rtt {
            self.take_rtt(rtt.secs());
        }
        if ack.in_recovery {
            return;
        }
        let mss = context.mss;
        let rules = self.window.rules();
        let mut additions = rules.additions(ack, mss);
        if rules.in_slow_start(self.window.cwnd, self.window.ssthresh) {
            let early =
                rules.additions_below(additions, self.window.cwnd, self.window.ssthresh, self.doubling * mss);
            let most = (self.window.ssthresh - self.window.cwnd).max(mss);
            self.window.cwnd = context.grown(self.window.cwnd, least(early * self.doubling * mss, most));
            additions -= early;
        }
        if additions > 0.0 {
            let count = self.window.cwnd / (mss * self.rho_squared);
            self.window.grow(additions, count, context);
        }
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        self.window.halve(context, congestion);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;
    use crate::algorithms::newvegas::tests::{MSS, context};

    fn hybla(segments: f64, ssthresh: f64) -> Hybla {
        let setup = Setup::new(Time::ZERO, MSS, segments * MSS).with_initial_ssthresh(ssthresh * MSS);
        Hybla::new(&HyblaParams::default(), &setup)
    }

    /// An acknowledgement of a segment with this round-trip time.
    fn ack(rtt: f64) -> Ack<'static> {
        Ack::new(1000, 1000).with_rtt(Some(Time::from_secs(rtt)))
    }

    /// Growth in segments by one acknowledgement at this round-trip time.
    fn growth(segments: f64, ssthresh: f64, rtt: f64) -> f64 {
        let mut hybla = hybla(segments, ssthresh);
        hybla.on_ack(&context(segments * MSS), &ack(rtt));
        hybla.cwnd() / MSS - segments
    }

    #[test]
    fn half_a_second_is_20_times_the_reference_and_adds_400_segments_per_round_trip() {
        // 20^2 / 1000 per acknowledgement, 1000 of them.
        assert!((1000.0 * growth(1000.0, 2.0, 0.5) - 400.0).abs() < 1e-6);
        // 25 ms or less are Reno's growth.
        assert!((growth(1000.0, 2.0, 0.025) - 0.001).abs() < 1e-9);
        assert!((growth(1000.0, 2.0, 0.010) - 0.001).abs() < 1e-9);
    }

    #[test]
    fn slow_start_adds_two_to_the_power_of_rho_less_one_and_stops_at_the_threshold() {
        // 100 ms: 2^4 - 1. 37.5 ms: 2^1.5 - 1.
        assert!((growth(10.0, 1e6, 0.1) - 15.0).abs() < 1e-9);
        assert!((growth(10.0, 1e6, 0.0375) - 1.828_427).abs() < 1e-6);
        assert_eq!(growth(10.0, 12.0, 0.1), 2.0);
    }

    #[test]
    fn the_rate_grows_by_1600_segments_per_square_second_whatever_the_round_trip_time() {
        for rtt in [0.025, 0.1, 0.5] {
            let mut hybla = hybla(1000.0, 2.0);
            for _ in 0..1000 {
                hybla.on_ack(&context(1000.0 * MSS), &ack(rtt));
            }
            let slope = (hybla.cwnd() / MSS - 1000.0) / (rtt * rtt);
            // The acknowledgements of a round trip share in its growth: less by half of rho^2 / W.
            assert!((1300.0..=1600.0).contains(&slope), "{rtt}: {slope}");
        }
    }

    #[test]
    fn rho_follows_the_lowest_round_trip_time_and_a_loss_halves() {
        let mut hybla = hybla(100.0, 2.0);
        hybla.on_ack(&context(100.0 * MSS), &ack(0.1));
        hybla.on_ack(&context(100.0 * MSS), &ack(0.2));
        assert!((hybla.rho_squared - 16.0).abs() < 1e-12);
        // (7/8)^100 of the difference of 0.0625 remains.
        for _ in 0..100 {
            hybla.on_ack(&context(100.0 * MSS), &ack(0.05));
        }
        hybla.on_ack(&context(100.0 * MSS), &ack(0.1));
        assert!((hybla.rho_squared - 4.0).abs() < 1e-4);
        hybla.on_congestion(&context(100.0 * MSS), &Congestion::new(Signal::FastRetransmit));
        assert_eq!((hybla.cwnd(), hybla.ssthresh()), (50.0 * MSS, 50.0 * MSS));
    }
}
