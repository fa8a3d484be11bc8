//! The simulator ns-3.37 with its defaults and its classic recovery: always SACK, timers in milliseconds, 42 bytes of
//! PPP, IP and TCP headers. It has no Tahoe and no Reno without SACK.

use crate::config::recovery::{Ns3SackRules, RecoverySpec};
use crate::config::{DelayedAck, DelayedAckParams, Headers, Nagle, TcpParams};
use crate::rtt::{RfcTimer, TimerSpec};
use dumbbell_cc::algorithms::westwoodp::{IntervalRtt, WestwoodPlusParams};
use dumbbell_cc::{AlgorithmSpec, GrowWhen, Growth, Mechanisms, ReductionBase, WindowRules};
use dumbbell_units::{Bytes, Time, Window};

/// Socket buffers.
const BUFFER: Window = Window::Bytes(131_072);

pub(super) fn defaults() -> TcpParams {
    TcpParams {
        recovery: RecoverySpec::Ns3Sack(Ns3SackRules::default()),
        mss: Bytes(536),
        headers: Headers { data: Bytes(42), ack: Bytes(42), sack_block: Bytes(8) },
        initial_window: Window::Segments(10.0),
        receive_buffer: BUFFER,
        send_buffer: BUFFER,
        timer: TimerSpec::Rfc6298(RfcTimer {
            granularity: Time(1_000_000),
            minimum: Time(1_000_000_000),
            maximum: Time(60_000_000_000),
            initial: Time(1_000_000_000),
            ..RfcTimer::default()
        }),
        timestamps: true,
        delayed_ack: DelayedAck::On(DelayedAckParams::default()),
        handshake: true,
        idle_restart: false,
        nagle: Nagle::Off,
        window: WindowRules {
            growth: Growth::Whole,
            grow_when: GrowWhen::Always,
            reduction_base: ReductionBase::Pipe,
            ..WindowRules::default()
        },
        ..super::classic::defaults()
    }
}

/// The environment has its own Vegas.
pub(super) fn algorithm(name: &str) -> Option<AlgorithmSpec> {
    AlgorithmSpec::named(if name == "vegas" { "nsvegas" } else { name })
}

pub(super) fn recovery(family: &str) -> Option<RecoverySpec> {
    matches!(family, "newreno" | "sack" | "rack").then(|| RecoverySpec::Ns3Sack(Ns3SackRules::default()))
}

/// Algorithms other than NewReno reduce the window, not the pipe. The fine timeouts of Vegas belong to a recovery that
/// this environment lacks.
pub(super) fn adapt(params: &mut TcpParams) {
    match &mut params.congestion {
        AlgorithmSpec::Reno(_) => return,
        AlgorithmSpec::WestwoodPlus(westwood) => {
            *westwood = WestwoodPlusParams {
                filter: 0.0,
                interval_rtt: IntervalRtt::Smoothed,
                only_reduce: false,
                ..WestwoodPlusParams::default()
            };
        }
        _ => {}
    }
    params.recovery = RecoverySpec::Ns3Sack(Ns3SackRules::default());
    params.window.reduction_base = ReductionBase::WholeWindow;
    let letters: String =
        params.mechanisms.letters().filter(|letter| !Mechanisms::OF_RECOVERIES.contains(letter)).collect();
    params.mechanisms = Mechanisms::from_letters(&letters).unwrap_or_default();
}
