//! Linux 6.18 with its defaults, as far as the sender has its rules: SACK, windows in whole segments that grow by
//! segments acknowledged, timestamps, delayed acknowledgements, 52 bytes of IPv4 and TCP headers, segments for packets of
//! 1500 bytes. Without SACK, it is a slow-but-steady NewReno. It has no Tahoe and no Reno without partial
//! acknowledgements.
//!
//! Where it departs from the kernel: without SACK, a recovery inflates the window by duplicate ACKs instead of reducing it
//! by PRR (RFC 6937), and losses are detected by duplicate ACKs. Options of selective acknowledgements lack their first
//! 4 bytes.

use crate::config::recovery::{Frto, NewRenoRules, PartialAck, PrrBase, RackForm, RackRules, RecoverySpec};
use crate::config::{DelayForm, DelayedAck, DelayedAckParams, Headers, Nagle, TcpParams};
use crate::rtt::{LinuxTimer, TimerSpec};
use dumbbell_cc::algorithms::bbr::BbrParams;
use dumbbell_cc::algorithms::cubic::CubicParams;
use dumbbell_cc::algorithms::dctcp::DctcpParams;
use dumbbell_cc::algorithms::htcp::HtcpParams;
use dumbbell_cc::algorithms::scalable::ScalableParams;
use dumbbell_cc::algorithms::veno::VenoSamples;
use dumbbell_cc::slow_start::hystart::ClassicHyStartParams;
use dumbbell_cc::{
    AlgorithmSpec, Form, GrowPer, Growth, ReductionBase, SlowStartSpec, WindowRules, WindowValidation,
};
use dumbbell_units::{Bytes, Time, Window};

/// Tick of the clock by default: 250 Hz.
const TICK: Time = Time(4_000_000);

pub(super) fn defaults() -> TcpParams {
    TcpParams {
        recovery: sack(),
        mss: Bytes(1448),
        headers: Headers { data: Bytes(52), ack: Bytes(52), sack_block: Bytes(8) },
        initial_window: Window::Segments(10.0),
        timer: TimerSpec::Linux(LinuxTimer { tick: TICK, requests: true, ..LinuxTimer::default() }),
        timestamps: true,
        delayed_ack: DelayedAck::On(DelayedAckParams {
            form: DelayForm::Linux,
            timer: Time(40_000_000),
            quick: 16,
            quick_again: true,
            quick_growing: true,
            ..DelayedAckParams::default()
        }),
        handshake: true,
        nagle: Nagle::Minshall,
        window: WindowRules {
            growth: Growth::Segments,
            grow_per: GrowPer::Segment,
            reduction_base: ReductionBase::WholeWindow,
            validation: WindowValidation::Linux,
            is_bounded: false,
            ..WindowRules::default()
        },
        ..super::classic::defaults()
    }
}

/// Ticks of the timers and of CUBIC, which are 250 per second unless the kernel was built otherwise (`CONFIG_HZ`).
pub(super) fn set_tick(params: &mut TcpParams, tick: Time) {
    if let TimerSpec::Linux(timer) = &mut params.timer {
        timer.tick = tick;
    }
    if let RecoverySpec::Rack(rack) = &mut params.recovery {
        rack.reo_timer_tick = tick;
    }
    match &mut params.congestion {
        AlgorithmSpec::Cubic(cubic) => cubic.tick = tick,
        AlgorithmSpec::Bbr(bbr) => bbr.tick = tick,
        AlgorithmSpec::WestwoodLinux(westwood) => westwood.tick = tick,
        AlgorithmSpec::Bic(bic) => bic.tick = tick,
        AlgorithmSpec::Htcp(htcp) => htcp.tick = tick,
        _ => {}
    }
}

/// RACK-TLP as in `tcp_recovery.c` and `tcp_output.c`.
fn sack() -> RecoverySpec {
    RecoverySpec::Rack(RackRules {
        form: RackForm::Linux,
        prr_base: PrrBase::Window,
        reo_wnd_mult_max: 255,
        reo_timer_slack: Time(2_000_000),
        reo_timer_tick: TICK,
        dsack_after_reordering: true,
        pto_slack: Time(2_000_000),
        frto: Frto::Linux,
        ..RackRules::default()
    })
}

pub(super) fn recovery(family: &str) -> Option<RecoverySpec> {
    match family {
        "sack" => Some(sack()),
        "newreno" => Some(RecoverySpec::NewReno(NewRenoRules {
            partial_ack: PartialAck::SlowButSteady,
            ..NewRenoRules::default()
        })),
        _ => None,
    }
}

/// Congestion controls of the kernel have its parameters. Those that the kernel does not have in our form are eBPF programs,
/// which keep fractions of a segment.
pub(super) fn adapt(params: &mut TcpParams) {
    let slow_start = &mut params.window.slow_start;
    match &mut params.congestion {
        AlgorithmSpec::Cubic(cubic) => {
            *cubic = CubicParams::linux();
            *slow_start = SlowStartSpec::ClassicHyStart(ClassicHyStartParams::linux());
        }
        AlgorithmSpec::Bbr(bbr) => *bbr = BbrParams::linux(),
        AlgorithmSpec::Dctcp(dctcp) => *dctcp = DctcpParams::linux(),
        AlgorithmSpec::Scalable(scalable) => *scalable = ScalableParams::linux(),
        AlgorithmSpec::Htcp(htcp) => *htcp = HtcpParams::linux(),
        AlgorithmSpec::WestwoodLinux(westwood) => westwood.tick = TICK,
        AlgorithmSpec::Bic(bic) => bic.form = Form::Linux,
        AlgorithmSpec::HighSpeed(highspeed) => {
            (highspeed.whole_increase, highspeed.form) = (true, Form::Linux);
        }
        AlgorithmSpec::Hybla(hybla) => hybla.form = Form::Linux,
        AlgorithmSpec::Illinois(illinois) => illinois.form = Form::Linux,
        AlgorithmSpec::Veno(veno) => (veno.samples, veno.form) = (VenoSamples::Ack, Form::Linux),
        AlgorithmSpec::Yeah(yeah) => yeah.form = Form::Linux,
        AlgorithmSpec::Vegas(_)
        | AlgorithmSpec::NewVegas(_)
        | AlgorithmSpec::VegasA(_)
        | AlgorithmSpec::NsVegas(_)
        | AlgorithmSpec::Code(_)
        | AlgorithmSpec::RoVegas(_)
        | AlgorithmSpec::Westwood(_)
        | AlgorithmSpec::WestwoodPlus(_) => {
            params.window.growth = Growth::Real;
            super::keep_mechanisms_of_controls(params);
        }
        _ => {}
    }
}
