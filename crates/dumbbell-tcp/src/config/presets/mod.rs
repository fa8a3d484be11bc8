//! Environments as presets: everything specific to the TCP of an environment, for each of its variants.
//!
//! An environment sets the defaults of the fields of [`TcpParams`], and the parameters of each recovery and congestion
//! control. One file each.

mod bsd;
mod classic;
mod linux;
mod ns2;
mod ns3;
mod rfc;

use super::{EcnMode, TcpParams};
use crate::config::recovery::RecoverySpec;
use dumbbell_cc::{AlgorithmSpec, Mechanisms};
use dumbbell_units::spec::{Field, Node, SpecError};
use dumbbell_units::{Time, choice};
use std::ops::RangeInclusive;

choice! {
    /// An environment whose rules are the defaults.
    pub enum Rules {
        /// The RFCs of today: CUBIC (9438), SACK with RACK-TLP (8985) and PRR (9937), F-RTO (5682), HyStart++ (9406), an
        /// initial window of ten segments (6928), timestamps (7323), delayed acknowledgements.
        Rfc = "rfc",
        /// TCP as the papers before about 2010 describe it, where a name such as `newreno` or `vegas` stands for a whole
        /// TCP: RFCs 5681, 6298, 6582, 6675.
        Classic = "classic",
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

/// Mechanisms of Vegas that a congestion control carries out, whichever sender it has.
const MECHANISMS_OF_CONTROLS: [&str; 4] = ["A", "B", "F", "I"];

/// Accepted ticks of a kernel's timers in a second.
pub(super) const HZ: RangeInclusive<u64> = 100..=1000;

/// Families of recoveries named by variants.
pub(super) const FAMILIES: &[&str] = &["tahoe", "reno", "newreno", "sack"];

impl Rules {
    /// The environment's defaults with its default recovery.
    pub fn defaults(self) -> TcpParams {
        match self {
            Rules::Rfc => rfc::defaults(),
            Rules::Classic => classic::defaults(),
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
            Rules::Classic => classic::recovery(family),
            Rules::Bsd => bsd::recovery(family),
            Rules::Ns2 => ns2::recovery(family),
            Rules::Ns3 => ns3::recovery(family),
            Rules::Linux => linux::recovery(family),
        }
    }

    /// True if every congestion control has the environment's recovery unless another one is given.
    fn recovers_alike(self) -> bool {
        matches!(self, Rules::Rfc | Rules::Linux)
    }

    /// Adapts other parameters to a congestion control.
    fn adapt(self, params: &mut TcpParams) {
        match self {
            Rules::Rfc => rfc::adapt(params),
            Rules::Classic => classic::adapt(params),
            Rules::Bsd => bsd::adapt(params),
            Rules::Ns2 => ns2::adapt(params),
            Rules::Ns3 => ns3::adapt(params),
            Rules::Linux => linux::adapt(params),
        }
    }

    /// Sets the clock of the environment's timers, where it has one.
    pub(super) fn set_hz(self, params: &mut TcpParams, node: &Node<'_>) -> Result<(), SpecError> {
        if self != Rules::Linux {
            return Err(node.error("left out: of the environments, `linux` alone has such ticks"));
        }
        let hz = u64::decode(node)?;
        if !HZ.contains(&hz) {
            return Err(node.error(format!("{} to {} ticks per second", HZ.start(), HZ.end())));
        }
        linux::set_tick(params, Time(1_000_000_000 / hz));
        Ok(())
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
        names.extend(
            AlgorithmSpec::NAMES.iter().filter(|name| !names.contains(name)).copied().collect::<Vec<_>>(),
        );
        names
    }

    /// The environments that have a variant.
    pub(super) fn having(name: &str) -> Vec<Rules> {
        let all = Rules::ALL.iter().filter_map(|(rules, _)| Rules::named(rules));
        all.filter(|rules| rules.variant(name).is_some()).collect()
    }

    /// Congestion control and recovery of a variant; `None` if the environment has no such variant. Where the
    /// environment lacks the recovery of Reno, `reno` is the congestion control.
    pub(super) fn variant(self, name: &str) -> Option<TcpParams> {
        let recovery =
            Some(name).filter(|name| FAMILIES.contains(name)).and_then(|family| self.recovery(family));
        let Some(recovery) = recovery else { return self.congestion(name) };
        let mut params = self.defaults();
        params.congestion = AlgorithmSpec::Reno(Default::default());
        params.recovery = recovery;
        self.adapt(&mut params);
        Some(params)
    }

    /// A congestion control by its name in the registry, with what it implies; `None` if the environment has none of this
    /// name.
    pub fn congestion(self, name: &str) -> Option<TcpParams> {
        let mut params = self.defaults();
        let algorithm = match self {
            Rules::Ns3 => ns3::algorithm(name),
            Rules::Rfc | Rules::Classic | Rules::Bsd | Rules::Ns2 | Rules::Linux => {
                AlgorithmSpec::named(name)
            }
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

/// Keeps the mechanisms of Vegas that a congestion control carries out. Those of a sender are not those of this one.
fn keep_mechanisms_of_controls(params: &mut TcpParams) {
    let letters: String =
        params.mechanisms.letters().filter(|letter| MECHANISMS_OF_CONTROLS.contains(letter)).collect();
    params.mechanisms = Mechanisms::from_letters(&letters).unwrap_or_default();
}
