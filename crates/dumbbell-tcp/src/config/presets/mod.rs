//! Environments as presets: everything specific to the TCP of an environment, for each of its variants.
//!
//! An environment sets the defaults of the fields of [`TcpParams`], and the parameters of each recovery and congestion
//! control. One file each.

mod bsd;
mod linux;
mod ns2;
mod ns3;
mod rfc;

use super::{EcnMode, TcpParams};
use crate::config::recovery::RecoverySpec;
use dumbbell_cc::{AlgorithmSpec, Mechanisms};
use dumbbell_units::choice;

choice! {
    /// An environment whose rules are the defaults.
    pub enum Rules {
        /// The RFCs: 5681, 6298, 6582, 6675.
        Rfc = "rfc",
        /// BSD as in the x-kernel's simulator: coarse ticks, whole bytes, no delayed ACK.
        Bsd = "bsd",
        /// The simulator ns-2.35 with its defaults.
        Ns2 = "ns2",
        /// The simulator ns-3.37 with its defaults and its classic recovery.
        Ns3 = "ns3",
        /// The kernel Linux 6.18 with its defaults, as far as the sender has its rules.
        Linux = "linux",
    }
}

/// Families of recoveries named by variants.
pub(super) const FAMILIES: &[&str] = &["tahoe", "reno", "newreno", "sack"];

impl Rules {
    /// The environment's defaults with its default recovery.
    pub fn defaults(self) -> TcpParams {
        match self {
            Rules::Rfc => rfc::defaults(),
            Rules::Bsd => bsd::defaults(),
            Rules::Ns2 => ns2::defaults(),
            Rules::Ns3 => ns3::defaults(),
            Rules::Linux => linux::defaults(),
        }
    }

    /// The environment's recovery of a family, with its parameters; `None` if there is none.
    fn recovery(self, family: &str) -> Option<RecoverySpec> {
        match self {
            Rules::Rfc => rfc::recovery(family),
            Rules::Bsd => bsd::recovery(family),
            Rules::Ns2 => ns2::recovery(family),
            Rules::Ns3 => ns3::recovery(family),
            Rules::Linux => linux::recovery(family),
        }
    }

    /// True if every congestion control has the environment's recovery unless another one is given.
    fn recovers_alike(self) -> bool {
        self == Rules::Linux
    }

    /// Adapts other parameters to a congestion control.
    fn adapt(self, params: &mut TcpParams) {
        match self {
            Rules::Rfc => rfc::adapt(params),
            Rules::Bsd => bsd::adapt(params),
            Rules::Ns2 => ns2::adapt(params),
            Rules::Ns3 => ns3::adapt(params),
            Rules::Linux => linux::adapt(params),
        }
    }

    /// A recovery by its kind, with the environment's parameters if it has that kind.
    pub(super) fn recovery_of_kind(self, kind: &str) -> Option<RecoverySpec> {
        let of_environment =
            FAMILIES.iter().filter_map(|family| self.recovery(family)).find(|spec| spec.name() == kind);
        of_environment.or_else(|| RecoverySpec::named(kind))
    }

    /// Names that `variant` accepts in the environment.
    pub fn variants(self) -> Vec<&'static str> {
        let mut names: Vec<&str> =
            FAMILIES.iter().copied().filter(|family| self.recovery(family).is_some()).collect();
        names.extend(AlgorithmSpec::NAMES.iter().filter(|name| !FAMILIES.contains(name)));
        names
    }

    /// Congestion control and recovery of a variant; `None` if the environment has no such variant.
    pub(super) fn variant(self, name: &str) -> Option<TcpParams> {
        if !FAMILIES.contains(&name) {
            return self.congestion(name);
        }
        let mut params = self.defaults();
        params.recovery = self.recovery(name)?;
        self.adapt(&mut params);
        Some(params)
    }

    /// A congestion control by its name in the registry, with what it implies; `None` if the environment has none of this
    /// name.
    pub fn congestion(self, name: &str) -> Option<TcpParams> {
        let mut params = self.defaults();
        let algorithm = match self {
            Rules::Ns3 => ns3::algorithm(name),
            Rules::Rfc | Rules::Bsd | Rules::Ns2 | Rules::Linux => AlgorithmSpec::named(name),
        }?;
        self.take_algorithm(&mut params, algorithm, true);
        Some(params)
    }

    /// Sets a congestion control and what it implies: its mechanisms, the request of queueing times, and its recovery
    /// unless one is given.
    pub(super) fn take_algorithm(
        self,
        params: &mut TcpParams,
        algorithm: AlgorithmSpec,
        takes_recovery: bool,
    ) {
        let family = algorithm.recovery().filter(|_| takes_recovery && !self.recovers_alike());
        if let Some(recovery) = family.and_then(|family| self.recovery(family)) {
            params.recovery = recovery;
        }
        params.mechanisms = Mechanisms::from_letters(algorithm.mechanisms()).unwrap_or_default();
        params.aqt = algorithm.asks_queueing();
        if let Some(feedback) = algorithm.ecn_feedback().and_then(EcnMode::named) {
            params.ecn = feedback;
        }
        params.congestion = algorithm;
        self.adapt(params);
    }
}
