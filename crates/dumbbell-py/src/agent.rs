//! A congestion control that an agent steers from outside: it keeps the window or the pacing rate that it was given, and
//! counts what happens to its flow.

use dumbbell_sim::congestion::{
    Ack, Congestion, Context, Control, ExternalControl, ExternalFactory, ExternalHost, ExternalSpec,
    LostSegment, SentSegment, Setup, Signal,
};
use dumbbell_units::Time;
use dumbbell_units::math::{pow, real};
use dumbbell_units::spec::SpecError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Smallest window of an agent, in segments: one would wait for a delayed acknowledgement.
const LEAST_WINDOW: f64 = 2.0;

/// A window that leaves a pacing rate alone, in round trips at that rate.
const PACED_WINDOW: f64 = 2.0;

/// What an action multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lever {
    Window,
    Rate,
}

/// Columns of an interval, in order. Those without a value yet are NaN.
pub const COLUMNS: [&str; 19] = [
    "time_s",
    "duration_s",
    "acks",
    "delivered_bytes",
    "lost_bytes",
    "marked_bytes",
    "sent_bytes",
    "timeouts",
    "rtt_s",
    "rtt_gradient",
    "min_rtt_s",
    "srtt_s",
    "cwnd_bytes",
    "pacing_rate",
    "in_flight_bytes",
    "max_delivery_rate",
    "mss_bytes",
    "terminated",
    "truncated",
];

/// The values of an interval, by [`COLUMNS`].
pub type Row = [f64; COLUMNS.len()];

/// What happened since the last interval.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    acks: u64,
    delivered: u64,
    lost: u64,
    marked: u64,
    sent: u64,
    timeouts: u64,
    /// Sum of round-trip times in seconds, and their number.
    rtt: (f64, u64),
}

/// The state of the flow that an agent steers.
#[derive(Clone, Debug)]
struct Flow {
    mss: f64,
    cwnd: f64,
    pacing_rate: Option<f64>,
    /// Largest window that the buffers allow, in bytes.
    max_window: f64,
    srtt: Option<f64>,
    /// Infinite before the first sample.
    min_rtt: f64,
    in_flight: f64,
    /// Largest delivery rate of an interval, in bytes per second.
    max_delivery_rate: f64,
    /// Mean round-trip time of the last interval that had one.
    last_rtt: Option<f64>,
    counts: Counts,
}

/// The flow of an agent, shared by the control in the engine and the one who steers it.
#[derive(Clone, Debug)]
pub struct Agent(Arc<Mutex<Flow>>);

impl Default for Agent {
    fn default() -> Self {
        Agent(Arc::new(Mutex::new(Flow {
            mss: f64::NAN,
            cwnd: f64::NAN,
            pacing_rate: None,
            max_window: f64::INFINITY,
            srtt: None,
            min_rtt: f64::INFINITY,
            in_flight: 0.0,
            max_delivery_rate: 0.0,
            last_rtt: None,
            counts: Counts::default(),
        })))
    }
}

impl Agent {
    fn flow(&self) -> MutexGuard<'_, Flow> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if an acknowledgement has arrived since the last interval.
    pub fn has_ack(&self) -> bool {
        self.flow().counts.acks > 0
    }

    /// Smoothed round-trip time in seconds.
    pub fn srtt(&self) -> Option<f64> {
        self.flow().srtt
    }

    /// Multiplies the window or the pacing rate by `factor` to the power of `action`. The flow uses the result from its
    /// next event on. A flow without a connection has nothing to multiply.
    pub fn act(&self, lever: Lever, factor: f64, action: f64) {
        let mut flow = self.flow();
        if flow.mss.is_nan() {
            return;
        }
        let change = pow(factor, action);
        let least = LEAST_WINDOW * flow.mss;
        let most = flow.max_window.max(least);
        match (lever, flow.srtt) {
            (Lever::Rate, Some(srtt)) => {
                let rate = flow.pacing_rate.unwrap_or(flow.cwnd / srtt) * change;
                let rate = rate.clamp(flow.mss / srtt, most / flow.min_rtt.min(srtt));
                flow.pacing_rate = Some(rate);
                flow.cwnd = (PACED_WINDOW * rate * srtt).clamp(least, most);
            }
            _ => flow.cwnd = (flow.cwnd * change).clamp(least, most),
        }
    }

    /// The interval between two times, without the flags of its end; the next one begins.
    pub fn close(&self, began: Time, now: Time) -> Row {
        let mut flow = self.flow();
        let counts = std::mem::take(&mut flow.counts);
        let duration = now.since(began).secs();
        if duration > 0.0 {
            flow.max_delivery_rate = flow.max_delivery_rate.max(real(counts.delivered) / duration);
        }
        let rtt = (counts.rtt.1 > 0).then(|| counts.rtt.0 / real(counts.rtt.1));
        let gradient = match (rtt, flow.last_rtt) {
            (Some(rtt), Some(last)) if duration > 0.0 => (rtt - last) / duration,
            _ => 0.0,
        };
        flow.last_rtt = rtt.or(flow.last_rtt);
        [
            now.secs(),
            duration,
            real(counts.acks),
            real(counts.delivered),
            real(counts.lost),
            real(counts.marked),
            real(counts.sent),
            real(counts.timeouts),
            rtt.unwrap_or(f64::NAN),
            gradient,
            if flow.min_rtt.is_finite() { flow.min_rtt } else { f64::NAN },
            flow.srtt.unwrap_or(f64::NAN),
            flow.cwnd,
            flow.pacing_rate.unwrap_or(f64::NAN),
            flow.in_flight,
            flow.max_delivery_rate,
            flow.mss,
            0.0,
            0.0,
        ]
    }
}

/// Binds a flow to its agent.
pub struct AgentHost(pub Agent);

impl ExternalHost for AgentHost {
    fn prefix(&self) -> &'static str {
        "agent"
    }

    fn factory(&self, _flow: &str, _spec: &ExternalSpec) -> Result<Arc<dyn ExternalFactory>, SpecError> {
        Ok(Arc::new(Factory(self.0.clone())))
    }
}

#[derive(Debug)]
struct Factory(Agent);

impl ExternalFactory for Factory {
    fn control(&self, setup: &Setup) -> Box<dyn ExternalControl> {
        let mut flow = self.0.flow();
        flow.mss = setup.mss;
        // A later connection of the flow has the window that the agent has reached.
        if flow.cwnd.is_nan() {
            flow.cwnd = setup.initial_window;
        }
        let cwnd = flow.cwnd;
        drop(flow);
        Box::new(Steered { agent: self.0.clone(), cwnd })
    }
}

/// The control of a connection.
#[derive(Debug)]
struct Steered {
    agent: Agent,
    /// The agent's window, from the next acknowledgement or congestion on: a segment that leaves changes no window.
    cwnd: f64,
}

impl Steered {
    fn on_any_ack(&mut self, context: &Context, ack: &Ack) {
        let mut flow = self.agent.flow();
        self.cwnd = flow.cwnd;
        flow.max_window = context.max_window;
        flow.in_flight = ack.in_flight;
        flow.counts.acks += 1;
        flow.counts.delivered += ack.delivered;
        flow.counts.marked += ack.marked;
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.secs();
            flow.min_rtt = flow.min_rtt.min(rtt);
            flow.counts.rtt.0 += rtt;
            flow.counts.rtt.1 += 1;
            flow.srtt = Some(context.srtt().unwrap_or(rtt));
        }
    }
}

impl Control for Steered {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.agent.flow().pacing_rate
    }

    fn reacts_to_marks(&self) -> bool {
        true
    }

    fn is_model_based(&self) -> bool {
        true
    }

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        self.on_any_ack(context, ack);
    }

    fn on_duplicate_ack(&mut self, context: &Context, ack: &Ack) {
        self.on_any_ack(context, ack);
    }

    fn on_congestion(&mut self, _context: &Context, congestion: &Congestion) {
        let mut flow = self.agent.flow();
        self.cwnd = flow.cwnd;
        flow.counts.timeouts += u64::from(congestion.signal == Signal::Timeout);
    }

    fn on_loss(&mut self, _context: &Context, lost: &LostSegment) {
        self.agent.flow().counts.lost += u64::from(lost.bytes);
    }

    fn on_sent(&mut self, _context: &Context, sent: &SentSegment) {
        self.agent.flow().counts.sent += u64::from(sent.bytes);
    }
}

impl ExternalControl for Steered {
    fn fork(&self) -> Box<dyn ExternalControl> {
        let copy = self.agent.flow().clone();
        Box::new(Steered { agent: Agent(Arc::new(Mutex::new(copy))), cwnd: self.cwnd })
    }
}
