//! An algorithm from outside the registry behaves like a registered one.

use dumbbell_cc::{Ack, Algorithm, AlgorithmSpec, Congestion, Context, Control, ExternalControl, ProbeInfo};
use dumbbell_cc::{SentSegment, Setup, Signal, Window, window_in};
use dumbbell_units::{Ecn, Stream, Time};

const MSS: f64 = 1000.0;

/// Reno in a few lines: a window and two methods.
#[derive(Clone, Debug)]
struct TinyReno {
    window: Window,
    losses: u32,
}

impl Control for TinyReno {
    window_in!(window);

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if !ack.in_recovery {
            let growth = if self.window.cwnd < self.window.ssthresh {
                context.mss
            } else {
                context.mss * context.mss / self.window.cwnd
            };
            self.window.cwnd = context.grown(self.window.cwnd, growth);
        }
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        self.losses += 1;
        self.window.ssthresh = (context.flight_size / 2.0).max(2.0 * context.mss);
        self.window.cwnd =
            if congestion.signal.restarts() { context.loss_window } else { self.window.ssthresh };
    }

    fn probe(&self, index: usize) -> Option<f64> {
        (index == 0).then_some(f64::from(self.losses))
    }
}

impl ExternalControl for TinyReno {
    fn fork(&self) -> Box<dyn ExternalControl> {
        Box::new(self.clone())
    }

    fn probes(&self) -> &'static [ProbeInfo] {
        const { &[ProbeInfo::new("losses", "1", "Losses so far.")] }
    }
}

/// Windows over random events: acknowledgements, some of unused windows, and losses.
fn trace(mut algorithm: Algorithm, seed: u64) -> Vec<(u64, u64)> {
    let mut random = Stream::new(seed, 0, "events");
    let (mut una, mut nxt) = (0, 0);
    (0..5000)
        .map(|step| {
            let context =
                Context::new(Time(step * 1_000_000), MSS).with_sent(una, nxt).with_max_window(60.0 * MSS);
            if random.chance(0.01) {
                let signal = if random.chance(0.5) { Signal::Timeout } else { Signal::FastRetransmit };
                algorithm.on_congestion(&context, &Congestion::new(signal));
            } else if nxt > una {
                let ack = Ack::new(una + MSS as u64, MSS as u64).with_cwnd_limited(random.chance(0.7));
                algorithm.on_ack(&context, &ack);
                una = ack.ack;
            }
            while (nxt - una) as f64 + MSS <= algorithm.cwnd() {
                algorithm.on_sent(|| (context, SentSegment::new(nxt, MSS as u32)));
                nxt += MSS as u64;
            }
            (algorithm.cwnd().to_bits(), algorithm.ssthresh().to_bits())
        })
        .collect()
}

fn setup() -> Setup {
    Setup::new(Time::ZERO, MSS, 2.0 * MSS).with_initial_ssthresh(30.0 * MSS)
}

fn external() -> Algorithm {
    Algorithm::external(Box::new(TinyReno { window: Window::new(&setup()), losses: 0 }), &setup())
}

#[test]
fn an_external_algorithm_has_the_trace_of_the_registered_one_with_the_same_rules() {
    let reno = AlgorithmSpec::named("reno").expect("a registered name");
    for seed in 0..20 {
        assert_eq!(trace(external(), seed), trace(Algorithm::new(&reno, &setup()), seed));
    }
}

#[test]
fn a_copy_is_independent_and_has_the_declared_probes() {
    let original = external();
    let mut copy = original.clone();
    copy.on_congestion(&Context::new(Time::ZERO, MSS).with_sent(0, 8_000), &Congestion::new(Signal::Timeout));
    assert_eq!((original.cwnd(), copy.cwnd()), (2.0 * MSS, MSS));
    assert_eq!((original.probe(0), copy.probe(0), copy.probe(1)), (Some(0.0), Some(1.0), None));
    assert_eq!(copy.probes()[0].name, "losses");
}

#[test]
fn an_algorithm_with_a_window_alone_is_not_paced_and_sends_classic_ecn() {
    let algorithm = external();
    assert_eq!((algorithm.pacing_rate(), algorithm.send_quantum()), (None, None));
    assert_eq!(algorithm.ecn_codepoint(), Ecn::Ect0);
    assert!(!algorithm.uses_rate_samples() && !algorithm.reacts_to_marks() && !algorithm.is_model_based());
}
