//! The RFCs: the defaults of [`TcpParams`].

use crate::config::TcpParams;
use crate::config::recovery::RecoverySpec;

pub(super) fn defaults() -> TcpParams {
    TcpParams::default()
}

pub(super) fn recovery(family: &str) -> Option<RecoverySpec> {
    RecoverySpec::named(family)
}

pub(super) fn adapt(_params: &mut TcpParams) {}
