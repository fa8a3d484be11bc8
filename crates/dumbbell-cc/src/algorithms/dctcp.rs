//! Data Center TCP (RFC 8257): the window follows the fraction of marked data.
//!
//! Once per window of data, `alpha` moves by 1/16 of its distance to the fraction of bytes in that window whose marks
//! were echoed. A mark reduces the window by $alpha / 2$, once per window of data, and an ACK that echoes one does not
//! grow it (RFC 3168 §6.1.2). Otherwise the window grows, and halves at a loss, as Reno's does.
//!
//! The switch must mark above a threshold of the instantaneous queue, and the receiver must echo every mark: its
//! variant uses the feedback of RFC 8257 §3.2. With classic feedback, which echoes a mark until it is answered, a mark
//! halves the window (RFC 3168 §6.1.2).
//!
//! The reduction is immediate, as in RFC 8257 §3.3. With the `form` of Linux, the loss recovery learns of marks and
//! lowers the window to the threshold within a round trip; `alpha` is a whole number of 1/1024, which becomes zero
//! below 1/64; a window of data ends with the ACK of its last byte; and a loss during a reduction halves what it has
//! left of the window [linux6 tcp_dctcp.c].

use crate::probes::MARKED_FRACTION;
use crate::toolbox::RenoWindow;
use crate::{Ack, Congestion, CongestionControl, Context, Control, ProbeInfo, Setup, Signal, window_in};
use dumbbell_units::math::real;
use dumbbell_units::{choice, params};

/// `alpha` of Linux counts in these units.
const UNITS: f64 = 1024.0;

choice! {
    /// Who reacts to marks, and the rounding.
    pub enum DctcpForm {
        /// The congestion control, at once and without rounding.
        Rfc8257 = "rfc8257",
        /// The loss recovery, as in Linux.
        Linux = "linux",
    }
}

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
        /// Who reacts to marks, and the rounding.
        form: DctcpForm = DctcpForm::Rfc8257, "-", "[linux6 tcp_dctcp.c]";
    }
}

impl DctcpParams {
    /// The parameters of Linux.
    pub fn linux() -> Self {
        DctcpParams { alpha_floor: 1.0 / 64.0, form: DctcpForm::Linux, ..DctcpParams::default() }
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
    /// The same since the connection began, up to the last ACK, which is counted already.
    total: (u64, u64),
    is_counted: bool,
    /// First byte after the window of data.
    end: u64,
    /// Marks of data before this byte do not reduce the window again.
    reduced_to: u64,
    /// The last reduction was for a mark.
    is_for_mark: bool,
}

impl Dctcp {
    fn count(&mut self, ack: &Ack) {
        if !std::mem::take(&mut self.is_counted) {
            self.delivered += real(ack.delivered);
            self.marked += real(ack.marked);
            self.total = (self.total.0 + ack.delivered, self.total.1 + ack.marked);
        }
    }

    /// The same for an ACK whose mark is reported before the ACK itself.
    fn count_early(&mut self, context: &Context) {
        self.delivered += real(context.delivered.saturating_sub(self.total.0));
        self.marked += real(context.marked.saturating_sub(self.total.1));
        self.total = (context.delivered, context.marked);
        self.is_counted = true;
    }

    fn is_linux(&self) -> bool {
        self.params.form == DctcpForm::Linux
    }

    /// A window of data ends: its fraction of marks counts.
    fn update_alpha(&mut self) {
        let fraction = if self.delivered > 0.0 { (self.marked / self.delivered).min(1.0) } else { 0.0 };
        if self.is_linux() {
            self.update_whole_alpha(fraction);
        } else {
            self.alpha += self.params.gain * (fraction - self.alpha);
            if self.alpha < self.params.alpha_floor && fraction == 0.0 {
                self.alpha = 0.0;
            }
        }
        (self.delivered, self.marked) = (0.0, 0.0);
    }

    /// `dctcp_update_alpha`: what the old value loses and what it gains are rounded down.
    fn update_whole_alpha(&mut self, fraction: f64) {
        let (alpha, gain) = (self.alpha * UNITS, self.params.gain);
        let kept = if self.alpha < self.params.alpha_floor { 0.0 } else { alpha - (alpha * gain).floor() };
        self.alpha = (kept + (fraction * UNITS * gain).floor()).min(UNITS) / UNITS;
    }

    /// The window of data ends with the ACK of its last byte.
    fn end_window_of_linux(&mut self, snd_una: u64, context: &Context) {
        if snd_una >= self.end {
            self.update_alpha();
            self.end = context.snd_nxt;
        }
    }

    /// `dctcp_ssthresh`.
    fn reduce_for_mark_of_linux(&mut self, context: &Context, congestion: &Congestion) {
        let segments = self.window.cwnd / context.mss;
        let segments = (segments - (segments * self.alpha / 2.0).floor()).max(2.0);
        let cwnd = segments * context.mss;
        self.window.reduce(cwnd, cwnd, context, congestion);
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
            total: (0, 0),
            is_counted: false,
            end: 0,
            reduced_to: 0,
            is_for_mark: false,
        }
    }
}

impl Control for Dctcp {
    window_in!(window);

    fn reacts_to_marks(&self) -> bool {
        !self.is_linux()
    }

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if self.is_linux() {
            self.count(ack);
            self.end_window_of_linux(ack.ack, context);
            self.window.increase(context, ack);
            return;
        }
        self.count(ack);
        if ack.ack > self.end {
            self.update_alpha();
            self.end = context.snd_nxt;
        }
        let is_marked = ack.marked > 0;
        if is_marked && ack.ack > self.reduced_to && !ack.in_recovery {
            self.reduced_to = context.snd_nxt;
            let cwnd = (self.window.cwnd * (1.0 - self.alpha / 2.0)).max(2.0 * context.mss);
            let cwnd = cwnd.min(self.window.cwnd.max(context.mss));
            let ssthresh = cwnd.max(2.0 * context.mss);
            self.window.reduce(ssthresh, cwnd, context, &Congestion::new(Signal::EcnEcho));
        } else if !is_marked {
            self.window.increase(context, ack);
        }
    }

    fn on_duplicate_ack(&mut self, _context: &Context, ack: &Ack) {
        self.count(ack);
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        self.reduced_to = self.reduced_to.max(context.snd_nxt);
        self.is_for_mark = congestion.signal == Signal::EcnEcho;
        if self.is_linux() && self.is_for_mark {
            self.count_early(context);
            self.end_window_of_linux(context.snd_una, context);
            self.reduce_for_mark_of_linux(context, congestion);
        } else {
            self.window.halve(context, congestion);
        }
    }

    fn on_recovery_enter(&mut self, context: &Context) {
        // In Linux, the recovery that goes on with the reduction for a mark halves what that has left.
        if self.is_linux() && std::mem::take(&mut self.is_for_mark) {
            self.window.halve(context, &Congestion::new(Signal::FastRetransmit));
        }
    }

    fn probe(&self, index: usize) -> Option<f64> {
        (index == 0).then_some(self.alpha)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReductionBase, WindowRules};
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
    fn in_linux_alpha_is_a_whole_number_of_1024ths_and_the_recovery_tells_of_marks() {
        let params = DctcpParams { initial_alpha: 1000.0 / 1024.0, ..DctcpParams::linux() };
        let rules = WindowRules { reduction_base: ReductionBase::WholeWindow, ..WindowRules::default() };
        let mut dctcp = Dctcp::new(&params, &Setup::new(Time::ZERO, MSS, 21.0 * MSS).with_rules(rules));
        // 1000 - 62 of 1000 / 16 = 62.5, and 9 of 1024 / 16 * 1 / 7 = 9.14.
        (dctcp.delivered, dctcp.marked) = (7000.0, 1000.0);
        dctcp.update_alpha();
        assert_eq!(dctcp.alpha * UNITS, 947.0);
        assert!(!dctcp.reacts_to_marks());
        // An ACK with a mark alone changes no window; the signal does: 21 - 9 of 21 * 947 / 2048 = 9.7.
        dctcp.end = 1_000_000;
        let context = Context::new(Time::ZERO, MSS).with_sent(1000, 22_000);
        let marked = Ack::new(1000, 1000).with_delivered(1000).with_marked(1000).with_recovery(true);
        dctcp.on_ack(&context, &marked);
        assert_eq!(dctcp.cwnd(), 21.0 * MSS);
        dctcp.on_congestion(&context, &Congestion::new(Signal::EcnEcho));
        assert_eq!((dctcp.cwnd(), dctcp.ssthresh()), (12.0 * MSS, 12.0 * MSS));
        // A loss during the reduction halves what is left, once.
        dctcp.on_recovery_enter(&context.with_inflation(3.0 * MSS));
        dctcp.on_recovery_enter(&context);
        assert_eq!(dctcp.ssthresh(), 7.0 * MSS);
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
    fn a_small_alpha_may_become_zero() {
        // Below 1/64: 0.0166 * 15/16 = 0.01556; in Linux, 15 of 1024.
        let small = DctcpParams { initial_alpha: 0.0166, alpha_floor: 1.0 / 64.0, ..DctcpParams::default() };
        for params in [small, DctcpParams { initial_alpha: 15.0 / 1024.0, ..DctcpParams::linux() }] {
            let mut dctcp = Dctcp::new(&params, &Setup::new(Time::ZERO, MSS, 10.0 * MSS));
            window(&mut dctcp, 0, 0);
            assert_eq!(dctcp.alpha, 0.0);
        }
    }
}
