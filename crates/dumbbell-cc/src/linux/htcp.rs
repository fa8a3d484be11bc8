//! H-TCP in whole numbers [linux6 tcp_htcp.c].
//!
//! Times are ticks, the increase and the fraction that a loss keeps count in 1/128, and throughput in whole segments per
//! second. The window grows by the segments that the last acknowledgement in the state Open covers, one acknowledgement
//! later: once the count is full, the acknowledgement that finds it so adds a segment, and the increase is computed anew.
//! The time since the last congestion counts from the end of its recovery.

use super::{Clock, Module, Segments, before_loss, micros};
use crate::toolbox::RenoWindow;
use crate::{Ack, Congestion, Context, Sample, SenderState};
use dumbbell_units::Time;

/// Scale of the increase and of what a loss keeps.
const SCALE: u64 = 128;
/// A half and 0.8, which a loss keeps.
const LEAST_KEPT: u64 = 64;
const MOST_KEPT: u64 = 102;
/// A path with a shorter round-trip time keeps half.
const SHORT: Time = Time(10_000_000);
/// The largest rise of the maximum round-trip time.
const RISE: Time = Time(20_000_000);

/// Rules that can be switched off.
#[derive(Clone, Copy, Debug)]
pub struct Switches {
    pub adaptive_backoff: bool,
    pub bandwidth_switch: bool,
    pub rtt_scaling: bool,
}

/// What a spurious reduction restores. Times are ticks.
#[derive(Clone, Copy, Debug)]
struct Episode {
    begun: u64,
    rtt_max: u64,
    previous_peak: u64,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Htcp {
    switches: Switches,
    clock: Clock,
    /// Ticks of growth as Reno's after a congestion.
    low_time: u64,
    state: SenderState,
    alpha: u64,
    beta: u64,
    is_adaptive: bool,
    /// Segments of the last acknowledgement.
    acked: u64,
    rtt_min: Option<u64>,
    episode: Episode,
    /// The episode before the reduction, until it ends or is undone.
    before: Option<Episode>,
    delivered: u64,
    delivered_since: Option<u64>,
    throughput: u64,
    peak: u64,
}

impl Htcp {
    pub fn new(switches: Switches, low_time: Time, tick: Time, now: Time) -> Self {
        let clock = Clock::new(tick);
        Htcp {
            switches,
            clock,
            low_time: clock.of(low_time),
            state: SenderState::Open,
            alpha: SCALE,
            beta: LEAST_KEPT,
            is_adaptive: false,
            acked: 1,
            rtt_min: None,
            episode: Episode { begun: clock.at(now), rtt_max: 0, previous_peak: 0 },
            before: None,
            delivered: 0,
            delivered_since: None,
            throughput: 0,
            peak: 0,
        }
    }

    /// The increase, in segments per round trip.
    pub fn increase(&self) -> f64 {
        self.alpha as f64 / SCALE as f64
    }

    fn take_rtt(&mut self, rtt: u64) {
        let least = self.rtt_min.map_or(rtt, |least| least.min(rtt));
        self.rtt_min = Some(least).filter(|least| *least > 0);
        if self.state == SenderState::Open {
            let most = self.episode.rtt_max.max(least);
            self.episode.rtt_max = if rtt <= most + self.clock.of(RISE) { most.max(rtt) } else { most };
        }
    }

    fn measure(&mut self, now: u64, cwnd: u64, segments: u64) {
        if !matches!(self.state, SenderState::Open | SenderState::Disorder) {
            (self.delivered, self.delivered_since) = (0, Some(now));
            return;
        }
        self.delivered += segments;
        let Some(rtt_min) = self.rtt_min else { return };
        let elapsed = self.delivered_since.map_or(u64::MAX, |since| now.saturating_sub(since));
        let increase = (self.alpha / SCALE).max(1);
        if self.delivered < cwnd.saturating_sub(increase) || elapsed < rtt_min {
            return;
        }
        let sample = self.delivered * self.clock.per_second() / elapsed;
        if now.saturating_sub(self.episode.begun) / rtt_min <= 3 {
            (self.throughput, self.peak) = (sample, sample);
        } else {
            self.throughput = (3 * self.throughput + sample) / 4;
            self.peak = self.peak.max(self.throughput);
        }
        (self.delivered, self.delivered_since) = (0, Some(now));
    }

    fn update_beta(&mut self) {
        let previous = std::mem::replace(&mut self.episode.previous_peak, self.peak);
        let is_steady = (4 * previous..=6 * previous).contains(&(5 * self.peak));
        if self.switches.bandwidth_switch && !is_steady {
            (self.beta, self.is_adaptive) = (LEAST_KEPT, false);
            return;
        }
        let rtt_min = self.rtt_min.unwrap_or(0);
        let may_adapt = std::mem::replace(&mut self.is_adaptive, true) && self.switches.adaptive_backoff;
        self.beta = match (rtt_min * SCALE).checked_div(self.episode.rtt_max) {
            Some(ratio) if may_adapt && rtt_min > self.clock.of(SHORT) => ratio.clamp(LEAST_KEPT, MOST_KEPT),
            _ => LEAST_KEPT,
        };
    }

    fn update_alpha(&mut self, now: u64) {
        let second = self.clock.per_second();
        let mut factor = 1;
        let elapsed = now.saturating_sub(self.episode.begun);
        if elapsed > self.low_time {
            let above = elapsed - self.low_time;
            factor += (10 * above + (above / 2) * (above / 2) / second) / second;
        }
        if let Some(rtt_min) = self.rtt_min.filter(|_| self.switches.rtt_scaling) {
            let scale = (8 * second / (10 * rtt_min)).clamp(4, 80);
            factor = (8 * factor / scale).max(1);
        }
        self.alpha = 2 * factor * (SCALE - self.beta);
    }
}

impl Module for Htcp {
    fn on_sample(&mut self, window: &RenoWindow, context: &Context, sample: &Sample) {
        if self.state == SenderState::Open {
            self.acked = sample.segments;
        }
        let rtt = sample.rtt.map(|rtt| Time(1000 * micros(context.now, rtt)));
        if let Some(rtt) = rtt.filter(|rtt| *rtt > Time::ZERO) {
            self.take_rtt(self.clock.of(rtt));
        }
        let cwnd = before_loss(window, context);
        self.measure(self.clock.at(context.now), cwnd, sample.segments);
    }

    fn on_state(&mut self, context: &Context, state: SenderState) {
        self.state = state;
        let now = self.clock.at(context.now);
        match state {
            SenderState::Open => {
                if self.before.take().is_some() {
                    self.episode.begun = now;
                }
            }
            SenderState::Disorder => {}
            SenderState::Cwr | SenderState::Recovery | SenderState::Loss => {
                self.before = Some(self.episode);
                self.episode.begun = now;
            }
        }
    }

    fn on_ack(&mut self, window: &mut RenoWindow, context: &Context, ack: &Ack) {
        if window.in_slow_start() {
            window.slow_start(context, ack);
            return;
        }
        let mut segments = Segments::of(window, context);
        if !segments.is_limiting {
            return;
        }
        let counted = segments.counted();
        if counted * self.alpha / SCALE >= segments.cwnd() {
            segments.add(1);
            segments.set_counted(0);
            self.update_alpha(self.clock.at(context.now));
        } else {
            segments.set_counted(counted + self.acked);
        }
        self.acked = 1;
    }

    fn on_congestion(&mut self, window: &mut RenoWindow, context: &Context, congestion: &Congestion) {
        let rtts = (self.rtt_min.unwrap_or(0), self.episode.rtt_max);
        self.update_beta();
        self.update_alpha(self.clock.at(context.now));
        if rtts.0 > 0 && rtts.1 > rtts.0 {
            self.episode.rtt_max = rtts.0 + (rtts.1 - rtts.0) * 95 / 100;
        }
        let rest = before_loss(window, context) * self.beta / SCALE;
        super::reduce(window, rest, context, congestion);
    }

    fn on_undo(&mut self) {
        if let Some(before) = self.before.take() {
            self.episode = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::newvegas::tests::{MSS, context};
    use crate::linux::tests::window;

    fn htcp() -> Htcp {
        let switches = Switches { adaptive_backoff: true, bandwidth_switch: true, rtt_scaling: true };
        Htcp::new(switches, Time(1_000_000_000), Time(4_000_000), Time::ZERO)
    }

    #[test]
    fn the_increase_counts_in_128ths_of_whole_factors() {
        // 2 s after a second, 500 ticks: 1 + (5000 + 250 * 250 / 250) / 250 = 22, times 2 * 64.
        let mut htcp = htcp();
        htcp.update_alpha(750);
        assert_eq!(htcp.alpha, 22 * 128);
        // 100 ms are 25 ticks: 8 * 250 / 250 = 8 eighths. 40 ms: 20 eighths, 8 * 22 / 20 = 8.
        htcp.rtt_min = Some(25);
        htcp.update_alpha(750);
        assert_eq!(htcp.alpha, 22 * 128);
        htcp.rtt_min = Some(10);
        htcp.update_alpha(750);
        assert_eq!(htcp.alpha, 8 * 128);
    }

    #[test]
    fn a_full_count_adds_a_segment_with_the_next_acknowledgement() {
        let (mut htcp, mut window) = (htcp(), window(4.0, 2.0));
        let windows: Vec<f64> = (0..6)
            .map(|_| {
                htcp.on_sample(&window, &context(4.0 * MSS), &Sample::new(None).with_segments(1));
                htcp.on_ack(&mut window, &context(4.0 * MSS), &Ack::new(1000, 1000));
                window.cwnd / MSS
            })
            .collect();
        assert_eq!(windows, [4.0, 4.0, 4.0, 4.0, 5.0, 5.0]);
    }

    #[test]
    fn the_time_since_a_congestion_counts_from_the_end_of_its_recovery_and_an_undo_restores_it() {
        let at = |seconds: f64| Context { now: Time::from_secs(seconds), ..context(MSS) };
        let mut htcp = htcp();
        htcp.on_state(&at(1.0), SenderState::Recovery);
        htcp.on_state(&at(2.0), SenderState::Open);
        assert_eq!(htcp.episode.begun, 500);
        htcp.on_state(&at(3.0), SenderState::Recovery);
        htcp.on_undo();
        htcp.on_state(&at(4.0), SenderState::Open);
        assert_eq!(htcp.episode.begun, 500);
    }

    #[test]
    fn a_steady_throughput_keeps_the_ratio_of_ticks() {
        let mut htcp = htcp();
        (htcp.rtt_min, htcp.peak, htcp.episode.previous_peak) = (Some(10), 100, 100);
        htcp.episode.rtt_max = 14;
        htcp.update_beta();
        assert_eq!(htcp.beta, 64, "the first one adapts the next");
        htcp.update_beta();
        // 10 * 128 / 14.
        assert_eq!(htcp.beta, 91);
        htcp.peak = 121;
        htcp.update_beta();
        assert_eq!((htcp.beta, htcp.is_adaptive), (64, false));
    }
}
