//! A congestion control of quinn with what its connection does not show: bytes in flight, the latest round-trip time, and
//! the pacing rate.

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Bbr, Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What the congestion control was told.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
    /// Bytes of packets in flight, in UDP payloads.
    pub in_flight: u64,
    /// Time from the sending of the latest acknowledged packet to its acknowledgement, with the receiver's delay.
    pub latest_rtt: Option<Duration>,
}

/// A congestion control, and what it was told.
pub struct Watched {
    control: Box<dyn Controller>,
    told: Told,
    /// When the latest packet was sent that the current acknowledgement covers.
    latest_sent: Option<Instant>,
}

impl Watched {
    /// What the congestion control of a connection was told, and the pacing rate that it computes, in bit/s.
    pub fn told(control: &dyn Controller) -> (Told, Option<f64>) {
        let copy = control.clone_box().into_any().downcast::<Watched>();
        copy.map_or_else(|_| Default::default(), |watched| (watched.told, pacing_rate(watched.control)))
    }
}

/// The pacing rate that a congestion control computes, in bit/s. That of BBR follows a cycle of gains whose phase is drawn
/// from the system's random generator: in that cycle, it is the rate at a gain of 1, which is the mean and BBR's estimate
/// of the bandwidth. Only its debugging text has the estimate.
fn pacing_rate(control: Box<dyn Controller>) -> Option<f64> {
    let rate = control.metrics().pacing_rate.filter(|&rate| rate > 0)? as f64;
    let Ok(bbr) = control.into_any().downcast::<Bbr>() else { return Some(rate) };
    let text = format!("{bbr:?}");
    if !text.contains(" mode: ProbeBw") {
        return Some(rate);
    }
    let (_, filter) = text.split_once("max_filter: ")?;
    let (_, value) = filter.split_once("value: ")?;
    let digits = value.find(|next: char| !next.is_ascii_digit())?;
    value[..digits].parse().ok().map(|bytes: f64| bytes * 8.0)
}

impl Controller for Watched {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.told.in_flight += bytes;
        self.control.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.latest_sent = self.latest_sent.max(Some(sent));
        self.control.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        self.told.in_flight = in_flight;
        if let Some(sent) = self.latest_sent.take() {
            self.told.latest_rtt = Some(now.saturating_duration_since(sent));
        }
        self.control.on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        self.told.in_flight = self.told.in_flight.saturating_sub(lost_bytes);
        self.control.on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.control.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.control.window()
    }

    /// Those of the congestion control without its pacing rate: quinn's pacer does not read it, and that of BBR depends
    /// on a draw from the system's random generator. [`Watched::told`] has it without the draw.
    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = self.control.metrics();
        metrics.pacing_rate = None;
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        let control = self.control.clone_box();
        Box::new(Watched { control, told: self.told, latest_sent: self.latest_sent })
    }

    fn initial_window(&self) -> u64 {
        self.control.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Builds watched congestion controls.
pub struct Factory<F>(pub Arc<F>);

impl<F: ControllerFactory> ControllerFactory for Factory<F> {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let control = Arc::clone(&self.0).build(now, current_mtu);
        Box::new(Watched { control, told: Told::default(), latest_sent: None })
    }
}
