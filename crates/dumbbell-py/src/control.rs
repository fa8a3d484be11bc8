//! Congestion controls in Python. An object of the package's class `Control` is told each event and asked for its
//! window; an exception ends the batch, and nothing of it enters the engine.

use crate::{ControlError, events};
use dumbbell_sim::congestion::probes::OWN;
use dumbbell_sim::congestion::{
    Ack, Congestion, Context, Control, ExternalControl, ExternalFactory, ExternalHost, ExternalSpec, Hook,
    LostSegment, ProbeInfo, RecoveryExit, Restart, SentSegment, Setup, Undo,
};
use dumbbell_units::Time;
use dumbbell_units::spec::{Field, SpecError};
use pyo3::PyClass;
use pyo3::intern;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The exception that ends a batch.
#[derive(Debug, Default)]
pub struct Fault {
    /// True once the batch must end, for whatever reason. Controls then keep their windows.
    pub stop: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl Fault {
    /// Ends the batch with an exception, unless it has one.
    pub fn set(&self, error: PyErr) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Takes the exception.
    pub fn take(&self) -> Option<PyErr> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Finds classes by the function that the package passes.
pub struct PythonHost {
    /// Returns the `Factory` of a name, a digest and parameters as JSON text.
    pub find: Option<Py<PyAny>>,
    pub fault: Arc<Fault>,
}

impl ExternalHost for PythonHost {
    fn prefix(&self) -> &'static str {
        "python"
    }

    fn factory(&self, flow: &str, spec: &ExternalSpec) -> Result<Arc<dyn ExternalFactory>, SpecError> {
        let made = Python::attach(|py| {
            let find = self.find.as_ref().map(|find| find.bind(py));
            let find = find.ok_or_else(|| ControlError::new_err("nothing finds controls in Python"))?;
            let arguments = (&spec.name, &spec.digest, spec.parameters.encode().to_string());
            Kind::of(flow, &find.call1(arguments)?, spec, Arc::clone(&self.fault))
        });
        match made {
            Ok(kind) => Ok(Arc::new(Factory(Arc::new(kind)))),
            Err(error) => {
                let refused = SpecError {
                    field: format!("flows.{flow}.tcp.external"),
                    value: format!("\"{}\"", spec.name),
                    accepted: error.to_string(),
                    suggestion: None,
                };
                self.fault.set(error);
                Err(refused)
            }
        }
    }
}

/// What all controls of a flow have in common.
#[derive(Debug)]
struct Kind {
    flow: String,
    /// Name of the class, for errors.
    title: String,
    new: Py<PyAny>,
    /// Whether the class has each method.
    has: [bool; Hook::NAMES.len()],
    uses_rate_samples: bool,
    is_model_based: bool,
    reacts_to_marks: bool,
    probes: Vec<ProbeInfo>,
    fault: Arc<Fault>,
}

impl Kind {
    fn of(flow: &str, factory: &Bound<'_, PyAny>, spec: &ExternalSpec, fault: Arc<Fault>) -> PyResult<Self> {
        let hooks: Vec<String> = factory.getattr("hooks")?.extract()?;
        Ok(Kind {
            flow: flow.to_owned(),
            title: factory.getattr("title")?.extract()?,
            new: factory.getattr("new")?.unbind(),
            has: Hook::NAMES.map(|name| hooks.iter().any(|hook| hook == name)),
            uses_rate_samples: factory.getattr("rate_samples")?.extract()?,
            is_model_based: factory.getattr("model_based")?.extract()?,
            reacts_to_marks: factory.getattr("reacts_to_marks")?.extract()?,
            probes: spec.probes.iter().filter_map(|name| ProbeInfo::own(&format!("{OWN}{name}"))).collect(),
            fault,
        })
    }

    /// Ends the batch with an exception of a method.
    fn fail(&self, py: Python<'_>, method: &str, at: Time, error: PyErr) {
        let place = format!("in {}.{method} of the flow \"{}\" at {} s", self.title, self.flow, at.secs());
        // Without a note, it is still the exception.
        let _ = error.value(py).call_method1("add_note", (place,));
        self.fault.set(error);
    }
}

#[derive(Debug)]
struct Factory(Arc<Kind>);

impl ExternalFactory for Factory {
    fn control(&self, setup: &Setup) -> Box<dyn ExternalControl> {
        let kind = &self.0;
        let mut control = PythonControl {
            kind: Arc::clone(kind),
            mss: setup.mss,
            object: None,
            methods: Default::default(),
            cwnd: setup.initial_window,
            ssthresh: setup.initial_ssthresh,
            pacing_rate: None,
        };
        if !kind.fault.stop.load(Ordering::Relaxed) {
            Python::attach(|py| {
                if let Err(error) = control.start(py, setup) {
                    kind.fail(py, "start", setup.now, error);
                }
            });
        }
        Box::new(control)
    }
}

/// A Python object as the control of one connection.
#[derive(Debug)]
struct PythonControl {
    kind: Arc<Kind>,
    mss: f64,
    /// `None` if it could not be created.
    object: Option<Py<PyAny>>,
    /// Its methods, bound to it.
    methods: [Option<Py<PyAny>>; Hook::NAMES.len()],
    cwnd: f64,
    ssthresh: f64,
    pacing_rate: Option<f64>,
}

impl PythonControl {
    fn start(&mut self, py: Python<'_>, setup: &Setup) -> PyResult<()> {
        let object = self.kind.new.bind(py).call0()?;
        let stated = Py::new(py, events::Setup::of(setup))?;
        object.setattr("setup", &stated)?;
        object.setattr("cwnd", self.cwnd)?;
        object.setattr("ssthresh", self.ssthresh)?;
        object.call_method1("start", (stated,))?;
        self.take_object(&object)?;
        self.read(py, "start")
    }

    fn take_object(&mut self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        for (hook, name) in Hook::NAMES.iter().enumerate() {
            self.methods[hook] =
                if self.kind.has[hook] { Some(object.getattr(*name)?.unbind()) } else { None };
        }
        self.object = Some(object.clone().unbind());
        Ok(())
    }

    /// Reads window, threshold and pacing rate, unless they are not acceptable.
    fn read(&mut self, py: Python<'_>, method: &str) -> PyResult<()> {
        let Some(object) = &self.object else { return Ok(()) };
        let object = object.bind(py);
        let refuse = |name: &str, value: &Bound<'_, PyAny>, accepted: String| {
            let shown = value.repr().map_or_else(|_| "a value".to_owned(), |text| text.to_string());
            let title = &self.kind.title;
            Err(ControlError::new_err(format!("{title}.{method}: {name} is {shown}; expected {accepted}")))
        };
        let cwnd = object.getattr(intern!(py, "cwnd"))?;
        match cwnd.extract::<f64>() {
            Ok(bytes) if bytes.is_finite() && bytes >= self.mss => self.cwnd = bytes,
            _ => {
                let accepted = format!("a finite number of bytes, at least one segment ({})", self.mss);
                return refuse("cwnd", &cwnd, accepted);
            }
        }
        let ssthresh = object.getattr(intern!(py, "ssthresh"))?;
        match ssthresh.extract::<f64>() {
            Ok(bytes) if bytes > 0.0 => self.ssthresh = bytes,
            _ => return refuse("ssthresh", &ssthresh, "a number of bytes above 0, or infinity".to_owned()),
        }
        let rate = object.getattr(intern!(py, "pacing_rate"))?;
        match rate.extract::<Option<f64>>() {
            Ok(rate) if rate.is_none_or(|rate| rate.is_finite() && rate > 0.0) => self.pacing_rate = rate,
            _ => {
                return refuse(
                    "pacing_rate",
                    &rate,
                    "None, or a finite number of bytes/s above 0".to_owned(),
                );
            }
        }
        Ok(())
    }

    /// Calls a method, if the class has it and nothing has failed.
    #[inline]
    fn tell<E: PyClass>(&mut self, hook: Hook, now: Time, event: impl FnOnce() -> PyClassInitializer<E>)
    where
        PyClassInitializer<E>: Sized,
    {
        if self.methods[hook as usize].is_none() || self.kind.fault.stop.load(Ordering::Relaxed) {
            return;
        }
        Python::attach(|py| {
            let called = Py::new(py, event()).and_then(|event| match &self.methods[hook as usize] {
                Some(method) => method.bind(py).call1((event,)).map(drop),
                None => Ok(()),
            });
            let name = hook.name();
            if let Err(error) = called.and_then(|()| self.read(py, name)) {
                self.kind.fail(py, name, now, error);
            }
        });
    }
}

impl Control for PythonControl {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.pacing_rate
    }

    fn uses_rate_samples(&self) -> bool {
        self.kind.uses_rate_samples
    }

    fn reacts_to_marks(&self) -> bool {
        self.kind.reacts_to_marks
    }

    fn is_model_based(&self) -> bool {
        self.kind.is_model_based
    }

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        self.tell(Hook::Ack, context.now, || events::Ack::of(context, ack));
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        self.tell(Hook::Congestion, context.now, || events::Congestion::of(context, congestion));
    }

    fn on_duplicate_ack(&mut self, context: &Context, ack: &Ack) {
        self.tell(Hook::DuplicateAck, context.now, || events::Ack::of(context, ack));
    }

    fn on_loss(&mut self, context: &Context, lost: &LostSegment) {
        self.tell(Hook::Loss, context.now, || events::Segment::lost(context, lost));
    }

    fn on_recovery_enter(&mut self, context: &Context) {
        self.tell(Hook::RecoveryEnter, context.now, || events::Connection::of(context).into());
    }

    fn on_recovery_exit(&mut self, context: &Context, exit: &RecoveryExit) {
        self.tell(Hook::RecoveryExit, context.now, || events::RecoveryExit::of(context, exit));
    }

    fn on_undo(&mut self, context: &Context, undo: &Undo) {
        self.tell(Hook::Undo, context.now, || events::Undo::of(context, undo));
    }

    fn on_restart(&mut self, context: &Context, restart: &Restart) {
        self.tell(Hook::Restart, context.now, || events::Restart::of(context, restart));
    }

    fn on_sent(&mut self, context: &Context, sent: &SentSegment) {
        let (cwnd, ssthresh) = (self.cwnd, self.ssthresh);
        self.tell(Hook::Sent, context.now, || events::Segment::sent(context, sent));
        if (self.cwnd, self.ssthresh) != (cwnd, ssthresh) {
            let text = format!(
                "{}.on_sent: cwnd or ssthresh has changed; expected both unchanged, as a transmission changes neither",
                self.kind.title
            );
            (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
            Python::attach(|py| self.kind.fail(py, "on_sent", context.now, ControlError::new_err(text)));
        }
    }

    fn probe(&self, index: usize) -> Option<f64> {
        let name = self.kind.probes.get(index)?.name;
        let object = self.object.as_ref()?;
        if self.kind.fault.stop.load(Ordering::Relaxed) {
            return None;
        }
        Python::attach(|py| {
            let value = object.bind(py).getattr(&name[OWN.len()..]);
            value.and_then(|value| value.extract()).unwrap_or_else(|error| {
                let text = format!("{}: the probe {name} has no number or None: {error}", self.kind.title);
                self.kind.fault.set(ControlError::new_err(text));
                None
            })
        })
    }
}

impl ExternalControl for PythonControl {
    fn fork(&self) -> Box<dyn ExternalControl> {
        let mut copy = PythonControl {
            kind: Arc::clone(&self.kind),
            mss: self.mss,
            object: None,
            methods: Default::default(),
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            pacing_rate: self.pacing_rate,
        };
        if let Some(object) = &self.object {
            Python::attach(|py| {
                let forked = object.bind(py).call_method0("fork");
                if let Err(error) = forked.and_then(|object| copy.take_object(&object)) {
                    self.kind.fault.set(error);
                }
            });
        }
        Box::new(copy)
    }

    fn probes(&self) -> &[ProbeInfo] {
        &self.kind.probes
    }
}
