//! Published distributions of flow sizes in data centres, as cumulative distributions by points.
//!
//! * `websearch`: a cluster for web search [alizadeh2010 figure 4], by the points used in [alizadeh2013].
//! * `mining`: a cluster for data mining [greenberg2009 figure 2], by the points used in [alizadeh2013].
//! * `hadoop` and `cache`: a Hadoop cluster and cache followers of Facebook [roy2015 figure 6].
//!
//! The papers show figures. The points are those that public traffic generators use for them: for `websearch`,
//! `mining` and `cache`, those of the generator of [bai2015]; for `hadoop`, those of the simulations of [li2019]. The
//! first three count in packets of 1,460 bytes. Their means are 1,141 and 5,117 packets for the first two, where
//! published simulations state 1,138 and 5,117.

use super::{Sizes, empirical};
use dumbbell_units::{Stream, params};

/// Payload of a packet in the distributions that count packets.
const PACKET: f64 = 1460.0;

/// Points: size in some unit, cumulative share.
type Points = &'static [(f64, f64)];

const WEB_SEARCH: Points = &[
    (6.0, 0.15),
    (13.0, 0.2),
    (19.0, 0.3),
    (33.0, 0.4),
    (53.0, 0.53),
    (133.0, 0.6),
    (667.0, 0.7),
    (1_333.0, 0.8),
    (3_333.0, 0.9),
    (6_667.0, 0.97),
    (20_000.0, 1.0),
];

const MINING: Points = &[
    (1.0, 0.5),
    (2.0, 0.6),
    (3.0, 0.7),
    (7.0, 0.8),
    (267.0, 0.9),
    (2_107.0, 0.95),
    (66_667.0, 0.99),
    (666_667.0, 1.0),
];

const HADOOP: Points = &[
    (1.0, 0.0),
    (100.0, 0.01),
    (200.0, 0.02),
    (300.0, 0.05),
    (350.0, 0.15),
    (400.0, 0.2),
    (500.0, 0.3),
    (600.0, 0.4),
    (700.0, 0.5),
    (1e3, 0.6),
    (2e3, 0.67),
    (7e3, 0.7),
    (30e3, 0.72),
    (50e3, 0.82),
    (80e3, 0.87),
    (120e3, 0.9),
    (300e3, 0.95),
    (1e6, 0.975),
    (2e6, 0.99),
    (10e6, 1.0),
];

const CACHE: Points = &[
    (1.0, 0.36),
    (2.0, 0.4),
    (7.0, 0.46),
    (13.0, 0.5),
    (67.0, 0.6),
    (133.0, 0.7),
    (667.0, 0.78),
    (1_333.0, 0.8),
    (2_000.0, 0.9),
    (2_667.0, 0.99),
    (33_333.0, 1.0),
];

macro_rules! published {
    ($( $(#[doc = $doc:literal])+ $Name:ident = $points:ident, $unit:expr, $source:literal; )+) => {
        $(
            params! {
                $(#[doc = $doc])+
                pub struct $Name {
                    /// Factor on all sizes, to fit the distribution to slower links.
                    scale: f64 = 1.0, "-", $source,
                        |scale| (1e-6..=1e6).contains(scale), "a number from 0.000001 to 1000000";
                }
            }

            impl $Name {
                fn points(&self) -> impl Iterator<Item = (f64, f64)> {
                    let unit = self.scale * $unit;
                    $points.iter().map(move |&(size, share)| (size * unit, share))
                }
            }

            impl Sizes for $Name {
                fn mean(&self) -> f64 {
                    empirical::mean(self.points())
                }

                fn draw(&self, random: &mut Stream) -> f64 {
                    empirical::quantile(self.points(), random.uniform())
                }
            }
        )+
    };
}

published! {
    /// Flows of a web search cluster.
    WebSearch = WEB_SEARCH, PACKET, "[alizadeh2010 figure 4]";
    /// Flows of a data mining cluster.
    Mining = MINING, PACKET, "[greenberg2009 figure 2]";
    /// Flows of a Hadoop cluster of Facebook.
    Hadoop = HADOOP, 1.0, "[roy2015 figure 6]";
    /// Flows of cache followers of Facebook.
    Cache = CACHE, PACKET, "[roy2015 figure 6]";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_follow_from_the_points() {
        // In packets: 0.15*6 + 0.05*9.5 + 0.1*16 + 0.1*26 + 0.13*43 + 0.07*93 + 0.1*400 + 0.1*1000 + 0.1*2333 + 0.07*5000
        // + 0.03*13333.5 = 1140.98.
        assert!((WebSearch::default().mean() / 1460.0 - 1_140.98).abs() < 0.01);
        // 0.5*1 + 0.1*1.5 + 0.1*2.5 + 0.1*5 + 0.1*137 + 0.05*1187 + 0.04*34387 + 0.01*366667 = 5116.6.
        assert!((Mining::default().mean() / 1460.0 - 5_116.6).abs() < 0.1);
        // Scaled by a half.
        assert!((Mining { scale: 0.5 }.mean() / 730.0 - 5_116.6).abs() < 0.1);
    }

    #[test]
    fn medians_follow_from_the_points() {
        // Web search: 33 packets at 0.4 and 53 at 0.53, hence 33 + 20 * 0.1 / 0.13 = 48.385 at 0.5.
        let medians = [
            empirical::quantile(WebSearch::default().points(), 0.5) / 1460.0,
            empirical::quantile(Hadoop::default().points(), 0.5),
            empirical::quantile(Cache::default().points(), 0.5) / 1460.0,
        ];
        for (median, expected) in medians.into_iter().zip([48.384_62, 700.0, 13.0]) {
            assert!((median - expected).abs() < 1e-5, "{median}");
        }
    }
}
