//! The algorithm of a library as the control of a connection.

use crate::abi;
use crate::description::Description;
use crate::event::{self, Event};
#[cfg(feature = "compiled")]
use crate::native::NativeState;
use crate::outside::OutsideState;
#[cfg(feature = "compiled")]
use crate::wasm::WasmState;
use crate::{Code, Library};
use dumbbell_cc::probes::OWN;
use dumbbell_cc::{
    Ack, Congestion, Context, Control, ExternalControl, ExternalFactory, Hook, LostSegment, ProbeInfo,
    RecoveryExit, Restart, SentSegment, Setup, Undo, Window,
};
use dumbbell_units::Time;
use std::fmt;
use std::sync::Arc;

/// Receives the sentence that says what a library did wrong. The run must then end: until it does, the window keeps its
/// last value.
pub type OnFault = Arc<dyn Fn(String) + Send + Sync>;

/// What all controls of a flow have in common.
pub(crate) struct Factory {
    pub(crate) flow: String,
    pub(crate) library: Arc<Library>,
    /// Values of the parameters, in the declared order.
    pub(crate) parameters: Vec<f64>,
    pub(crate) probes: Vec<ProbeInfo>,
    /// The indices of the probes in the library.
    pub(crate) probe_indices: Vec<u32>,
    pub(crate) on_fault: OnFault,
}

impl fmt::Debug for Factory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Factory")
            .field("flow", &self.flow)
            .field("library", &self.library)
            .finish_non_exhaustive()
    }
}

impl Factory {
    fn description(&self) -> &Description {
        &self.library.description
    }
}

/// The factory of the controls of a flow.
#[derive(Debug)]
pub(crate) struct Shared(pub(crate) Arc<Factory>);

impl ExternalFactory for Shared {
    fn control(&self, setup: &Setup) -> Box<dyn ExternalControl> {
        let factory = Arc::clone(&self.0);
        let mut control = LibraryControl {
            state: None,
            window: abi::Window {
                cwnd: setup.initial_window,
                ssthresh: setup.initial_ssthresh,
                pacing_rate: 0.0,
            },
            mss: setup.mss,
            start: Window::new(setup),
            factory,
        };
        if let Err(problem) = control.start(setup) {
            control.fail("start", setup.now, &problem);
        }
        Box::new(control)
    }
}

#[derive(Debug)]
enum State {
    #[cfg(feature = "compiled")]
    Native(NativeState),
    // Boxed, as it is many times larger.
    #[cfg(feature = "compiled")]
    Wasm(Box<WasmState>),
    Outside(OutsideState),
}

/// The control of one connection.
#[derive(Debug)]
struct LibraryControl {
    factory: Arc<Factory>,
    /// `None` after a failure.
    state: Option<State>,
    window: abi::Window,
    mss: f64,
    /// The window at the start, by whose rules the defaults change it.
    start: Window,
}

impl LibraryControl {
    fn start(&mut self, setup: &Setup) -> Result<(), String> {
        let (library, stated) = (&self.factory.library, event::setup(setup));
        let mut window = self.window;
        let state = match &library.code {
            #[cfg(feature = "compiled")]
            Code::Native(native) => {
                let mut state = NativeState::new(Arc::clone(native), &library.description);
                state.start(&stated, &self.factory.parameters, &mut window);
                State::Native(state)
            }
            #[cfg(feature = "compiled")]
            Code::Wasm(wasm) => {
                let mut state = WasmState::new(Arc::clone(wasm))?;
                state.start(&stated, &self.factory.parameters, &mut window)?;
                State::Wasm(Box::new(state))
            }
            Code::Outside(interpreter) => {
                let interpreter = Arc::clone(interpreter);
                let parameters = &self.factory.parameters;
                State::Outside(OutsideState::start(interpreter, &stated, parameters, &mut window)?)
            }
        };
        self.take(window)?;
        self.state = Some(state);
        Ok(())
    }

    /// Takes a window, unless a value is out of range.
    #[inline]
    fn take(&mut self, window: abi::Window) -> Result<(), String> {
        let abi::Window { cwnd, ssthresh, pacing_rate } = window;
        let is_valid = cwnd.is_finite()
            && cwnd >= self.mss
            && ssthresh > 0.0
            && pacing_rate.is_finite()
            && pacing_rate >= 0.0;
        if is_valid {
            self.window = window;
            return Ok(());
        }
        Err(if !(cwnd.is_finite() && cwnd >= self.mss) {
            format!(
                "sets cwnd to {cwnd}; expected a finite number of bytes, at least one segment ({})",
                self.mss
            )
        } else if ssthresh > 0.0 {
            format!("sets pacing_rate to {pacing_rate}; expected a finite number of bytes/s, 0 for no pacing")
        } else {
            format!("sets ssthresh to {ssthresh}; expected a number of bytes above 0, or infinity")
        })
    }

    #[cold]
    fn fail(&mut self, function: &str, at: Time, problem: &str) {
        self.state = None;
        let Factory { flow, library, on_fault, .. } = &*self.factory;
        on_fault(format!("{}: {function} {problem} (flow \"{flow}\", {} s)", library.title, at.secs()));
    }

    #[inline]
    fn listens(&self, hook: Hook) -> bool {
        self.state.is_some() && self.factory.description().has(hook)
    }

    #[inline]
    fn tell(&mut self, context: &Context, event: Event<'_>) {
        let connection = event::connection(context);
        let mut window = self.window;
        let told = match &mut self.state {
            #[cfg(feature = "compiled")]
            Some(State::Native(state)) => {
                state.tell(&connection, event, &mut window);
                Ok(())
            }
            #[cfg(feature = "compiled")]
            Some(State::Wasm(state)) => state.tell(&connection, event, &mut window),
            Some(State::Outside(state)) => state.tell(&connection, event, &mut window),
            None => return,
        };
        if let Err(problem) = told.and_then(|()| self.take(window)) {
            self.fail(event.hook().name(), context.now, &problem);
        }
    }

    /// A reaction that the library leaves to its default.
    fn by_default(&mut self, hook: Hook, context: &Context, react: impl FnOnce(&mut Window)) {
        if self.state.is_none() {
            return;
        }
        let mut window = self.start;
        (window.cwnd, window.ssthresh) = (self.window.cwnd, self.window.ssthresh);
        react(&mut window);
        let window = abi::Window { cwnd: window.cwnd, ssthresh: window.ssthresh, ..self.window };
        if let Err(problem) = self.take(window) {
            self.fail(hook.name(), context.now, &format!("is not defined, and its default {problem}"));
        }
    }
}

impl Control for LibraryControl {
    #[inline]
    fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    #[inline]
    fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }

    #[inline]
    fn pacing_rate(&self) -> Option<f64> {
        (self.window.pacing_rate > 0.0).then_some(self.window.pacing_rate)
    }

    fn uses_rate_samples(&self) -> bool {
        self.factory.description().has_flag(abi::USES_RATE_SAMPLES)
    }

    fn reacts_to_marks(&self) -> bool {
        self.factory.description().has_flag(abi::REACTS_TO_MARKS)
    }

    fn is_model_based(&self) -> bool {
        self.factory.description().has_flag(abi::MODEL_BASED)
    }

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if self.listens(Hook::Ack) {
            self.tell(context, Event::Ack(&event::ack(ack)));
        }
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        if self.listens(Hook::Congestion) {
            self.tell(context, Event::Congestion(&event::congestion(congestion)));
        }
    }

    fn on_duplicate_ack(&mut self, context: &Context, ack: &Ack) {
        if self.listens(Hook::DuplicateAck) {
            self.tell(context, Event::DuplicateAck(&event::ack(ack)));
        }
    }

    fn on_loss(&mut self, context: &Context, lost: &LostSegment) {
        if self.listens(Hook::Loss) {
            self.tell(context, Event::Loss(&event::lost(lost)));
        }
    }

    fn on_recovery_enter(&mut self, context: &Context) {
        if self.listens(Hook::RecoveryEnter) {
            self.tell(context, Event::RecoveryEnter);
        }
    }

    fn on_recovery_exit(&mut self, context: &Context, exit: &RecoveryExit) {
        if self.listens(Hook::RecoveryExit) {
            self.tell(context, Event::RecoveryExit(&event::recovery_exit(exit)));
        } else {
            self.by_default(Hook::RecoveryExit, context, |window| window.on_recovery_exit(context, exit));
        }
    }

    fn on_undo(&mut self, context: &Context, undo: &Undo) {
        if self.listens(Hook::Undo) {
            self.tell(context, Event::Undo(&event::undo(undo)));
        } else {
            self.by_default(Hook::Undo, context, |window| window.on_undo(undo));
        }
    }

    fn on_restart(&mut self, context: &Context, restart: &Restart) {
        if self.listens(Hook::Restart) {
            self.tell(context, Event::Restart(&event::restart(restart)));
        } else {
            self.by_default(Hook::Restart, context, Window::on_restart);
        }
    }

    fn on_sent(&mut self, context: &Context, sent: &SentSegment) {
        if !self.listens(Hook::Sent) {
            return;
        }
        let before = self.window;
        self.tell(context, Event::Sent(&event::sent(context, sent)));
        if (self.window.cwnd, self.window.ssthresh) != (before.cwnd, before.ssthresh) {
            self.window = before;
            let problem =
                "changes cwnd or ssthresh; expected both unchanged, as a transmission changes neither";
            self.fail(Hook::Sent.name(), context.now, problem);
        }
    }

    fn probe(&self, index: usize) -> Option<f64> {
        let place = *self.factory.probe_indices.get(index)?;
        let asked = match self.state.as_ref()? {
            #[cfg(feature = "compiled")]
            State::Native(state) => Ok(state.probe(place)),
            #[cfg(feature = "compiled")]
            State::Wasm(state) => state.probe(place),
            State::Outside(state) => state.probe(place),
        };
        let value = asked.unwrap_or_else(|problem| {
            let name = self.factory.probes[index].name.trim_start_matches(OWN);
            let Factory { flow, library, on_fault, .. } = &*self.factory;
            on_fault(format!("{}: probe of {name} {problem} (flow \"{flow}\")", library.title));
            f64::NAN
        });
        (!value.is_nan()).then_some(value)
    }
}

impl ExternalControl for LibraryControl {
    fn fork(&self) -> Box<dyn ExternalControl> {
        let state = match &self.state {
            #[cfg(feature = "compiled")]
            Some(State::Native(state)) => Ok(Some(State::Native(state.fork()))),
            Some(State::Outside(state)) => state.fork().map(|state| Some(State::Outside(state))),
            #[cfg(feature = "compiled")]
            Some(State::Wasm(state)) => state.fork().map(|state| Some(State::Wasm(Box::new(state)))),
            None => Ok(None),
        };
        let mut copy = LibraryControl {
            factory: Arc::clone(&self.factory),
            state: None,
            window: self.window,
            mss: self.mss,
            start: self.start,
        };
        match state {
            Ok(state) => copy.state = state,
            Err(problem) => copy.fail("copy", Time::ZERO, &problem),
        }
        Box::new(copy)
    }

    fn probes(&self) -> &[ProbeInfo] {
        &self.factory.probes
    }
}
