//! H-TCP [leith2004 §2], whose increase rises with the time since the last congestion.
//!
//! D seconds after it, a round trip adds $2 (1 - beta) A(D)$ segments: $A = 1$ up to one second, and
//! $A = 1 + 10 (D - 1) + ((D - 1) / 2)^2$ above. A loss keeps the fraction beta of the window, the minimum over the maximum
//! round-trip time within 0.5 and 0.8, so that the queue just empties; half if the throughput before the loss is not
//! within 20 % of that before the previous one.
//!
//! All constants are those of Linux [linux6 tcp_htcp.c], which follows the paper. Linux has further rules:
//! `rtt_scaling` multiplies A by the minimum round-trip time over 100 ms, within 0.1 and 2; `rtt_memory = "fading"`
//! lets the maximum round-trip time rise by 20 ms per sample at most and fall by 5 % of its excess per loss, and keeps
//! half for paths of up to 10 ms. Otherwise, the maximum is that since the last loss. `form = "linux"` is its module in
//! whole numbers, whose maximum always fades.
//!
//! Where it departs: throughput is measured over round-trip times and smoothed by a quarter, as in Linux.

use crate::linux::{self, Attached, Form, Module, module_hooks};
use crate::probes::INCREASE;
use crate::toolbox::RenoWindow;
use crate::{
    Ack, Congestion, CongestionControl, Context, Control, ProbeInfo, RecoveryExit, Setup, Undo, window_in,
};
use dumbbell_units::math::real;
use dumbbell_units::{Time, choice, params};

choice! {
    /// What the maximum round-trip time remembers.
    pub enum RttMemory {
        /// The samples since the last loss.
        Epoch = "epoch",
        /// All samples near the maximum, which fades with losses, as in Linux.
        Fading = "fading",
    }
}

params! {
    /// Parameters of H-TCP.
    pub struct HtcpParams {
        /// Time after a congestion in which it grows as Reno does.
        low_time: Time = Time(1_000_000_000), "s", "[leith2004 §2]";
        /// Keep more than half of the window where the queue is small; half if false.
        adaptive_backoff: bool = true, "-", "[leith2004 §2]";
        /// Keep half of the window if the throughput has changed.
        bandwidth_switch: bool = true, "-", "[leith2004 §2]";
        /// Scale the increase by the minimum round-trip time; true in Linux.
        rtt_scaling: bool = false, "-", "[linux6 tcp_htcp.c]";
        /// What the maximum round-trip time remembers.
        rtt_memory: RttMemory = RttMemory::Epoch, "-", "[leith2004 §2]";
        /// The rules: those of the paper, or of the module of Linux.
        form: Form = Form::Paper, "-", "[linux6 tcp_htcp.c]";
        /// Tick of the clock of Linux: 1/HZ.
        tick: Time = Time(4_000_000), "s", "[linux6 tcp_htcp.c]",
            |tick| tick.0 >= 100_000 && tick.0 <= 100_000_000, "a time from 0.1 ms to 100 ms";
    }
}

impl HtcpParams {
    /// The parameters of Linux [linux6 tcp_htcp.c].
    pub fn linux() -> Self {
        HtcpParams {
            rtt_scaling: true,
            rtt_memory: RttMemory::Fading,
            form: Form::Linux,
            ..HtcpParams::default()
        }
    }

    /// The module of Linux, if the parameters ask for it.
    fn module(&self, setup: &Setup) -> Option<Box<Attached<linux::htcp::Htcp>>> {
        let switches = linux::htcp::Switches {
            adaptive_backoff: self.adaptive_backoff,
            bandwidth_switch: self.bandwidth_switch,
            rtt_scaling: self.rtt_scaling,
        };
        let create = || linux::htcp::Htcp::new(switches, self.low_time, self.tick, setup.now);
        (self.form == Form::Linux).then(|| Box::new(Attached::new(create(), setup)))
    }
}

/// What a spurious reduction restores.
#[derive(Clone, Copy, Debug)]
struct Episode {
    /// The last congestion.
    begun: Time,
    /// Maximum round-trip time, in seconds.
    rtt_max: f64,
    /// Highest throughput before the last congestion, in bytes/s.
    previous_peak: f64,
}

/// The state of H-TCP.
#[derive(Clone, Debug)]
pub struct Htcp {
    params: HtcpParams,
    window: RenoWindow,
    episode: Episode,
    before_reduction: Episode,
    /// Fraction that the last loss has kept.
    beta: f64,
    /// Last increase, in segments per round trip.
    increase: f64,
    /// Minimum round-trip time, in seconds; infinite before the first.
    rtt_min: f64,
    /// True if beta may follow the round-trip times.
    is_adaptive: bool,
    /// Bytes acknowledged since this time, smoothed throughput and its maximum in the episode.
    counted: f64,
    counted_since: Time,
    throughput: f64,
    peak: f64,
    module: Option<Box<Attached<linux::htcp::Htcp>>>,
}

impl Htcp {
    fn on_rtt(&mut self, rtt: f64) {
        self.rtt_min = self.rtt_min.min(rtt);
        let episode = &mut self.episode;
        episode.rtt_max = match self.params.rtt_memory {
            RttMemory::Epoch => episode.rtt_max.max(rtt),
            RttMemory::Fading => {
                let most = episode.rtt_max.max(self.rtt_min);
                if rtt <= most + 0.020 { most.max(rtt) } else { most }
            }
        };
    }

    fn measure_throughput(&mut self, context: &Context, ack: &Ack) {
        self.counted += real(ack.delivered);
        let elapsed = context.now.since(self.counted_since).secs();
        let enough = self.window.cwnd - self.increase.max(1.0) * context.mss;
        if self.counted < enough || elapsed < self.rtt_min || elapsed <= 0.0 {
            return;
        }
        let sample = self.counted / elapsed;
        // The first samples after a reduction begin the episode's.
        if context.now.since(self.episode.begun).secs() < 4.0 * self.rtt_min {
            self.throughput = sample;
            self.peak = sample;
        } else {
            self.throughput = 0.75 * self.throughput + 0.25 * sample;
            self.peak = self.peak.max(self.throughput);
        }
        self.counted = 0.0;
        self.counted_since = context.now;
    }

    /// Increase in segments per round trip at this time.
    fn increase_at(&self, now: Time) -> f64 {
        let above = now.since(self.episode.begun).since(self.params.low_time).secs();
        let mut factor = 1.0 + 10.0 * above + above * above / 4.0;
        if self.params.rtt_scaling && self.rtt_min.is_finite() {
            factor = (factor * (self.rtt_min / 0.1).clamp(0.1, 2.0)).max(1.0);
        }
        2.0 * (1.0 - self.beta) * factor
    }

    /// The fraction of the window that a congestion keeps now.
    fn backoff(&mut self) -> f64 {
        let previous = std::mem::replace(&mut self.episode.previous_peak, self.peak);
        let Episode { rtt_max, .. } = self.episode;
        if self.params.bandwidth_switch && (self.peak < 0.8 * previous || self.peak > 1.2 * previous) {
            self.is_adaptive = false;
            return 0.5;
        }
        let is_short = self.params.rtt_memory == RttMemory::Fading && self.rtt_min <= 0.010;
        if !std::mem::replace(&mut self.is_adaptive, true) || is_short || rtt_max <= 0.0 {
            return 0.5;
        }
        if self.params.adaptive_backoff { (self.rtt_min / rtt_max).clamp(0.5, 0.8) } else { 0.5 }
    }
}

impl CongestionControl for Htcp {
    type Params = HtcpParams;
    const SUMMARY: &'static str =
        "Growth that rises with the time since the last loss, reduction by the queue's share.";
    const SOURCE: &'static str = "[leith2004 §2]";
    const RECOVERY: Option<&'static str> = Some("sack");
    const TAKES_SLOW_START: bool = true;
    const PROBES: &'static [ProbeInfo] = &[INCREASE];

    fn new(params: &HtcpParams, setup: &Setup) -> Self {
        let episode = Episode { begun: setup.now, rtt_max: 0.0, previous_peak: 0.0 };
        Htcp {
            params: params.clone(),
            window: RenoWindow::new(setup),
            episode,
            before_reduction: episode,
            beta: 0.5,
            increase: 1.0,
            rtt_min: f64::INFINITY,
            is_adaptive: false,
            counted: 0.0,
            counted_since: setup.now,
            throughput: 0.0,
            peak: 0.0,
            module: params.module(setup),
        }
    }
}

impl Control for Htcp {
    window_in!(window);
    module_hooks!();

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if let Some(module) = &mut self.module {
            module.on_ack(&mut self.window, context, ack);
            return;
        }
        if ack.in_recovery {
            (self.counted, self.counted_since) = (0.0, context.now);
            return;
        }
        if let Some(rtt) = ack.rtt {
            self.on_rtt(rtt.secs());
        }
        self.measure_throughput(context, ack);
        let additions = self.window.slow_start(context, ack);
        if additions > 0.0 {
            self.increase = self.increase_at(context.now);
            let count = self.window.cwnd / (context.mss * self.increase);
            self.window.grow(additions, count, context);
        }
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        if let Some(module) = &mut self.module {
            module.on_congestion(&mut self.window, context, congestion);
            return;
        }
        self.before_reduction = self.episode;
        self.beta = self.backoff();
        let episode = &mut self.episode;
        episode.begun = context.now;
        episode.rtt_max = match self.params.rtt_memory {
            RttMemory::Epoch => 0.0,
            RttMemory::Fading if episode.rtt_max > self.rtt_min => {
                self.rtt_min + 0.95 * (episode.rtt_max - self.rtt_min)
            }
            RttMemory::Fading => episode.rtt_max,
        };
        (self.counted, self.counted_since) = (0.0, context.now);
        self.window.keep(self.beta, context, congestion);
    }

    fn on_recovery_exit(&mut self, context: &Context, exit: &RecoveryExit) {
        self.episode.begun = context.now;
        self.module.iter_mut().for_each(|module| module.on_recovery_exit(context));
        self.window.on_recovery_exit(context, exit);
    }

    fn on_repeated_timeout(&mut self, context: &Context, congestion: &Congestion) {
        match &mut self.module {
            Some(module) => module.on_repeated_timeout(&mut self.window, context, congestion),
            None => self.window.cwnd = context.loss_window,
        }
    }

    fn on_undo(&mut self, _context: &Context, undo: &Undo) {
        self.episode = self.before_reduction;
        self.module.iter_mut().for_each(|attached| attached.module.on_undo());
        self.window.on_undo(undo);
    }

    fn probe(&self, index: usize) -> Option<f64> {
        (index == 0)
            .then(|| self.module.as_ref().map_or(self.increase, |attached| attached.module.increase()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;
    use crate::algorithms::newvegas::tests::{MSS, context};

    fn htcp(params: &HtcpParams) -> Htcp {
        let setup = Setup::new(Time::ZERO, MSS, 100.0 * MSS).with_initial_ssthresh(2.0 * MSS);
        Htcp::new(params, &setup)
    }

    fn at(seconds: f64) -> Context {
        Context { now: Time::from_secs(seconds), ..context(100.0 * MSS) }
    }

    /// Fractions kept by losses at peaks of this throughput, the minimum round-trip time being 100 ms.
    fn kept(params: &HtcpParams, losses: &[(f64, f64)]) -> Vec<f64> {
        let mut htcp = htcp(params);
        htcp.rtt_min = 0.1;
        losses
            .iter()
            .map(|&(peak, rtt_max)| {
                (htcp.peak, htcp.episode.rtt_max) = (peak, rtt_max);
                htcp.on_congestion(&at(1.0), &Congestion::new(Signal::FastRetransmit));
                htcp.beta
            })
            .collect()
    }

    #[test]
    fn the_increase_rises_with_the_square_of_the_time() {
        // 1 + 10 * 1 + 0.25, 1 + 40 + 4, 1 + 90 + 20.25, times 2 (1 - 0.5) = 1.
        let plain = htcp(&HtcpParams::default());
        let increases = [1.0, 2.0, 5.0, 10.0].map(|seconds| plain.increase_at(Time::from_secs(seconds)));
        assert_eq!(increases, [1.0, 11.25, 45.0, 111.25]);
        // beta 0.8: 2 * 0.2 * 11.25.
        let queued = Htcp { beta: 0.8, ..plain.clone() };
        assert!((queued.increase_at(Time::from_secs(2.0)) - 4.5).abs() < 1e-9);
        // 50 ms halve it, 300 ms double it at most, and it is not below one.
        let scaled = |rtt_min, seconds| {
            let scaled = Htcp { rtt_min, ..htcp(&HtcpParams::linux()) };
            scaled.increase_at(Time::from_secs(seconds))
        };
        assert_eq!((scaled(0.05, 5.0), scaled(0.3, 5.0), scaled(0.05, 1.0)), (22.5, 90.0, 1.0));
    }

    #[test]
    fn an_ack_adds_its_share_of_the_increase() {
        let mut htcp = htcp(&HtcpParams::default());
        htcp.on_ack(&at(2.0), &Ack::new(1000, 1000));
        // 11.25 segments in a round trip of 100.
        assert!((htcp.cwnd() - 100_112.5).abs() < 1e-6);
    }

    #[test]
    fn a_loss_keeps_the_ratio_of_round_trip_times_while_the_throughput_is_steady() {
        // Half at first, half while the throughput differs by more than a fifth, and once more; then the ratio.
        let losses =
            [(1e6, 0.125), (1.1e6, 0.125), (1.0e6, 0.16), (1.0e6, 0.11), (1.0e6, 0.4), (1.3e6, 0.125)];
        let expected = [0.5, 0.5, 0.625, 0.8, 0.5, 0.5];
        for (kept, expected) in kept(&HtcpParams::default(), &losses).into_iter().zip(expected) {
            assert!((kept - expected).abs() < 1e-12, "{kept} against {expected}");
        }
        let halving = HtcpParams { adaptive_backoff: false, ..HtcpParams::default() };
        assert_eq!(kept(&halving, &losses), [0.5; 6]);
        let ignoring = HtcpParams { bandwidth_switch: false, ..HtcpParams::default() };
        assert_eq!(kept(&ignoring, &losses)[1], 0.8);
    }

    #[test]
    fn the_maximum_of_linux_fades_and_ignores_outliers() {
        let mut htcp = htcp(&HtcpParams { rtt_memory: RttMemory::Fading, ..HtcpParams::default() });
        for rtt in [0.1, 0.119, 0.2, 0.138] {
            htcp.on_rtt(rtt);
        }
        assert_eq!(htcp.episode.rtt_max, 0.138);
        htcp.on_congestion(&at(1.0), &Congestion::new(Signal::FastRetransmit));
        // 100 + 0.95 * 38 ms.
        assert!((htcp.episode.rtt_max - 0.1361).abs() < 1e-12);
        // A path of 10 ms keeps half.
        let mut short = Htcp { rtt_min: 0.01, is_adaptive: true, ..htcp };
        short.peak = short.episode.previous_peak;
        assert_eq!(short.backoff(), 0.5);
    }

    #[test]
    fn an_undo_continues_the_growth_of_the_episode() {
        let mut htcp = htcp(&HtcpParams::default());
        let before = htcp.cwnd();
        htcp.on_congestion(&at(5.0), &Congestion::new(Signal::FastRetransmit));
        assert_eq!(htcp.increase_at(Time::from_secs(5.0)), 1.0);
        htcp.on_undo(&at(5.0), &Undo::new(Signal::FastRetransmit, before, 2.0 * MSS));
        assert_eq!((htcp.cwnd(), htcp.increase_at(Time::from_secs(5.0))), (before, 45.0));
    }

    #[test]
    fn throughput_is_counted_over_round_trips() {
        let mut htcp = htcp(&HtcpParams::default());
        // 100 segments in the 100 ms before, and then 120: 1 MB/s, and 0.75 * 1 + 0.25 * 1.2 MB/s later.
        let mut acknowledge = |seconds: f64, bytes| {
            htcp.on_ack(&at(seconds), &Ack::new(bytes, bytes).with_rtt(Some(Time(100_000_000))));
            htcp.peak
        };
        assert!((acknowledge(0.1, 100_000) - 1e6).abs() < 1.0);
        assert!((acknowledge(1.1, 1_000_000) - 1e6).abs() < 1.0);
        assert!((acknowledge(1.2, 120_000) - 1.05e6).abs() < 1.0);
    }
}
