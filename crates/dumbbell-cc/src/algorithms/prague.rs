//! TCP Prague, the reference congestion control of L4S (RFC 9331), after its implementation in Linux [prague2024].
//!
//! Packets carry the identifier of L4S, ECT(1). Like DCTCP, it keeps a smoothed fraction of marks, `alpha`, from the
//! first mark on, and a mark reduces the window by $alpha / 2$ at most once per round trip. The window grows by what is
//! acknowledged without a mark, also after a reduction. Some rounds after slow start, a flow with a round trip shorter
//! than 25 ms becomes independent of it: it grows as slowly as a flow with 25 ms would, and updates `alpha` and reduces
//! its window at most once per 25 ms. It paces at its window per smoothed round-trip time. A loss halves the window.
//!
//! Where it departs from the implementation: windows are real numbers and change at once, not by a segment per ACK. It
//! does not look for classic queue management that marks. With classic feedback a mark halves the window (RFC 3168
//! §6.1.2), and packets carry ECT(0) from the first echo on: the boundary does not tell the kind of feedback.

use crate::probes::MARKED_FRACTION;
use crate::{
    Ack, Congestion, CongestionControl, Context, Control, ProbeInfo, Setup, Signal, Window, window_in,
};
use dumbbell_units::math::{least, real};
use dumbbell_units::{Ecn, Time, params};

params! {
    /// Parameters of Prague.
    pub struct PragueParams {
        /// Weight of a round trip in the smoothed fraction of marks.
        gain: f64 = 0.0625, "-", "[prague2024]", |gain| *gain > 0.0 && *gain <= 1.0, "a fraction above 0, at most 1";
        /// First value of that fraction; 0 in the implementation over UDP.
        initial_alpha: f64 = 1.0, "-", "[prague2024]",
            |alpha| *alpha >= 0.0 && *alpha <= 1.0, "a fraction, at least 0, at most 1";
        /// Round-trip time as which shorter ones count.
        rtt_target: Time = Time(25_000_000), "s", "[RFC 9331 §4.3]";
        /// Round trips after slow start from which they do; 0 for at once.
        rtt_rounds: u64 = 500, "rounds", "[prague2024]";
        /// Whether they ever do.
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
    window: Window,
    alpha: f64,
    delivered: f64,
    marked: f64,
    /// True once there was a mark.
    has_seen_marks: bool,
    /// First byte after the round trip, and when `alpha` was updated last.
    end: u64,
    updated_at: Time,
    /// Marks of data before this byte do not reduce the window again, and when a mark reduced it last.
    reduced_to: u64,
    reduced_at: Option<Time>,
    /// Round trips since slow start.
    rounds: u64,
    srtt: f64,
    pacing_rate: Option<f64>,
    is_exact: bool,
    mss: f64,
}

impl Prague {
    /// True if a round trip shorter than the target counts as the target.
    fn is_independent(&self) -> bool {
        self.params.rtt_independence
            && self.window.cwnd >= self.window.ssthresh
            && self.rounds >= self.params.rtt_rounds
    }

    /// True if the target has passed since `last`, or the flow depends on its round-trip time.
    fn target_has_passed(&self, now: Time, last: Option<Time>) -> bool {
        !self.is_independent() || last.is_none_or(|last| now.since(last) >= self.params.rtt_target)
    }

    /// Segments added per round trip.
    fn increase(&self) -> f64 {
        let part = self.srtt / self.params.rtt_target.secs();
        if self.is_independent() && part < 1.0 { part * part } else { 1.0 }
    }

    fn count(&mut self, ack: &Ack) {
        self.has_seen_marks |= ack.marked > 0;
        self.delivered += real(ack.delivered);
        self.marked += real(ack.marked);
    }

    /// Data sent after the last reduction is acknowledged with a mark.
    fn reduce(&mut self, context: &Context) {
        self.reduced_to = context.snd_nxt;
        if self.target_has_passed(context.now, self.reduced_at) {
            self.reduced_at = Some(context.now);
            let least_window = least(self.params.min_window * context.mss, self.window.cwnd);
            self.window.cwnd = (self.window.cwnd * (1.0 - self.alpha / 2.0)).max(least_window);
            self.window.ssthresh = self.window.cwnd;
        }
    }

    /// A round trip ends: its fraction of marks counts.
    fn end_round(&mut self, context: &Context) {
        if self.has_seen_marks {
            let fraction = if self.delivered > 0.0 { least(self.marked / self.delivered, 1.0) } else { 0.0 };
            self.alpha += self.params.gain * (fraction - self.alpha);
            self.updated_at = context.now;
        }
        (self.delivered, self.marked) = (0.0, 0.0);
        self.end = context.snd_nxt;
        self.rounds += u64::from(self.window.cwnd >= self.window.ssthresh);
    }

    fn set_pacing_rate(&mut self) {
        if self.srtt > 0.0 {
            let factor = if self.window.cwnd < self.window.ssthresh / 2.0 { 2.0 } else { 1.0 };
            self.pacing_rate = Some(factor * self.window.cwnd / self.srtt);
        }
    }
}

impl CongestionControl for Prague {
    type Params = PragueParams;
    const SUMMARY: &'static str =
        "TCP Prague: DCTCP's reaction to marks for L4S, paced, and less dependent on the round-trip time.";
    const SOURCE: &'static str = "[RFC 9331]";
    const RECOVERY: Option<&'static str> = Some("rack");
    const ECN_FEEDBACK: Option<&'static str> = Some("accurate");
    const PROBES: &'static [ProbeInfo] = &[MARKED_FRACTION];

    fn new(params: &PragueParams, setup: &Setup) -> Self {
        Prague {
            params: params.clone(),
            window: Window::new(setup),
            alpha: params.initial_alpha,
            delivered: 0.0,
            marked: 0.0,
            has_seen_marks: false,
            end: 0,
            updated_at: setup.now,
            reduced_to: 0,
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
    window_in!(window);

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
        if let Some(srtt) = context.srtt().or(ack.rtt.map(Time::secs)) {
            self.srtt = srtt;
        }
        self.count(ack);
        if ack.marked > 0 && ack.ack > self.reduced_to && !ack.in_recovery {
            self.reduce(context);
        }
        let unmarked = real(ack.acked.saturating_sub(ack.marked));
        if !ack.in_recovery && unmarked > 0.0 {
            let growth = if self.window.cwnd < self.window.ssthresh {
                unmarked
            } else {
                self.increase() * context.mss * unmarked / self.window.cwnd
            };
            self.window.cwnd = context.grown(self.window.cwnd, growth);
        }
        if ack.ack >= self.end && self.target_has_passed(context.now, Some(self.updated_at)) {
            self.end_round(context);
        }
        self.set_pacing_rate();
    }

    fn on_duplicate_ack(&mut self, _context: &Context, ack: &Ack) {
        self.count(ack);
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        self.is_exact &= congestion.signal != Signal::EcnEcho;
        self.window.ssthresh = (self.window.cwnd / 2.0).max(self.params.min_window * context.mss);
        self.window.cwnd = if congestion.signal.restarts() {
            context.loss_window
        } else {
            least(self.window.cwnd, self.window.ssthresh)
        };
        self.set_pacing_rate();
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
        assert!((prague.window.cwnd - (10.0 + 0.004) * MSS).abs() < 1e-6, "{}", prague.window.cwnd);
        // With 50 ms, a segment per round trip.
        let before = prague.window.cwnd;
        prague.on_ack(&context(10, 1000, 10_000, 0.05), &Ack::new(2000, 1000));
        assert!((prague.window.cwnd - before - MSS * MSS / before).abs() < 1e-6);
    }

    /// The window, in segments, after an ACK with a mark at this time of the segment that ends at `ack`; 20 are in flight.
    fn after_mark(prague: &mut Prague, ms: u64, ack: u64) -> f64 {
        let context = context(ms, ack - 1000, ack + 19_000, 0.01);
        prague.on_ack(&context, &Ack::new(ack, 1000).with_marked(1000));
        prague.window.cwnd / MSS
    }

    #[test]
    fn a_mark_reduces_once_per_window_of_data_and_unmarked_data_still_adds() {
        let mut prague = prague(PragueParams { initial_alpha: 0.5, ..PragueParams::default() }, 20.0);
        // 20 * (1 - 0.5 / 2) = 15 segments. All of that ACK is marked: alpha becomes 0.5 + 0.5 / 16 = 0.53125.
        assert_eq!(after_mark(&mut prague, 1, 1000), 15.0);
        // The 20 segments up to byte 20,000 were in flight: their marks do nothing, and the ACK without one adds 1/15.
        assert_eq!(after_mark(&mut prague, 2, 2000), 15.0);
        prague.on_ack(&context(3, 2000, 20_000, 0.01), &Ack::new(3000, 1000));
        assert!((prague.window.cwnd / MSS - (15.0 + 1.0 / 15.0)).abs() < 1e-9);
        let before = prague.window.cwnd / MSS;
        assert_eq!(after_mark(&mut prague, 10, 20_000), before);
        // The next one does. 2 of 3 ACKs up to byte 20,000 had marks: 0.53125 + (2/3 - 0.53125) / 16 = 0.539714.
        assert!((after_mark(&mut prague, 11, 21_000) - before * (1.0 - 0.539_714 / 2.0)).abs() < 1e-5);
    }

    #[test]
    fn a_flow_that_is_independent_of_its_round_trip_time_reduces_once_per_target() {
        let params = PragueParams { initial_alpha: 0.5, rtt_rounds: 0, ..PragueParams::default() };
        let mut prague = prague(params, 20.0);
        assert_eq!(after_mark(&mut prague, 1, 1000), 15.0);
        // Two round trips later, 24 ms after the first mark, and 25 ms after it.
        assert_eq!(after_mark(&mut prague, 25, 50_000), 15.0);
        assert!(after_mark(&mut prague, 26, 90_000) < 12.0);
    }

    #[test]
    fn alpha_is_kept_until_there_is_a_mark() {
        let mut prague = prague(PragueParams::default(), 20.0);
        for round in 0..20 {
            prague.on_ack(
                &context(round, round * 20_000, round * 20_000 + 20_000, 0.01),
                &Ack::new(round * 20_000 + 1000, 1000),
            );
        }
        assert_eq!(prague.alpha, 1.0);
        let before = prague.window.cwnd;
        prague.on_ack(&context(20, 400_000, 420_000, 0.01), &Ack::new(401_000, 1000).with_marked(1000));
        assert_eq!(prague.window.cwnd, before / 2.0);
    }

    #[test]
    fn it_paces_at_its_window_per_round_trip_and_twice_that_in_slow_start() {
        let mut prague = prague(PragueParams::default(), 10.0);
        prague.on_ack(&context(1, 0, 10_000, 0.01), &Ack::new(1000, 1000));
        // 10.1 segments in 10 ms.
        assert!((prague.pacing_rate().unwrap() - 1_010_000.0).abs() < 1e-3);
        prague.window.ssthresh = f64::INFINITY;
        prague.on_ack(&context(1, 1000, 10_000, 0.01), &Ack::new(2000, 1000));
        assert!((prague.pacing_rate().unwrap() - 2_220_000.0).abs() < 1e-3);
    }

    #[test]
    fn classic_feedback_halves_and_gives_the_identifier_up() {
        let mut prague = prague(PragueParams::default(), 20.0);
        assert_eq!(prague.ecn_codepoint(), Ecn::Ect1);
        prague.on_congestion(&context(1, 0, 20_000, 0.01), &Congestion::new(Signal::EcnEcho));
        assert_eq!((prague.window.cwnd, prague.ecn_codepoint()), (10.0 * MSS, Ecn::Ect0));
    }

    #[test]
    fn it_paces_at_twice_the_rate_only_below_half_of_the_threshold() {
        let mut prague = prague(PragueParams::default(), 10.0);
        prague.srtt = 0.01;
        for (ssthresh, segments_per_second) in [(20.0, 1000.0), (20.1, 2000.0)] {
            prague.window.ssthresh = ssthresh * MSS;
            prague.set_pacing_rate();
            assert_eq!(prague.pacing_rate(), Some(segments_per_second * MSS), "{ssthresh}");
        }
    }
}
