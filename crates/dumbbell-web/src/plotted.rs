//! Traces for a plot of so many pixels: a million samples are drawn as what of them can be seen.

use dumbbell_sim::trace::Recording;

/// Times, in seconds, and values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Times in ascending order.
    pub times: Vec<f64>,
    /// One value for each time.
    pub values: Vec<f64>,
}

impl Curve {
    fn push(&mut self, time: f64, value: f64) {
        self.times.push(time);
        self.values.push(value);
    }
}

/// The samples of a recording from `from` until `until`, of each of so many intervals of equal length the first, the
/// lowest, the highest and the last, with the neighbours on both sides. All samples if there are no intervals.
pub fn thinned(recording: &Recording, from: f64, until: f64, intervals: usize) -> Curve {
    let (times, values) = (&recording.times, &recording.values);
    let begin = times.partition_point(|&time| time < from).saturating_sub(1);
    let end = (times.partition_point(|&time| time <= until) + 1).min(times.len()).min(values.len());
    let mut curve = Curve::default();
    if intervals == 0 || end.saturating_sub(begin) <= 4 * intervals {
        for index in begin..end {
            curve.push(times[index], values[index]);
        }
        return curve;
    }
    let width = (until - from) / intervals as f64;
    let mut start = begin;
    while start < end {
        let interval = ((times[start] - from) / width).floor();
        let beyond = times[start..end].partition_point(|&time| ((time - from) / width).floor() <= interval);
        let part = start..start + beyond.max(1);
        let by_value = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
        let lowest = part.clone().min_by(by_value).unwrap_or(start);
        let highest = part.clone().max_by(by_value).unwrap_or(start);
        let mut kept = [part.start, lowest, highest, part.end - 1];
        kept.sort_unstable();
        for (place, &index) in kept.iter().enumerate() {
            if place == 0 || kept[place - 1] != index {
                curve.push(times[index], values[index]);
            }
        }
        start = part.end;
    }
    curve
}

/// The rate of growth of a counted quantity, in units per second, over so many intervals of equal length. The time of a
/// value is the end of its interval.
pub fn growth(recording: &Recording, from: f64, until: f64, intervals: usize) -> Curve {
    let count = |time: f64| {
        let place = recording.times.partition_point(|&recorded| recorded <= time);
        place.checked_sub(1).and_then(|place| recording.values.get(place)).copied().unwrap_or(0.0)
    };
    let width = (until - from) / intervals as f64;
    let mut curve = Curve::default();
    let mut before = count(from);
    for interval in 1..=intervals {
        let time = if interval == intervals { until } else { from + width * interval as f64 };
        let now = count(time);
        curve.push(time, (now - before) / width);
        before = now;
    }
    curve
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_sim::quantity::{Measure, Quantity};
    use dumbbell_sim::scenario::ProbeSpec;

    fn recording(values: &[(f64, f64)]) -> Recording {
        let mut recording = Recording::new("f", Quantity::Measured(Measure::Cwnd), &ProbeSpec::default());
        (recording.times, recording.values) = values.iter().copied().unzip();
        recording
    }

    #[test]
    fn the_extremes_of_every_interval_remain_in_order() {
        // Ten samples in each of two intervals of 10 s.
        let mut samples: Vec<(f64, f64)> = (0..20).map(|second| (f64::from(second), 5.0)).collect();
        (samples[3].1, samples[7].1, samples[12].1) = (9.0, 1.0, 8.0);
        let curve = thinned(&recording(&samples), 0.0, 20.0, 2);
        let points: Vec<(f64, f64)> = curve.times.into_iter().zip(curve.values).collect();
        assert_eq!(
            points,
            [(0.0, 5.0), (3.0, 9.0), (7.0, 1.0), (9.0, 5.0), (10.0, 5.0), (12.0, 8.0), (19.0, 5.0)]
        );
    }

    #[test]
    fn a_part_has_the_samples_around_it() {
        let samples: Vec<(f64, f64)> =
            (0..100).map(|second| (f64::from(second), f64::from(second))).collect();
        let curve = thinned(&recording(&samples), 9.5, 11.5, 100);
        assert_eq!(curve.times, [9.0, 10.0, 11.0, 12.0]);
        assert_eq!(thinned(&recording(&samples), 0.0, 1e9, 0).times.len(), 100);
        assert_eq!(thinned(&recording(&[]), 0.0, 1.0, 10), Curve::default());
    }

    #[test]
    fn growth_is_counted_per_second() {
        // 4 bytes in the first two seconds, none in the third and fourth, 10 in the rest.
        let curve = growth(&recording(&[(0.5, 1.0), (1.0, 4.0), (5.0, 14.0)]), 0.0, 6.0, 3);
        assert_eq!((curve.times, curve.values), (vec![2.0, 4.0, 6.0], vec![2.0, 0.0, 5.0]));
    }
}
