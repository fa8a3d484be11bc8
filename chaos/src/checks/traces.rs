//! Traces agree with the counters, within the measurement window and over the whole run.

use super::{Case, Probed, Verdict, applies_if, require};
use crate::exit::Exit;
use dumbbell_sim::quantity::Measure;
use dumbbell_sim::trace::{FlowEvent, Recording};
use dumbbell_sim::{FlowOutcome, LinkOutcome};
use dumbbell_tcp::TcpEventKind;
use dumbbell_units::Time;

pub fn holds(case: &Case<'_>) -> Verdict {
    let end = case.end()?;
    let probed = case.probed()?;
    let window = Window {
        from: case.scenario.measure_from.secs(),
        until: case.scenario.measure_until().secs(),
        end: Time(end).secs(),
    };
    applies_if(window.from < window.end)?;
    for recording in &probed.outcome.recordings {
        is_ordered(recording, &window)?;
    }
    for (flow, spec) in probed.outcome.flows.iter().zip(&case.scenario.flows) {
        flow_agrees(flow, spec.source.is_datagram() && !spec.writes_messages(), probed, &window)?;
    }
    probed.outcome.links.iter().try_for_each(|link| link_agrees(link, probed, &window))
}

/// The measurement window, including both ends, and the end of the run, in seconds.
struct Window {
    from: f64,
    until: f64,
    end: f64,
}

impl Window {
    /// The growth of a nondecreasing quantity within the window.
    fn growth(&self, recording: &Recording) -> f64 {
        let until = recording.times.partition_point(|&at| at <= self.until);
        let last = until.checked_sub(1).map_or(0.0, |last| recording.values[last]);
        last - last_before(recording, self.from).unwrap_or(0.0)
    }

    /// Rows within the window.
    fn rows(&self, recording: &Recording) -> u64 {
        recording.times.iter().filter(|&&time| (self.from..=self.until).contains(&time)).count() as u64
    }
}

/// The value just before a time.
fn last_before(recording: &Recording, time: f64) -> Option<f64> {
    let before = recording.times.partition_point(|&at| at < time);
    before.checked_sub(1).map(|last| recording.values[last])
}

fn is_ordered(recording: &Recording, window: &Window) -> Verdict {
    let path = || format!("{} of {}", recording.quantity.name(), recording.name);
    let falls = recording.times.windows(2).find(|pair| pair[0] > pair[1]);
    require(falls.is_none(), || format!("{}: times {falls:?} fall", path()))?;
    let beyond = recording.times.iter().find(|&&time| !(0.0..=window.end).contains(&time));
    require(beyond.is_none(), || format!("{}: time {beyond:?} beyond the end {}", path(), window.end))
}

fn recording<'a>(probed: &'a Probed, measure: Measure, name: &str) -> Result<&'a Recording, Exit> {
    probed.recording(measure, name).ok_or_else(|| Exit::Broken(format!("no {} of {name}", measure.name())))
}

fn flow_agrees(flow: &FlowOutcome, is_datagram: bool, probed: &Probed, window: &Window) -> Verdict {
    let name = &flow.name;
    let delivered = window.growth(recording(probed, Measure::Delivered, name)?);
    require(delivered == flow.bytes_delivered as f64, || {
        format!("flows.{name}.bytes_delivered: {} against {delivered} in its trace", flow.bytes_delivered)
    })?;
    let sent = window.rows(recording(probed, Measure::SeqSent, name)?);
    require(is_datagram || sent == flow.segments_sent, || {
        format!("flows.{name}.segments_sent: {} against {sent} in the trace", flow.segments_sent)
    })?;
    if is_datagram {
        return Ok(());
    }
    let events = &recording(probed, Measure::TcpEvents, name)?.events;
    let measured = window.from..=window.until;
    for (column, kind, counted) in [
        ("segments_lost", TcpEventKind::Loss, flow.segments_lost),
        ("timeouts", TcpEventKind::Timeout, flow.timeouts.unwrap_or_default()),
        ("fast_retransmits", TcpEventKind::FastRetransmit, flow.fast_retransmits.unwrap_or_default()),
        ("connections_given_up", TcpEventKind::GiveUp, flow.connections_given_up),
    ] {
        let is_counted = |event: &&FlowEvent| event.kind == kind && measured.contains(&event.at.secs());
        let traced = events.iter().filter(is_counted).count() as u64;
        require(traced == counted, || {
            format!("flows.{name}.{column}: {counted} against {traced} events in the trace")
        })?;
    }
    Ok(())
}

fn link_agrees(link: &LinkOutcome, probed: &Probed, window: &Window) -> Verdict {
    let name = &link.name;
    let counted = link.drops();
    let drops = window.growth(recording(probed, Measure::Drops, name)?);
    require(drops == counted as f64, || {
        format!("links.{name}.drops: {counted} against {drops} in the trace")
    })?;
    let losses = window.rows(recording(probed, Measure::Losses, name)?);
    require(losses <= link.drops_impairment, || {
        format!(
            "links.{name}.drops_impairment: {} against {losses} data packets in the trace",
            link.drops_impairment
        )
    })?;
    let backlog = recording(probed, Measure::Backlog, name)?;
    let (least, most) = largest_backlog(backlog, window);
    let counted = link.backlog_max_packets as f64;
    require(counted >= least && counted <= most, || {
        format!("links.{name}.backlog_max_packets: {counted} against {least} to {most} in the trace")
    })
}

/// The smallest and the largest value that the maximum backlog within the window may have. The backlog at the beginning
/// counts, unless it changed at that very instant: then what it was before, and between changes at that instant, lasted
/// for no time within the window and need not count.
fn largest_backlog(backlog: &Recording, window: &Window) -> (f64, f64) {
    let until = window.until.min(window.end);
    let rows = || backlog.times.iter().copied().zip(backlog.values.iter().copied());
    let after = rows().filter(|&(time, _)| window.from < time && time <= until);
    let largest_after = after.map(|(_, value)| value).fold(0.0, f64::max);
    let stood = last_before(backlog, window.from).unwrap_or(0.0);
    let at_first = rows().filter(|&(time, _)| time == window.from).map(|(_, value)| value);
    let least = at_first.clone().next_back().unwrap_or(stood).max(largest_after);
    (least, at_first.fold(stood, f64::max).max(largest_after))
}
