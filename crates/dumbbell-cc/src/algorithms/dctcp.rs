//! Data Center TCP (RFC 8257): the window follows the fraction of marked data.
//!
//! Once per window of data, `alpha` moves by 1/16 of its distance to the fraction of bytes in that window whose marks were
//! echoed. A mark reduces the window by `alpha / 2`, once per window of data, and an ACK that echoes one does not grow it
//! (RFC 3168 §6.1.2). Otherwise the window grows, and halves at a loss, as Reno's does.
//!
//! The switch must mark above a threshold of the instantaneous queue, and the receiver must echo every mark: its
//! variant uses the feedback of RFC 8257 §3.2. With classic feedback, which echoes a mark until it is answered, a mark
//! halves the window (RFC 3168 §6.1.2).
//!
//! Linux has `holds`, and a small `alpha` becomes zero: `alpha_floor` is 1/64.
//!
//! Where it departs: the reduction is immediate, as in RFC 8257 §3.3; Linux approaches the threshold within a round trip,
//! and rounds `alpha` and the window to integers [linux6 tcp_dctcp.c].

use crate::probes::MARKED_FRACTION;
use crate::toolbox::RenoWindow;
use crate::{Ack, Congestion, CongestionControl, Context, Control, ProbeInfo, Setup, Signal, window_in};
use dumbbell_units::math::real;
use dumbbell_units::params;

params! {
    /// Parameters of DCTCP.
    pub struct DctcpParams {
        /// Weight of a window of data in the smoothed fraction of marks, `g`.
        gain: f64 = 0.0625, "-", "[RFC 8257 §4.2]", |gain| *gain > 0.0 && *gain <= 1.0, "a fraction above 0, at most 1";
        /// First value of that fraction.
        initial_alpha: f64 = 1.0, "-", "[RFC 8257 §3.3]",
            |alpha| *alpha >= 0.0 && *alpha <= 1.0, "a fraction, at least 0, at most 1";
        /// Value of the fraction below which it becomes zero.
        alpha_floor: f64 = 0.0, "-", "[RFC 8257 §3.3]",
            |floor| *floor >= 0.0 && *floor < 1.0, "a fraction, at least 0 and below 1";
        /// No growth until the data in flight at a reduction is acknowledged, as in Linux.
        holds: bool = false, "-", "[linux6 tcp_dctcp.c]";
    }
}

impl DctcpParams {
    /// The parameters of Linux.
    pub fn linux() -> Self {
        DctcpParams { alpha_floor: 1.0 / 64.0, holds: true, ..DctcpParams::default() }
    }
}

/// The state of DCTCP.
#[derive(Clone, Debug)]
pub struct Dctcp {
    params: DctcpParams,
    window: RenoWindow,
    alpha: f64,
    /// Bytes delivered in the window of data, and those marked.
    delivered: f64,
    marked: f64,
    /// First byte after the window of data.
    end: u64,
    /// Marks of data before this byte do not reduce the window again.
    reduced_to: u64,
}

impl Dctcp {
    fn count(&mut self, ack: &Ack) {
        self.delivered += real(ack.delivered);
        self.marked += real(ack.marked);
    }

    /// A window of data ends: its fraction of marks counts.
    fn update_alpha(&mut self) {
        let fraction = if self.delivered > 0.0 { (self.marked / self.delivered).min(1.0) } else { 0.0 };
        self.alpha += self.params.gain * (fraction - self.alpha);
        if self.alpha < self.params.alpha_floor && fraction == 0.0 {
            self.alpha = 0.0;
        }
        (self.delivered, self.marked) = (0.0, 0.0);
    }
}

impl CongestionControl for Dctcp {
    type Params = DctcpParams;
    const SUMMARY: &'static str = "Data Center TCP: reduces its window by the fraction of marked data.";
    const SOURCE: &'static str = "[RFC 8257]";
    const RECOVERY: Option<&'static str> = Some("rack");
    const ECN_FEEDBACK: Option<&'static str> = Some("dctcp");
    const TAKES_SLOW_START: bool = true;
    const PROBES: &'static [ProbeInfo] = &[MARKED_FRACTION];

    fn new(params: &DctcpParams, setup: &Setup) -> Self {
        Dctcp {
            params: params.clone(),
            window: RenoWindow::new(setup),
            alpha: params.initial_alpha,
            delivered: 0.0,
            marked: 0.0,
            end: 0,
            reduced_to: 0,
        }
    }
}

impl Control for Dctcp {
    window_in!(window);

    fn reacts_to_marks(&self) -> bool {
        true
    }

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        self.count(ack);
        if ack.ack > self.end {
            self.update_alpha();
            self.end = context.snd_nxt;
        }
        let is_new = ack.ack > self.reduced_to;
        let is_marked = ack.marked > 0;
        if is_marked && is_new && !ack.in_recovery {
            self.reduced_to = context.snd_nxt;
            let cwnd = (self.window.cwnd * (1.0 - self.alpha / 2.0)).max(2.0 * context.mss);
            let cwnd = cwnd.min(self.window.cwnd.max(context.mss));
            let ssthresh = cwnd.max(2.0 * context.mss);
            self.window.reduce(ssthresh, cwnd, context, &Congestion::new(Signal::EcnEcho));
        } else if !is_marked && (is_new || !self.params.holds) {
            self.window.increase(context, ack);
        }
    }

    fn on_duplicate_ack(&mut self, _context: &Context, ack: &Ack) {
        self.count(ack);
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        self.reduced_to = self.reduced_to.max(context.snd_nxt);
        self.window.halve(context, congestion);
    }

    fn probe(&self, index: usize) -> Option<f64> {
        (index == 0).then_some(self.alpha)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_units::Time;

    const MSS: f64 = 1000.0;

    fn dctcp(segments: f64) -> Dctcp {
        let setup = Setup::new(Time::ZERO, MSS, segments * MSS).with_initial_ssthresh(segments * MSS);
        Dctcp::new(&DctcpParams::default(), &setup)
    }

    /// Acknowledges a window of data, ten segments from `una`, the first `marked` of them with a mark.
    fn window(dctcp: &mut Dctcp, una: u64, marked: u64) {
        for segment in 0..10 {
            let start = una + segment * 1000;
            let context = Context::new(Time::ZERO, MSS).with_sent(start, una + 10_000 + segment * 1000);
            let bytes = if segment < marked { 1000 } else { 0 };
            dctcp.on_ack(&context, &Ack::new(start + 1000, 1000).with_marked(bytes));
        }
    }

    #[test]
    fn alpha_moves_by_a_sixteenth_to_the_fraction_of_marks() {
        let mut dctcp = dctcp(10.0);
        // The first ACK ends an empty window of data without marks: 1 - 1/16.
        window(&mut dctcp, 0, 0);
        assert_eq!(dctcp.alpha, 0.9375);
        // The second window of data ends with the first ACK of the third: 9 of its ACKs are without a mark, and that ACK
        // has one. M = 1/10: 0.9375 + (0.1 - 0.9375) / 16 = 0.885156.
        window(&mut dctcp, 10_000, 0);
        let before = dctcp.alpha;
        assert!((before - 0.87890625).abs() < 1e-12, "{before}");
        window(&mut dctcp, 20_000, 1);
        assert!((dctcp.alpha - (0.87890625 + (0.1 - 0.87890625) / 16.0)).abs() < 1e-12, "{}", dctcp.alpha);
    }

    #[test]
    fn a_mark_reduces_by_half_of_alpha_once_per_window_of_data() {
        // dctcp-06: with all data marked, alpha stays 1, and the window halves once per window of data.
        let mut dctcp = dctcp(32.0);
        window(&mut dctcp, 0, 10);
        assert_eq!(dctcp.alpha, 1.0);
        // 32 halves at the first ACK. The other nine echo marks too, and do not grow the window.
        assert_eq!(dctcp.cwnd(), 16.0 * MSS);
        window(&mut dctcp, 10_000, 10);
        assert_eq!(dctcp.cwnd(), 8.0 * MSS);
        // Never below two segments.
        (2..8).for_each(|round| window(&mut dctcp, round * 10_000, 10));
        assert_eq!(dctcp.cwnd(), 2.0 * MSS);
    }

    #[test]
    fn after_a_reduction_the_window_grows_with_the_next_ack_or_as_in_linux_a_round_trip_later() {
        for (params, grown) in [(DctcpParams::default(), true), (DctcpParams::linux(), false)] {
            let setup = Setup::new(Time::ZERO, MSS, 20.0 * MSS).with_initial_ssthresh(20.0 * MSS);
            let mut dctcp = Dctcp::new(&params, &setup);
            // The first ACK has a mark; nine without follow, of data sent before the reduction to ten segments.
            window(&mut dctcp, 0, 1);
            assert_eq!(dctcp.cwnd() > 10.0 * MSS, grown);
            // ACKs above byte 10,000, the end of what was in flight, grow it again.
            let before = dctcp.cwnd();
            window(&mut dctcp, 10_000, 0);
            assert!(dctcp.cwnd() > before);
        }
    }

    #[test]
    fn a_loss_halves_the_flight_size_whatever_alpha_is() {
        // dctcp-07: 20 segments in flight leave 10.
        let mut dctcp = dctcp(20.0);
        dctcp.alpha = 0.1;
        let context = Context::new(Time::ZERO, MSS).with_sent(0, 20_000);
        dctcp.on_congestion(&context, &Congestion::new(Signal::FastRetransmit));
        assert_eq!(dctcp.cwnd(), 10.0 * MSS);
        // A mark of the same window of data changes nothing more.
        dctcp.on_ack(&context, &Ack::new(1000, 1000).with_marked(1000).with_recovery(true));
        assert_eq!(dctcp.cwnd(), 10.0 * MSS);
    }

    #[test]
    fn a_small_alpha_may_become_zero_as_in_linux() {
        let setup = Setup::new(Time::ZERO, MSS, 10.0 * MSS);
        let params = DctcpParams { initial_alpha: 0.0166, alpha_floor: 1.0 / 64.0, ..DctcpParams::default() };
        let mut dctcp = Dctcp::new(&params, &setup);
        // 0.0166 * 15/16 = 0.01556 is below 1/64 = 0.015625.
        window(&mut dctcp, 0, 0);
        assert_eq!(dctcp.alpha, 0.0);
    }
}
