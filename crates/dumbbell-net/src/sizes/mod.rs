//! Distributions of the sizes of transfers, one file each. Sizes are bytes of payload, without headers.

pub mod empirical;
pub mod exponential;
pub mod fixed;
pub mod lognormal;
pub mod pareto;
pub mod published;
pub mod uniform;

use dumbbell_units::{Stream, tagged};

/// A distribution of sizes.
pub trait Sizes {
    /// Mean size, in bytes.
    fn mean(&self) -> f64;

    /// Draws a size, in bytes.
    fn draw(&self, random: &mut Stream) -> f64;

    /// The parameter that contradicts another one, and what is accepted; `None` if they are consistent.
    fn contradiction(&self) -> Option<(&'static str, String)> {
        None
    }
}

/// Largest size that is drawn, in bytes: all smaller whole numbers are exact.
const LARGEST: f64 = 9_007_199_254_740_992.0;

macro_rules! sizes {
    ($( $(#[doc = $doc:literal])+ $Variant:ident($Params:ty) = $name:literal, )+) => {
        tagged! {
            /// A distribution of sizes with its parameters.
            pub enum SizeSpec by "kind" {
                $( $(#[doc = $doc])+ $Variant($Params) = $name, )+
            }
        }

        impl SizeSpec {
            fn sizes(&self) -> &dyn Sizes {
                match self { $( SizeSpec::$Variant(sizes) => sizes, )+ }
            }
        }
    };
}

sizes! {
    /// One size.
    Fixed(fixed::Fixed) = "fixed",
    /// Equally likely sizes between two bounds.
    Uniform(uniform::Uniform) = "uniform",
    /// Exponential sizes.
    Exponential(exponential::Exponential) = "exponential",
    /// Sizes with a power law between two bounds.
    Pareto(pareto::Pareto) = "pareto",
    /// Sizes whose logarithm is normal.
    LogNormal(lognormal::LogNormal) = "lognormal",
    /// A cumulative distribution by points.
    Empirical(empirical::Empirical) = "empirical",
    /// Flows of a web search cluster: mean 1.67 MB, half below 71 kB.
    WebSearch(published::WebSearch) = "websearch",
    /// Flows of a data mining cluster: mean 7.5 MB, half of one packet.
    Mining(published::Mining) = "mining",
    /// Flows of a Hadoop cluster of Facebook: mean 120 kB, half of at most 700 bytes.
    Hadoop(published::Hadoop) = "hadoop",
    /// Flows of cache followers of Facebook: mean 0.9 MB, half of at most 19 kB.
    Cache(published::Cache) = "cache",
}

impl Default for SizeSpec {
    fn default() -> Self {
        SizeSpec::Fixed(fixed::Fixed::default())
    }
}

impl SizeSpec {
    /// Mean size, in bytes.
    pub fn mean(&self) -> f64 {
        self.sizes().mean()
    }

    /// Draws a size in whole bytes, at least 1.
    pub fn draw(&self, random: &mut Stream) -> u64 {
        (self.sizes().draw(random) + 0.5).clamp(1.0, LARGEST) as u64
    }

    /// See [`Sizes::contradiction`].
    pub fn contradiction(&self) -> Option<(&'static str, String)> {
        self.sizes().contradiction()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_units::spec::{Field, Node};
    use serde_json::json;

    #[test]
    fn every_distribution_has_the_mean_that_it_states() {
        // The empirical mean of a million draws; the heaviest tails need the widest margin.
        for entry in SizeSpec::catalogue().as_array().expect("a list") {
            let spec = SizeSpec::decode(&Node::root(&entry["name"])).expect("a distribution");
            let mut random = Stream::new(1, 0, spec.name());
            let draws = 1_000_000;
            let sum: f64 = (0..draws).map(|_| spec.draw(&mut random) as f64).sum();
            let ratio = sum / f64::from(draws) / spec.mean();
            assert!((ratio - 1.0).abs() < 0.03, "{}: {ratio}", spec.name());
            assert_eq!(spec.contradiction(), None);
        }
    }

    #[test]
    fn contradictory_bounds_are_named() {
        let contradiction = |value| {
            let spec = SizeSpec::decode(&Node::root(&value)).expect("a distribution");
            spec.contradiction().map(|(member, _)| member)
        };
        assert_eq!(contradiction(json!({ "kind": "uniform", "min": "2 kB", "max": "1 kB" })), Some("max"));
        assert_eq!(contradiction(json!({ "kind": "pareto", "min": "2 kB", "max": "2 kB" })), Some("max"));
        let points = |sizes, shares| json!({ "kind": "empirical", "sizes": sizes, "shares": shares });
        assert_eq!(contradiction(points(json!(["1 kB", "2 kB"]), json!([1.0]))), Some("shares"));
        assert_eq!(contradiction(points(json!(["1 kB"]), json!([1.0]))), None);
    }
}
