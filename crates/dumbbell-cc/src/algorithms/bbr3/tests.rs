//! The test cases of the draft's appendix that depend on single acknowledgements, by number. Those that need a path are
//! tests of the simulator.

use super::*;
use crate::{RateSample, SentSegment};
use dumbbell_units::Ecn;

const MSS: f64 = 1000.0;
/// Bandwidth of the path, in bytes per second: with 40 ms, a BDP of 50 segments.
const BANDWIDTH: f64 = 1_250_000.0;
const RTT: Time = Time(40_000_000);

/// What an acknowledgement of a segment says.
#[derive(Clone, Copy)]
struct Say {
    /// Time, in milliseconds.
    ms: u64,
    /// It ends a round.
    is_round: bool,
    rate: f64,
    in_flight: f64,
    lost: u64,
    tx_in_flight: f64,
    is_app_limited: bool,
    is_cwnd_limited: bool,
}

const ACK: Say = Say {
    ms: 0,
    is_round: true,
    rate: BANDWIDTH,
    in_flight: 50.0 * MSS,
    lost: 0,
    tx_in_flight: 50.0 * MSS,
    is_app_limited: false,
    is_cwnd_limited: false,
};

fn acknowledge(bbr: &mut Bbr3, say: Say) {
    let context = Context::new(Time(say.ms * 1_000_000), MSS).with_rtts(RTT.secs(), RTT.secs());
    let prior = if say.is_round { bbr.rounds.delivered } else { bbr.rounds.delivered.saturating_sub(5000) };
    let delivered = bbr.rounds.delivered + 1000 - prior;
    let rate = RateSample::new(delivered, Time::from_secs(delivered as f64 / say.rate))
        .with_prior_delivered(prior)
        .with_lost(say.lost)
        .with_tx_in_flight(say.tx_in_flight)
        .with_app_limited(say.is_app_limited)
        .with_rtt(Some(RTT));
    let ack = Ack::new(0, 1000)
        .with_rtt(Some(RTT))
        .with_rate(Some(&rate))
        .with_in_flight(say.in_flight)
        .with_cwnd_limited(say.is_cwnd_limited);
    bbr.update(&context, &ack);
}

fn start(params: Bbr3Params) -> Bbr3 {
    let mut bbr = Bbr3::new(&params, &Setup::new(Time::ZERO, MSS, 10.0 * MSS));
    acknowledge(&mut bbr, ACK);
    bbr
}

/// A flow that has filled the pipe, in a state of ProbeBW.
fn probing(state: State) -> Bbr3 {
    let mut bbr = start(Bbr3Params::default());
    (bbr.is_full, bbr.cwnd) = (true, 100.0 * MSS);
    bbr.rounds_since_up = 0;
    bbr.wait = Time(2_500_000_000);
    bbr.enter(state);
    bbr.ack_phase = AckPhase::Init;
    bbr
}

fn lose(bbr: &mut Bbr3, ms: u64, seq: u64, tx_in_flight: f64, is_app_limited: bool) {
    let context = Context::new(Time(ms * 1_000_000), MSS);
    let lost = LostSegment::new(seq, 1000, Time::ZERO)
        .with_delivered(bbr.rounds.delivered)
        .with_tx_in_flight(tx_in_flight)
        .with_app_limited(is_app_limited);
    bbr.on_loss(&context, &lost);
}

#[test]
fn case_1_startup_ends_after_three_rounds_without_growth() {
    let mut bbr = start(Bbr3Params::default());
    for round in 1..=3 {
        assert_eq!((bbr.state, bbr.full_count), (State::Startup, round - 1));
        // 24 % more is no growth.
        let say = Say { rate: 1.24 * BANDWIDTH, in_flight: 80.0 * MSS, ..ACK };
        acknowledge(&mut bbr, Say { ms: 40 * round, ..say });
    }
    assert_eq!((bbr.state, bbr.is_full_now, bbr.is_full), (State::Drain, true, true));
    // 25 % more is: the count begins again.
    let mut bbr = start(Bbr3Params::default());
    acknowledge(&mut bbr, ACK);
    acknowledge(&mut bbr, Say { rate: 1.2501 * BANDWIDTH, ..ACK });
    assert_eq!(bbr.full_count, 0);
    assert!(bbr.full_bw > 1.25 * BANDWIDTH);
}

#[test]
fn case_2_losses_end_an_application_limited_startup() {
    // Six ranges in a round of recovery, and 2 of 50 segments lost since the newest was sent: 4 %.
    let high = Say { is_app_limited: true, lost: 2000, ..ACK };
    for (ranges, lost, ends) in [(6, 2000, true), (5, 2000, false), (6, 1000, false)] {
        let mut bbr = start(Bbr3Params::default());
        (0..ranges).for_each(|range| lose(&mut bbr, 10, 2000 * range, 50.0 * MSS, true));
        let congestion = Congestion::new(Signal::FastRetransmit);
        bbr.on_congestion(&Context::new(Time::ZERO, MSS), &congestion);
        acknowledge(&mut bbr, Say { ms: 50, lost, ..high });
        assert_eq!(bbr.state != State::Startup, ends, "{ranges} ranges, {lost} bytes");
        assert_eq!((bbr.is_full_now, bbr.is_full), (ends, ends));
        // max(bdp, bytes delivered in the round).
        assert_eq!(bbr.inflight_long.is_finite(), ends);
    }
    // Segments in sequence are one range.
    let mut bbr = start(Bbr3Params::default());
    (0..6).for_each(|range| lose(&mut bbr, 10, 1000 * range, 50.0 * MSS, true));
    assert_eq!(bbr.ranges.0, 1);
}

#[test]
fn case_3_drain_ends_when_a_bdp_is_in_flight() {
    let mut bbr = probing(State::Drain);
    bbr.drain_start = bbr.rounds.count;
    assert_eq!(bbr.pacing_gain, 0.5);
    acknowledge(&mut bbr, Say { ms: 1, is_round: false, in_flight: 51.0 * MSS, ..ACK });
    assert_eq!(bbr.state, State::Drain);
    // Without a long-term bound, the same acknowledgement also ends DOWN.
    let mut bounded = bbr.clone();
    acknowledge(&mut bbr, Say { ms: 2, is_round: false, ..ACK });
    assert_eq!((bbr.state, bbr.pacing_gain), (State::Cruise, 1.0));
    bounded.inflight_long = 50.0 * MSS;
    acknowledge(&mut bounded, Say { ms: 2, is_round: false, ..ACK });
    assert_eq!((bounded.state, bounded.pacing_gain), (State::Down, 0.9));
}

#[test]
fn case_4_drain_ends_after_three_rounds_but_not_in_the_kernel() {
    for (form, expected) in [(Form::Draft, State::Down), (Form::Kernel, State::Drain)] {
        let mut bbr = start(Bbr3Params { form, ..Bbr3Params::default() });
        (bbr.is_full, bbr.drain_start) = (true, bbr.rounds.count);
        bbr.enter(State::Drain);
        for round in 1..=3 {
            acknowledge(&mut bbr, Say { ms: 40 * round, in_flight: 60.0 * MSS, ..ACK });
            assert_eq!(bbr.state, State::Drain);
        }
        acknowledge(&mut bbr, Say { ms: 160, in_flight: 60.0 * MSS, ..ACK });
        assert_eq!(bbr.state, expected);
    }
    let kernel = start(Bbr3Params { form: Form::Kernel, ..Bbr3Params::default() });
    let gain = |state| {
        let mut bbr = kernel.clone();
        bbr.enter(state);
        bbr.pacing_gain
    };
    assert_eq!((gain(State::Drain), gain(State::Down)), (0.34375, 0.91));
}

#[test]
fn case_5_up_ends_after_three_rounds_without_growth() {
    let mut bbr = probing(State::Refill);
    acknowledge(&mut bbr, Say { ms: 40, ..ACK });
    assert_eq!((bbr.state, bbr.pacing_gain, bbr.cwnd_gain), (State::Up, 1.25, 2.25));
    for round in 2..=3 {
        acknowledge(&mut bbr, Say { ms: 40 * round, ..ACK });
        assert_eq!(bbr.state, State::Up);
    }
    acknowledge(&mut bbr, Say { ms: 160, in_flight: 60.0 * MSS, ..ACK });
    assert_eq!((bbr.state, bbr.was_too_high), (State::Down, false));
}

#[test]
fn case_6_losses_end_up_but_application_limited_ones_leave_the_bound() {
    // Here case and pseudocode of the draft conflict. The case wants the long-term bound updated whatever the
    // application does; HandleInflightTooHigh updates it only if the lost packet was not application-limited. The
    // pseudocode holds here.
    for (is_app_limited, expected) in [(true, f64::INFINITY), (false, 50.0 * MSS)] {
        let mut bbr = probing(State::Up);
        bbr.is_probe_sample = true;
        // 1 of 50 segments is not more than 2 %; 2 are. Before the second, 49 were in flight and 1 lost:
        // (0.02 * 49 - 1) / 0.98 = -0.0204 segments more.
        lose(&mut bbr, 10, 0, 50.0 * MSS, is_app_limited);
        assert_eq!(bbr.state, State::Up);
        lose(&mut bbr, 10, 2000, 50.0 * MSS, is_app_limited);
        assert_eq!(bbr.state, State::Down);
        assert!(bbr.was_too_high && !bbr.is_probe_sample);
        let bound = bbr.inflight_long;
        assert!(bound == expected || (bound - (49.0 - 0.02 / 0.98) * MSS).abs() < 1e-6, "{bound}");
        assert_eq!(bound.is_infinite(), is_app_limited);
    }
}

#[test]
fn case_7_application_limited_rounds_without_loss_end_neither_startup_nor_up() {
    let slow = Say { rate: BANDWIDTH / 2.0, is_app_limited: true, in_flight: 10.0 * MSS, ..ACK };
    for (mut bbr, state) in [(start(Bbr3Params::default()), State::Startup), (probing(State::Up), State::Up)]
    {
        for round in 0..100 {
            acknowledge(&mut bbr, Say { ms: 40 * round, ..slow });
            assert_eq!(bbr.state, state);
        }
    }
}

#[test]
fn case_8_down_ends_with_headroom_and_no_more_than_a_bdp_in_flight() {
    // 85 % of a bound of 50 segments are 42.5; of 100, more than the BDP of 50.
    for (bound, most) in [(50.0, 42.5), (100.0, 50.0), (f64::INFINITY, 50.0)] {
        let mut bbr = probing(State::Down);
        bbr.inflight_long = bound * MSS;
        let quiet = Say { ms: 1, is_round: false, tx_in_flight: 10.0 * MSS, ..ACK };
        acknowledge(&mut bbr, Say { in_flight: (most + 0.1) * MSS, ..quiet });
        assert_eq!(bbr.state, State::Down);
        acknowledge(&mut bbr, Say { in_flight: most * MSS, ..quiet });
        assert_eq!((bbr.state, bbr.pacing_gain), (State::Cruise, 1.0));
    }
}

#[test]
fn case_9_down_with_too_much_in_flight_goes_to_refill_after_the_wait() {
    let mut bbr = probing(State::Down);
    bbr.rounds_since_up = 0;
    let busy = Say { is_round: false, in_flight: 60.0 * MSS, ..ACK };
    acknowledge(&mut bbr, Say { ms: 2500, ..busy });
    assert_eq!(bbr.state, State::Down);
    acknowledge(&mut bbr, Say { ms: 2501, ..busy });
    assert_eq!(bbr.state, State::Refill);
    // Or after as many rounds as the pipe holds segments, at most 63.
    for (count, state) in [(48, State::Down), (49, State::Refill)] {
        let mut bbr = probing(State::Down);
        bbr.rounds_since_up = count;
        acknowledge(&mut bbr, Say { ms: 41, in_flight: 60.0 * MSS, ..ACK });
        assert_eq!(bbr.state, state);
    }
}

#[test]
fn the_wait_between_probes_is_two_to_three_seconds() {
    let mut bbr = probing(State::Up);
    let mut rounds = [0, 0];
    for _ in 0..200 {
        bbr.enter_down(Time::ZERO);
        assert!((2.0..=3.0).contains(&bbr.wait.secs()));
        rounds[bbr.rounds_since_up as usize] += 1;
    }
    assert!(rounds[0] > 60 && rounds[1] > 60);
}

#[test]
fn case_10_probe_rtt_begins_after_five_seconds_and_returns_to_cruise() {
    let mut bbr = probing(State::Cruise);
    bbr.wait = Time(60_000_000_000);
    // Round-trip times that are no new minimum: with 30 ms, the BDP is 37.5 segments.
    bbr.probe_rtt_min = 0.03;
    let idle = Say { is_round: false, ..ACK };
    acknowledge(&mut bbr, Say { ms: 5000, ..idle });
    assert_eq!(bbr.state, State::Cruise);
    acknowledge(&mut bbr, Say { ms: 5001, ..idle });
    assert_eq!((bbr.state, bbr.cwnd_gain), (State::ProbeRtt, 0.5));
    assert_eq!(bbr.cwnd, 18.75 * MSS);
    // 200 ms and a round begin when no more than that is left.
    acknowledge(&mut bbr, Say { ms: 5020, in_flight: 18.0 * MSS, ..idle });
    acknowledge(&mut bbr, Say { ms: 5100, in_flight: 18.0 * MSS, ..ACK });
    acknowledge(&mut bbr, Say { ms: 5220, in_flight: 18.0 * MSS, ..idle });
    assert_eq!(bbr.state, State::ProbeRtt);
    acknowledge(&mut bbr, Say { ms: 5221, in_flight: 18.0 * MSS, ..idle });
    assert_eq!((bbr.state, bbr.ack_phase), (State::Cruise, AckPhase::Stopping));
    // The window returns to twice the BDP, and what ACK aggregation adds.
    assert!(bbr.cwnd >= 75.0 * MSS, "{}", bbr.cwnd);
}

#[test]
fn case_11_an_idle_period_takes_the_place_of_probe_rtt() {
    let mut bbr = probing(State::Cruise);
    bbr.wait = Time(60_000_000_000);
    // 80 segments acknowledged at once before the pause, 30 more than a round trip delivers.
    bbr.update_extra_acked(Time(900_000_000), 80_000.0);
    bbr.extra = WindowedMax::default();
    let context = Context::new(Time(6_000_000_000), MSS).with_app_limited(true);
    bbr.on_sent(&context, &SentSegment::new(0, 1000));
    assert!(bbr.is_idle_restart);
    // It paces at exactly the bandwidth less the margin.
    assert!((bbr.pacing_rate - 0.99 * BANDWIDTH).abs() < 1e-6);
    acknowledge(&mut bbr, Say { ms: 6040, ..ACK });
    assert_eq!((bbr.state, bbr.is_idle_restart), (State::Cruise, false));
    // They are no aggregation of what is acknowledged after it: one segment.
    assert_eq!(bbr.extra_acked(), MSS);
}

#[test]
fn cases_12_and_13_the_window_provides_for_the_largest_aggregate() {
    let mut bbr = probing(State::Cruise);
    bbr.wait = Time(60_000_000_000);
    // Ten segments at once, 8 ms after the last: at the bandwidth, that is what 8 ms deliver. Twenty are ten more.
    bbr.aggregation.restart(Time(100_000_000));
    bbr.bandwidth = BANDWIDTH;
    bbr.update_extra_acked(Time(108_000_000), 20_000.0);
    // The interval begins again, as nothing was delivered in it before: 20 segments.
    assert_eq!(bbr.extra_acked(), 20.0 * MSS);
    bbr.update_extra_acked(Time(116_000_000), 5_000.0);
    // 25 delivered in 8 ms, in which 10 are expected: 15 are no more than 20.
    assert_eq!(bbr.extra_acked(), 20.0 * MSS);
    bbr.set_cwnd(&Context::new(Time(116_000_000), MSS), 100.0 * MSS);
    assert!((bbr.cwnd - (2.0 * 50.0 + 20.0) * MSS).abs() < 1e-6, "{}", bbr.cwnd);
    // It counts for ten rounds.
    bbr.rounds.count += 11;
    bbr.update_extra_acked(Time(900_000_000), 1000.0);
    assert_eq!(bbr.extra_acked(), MSS);
}

#[test]
fn case_14_the_window_is_never_below_four_segments() {
    let mut bbr = probing(State::Cruise);
    bbr.max_bw = [0.0, 1000.0];
    bbr.bandwidth = 1000.0;
    bbr.params.burst_budget = 0.0;
    bbr.set_cwnd(&Context::new(Time::ZERO, MSS), 0.0);
    assert_eq!(bbr.cwnd, 4.0 * MSS);
}

#[test]
fn case_15_the_steps_of_the_long_term_bound_double_each_round() {
    let mut bbr = probing(State::Up);
    (bbr.cwnd, bbr.inflight_long, bbr.up_rounds) = (64.0 * MSS, 64.0 * MSS, 0);
    let per_round: Vec<f64> = (0..5)
        .map(|_| {
            bbr.raise_slope(MSS);
            // Segments per window acknowledged.
            bbr.cwnd / bbr.acked_per_step
        })
        .collect();
    assert_eq!(per_round, [1.0, 2.0, 4.0, 8.0, 16.0]);
    // With 16 per 64 segments, the fourth acknowledged adds one.
    bbr.up_acked = 3.0 * MSS;
    let full = Say { is_round: false, is_cwnd_limited: true, tx_in_flight: 10.0 * MSS, ..ACK };
    acknowledge(&mut bbr, Say { ms: 1, ..full });
    assert_eq!((bbr.inflight_long, bbr.up_acked), (65.0 * MSS, 0.0));
}

#[test]
fn case_16_a_round_with_losses_lowers_the_short_term_bounds_and_two_cycles_the_maximum() {
    let mut bbr = probing(State::Cruise);
    bbr.wait = Time(60_000_000_000);
    lose(&mut bbr, 50, 0, 50.0 * MSS, false);
    // The round delivers a tenth: max(0.1, 0.7) of the bandwidth, and 0.7 of the window of 100 segments.
    bbr.bw_latest = 0.0;
    acknowledge(&mut bbr, Say { ms: 60, rate: BANDWIDTH / 10.0, ..ACK });
    assert!((bbr.bandwidth - 0.7 * BANDWIDTH).abs() < 1e-6);
    assert!((70.0..=71.0).contains(&(bbr.inflight_short / MSS)), "{}", bbr.inflight_short);
    // Each cycle forgets the maximum of the cycle before the last.
    for expected in [BANDWIDTH, BANDWIDTH / 10.0] {
        bbr.ack_phase = AckPhase::Stopping;
        acknowledge(&mut bbr, Say { ms: 100, rate: BANDWIDTH / 10.0, ..ACK });
        acknowledge(&mut bbr, Say { ms: 140, rate: BANDWIDTH / 10.0, ..ACK });
        assert!((bbr.max_bw() - expected).abs() < 1e-3 * BANDWIDTH, "{} {expected}", bbr.max_bw());
    }
}

#[test]
fn cases_18_and_19_a_spurious_recovery_or_timeout_restores_bounds_and_state() {
    for signal in [Signal::FastRetransmit, Signal::Timeout] {
        let mut bbr = probing(State::Up);
        bbr.is_probe_sample = true;
        bbr.inflight_long = 90.0 * MSS;
        let (cwnd, context) = (bbr.cwnd, Context::new(Time(10_000_000), MSS).with_sent(0, 100_000));
        (0..3).for_each(|number| lose(&mut bbr, 10, 2000 * number, 50.0 * MSS, false));
        bbr.on_congestion(&context, &Congestion::new(signal));
        bbr.on_recovery_enter(&context);
        // UP has ended. In a recovery, rounds with losses also lower the short-term bounds.
        assert_eq!(bbr.state, State::Down);
        assert!(bbr.inflight_long <= 50.0 * MSS);
        if signal == Signal::FastRetransmit {
            acknowledge(&mut bbr, Say { ms: 20, in_flight: 80.0 * MSS, ..ACK });
            lose(&mut bbr, 50, 90_000, 50.0 * MSS, false);
            acknowledge(&mut bbr, Say { ms: 60, in_flight: 80.0 * MSS, ..ACK });
            assert!(bbr.inflight_short.is_finite());
        } else {
            assert_eq!(bbr.cwnd, MSS);
        }
        bbr.on_undo(&context, &Undo::new(signal, cwnd, f64::INFINITY));
        assert_eq!((bbr.inflight_long, bbr.inflight_short), (90.0 * MSS, f64::INFINITY));
        assert_eq!((bbr.bw_short, bbr.full_bw), (f64::INFINITY, 0.0));
        // Back to UP through REFILL.
        assert_eq!((bbr.state, bbr.cwnd), (State::Refill, cwnd));
    }
    // A spurious loss that ended Startup.
    let mut bbr = start(Bbr3Params::default());
    lose(&mut bbr, 10, 0, 50.0 * MSS, false);
    (bbr.saved.state, bbr.is_full) = (Some(State::Startup), true);
    bbr.enter(State::Drain);
    let undo = Undo::new(Signal::FastRetransmit, 10.0 * MSS, f64::INFINITY);
    bbr.on_undo(&Context::new(Time::ZERO, MSS), &undo);
    assert_eq!((bbr.state, bbr.is_full), (State::Startup, false));
}

#[test]
fn a_round_of_losses_does_not_end_with_the_acknowledgement_that_reports_the_first() {
    for (reported, is_lowered) in [(1000, false), (0, true)] {
        let mut bbr = probing(State::Cruise);
        acknowledge(&mut bbr, Say { ms: 49, ..ACK });
        let delivered = bbr.rounds.delivered;
        let context = Context::new(Time(50_000_000), MSS).with_delivered(delivered + reported);
        bbr.on_loss(&context, &LostSegment::new(0, 1000, Time::ZERO).with_tx_in_flight(50.0 * MSS));
        // A segment that was sent when all before this acknowledgement had been delivered: it was sent again just now.
        acknowledge(&mut bbr, Say { ms: 50, ..ACK });
        assert_eq!(bbr.bw_short.is_finite(), is_lowered);
    }
}

#[test]
fn case_20_probe_rtt_within_startup_returns_to_it() {
    let mut bbr = start(Bbr3Params::default());
    bbr.probe_rtt_min = 0.03;
    let slow = Say { is_app_limited: true, in_flight: 4.0 * MSS, ..ACK };
    for ms in [5001, 5002, 5050] {
        acknowledge(&mut bbr, Say { ms, ..slow });
        assert_eq!(bbr.state, State::ProbeRtt);
    }
    acknowledge(&mut bbr, Say { ms: 5203, ..slow });
    assert_eq!((bbr.state, bbr.pacing_gain), (State::Startup, 2.77));
}

#[test]
fn case_21_a_loss_in_up_cuts_the_bound_by_beta_at_most() {
    let mut bbr = probing(State::Up);
    (bbr.is_probe_sample, bbr.inflight_long) = (true, 90.0 * MSS);
    // With 10 segments in flight, one lost is too much; 9 + (0.18 - 0) / 0.98 are less than 0.7 of the BDP of 50.
    lose(&mut bbr, 10, 0, 10.0 * MSS, false);
    assert!((bbr.inflight_long - 35.0 * MSS).abs() < 1e-6, "{}", bbr.inflight_long);
    assert_eq!(bbr.state, State::Down);
}

#[test]
fn case_22_application_limited_samples_in_refill_do_not_lower_the_maximum() {
    let mut bbr = probing(State::Cruise);
    bbr.enter_refill();
    let slow = Say { rate: BANDWIDTH / 10.0, is_app_limited: true, in_flight: 4.0 * MSS, ..ACK };
    acknowledge(&mut bbr, Say { ms: 10, is_round: false, ..slow });
    assert_eq!((bbr.state, bbr.max_bw()), (State::Refill, BANDWIDTH));
    acknowledge(&mut bbr, Say { ms: 50, ..slow });
    assert_eq!((bbr.state, bbr.max_bw()), (State::Up, BANDWIDTH));
    // A sample above the maximum counts even so.
    acknowledge(&mut bbr, Say { ms: 60, rate: 2.0 * BANDWIDTH, ..slow });
    assert!((bbr.max_bw() / BANDWIDTH - 2.0).abs() < 1e-6);
}

#[test]
fn a_precautionary_probe_goes_up_again_at_once() {
    let mut bbr = probing(State::Up);
    (bbr.was_too_high, bbr.inflight_long) = (true, 40.0 * MSS);
    acknowledge(&mut bbr, Say { ms: 10, is_round: false, tx_in_flight: 10.0 * MSS, ..ACK });
    assert_eq!((bbr.state, bbr.was_precautionary, bbr.was_too_high), (State::Down, true, false));
    acknowledge(&mut bbr, Say { ms: 60, tx_in_flight: 10.0 * MSS, ..ACK });
    assert_eq!(bbr.state, State::Refill);
}

#[test]
fn marks_lower_the_bound_by_a_third_of_their_fraction_as_in_the_kernel() {
    let params = Bbr3Params { ecn: true, ecn_max_rtt: Time(50_000_000), ..Bbr3Params::default() };
    let mut bbr = start(params);
    (bbr.is_full, bbr.cwnd, bbr.wait) = (true, 90.0 * MSS, Time(60_000_000_000));
    bbr.enter(State::Cruise);
    bbr.marks = Marks { is_eligible: true, alpha: 0.5, in_round: true, ..bbr.marks };
    // 90 * (1 - 0.5 / 3) = 75 segments; the bandwidth is unchanged.
    bbr.lower_bounds();
    assert!((bbr.inflight_short - 75.0 * MSS).abs() < 1e-9 && bbr.bw_short.is_infinite());
    assert_eq!(bbr.ecn_codepoint(), Ecn::Ect0);
}

#[test]
fn headroom_is_a_part_of_the_bound_and_at_least_a_segment() {
    // 15 % of 100 segments are 15; of 6, less than one. At least four segments remain.
    for (bound, left) in [(100.0, 85.0), (6.0, 5.0), (4.5, 4.0)] {
        let mut bbr = probing(State::Cruise);
        bbr.inflight_long = bound * MSS;
        assert_eq!(bbr.inflight_with_headroom(MSS), left * MSS);
    }
}
