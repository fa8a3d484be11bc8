//! TCP Veno [fu2003 §II], which tells losses of a full queue from those of a radio link.
//!
//! As Vegas, it estimates the segments queued, $N = W (RTT - base) / RTT$. With fewer than `beta` of them, the network
//! is not congested: the window grows as Reno's, and a loss keeps four fifths of it. Otherwise it grows in every second
//! round trip, and a loss keeps half. A timeout keeps half.
//!
//! N is that of the last round trip, from its minimum round-trip time. Linux takes that of the last acknowledgement and
//! decides so after a timeout, too [linux6 tcp_veno.c]; `samples = "ack"` selects it, and `form = "linux"` its module. All
//! constants are those of Linux, which follows the paper.
//!
//! Where it departs: growth in every second round trip is half the growth of each.

use crate::delay::RoundTrips;
use crate::linux::{self, Attached, Form, Module, module_hooks, module_repairs};
use crate::probes::{BASE_RTT, VEGAS_DIFF};
use crate::toolbox::RenoWindow;
use crate::{
    Ack, Congestion, CongestionControl, Context, Control, ProbeInfo, SentSegment, Setup, Signal, window_in,
};
use dumbbell_units::{choice, params};

choice! {
    /// The round-trip time from which the queue is estimated.
    pub enum VenoSamples {
        /// The minimum of the last round trip.
        Round = "round",
        /// That of the last acknowledgement, as in Linux.
        Ack = "ack",
    }
}

params! {
    /// Parameters of Veno.
    pub struct VenoParams {
        /// Segments queued from which the network is congested.
        beta: f64 = 3.0, "segments", "[fu2003 §II]", |beta| *beta >= 0.0, "a number of segments, at least 0";
        /// Fraction of the window that remains after a loss without congestion.
        kept: f64 = 0.8, "-", "[fu2003 §II]",
            |kept| *kept > 0.0 && *kept < 1.0, "a fraction above 0 and below 1";
        /// The round-trip time from which the queue is estimated.
        samples: VenoSamples = VenoSamples::Round, "-", "[fu2003 §II]";
        /// The rules: those of the paper, or of the module of Linux.
        form: Form = Form::Paper, "-", "[linux6 tcp_veno.c]";
    }
}

/// The state of Veno.
#[derive(Clone, Debug)]
pub struct Veno {
    params: VenoParams,
    window: RenoWindow,
    rtts: RoundTrips,
    /// Segments queued.
    queued: f64,
    module: Option<Box<Attached<linux::veno::Veno>>>,
}

impl Veno {
    fn is_congested(&self) -> bool {
        self.queued >= self.params.beta
    }

    fn estimate(&mut self, rtt: f64, mss: f64) {
        self.queued = self.window.cwnd / mss * (rtt - self.rtts.base) / rtt;
    }

    fn on_rtt(&mut self, rtt: f64, mss: f64) {
        self.rtts.on_sample(rtt);
        if self.params.samples == VenoSamples::Ack {
            self.estimate(rtt, mss);
        }
    }

    fn on_round_end(&mut self, mss: f64) {
        if self.params.samples == VenoSamples::Round && self.rtts.has_enough() {
            self.estimate(self.rtts.minimum, mss);
        }
    }
}

impl CongestionControl for Veno {
    type Params = VenoParams;
    const SUMMARY: &'static str =
        "Reno that keeps four fifths of its window if a loss finds the queue short.";
    const SOURCE: &'static str = "[fu2003 §II]";
    const TAKES_SLOW_START: bool = true;
    const PROBES: &'static [ProbeInfo] = &[BASE_RTT, VEGAS_DIFF];

    fn new(params: &VenoParams, setup: &Setup) -> Self {
        Veno {
            params: params.clone(),
            window: RenoWindow::new(setup),
            rtts: RoundTrips::default(),
            queued: 0.0,
            module: (params.form == Form::Linux)
                .then(|| Box::new(Attached::new(linux::veno::Veno::new(params.beta, params.kept), setup))),
        }
    }
}

impl Control for Veno {
    window_in!(window);
    module_hooks!();
    module_repairs!();

    fn on_sent(&mut self, context: &Context, _sent: &SentSegment) {
        self.module.iter_mut().for_each(|attached| attached.module.on_sent(context));
    }

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if let Some(module) = &mut self.module {
            module.on_ack(&mut self.window, context, ack);
            return;
        }
        if let Some(rtt) = ack.rtt {
            self.on_rtt(rtt.secs(), context.mss);
        }
        if ack.ack >= self.rtts.end {
            self.on_round_end(context.mss);
            self.rtts.begin_round(context.snd_nxt.max(ack.ack + 1));
        }
        let additions = self.window.slow_start(context, ack);
        if additions > 0.0 {
            let segments = self.window.cwnd / context.mss;
            let count = if self.is_congested() { 2.0 * segments } else { segments };
            self.window.grow(additions, count, context);
        }
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        if let Some(module) = &mut self.module {
            module.on_congestion(&mut self.window, context, congestion);
            return;
        }
        let is_timeout = congestion.signal == Signal::Timeout && self.params.samples == VenoSamples::Round;
        let kept = if self.is_congested() || is_timeout { 0.5 } else { self.params.kept };
        self.window.keep(kept, context, congestion);
    }

    fn probe(&self, index: usize) -> Option<f64> {
        let (base, queued) = match self.module.as_deref() {
            Some(Attached { module, .. }) => (module.base_secs(), module.queued()),
            None => (self.rtts.base_rtt(), self.queued),
        };
        *[base, Some(queued)].get(index)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::newvegas::tests::{MSS, context};
    use dumbbell_units::Time;

    fn veno(samples: VenoSamples) -> Veno {
        let setup = Setup::new(Time::ZERO, MSS, 20.0 * MSS).with_initial_ssthresh(2.0 * MSS);
        Veno::new(&VenoParams { samples, ..VenoParams::default() }, &setup)
    }

    /// Growth by an acknowledgement in bytes, and what a loss keeps, with so many segments queued.
    fn reactions(samples: VenoSamples, queued: f64, signal: Signal) -> (f64, f64) {
        let mut veno = Veno { queued, ..veno(samples) };
        veno.rtts.end = 10_000;
        veno.on_ack(&context(20.0 * MSS), &Ack::new(1000, 1000));
        let growth = veno.cwnd() - 20.0 * MSS;
        veno.on_congestion(&context(20.0 * MSS), &Congestion::new(signal));
        (growth, veno.ssthresh() / MSS)
    }

    #[test]
    fn a_loss_keeps_four_fifths_with_2_segments_queued_and_half_with_5() {
        let loss = Signal::FastRetransmit;
        // 1000 / 20 bytes and 0.8 * 20; half of both.
        assert_eq!(reactions(VenoSamples::Round, 2.0, loss), (50.0, 16.0));
        assert_eq!(reactions(VenoSamples::Round, 5.0, loss), (25.0, 10.0));
        assert_eq!(reactions(VenoSamples::Round, 2.0, Signal::Timeout), (50.0, 10.0));
        assert_eq!(reactions(VenoSamples::Ack, 2.0, Signal::Timeout), (50.0, 16.0));
    }

    #[test]
    fn the_queue_is_that_of_the_last_round_or_of_the_last_acknowledgement() {
        let queued = |samples| {
            let mut veno = veno(samples);
            veno.rtts.end = 4000;
            let estimates: Vec<f64> = [100, 125, 160, 125, 200]
                .into_iter()
                .zip(1..)
                .map(|(milliseconds, number)| {
                    let sent = Context::new(Time::ZERO, MSS).with_sent(0, 30_000).with_max_window(20.0 * MSS);
                    let rtt = Some(Time(milliseconds * 1_000_000));
                    veno.on_ack(&sent, &Ack::new(number * 1000, 1000).with_rtt(rtt));
                    veno.queued
                })
                .collect();
            estimates
        };
        // 20 (125 - 100) / 125 = 4, 20 * 60 / 160 = 7.5, 20 * 100 / 200 = 10. The minimum of the round is the base.
        let rounded: Vec<f64> =
            queued(VenoSamples::Ack).iter().map(|queued| (queued * 1e6).round() / 1e6).collect();
        assert_eq!(rounded, [0.0, 4.0, 7.5, 4.0, 10.0]);
        assert_eq!(queued(VenoSamples::Round), [0.0; 5]);
    }

    #[test]
    fn a_round_with_a_queue_throughout_is_congested() {
        let mut veno = veno(VenoSamples::Round);
        veno.rtts.base = 0.1;
        veno.rtts.end = 3000;
        for number in 1..=3 {
            let sent = Context::new(Time::ZERO, MSS).with_sent(0, 30_000).with_max_window(20.0 * MSS);
            veno.on_ack(&sent, &Ack::new(number * 1000, 1000).with_rtt(Some(Time(125_000_000))));
        }
        assert!((veno.queued - 4.0).abs() < 1e-9 && veno.is_congested());
    }
}
