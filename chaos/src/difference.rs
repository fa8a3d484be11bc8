//! The first difference of two outcomes, as text such as `flows.f1.goodput_bps: 12.0 against 13.0`.

use dumbbell_sim::Outcome;
use std::fmt::Debug;

/// The results of a run: rows of flows and links, conservation, fingerprint and simulated time, without the number of
/// events and the recordings.
pub fn of_results(one: &Outcome, other: &Outcome) -> Option<String> {
    of_rows(one, other)
        .or_else(|| of_values("simulated_s", &one.simulated_s, &other.simulated_s))
        .or_else(|| of_values("conservation", &one.conservation, &other.conservation))
        .or_else(|| of_values("fingerprint", &one.fingerprint, &other.fingerprint))
}

/// Rows of flows and links.
pub fn of_rows(one: &Outcome, other: &Outcome) -> Option<String> {
    let flows = of_lists("flows", &one.flows, &other.flows, |flow| &flow.name);
    flows.or_else(|| of_lists("links", &one.links, &other.links, |link| &link.name))
}

/// Recordings of probes, in order; additional recordings of either side are ignored.
pub fn of_recordings(one: &Outcome, other: &Outcome) -> Option<String> {
    one.recordings.iter().zip(&other.recordings).find_map(|(one, other)| {
        let path = format!("{} of {}", one.quantity.name(), one.name);
        let rows = |times: &[f64], values: &[f64]| -> Vec<(u64, u64)> {
            times.iter().zip(values).map(|(time, value)| (time.to_bits(), value.to_bits())).collect()
        };
        if one.events != other.events {
            return of_lists(&path, &one.events, &other.events, |event| event.kind.name());
        }
        let (of_one, of_other) = (rows(&one.times, &one.values), rows(&other.times, &other.values));
        if of_one == of_other {
            return None;
        }
        let at = of_one.iter().zip(&of_other).take_while(|(one, other)| one == other).count();
        let row = |rows: &[(u64, u64)]| match rows.get(at) {
            Some(&(time, value)) => format!("{} at {} s", f64::from_bits(value), f64::from_bits(time)),
            None => format!("nothing after {} rows", rows.len()),
        };
        Some(format!("{path}, row {at}: {} against {}", row(&of_one), row(&of_other)))
    })
}

/// All results of two runs of the same scenario.
pub fn of_all(one: &Outcome, other: &Outcome) -> Option<String> {
    of_results(one, other)
        .or_else(|| of_values("recordings", &one.recordings.len(), &other.recordings.len()))
        .or_else(|| of_recordings(one, other))
        .or_else(|| of_values("events", &one.events, &other.events))
}

/// Two values with the same name.
pub fn of_values<T: Debug>(name: &str, one: &T, other: &T) -> Option<String> {
    let (one, other) = (format!("{one:?}"), format!("{other:?}"));
    (one != other).then(|| format!("{name}: {one} against {other}"))
}

/// Rows of a list, field by field in the declared order.
pub fn of_lists<'a, T: Debug>(
    list: &str,
    one: &'a [T],
    other: &'a [T],
    name: impl Fn(&'a T) -> &'a str,
) -> Option<String> {
    if one.len() != other.len() {
        return Some(format!("{list}: {} rows against {}", one.len(), other.len()));
    }
    one.iter().zip(other).find_map(|(one, other)| {
        let (whole, against) = (format!("{one:?}"), format!("{other:?}"));
        (whole != against).then(|| format!("{list}.{}.{}", name(one), of_fields(one, other)))
    })
}

/// The first differing field of two values of one type, from their indented forms.
fn of_fields<T: Debug>(one: &T, other: &T) -> String {
    let (one, other) = (format!("{one:#?}"), format!("{other:#?}"));
    let fields = |text: &str| -> Vec<String> {
        let mut fields: Vec<String> = Vec::new();
        for line in text.lines().skip(1) {
            // Deeper lines, and the one that closes them, belong to the field above.
            let goes_on = line.starts_with("     ") || matches!(line.trim(), ")," | "}," | "],");
            match fields.last_mut().filter(|_| goes_on) {
                Some(field) => field.push_str(line.trim()),
                None => fields.push(line.trim().to_owned()),
            }
        }
        fields
    };
    let (one, other) = (fields(&one), fields(&other));
    let differing = one.iter().zip(&other).find(|(one, other)| one != other);
    let (one, other) = differing.map_or(("", ""), |(one, other)| (one.as_str(), other.as_str()));
    let value = |text: &str| {
        text.split_once(": ").map_or(text, |(_, value)| value).trim_end_matches(',').replace(",)", ")")
    };
    let name = one.split(':').next().unwrap_or_default();
    format!("{name}: {} against {}", value(one), value(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_sim::FlowOutcome;

    #[test]
    fn the_first_difference_is_named_with_its_path() {
        let one = FlowOutcome { name: "f".into(), goodput_bps: 12.0, ..FlowOutcome::default() };
        let mut other = FlowOutcome { goodput_bps: 13.0, timeouts: Some(4), ..one.clone() };
        let compared = |other: &FlowOutcome| {
            of_lists("flows", std::slice::from_ref(&one), std::slice::from_ref(other), |flow| {
                flow.name.as_str()
            })
        };
        assert_eq!(compared(&other).as_deref(), Some("flows.f.goodput_bps: 12.0 against 13.0"));
        other = FlowOutcome { rtt_min_s: Some(0.5), ..one.clone() };
        assert_eq!(compared(&other).as_deref(), Some("flows.f.rtt_min_s: None against Some(0.5)"));
        assert_eq!(compared(&one.clone()), None);
    }
}
