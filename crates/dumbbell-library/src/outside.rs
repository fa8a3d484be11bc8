//! Algorithms whose code runs outside of the engine, as that of a page in its browser. They have the events and the window
//! of the C interface, in its layout.

use crate::abi;
use crate::description::{Description, Head, Parameter, Refusal};
use crate::event::Event;
use dumbbell_cc::Hook;
use std::fmt::Debug;
use std::sync::Arc;
use zerocopy::IntoBytes;

/// Runs the code of an algorithm. A state, which is the part of one connection, has a number. Errors continue a sentence
/// whose subject is the function.
pub trait Interpreter: Debug + Send + Sync {
    /// The number of the state of a new connection. `setup` is an [`abi::Setup`], `window` an [`abi::Window`] that may
    /// change.
    ///
    /// # Errors
    ///
    /// The code fails.
    fn start(&self, setup: &[u8], parameters: &[f64], window: &mut [u8]) -> Result<u32, String>;

    /// Tells an event. `connection` is an [`abi::Connection`], `event` the struct of the hook, `window` an
    /// [`abi::Window`] that may change.
    ///
    /// # Errors
    ///
    /// The code fails.
    fn tell(&self, state: u32, hook: Hook, told: (&[u8], &[u8]), window: &mut [u8]) -> Result<(), String>;

    /// The value of a probe; NaN if there is none yet.
    ///
    /// # Errors
    ///
    /// The code fails.
    fn probe(&self, state: u32, index: u32) -> Result<f64, String>;

    /// The number of an independent copy of a state.
    ///
    /// # Errors
    ///
    /// The code fails.
    fn copy(&self, state: u32) -> Result<u32, String>;

    /// The state is not used any more.
    fn release(&self, state: u32);
}

/// What code outside of the engine states about its algorithm.
#[derive(Clone, Debug, Default)]
pub struct Statement {
    /// Sum of the flags of [`abi`].
    pub flags: u32,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// The names of its probes.
    pub probes: Vec<String>,
    /// Which events it is told, in the order of [`Hook::NAMES`].
    pub hooks: [bool; Hook::NAMES.len()],
}

impl Statement {
    pub(crate) fn checked(self) -> Result<Description, Refusal> {
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let head = Head {
            abi_version: abi::ABI_VERSION,
            size: 0,
            state_size: 0,
            flags: self.flags,
            parameter_count: count(self.parameters.len()),
            probe_count: count(self.probes.len()),
        };
        head.check(0)?;
        Description::new(&head, self.parameters, self.probes, self.hooks, true)
    }
}

/// The state of one connection.
#[derive(Debug)]
pub(crate) struct OutsideState {
    interpreter: Arc<dyn Interpreter>,
    number: u32,
}

impl OutsideState {
    pub(crate) fn start(
        interpreter: Arc<dyn Interpreter>,
        setup: &abi::Setup,
        parameters: &[f64],
        window: &mut abi::Window,
    ) -> Result<Self, String> {
        let number = interpreter.start(setup.as_bytes(), parameters, window.as_mut_bytes())?;
        Ok(OutsideState { interpreter, number })
    }

    pub(crate) fn tell(
        &self,
        connection: &abi::Connection,
        event: Event<'_>,
        window: &mut abi::Window,
    ) -> Result<(), String> {
        let told = (connection.as_bytes(), event.bytes());
        self.interpreter.tell(self.number, event.hook(), told, window.as_mut_bytes())
    }

    pub(crate) fn probe(&self, index: u32) -> Result<f64, String> {
        self.interpreter.probe(self.number, index)
    }

    pub(crate) fn fork(&self) -> Result<Self, String> {
        let number = self.interpreter.copy(self.number)?;
        Ok(OutsideState { interpreter: Arc::clone(&self.interpreter), number })
    }
}

impl Drop for OutsideState {
    fn drop(&mut self) {
        self.interpreter.release(self.number);
    }
}
