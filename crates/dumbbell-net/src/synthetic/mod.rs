//! Synthetic links that change by themselves, one file each, and the registry that names them.
//!
//! A trace stands in for recorded ones, whose licences are often unclear. It determines rate, delay and losses of a link
//! over a run: as opportunities, as changes, and as outages. With a `seed`, it is the same in every run and on every
//! link; without, each link has its own one in each run. A longer run begins with the trace of a shorter one.
//!
//! The models are assumptions: the published measurements that they resemble are named with each of them, and the tests
//! check the statistics of traces against those.

use crate::changes::{LinkChange, Outage};
use crate::impairment::ImpairmentSpec;
use crate::opportunities::OpportunitySpec;
use dumbbell_units::spec::Params;
use dumbbell_units::{Rate, Stream, Time, math, tagged};

/// What a trace consists of in a run.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// Changes of rate and delay, in order of time.
    pub changes: Vec<LinkChange>,
    /// Times in which the link is down, in order.
    pub outages: Vec<Outage>,
    /// Opportunities in place of the rate.
    pub opportunities: Option<OpportunitySpec>,
    /// Losses beside those of outages.
    pub impairments: Vec<ImpairmentSpec>,
}

/// Parameters of a synthetic link.
pub trait Synthetic: Params {
    /// True if it has delivery opportunities.
    const HAS_OPPORTUNITIES: bool = false;

    /// The seed, if the trace is the same in every run.
    fn seed(&self) -> Option<u64>;

    /// Rate, delay and losses for a run of this length. Delays are in addition to `delay`, that of the link.
    fn course(&self, delay: Time, duration: Time, random: Stream) -> Course;

    /// Expected number of steps or opportunities in a run of this length, which are listed before it.
    fn steps(&self, duration: Time) -> f64;

    /// True if it loses packets.
    fn loses_packets(&self) -> bool {
        false
    }
}

/// Maximum number of steps or opportunities of a trace.
pub const MOST_STEPS: u64 = 50_000_000;

macro_rules! registry {
    ( $( $(#[doc = $about:literal])+ $name:literal => $module:ident::$Spec:ident, )+ ) => {
        $( #[doc = concat!("The synthetic link `", $name, "`.")] pub mod $module; )+
        $( pub use $module::$Spec; )+

        tagged! {
            /// A synthetic link with its parameters.
            pub enum SyntheticSpec by "kind" {
                $( $(#[doc = $about])+ $Spec($module::$Spec) = $name, )+
            }
        }

        impl SyntheticSpec {
            /// See [`Synthetic::HAS_OPPORTUNITIES`].
            pub fn has_opportunities(&self) -> bool {
                match self { $( SyntheticSpec::$Spec(_) => $module::$Spec::HAS_OPPORTUNITIES, )+ }
            }

            /// See [`Synthetic::loses_packets`].
            pub fn loses_packets(&self) -> bool {
                match self { $( SyntheticSpec::$Spec(params) => params.loses_packets(), )+ }
            }

            /// See [`Synthetic::steps`].
            pub fn steps(&self, duration: Time) -> f64 {
                match self { $( SyntheticSpec::$Spec(params) => params.steps(duration), )+ }
            }

            /// See [`Synthetic::course`]; of the link with this name and delay.
            pub fn course(
                &self,
                (link, delay): (&str, Time),
                duration: Time,
                (seed, run): (u64, u64),
            ) -> Course {
                match self {
                    $( SyntheticSpec::$Spec(params) => {
                        let random = match params.seed() {
                            Some(seed) => Stream::new(seed, 0, concat!("trace:", $name)),
                            None => Stream::new(seed, run, &format!("trace:{link}")),
                        };
                        params.course(delay, duration, random)
                    } )+
                }
            }
        }
    };
}

registry! {
    /// A cellular link of the fourth generation: a rate that fades slowly, bursts of opportunities, and gaps.
    "lte" => lte::Lte,
    /// A cellular link at millimetre waves, with and without line of sight.
    "mmwave" => mmwave::MmWave,
    /// A link over satellites in low orbit, which are reassigned every 15 s.
    "starlink" => starlink::Starlink,
    /// A link over a geostationary satellite.
    "geo" => geo::Geo,
}

/// Bytes of an opportunity.
const OPPORTUNITY: u64 = 1504;

/// A standard normal number, by Box and Muller.
fn normal(random: &mut Stream) -> f64 {
    let radius = (-2.0 * math::ln(1.0 - random.uniform())).sqrt();
    radius * math::cos(2.0 * std::f64::consts::PI * random.uniform())
}

/// A rate whose logarithm is a first-order process: lognormal, with the given mean and coefficient of variation.
#[derive(Clone, Debug)]
struct Fading {
    mean: f64,
    /// Standard deviation of the logarithm.
    sigma: f64,
    /// Correlation of successive logarithms.
    phi: f64,
    /// The deviation of the logarithm, in standard deviations.
    state: f64,
}

impl Fading {
    fn new(mean: Rate, variation: f64, phi: f64, random: &mut Stream) -> Self {
        let sigma = math::ln(1.0 + variation * variation).sqrt();
        Fading { mean: mean.0 as f64, sigma, phi, state: normal(random) }
    }

    /// The rate of the next slot, in bit/s.
    fn next(&mut self, random: &mut Stream) -> f64 {
        let rate = self.mean * math::exp(self.sigma * self.state - self.sigma * self.sigma / 2.0);
        self.state = self.phi * self.state + (1.0 - self.phi * self.phi).sqrt() * normal(random);
        rate
    }
}

/// A change of the rate.
fn to_rate(at: Time, rate: f64) -> LinkChange {
    LinkChange { at, rate: Some(Rate((rate as u64).max(1))), delay: None }
}

/// Statistics of a rate in slots of one second, as of recorded traces.
#[cfg(test)]
pub(crate) struct Statistics {
    pub mean: f64,
    /// Coefficient of variation.
    pub variation: f64,
    /// Correlation with the slot before.
    pub correlation: f64,
}

#[cfg(test)]
impl Statistics {
    pub(crate) fn of(rates: &[f64]) -> Self {
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        let variance =
            rates.iter().map(|rate| (rate - mean) * (rate - mean)).sum::<f64>() / rates.len() as f64;
        let lagged = rates.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>();
        let correlation = lagged / rates.len() as f64 / variance;
        Statistics { mean, variation: variance.sqrt() / mean, correlation }
    }

    /// Of the rate that changes give over whole seconds.
    pub(crate) fn of_changes(course: &Course, seconds: u64) -> Self {
        let end = LinkChange { at: Time(seconds * 1_000_000_000), ..LinkChange::default() };
        let mut rates = vec![0.0; seconds as usize];
        let mut rate = 0.0;
        let mut at = 0;
        for change in course.changes.iter().chain([&end]) {
            while at < change.at.0.min(end.at.0) {
                let slot = at / 1_000_000_000;
                let until = ((slot + 1) * 1_000_000_000).min(change.at.0);
                rates[slot as usize] += rate * (until - at) as f64 / 1e9;
                at = until;
            }
            rate = change.rate.map_or(rate, |rate| rate.0 as f64);
        }
        Statistics::of(&rates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link_spec::LinkSpec;

    #[test]
    fn a_seed_fixes_the_trace_and_a_longer_run_continues_it() {
        for name in SyntheticSpec::NAMES {
            let value = serde_json::json!({ "kind": name, "seed": 7 });
            let node = dumbbell_units::spec::Node::root(&value);
            let trace = <SyntheticSpec as dumbbell_units::spec::Field>::decode(&node).unwrap();
            let link = |name: &str, seconds: u64, run| {
                let link = LinkSpec { name: name.into(), trace: Some(trace.clone()), ..LinkSpec::default() };
                link.realized(Time(seconds * 1_000_000_000), (1, run)).into_owned()
            };
            let (short, long) = (link("a", 20, 0), link("b", 60, 5));
            assert_eq!(long.changes[..short.changes.len()], short.changes, "{name}");
            assert_eq!(long.outages[..short.outages.len()], short.outages, "{name}");
            let times = |link: &LinkSpec| link.opportunities.as_ref().map_or(Vec::new(), |o| o.times.clone());
            let kept = times(&short).len().saturating_sub(1);
            assert_eq!(times(&long)[..kept], times(&short)[..kept], "{name}");
            assert!(link("a", 20, 0) == link("a", 20, 3));
        }
        let own = LinkSpec { trace: Some(SyntheticSpec::Lte(Lte::default())), ..LinkSpec::default() };
        let second = Time(1_000_000_000);
        assert!(own.realized(second, (1, 0)) != own.realized(second, (1, 1)));
    }
}
