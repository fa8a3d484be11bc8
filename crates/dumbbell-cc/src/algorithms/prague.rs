//! TCP Prague, the reference congestion control of L4S (RFC 9331), after its implementation in Linux [prague2024].
//!
//! Packets carry the identifier of L4S, ECT(1). Like DCTCP, it keeps a smoothed fraction of marks, `alpha`, and reduces
//! its window by `alpha / 2`, but at most once per virtual round trip of 25 ms, and the window grows by what is
//! acknowledged without a mark, also after a reduction. For round trips shorter than 25 ms it grows as slowly as a flow
//! with 25 ms would, so that rates depend less on the round-trip time. It paces at its window per smoothed round-trip time.
//! A loss halves the window.
//!
//! Where it departs from the implementation: windows are real numbers and change at once, not by a segment per ACK. It
//! does not look for classic queue management that marks. With classic feedback a mark halves the window (RFC 3168
//! §6.1.2), and packets carry ECT(0) from the first echo on: the boundary does not tell the kind of feedback.

use crate::probes::MARKED_FRACTION;
use crate::{
    Ack, Congestion, CongestionControl, Context, Control, ProbeInfo, RecoveryExit, Restart, Setup, Signal, Undo,
};
use dumbbell_units::math::{least, real};
use dumbbell_units::{Ecn, Time, params};

params! {
    /// Parameters of Prague.
    pub struct PragueParams {
        /// Weight of a virtual round trip in the smoothed fraction of marks.
        gain: f64 = 0.0625, "-", "[prague2024]", |gain| *gain > 0.0 && *gain <= 1.0, "a fraction above 0, at most 1";
        /// First value of that fraction; 0 in the implementation over UDP.
        initial_alpha: f64 = 1.0, "-", "[prague2024]",
            |alpha| *alpha >= 0.0 && *alpha <= 1.0, "a fraction, at least 0, at most 1";
        /// Shortest virtual round trip.
        rtt_target: Time = Time(25_000_000), "s", "[RFC 9331 §4.3]";
        /// Round trips after slow start from which growth depends on the virtual round trip; 0 for at once.
        rtt_rounds: u64 = 500, "rounds", "[prague2024]";
        /// Whether it ever does.
        rtt_independence: bool = true, "-", "[RFC 9331 §4.3]";
        /// Length of a burst at the rate: 1/4096 s.
        burst_time: Time = Time(244_141), "s", "[prague2024]";
        /// Least window.
        min_window: f64 = 2.0, "segments", "[prague2024]", |window| *window >= 1.0, "a number of segments, at least 1";
    }
}

/// The state of Prague.
#[derive(Clone, Debug)]
pub struct Prague {
    params: PragueParams,
    cwnd: f64,
    ssthresh: f64,
    initial_window: f64,
    alpha: f64,
    delivered: f64,
    marked: f64,
    /// First byte after the round trip, and when the virtual round trip began.
    end: u64,
    since: Time,
    /// When a mark last reduced the window.
    reduced_at: Option<Time>,
    /// Round trips since slow start.
    rounds: u64,
    srtt: f64,
    pacing_rate: Option<f64>,
    is_exact: bool,
    mss: f64,
}

impl Prague {
    fn virtual_rtt(&self) -> f64 {
        self.srtt.max(self.params.rtt_target.secs())
    }

    /// Segments added per round trip.
    fn increase(&self) -> f64 {
        let target = self.params.rtt_target.secs();
        if self.params.rtt_independence && self.rounds >= self.params.rtt_rounds && self.srtt < target {
            let part = self.srtt / target;
            part * part
        } else {
            1.0
        }
    }

    fn count(&mut self, ack: &Ack) {
        self.delivered += real(ack.delivered);
        self.marked += real(ack.marked);
    }

    fn set_pacing_rate(&mut self) {
        if self.srtt > 0.0 {
            let factor = if self.cwnd < self.ssthresh / 2.0 { 2.0 } else { 1.0 };
            self.pacing_rate = Some(factor * self.cwnd / self.srtt);
        }
    }
}

impl CongestionControl for Prague {
    type Params = PragueParams;
    const SUMMARY: &'static str = "TCP Prague: DCTCP's reaction to marks for L4S, paced, and less dependent on the round-trip time.";
    const SOURCE: &'static str = "[RFC 9331]";
    const RECOVERY: Option<&'static str> = Some("sack");
    const ECN_FEEDBACK: Option<&'static str> = Some("accurate");
    const PROBES: &'static [ProbeInfo] = &[MARKED_FRACTION];

    fn new(params: &PragueParams, setup: &Setup) -> Self {
        Prague {
            params: params.clone(),
            cwnd: setup.initial_window,
            ssthresh: setup.initial_ssthresh,
            initial_window: setup.initial_window,
            alpha: params.initial_alpha,
            delivered: 0.0,
            marked: 0.0,
            end: 0,
            since: setup.now,
            reduced_at: None,
            rounds: 0,
            srtt: 0.0,
            pacing_rate: None,
            is_exact: true,
            mss: setup.mss,
        }
    }
}

impl Control for Prague {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.pacing_rate
    }

    fn send_quantum(&self) -> Option<f64> {
        self.pacing_rate.map(|rate| (rate * self.params.burst_time.secs()).max(self.mss))
    }

    fn ecn_codepoint(&self) -> Ecn {
        if self.is_exact { Ecn::Ect1 } else { Ecn::Ect0 }
    }

    fn reacts_to_marks(&self) -> bool {
        true
    }

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        let (now, mss) = (context.now, context.mss);
        if let Some(srtt) = context.srtt().or(ack.rtt.map(Time::secs)) {
            self.srtt = srtt;
        }
        self.count(ack);
        if ack.ack > self.end {
            self.end = context.snd_nxt;
            self.rounds += u64::from(self.cwnd >= self.ssthresh);
            if now.since(self.since).secs() >= self.virtual_rtt() {
                let fraction = if self.delivered > 0.0 { least(self.marked / self.delivered, 1.0) } else { 0.0 };
                self.alpha += self.params.gain * (fraction - self.alpha);
                (self.delivered, self.marked) = (0.0, 0.0);
                self.since = now;
            }
        }
        let unmarked = real(ack.acked.saturating_sub(ack.marked));
        if !ack.in_recovery && unmarked > 0.0 {
            let growth = if self.cwnd < self.ssthresh {
                unmarked
            } else {
                self.increase() * mss * unmarked / self.cwnd
            };
            self.cwnd = context.grown(self.cwnd, growth);
        }
        let may_reduce =
            self.reduced_at.is_none_or(|reduced_at| now.since(reduced_at).secs() >= self.virtual_rtt());
        if ack.marked > 0 && may_reduce && !ack.in_recovery {
            self.reduced_at = Some(now);
            let least_window = least(self.params.min_window * mss, self.cwnd);
            self.cwnd = (self.cwnd * (1.0 - self.alpha / 2.0)).max(least_window);
            self.ssthresh = self.cwnd;
        }
        self.set_pacing_rate();
    }

    fn on_duplicate_ack(&mut self, _context: &Context, ack: &Ack) {
        self.count(ack);
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        self.is_exact &= congestion.signal != Signal::EcnEcho;
        self.ssthresh = (self.cwnd / 2.0).max(self.params.min_window * context.mss);
        self.cwnd =
            if congestion.signal.restarts() { context.loss_window } else { least(self.cwnd, self.ssthresh) };
        self.set_pacing_rate();
    }

    fn on_recovery_exit(&mut self, _context: &Context, exit: &RecoveryExit) {
        self.cwnd += exit.kept_inflation;
    }

    fn on_undo(&mut self, _context: &Context, undo: &Undo) {
        self.cwnd = self.cwnd.max(undo.cwnd);
        self.ssthresh = self.ssthresh.max(undo.ssthresh);
    }

    fn on_restart(&mut self, _context: &Context, _restart: &Restart) {
        self.cwnd = self.cwnd.min(self.initial_window);
    }

    fn probe(&self, index: usize) -> Option<f64> {
        (index == 0).then_some(self.alpha)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: f64 = 1000.0;
    const MS: u64 = 1_000_000;

    fn prague(params: PragueParams, segments: f64) -> Prague {
        let setup = Setup::new(Time::ZERO, MSS, segments * MSS).with_initial_ssthresh(segments * MSS);
        Prague::new(&params, &setup)
    }

    fn context(ms: u64, una: u64, nxt: u64, srtt: f64) -> Context {
        Context::new(Time(ms * MS), MSS).with_sent(una, nxt).with_rtts(srtt, srtt)
    }

    #[test]
    fn growth_below_the_target_is_that_of_a_flow_with_the_target() {
        let mut prague = prague(PragueParams { rtt_rounds: 0, ..PragueParams::default() }, 10.0);
        // 5 ms of 25 ms: (1/5)^2 = 0.04 segments per round trip; one of ten segments adds a tenth of it.
        prague.on_ack(&context(5, 0, 10_000, 0.005), &Ack::new(1000, 1000));
        assert!((prague.cwnd - (10.0 + 0.004) * MSS).abs() < 1e-6, "{}", prague.cwnd);
        // With 50 ms, a segment per round trip.
        let before = prague.cwnd;
        prague.on_ack(&context(10, 1000, 10_000, 0.05), &Ack::new(2000, 1000));
        assert!((prague.cwnd - before - MSS * MSS / before).abs() < 1e-6);
    }

    #[test]
    fn a_mark_reduces_once_per_virtual_round_trip_and_unmarked_data_still_adds() {
        let mut prague = prague(PragueParams { initial_alpha: 0.5, ..PragueParams::default() }, 20.0);
        // 20 * (1 - 0.5 / 2) = 15 segments.
        prague.on_ack(&context(1, 0, 20_000, 0.01), &Ack::new(1000, 1000).with_marked(1000));
        assert_eq!(prague.cwnd, 15.0 * MSS);
        // 24 ms later another mark does nothing, and a segment without one adds 1/15.
        prague.on_ack(&context(20, 1000, 20_000, 0.01), &Ack::new(2000, 1000).with_marked(1000));
        assert_eq!(prague.cwnd, 15.0 * MSS);
        prague.on_ack(&context(25, 2000, 20_000, 0.01), &Ack::new(3000, 1000));
        assert!((prague.cwnd / MSS - (15.0 + 1.0 / 15.0)).abs() < 1e-9);
        // 25 ms after the first it does.
        let before = prague.cwnd;
        prague.on_ack(&context(26, 3000, 20_000, 0.01), &Ack::new(4000, 1000).with_marked(1000));
        assert!(prague.cwnd < 0.8 * before);
    }

    #[test]
    fn it_paces_at_its_window_per_round_trip_and_twice_that_in_slow_start() {
        let mut prague = prague(PragueParams::default(), 10.0);
        prague.on_ack(&context(1, 0, 10_000, 0.01), &Ack::new(1000, 1000));
        // 10.1 segments in 10 ms.
        assert!((prague.pacing_rate().unwrap() - 1_010_000.0).abs() < 1e-3);
        prague.ssthresh = f64::INFINITY;
        prague.on_ack(&context(1, 1000, 10_000, 0.01), &Ack::new(2000, 1000));
        assert!((prague.pacing_rate().unwrap() - 2_220_000.0).abs() < 1e-3);
    }

    #[test]
    fn classic_feedback_halves_and_gives_the_identifier_up() {
        let mut prague = prague(PragueParams::default(), 20.0);
        assert_eq!(prague.ecn_codepoint(), Ecn::Ect1);
        prague.on_congestion(&context(1, 0, 20_000, 0.01), &Congestion::new(Signal::EcnEcho));
        assert_eq!((prague.cwnd, prague.ecn_codepoint()), (10.0 * MSS, Ecn::Ect0));
    }
}
