//! BSD as in the x-kernel's simulator: Reno, coarse ticks, windows in whole bytes and reduced to whole segments.

use crate::config::TcpParams;
use crate::config::recovery::{RecoverySpec, RenoRules, TahoeRules};
use crate::rtt::{BsdTimer, TimerSpec};
use dumbbell_cc::{GrowWhen, Growth, ReductionBase, WindowRules};
use dumbbell_units::Window;

pub(super) fn defaults() -> TcpParams {
    TcpParams {
        recovery: RecoverySpec::Reno(reno()),
        initial_window: Window::Segments(1.0),
        initial_ssthresh: Window::Bytes(65_536),
        receive_buffer: Window::Bytes(65_536),
        send_buffer: Window::Bytes(65_536),
        timer: TimerSpec::Bsd(BsdTimer::default()),
        limited_transmit: false,
        window: WindowRules {
            growth: Growth::Whole,
            grow_when: GrowWhen::Always,
            reduction_base: ReductionBase::WholeWindow,
            slow_start_at_ssthresh: true,
            ..WindowRules::default()
        },
        ..super::classic::defaults()
    }
}

fn reno() -> RenoRules {
    RenoRules { careful_variant: false, ..RenoRules::default() }
}

pub(super) fn recovery(family: &str) -> Option<RecoverySpec> {
    match family {
        "tahoe" => Some(RecoverySpec::Tahoe(TahoeRules { careful_variant: false, ..TahoeRules::default() })),
        "reno" => Some(RecoverySpec::Reno(reno())),
        _ => RecoverySpec::named(family),
    }
}

pub(super) fn adapt(_params: &mut TcpParams) {}
