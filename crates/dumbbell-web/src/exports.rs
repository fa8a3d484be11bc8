//! The functions that JavaScript calls. Texts come in through `input`, a buffer that a page fills; texts and numbers go out
//! through `output`. Both belong to the module, and their addresses hold until the next call.
//!
//! A panic ends the module. Its message remains readable with `failure`; the page then starts another module.

// The attribute that gives a function its name is unsafe, because two functions of one name would be a fault. There is no
// other unsafe code here.
#![allow(unsafe_code, reason = "the attribute `no_mangle`")]

use crate::limits::MAX_TEXT;
use crate::own::{Boundary, InPage};
use crate::plotted::Curve;
use crate::session::{Session, Which, refused};
use crate::watching::Watch;
use dumbbell_sim::Scenario;
use dumbbell_units::Value;
use serde_json::json;
use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

#[derive(Default)]
struct Module {
    session: Session,
    input: Vec<u8>,
    output: Vec<u8>,
    /// The code of an own algorithm, until it is installed.
    code: Vec<u8>,
    /// The function of the page that runs own algorithms.
    boundary: Option<Boundary>,
}

thread_local! {
    static MODULE: RefCell<Module> = RefCell::default();
}

/// The message of a panic.
static FAILURE: Mutex<String> = Mutex::new(String::new());

fn with<T>(act: impl FnOnce(&mut Module) -> T) -> T {
    MODULE.with_borrow_mut(act)
}

impl Module {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.input).into_owned()
    }

    fn answer(&mut self, value: &Value) {
        self.output = value.to_string().into_bytes();
    }

    /// Times and values, one after the other, in the byte order of WebAssembly; returns their number.
    fn give(&mut self, curve: &Curve) -> usize {
        let numbers = curve.times.iter().chain(&curve.values);
        self.output = numbers.flat_map(|number| number.to_le_bytes()).collect();
        curve.times.len()
    }
}

fn which(number: u32) -> Which {
    if number == 0 { Which::Last } else { Which::Kept }
}

/// Prepares the module: panics leave their message. Called once, first.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn prepare() {
    std::panic::set_hook(Box::new(|panic| {
        *FAILURE.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string();
    }));
}

/// Address of the message of a panic, in UTF-8.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn failure() -> *const u8 {
    FAILURE.lock().unwrap_or_else(PoisonError::into_inner).as_ptr()
}

/// Length of the message of a panic, in bytes; 0 if there was none.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn failure_length() -> usize {
    FAILURE.lock().unwrap_or_else(PoisonError::into_inner).len()
}

/// Address of a buffer for a text of so many bytes; null if that is too long.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn input(length: usize) -> *mut u8 {
    if length > MAX_TEXT {
        return std::ptr::null_mut();
    }
    with(|module| {
        module.input.clear();
        module.input.resize(length, 0);
        module.input.as_mut_ptr()
    })
}

/// Address of the last answer.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn output() -> *const u8 {
    with(|module| module.output.as_ptr())
}

/// Length of the last answer, in bytes.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn output_length() -> usize {
    with(|module| module.output.len())
}

/// Answers with what [`Session::check`] finds in the input.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn check() {
    with(|module| module.answer(&module.session.check(&module.text())));
}

/// Begins a run of the input: see [`Session::begin`]. `watch` is 0 for the scenario's probes alone, 1 for changes, 2 for
/// values at regular times. Returns 1, or 0 with an error as the answer.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn begin(seed: u64, run: u64, watch: u32) -> u32 {
    with(|module| {
        let watch = match watch {
            0 => Watch::Nothing,
            1 => Watch::Changes,
            _ => Watch::Periods,
        };
        let begun = module.session.begin(&module.text(), seed, run, watch);
        begun.map_or_else(
            |error| {
                module.answer(&error);
                0
            },
            |()| 1,
        )
    })
}

/// Runs through about so many events. Returns 1 once the run is over.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn advance(events: u32) -> u32 {
    with(|module| u32::from(module.session.advance(u64::from(events))))
}

/// The share of the simulated time that is over.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn progress() -> f64 {
    with(|module| module.session.progress().0)
}

/// Drops the run in progress.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn cancel() {
    with(|module| module.session.cancel());
}

/// Answers with the results: see [`Session::finish`].
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn finish() {
    with(|module| {
        let results = module.session.finish();
        module.answer(&results);
    });
}

/// Keeps the results of the last run for comparison (1), or drops what was kept (0).
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn keep(is_kept: u32) {
    with(|module| if is_kept == 0 { module.session.drop_kept() } else { module.session.keep() });
}

/// Answers with a trace of the last (0) or the kept (1) run: see [`Session::trace`]. Returns the number of samples.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn trace(run: u32, index: u32, from: f64, until: f64, intervals: u32) -> usize {
    with(|module| {
        let curve = module.session.trace(which(run), index as usize, (from, until), intervals as usize);
        module.give(&curve)
    })
}

/// Answers with the growth of a counted quantity: see [`Session::growth`]. Returns the number of values.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn growth(run: u32, index: u32, from: f64, until: f64, intervals: u32) -> usize {
    with(|module| {
        let curve = module.session.growth(which(run), index as usize, (from, until), intervals as usize);
        module.give(&curve)
    })
}

/// Gives the module the function of the page that runs own algorithms, by its place in the module's table of functions.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn connect(boundary: Boundary) {
    with(|module| module.boundary = Some(boundary));
}

/// Takes the input as the code of an own algorithm; [`install`] follows.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn code() {
    with(|module| module.code = std::mem::take(&mut module.input));
}

/// Installs the own algorithm whose statement is the input, in TOML, and whose number in the page is given: see
/// [`Own::install`](crate::own::Own::install). The answer has its digest, or an error.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn install(number: u32) {
    with(|module| {
        let statement = Scenario::toml_value(&module.text()).unwrap_or_default();
        let Some(boundary) = module.boundary else { return };
        let page = InPage::new(boundary, number);
        let installed = module.session.own.install(&module.code, &statement, page);
        module.answer(&installed.unwrap_or_else(|error| refused(&error)));
    });
}

/// Checks the own algorithm whose name is the input with the events by which those of the registry are tested. The answer
/// has its `violation` or null, or an error.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn conform() {
    with(|module| {
        let found = module.session.own.violation(&module.text());
        module.answer(&found.map_or_else(|error| refused(&error), |found| json!({ "violation": found })));
    });
}

/// Begins a closer look at the last (0) or the kept (1) run, as the input requests in TOML: see [`Session::look`]. Returns 1, or 0
/// with an error as the answer.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn look(run: u32) -> u32 {
    with(|module| {
        let request = Scenario::toml_value(&module.text()).unwrap_or_default();
        let begun = module.session.look(which(run), &request);
        begun.map_or_else(
            |error| {
                module.answer(&error);
                0
            },
            |()| 1,
        )
    })
}

/// Answers with the bytes that a closer look has given.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn given() {
    with(|module| module.output = std::mem::take(&mut module.session.given));
}
