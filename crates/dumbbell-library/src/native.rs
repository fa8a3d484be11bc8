//! A shared library, and the state of a connection that its functions work on.

use crate::abi;
use crate::description::{Description, Head, LONGEST_TEXT, Parameter, Refusal};
use crate::event::Event;
use crate::image::{self, ENTRY, unloadable};
use libloading::Library;
use std::ffi::{c_char, c_void};
use std::io::Write;
use std::mem::offset_of;
use std::sync::Arc;

/// The functions of a library.
#[derive(Debug)]
pub(crate) struct Native(abi::Algorithm);

// SAFETY: the ABI requires that what the pointers refer to stays valid and unchanged, and that any thread may call the
// functions. The library is never unloaded.
unsafe impl Send for Native {}
// SAFETY: as above.
unsafe impl Sync for Native {}

impl Native {
    /// Loads a library from its bytes.
    pub(crate) fn load(bytes: &[u8]) -> Result<(Self, Description), Refusal> {
        image::check(bytes)?;
        let library = open(bytes)?;
        // SAFETY: the function has the signature that the ABI states.
        let entry =
            unsafe { library.get::<unsafe extern "C" fn() -> *const abi::Algorithm>(ENTRY.as_bytes()) };
        let entry = *entry.map_err(unloadable)?;
        // SAFETY: the ABI requires no condition of the caller.
        let stated = unsafe { entry() };
        // Its functions are used as long as the process lives.
        std::mem::forget(library);
        if stated.is_null() {
            return Err(Refusal::new(format!("whose {ENTRY} returns null"), "a pointer to the algorithm"));
        }
        // SAFETY: every version of the struct begins with these numbers.
        let head = unsafe { stated.cast::<Head>().read() };
        head.check(size_of::<abi::Algorithm>())?;
        let rest = head.size as usize - size_of::<abi::Algorithm>();
        // SAFETY: the struct has the size that it states, at least that of this version.
        let (algorithm, rest) =
            unsafe { (stated.read(), std::slice::from_raw_parts(stated.add(1).cast::<u8>(), rest)) };
        Head::check_rest(rest)?;
        let description = described(&head, &algorithm)?;
        Ok((Native(algorithm), description))
    }
}

/// Loads a copy of its own: a file that is compiled again while it is loaded would change under the engine, and the loader
/// would return the old code for the same path.
fn open(bytes: &[u8]) -> Result<Library, Refusal> {
    let copy = tempfile::Builder::new().prefix("dumbbell-").suffix(std::env::consts::DLL_SUFFIX).tempfile();
    let written = copy.and_then(|mut file| file.write_all(bytes).map(|()| file.into_temp_path()));
    let path = written.map_err(|error| {
        Refusal::new(format!("that cannot be copied ({error})"), "space in the folder for temporary files")
    })?;
    // SAFETY: the initializers of a library are code of the user's, as the rest of it.
    unsafe { Library::new(&*path) }.map_err(unloadable)
}

fn described(head: &Head, algorithm: &abi::Algorithm) -> Result<Description, Refusal> {
    let has = [
        algorithm.on_ack.is_some(),
        algorithm.on_congestion.is_some(),
        algorithm.on_duplicate_ack.is_some(),
        algorithm.on_loss.is_some(),
        algorithm.on_recovery_enter.is_some(),
        algorithm.on_recovery_exit.is_some(),
        algorithm.on_undo.is_some(),
        algorithm.on_restart.is_some(),
        algorithm.on_sent.is_some(),
    ];
    // SAFETY: the ABI requires that the lists have the stated lengths.
    let (parameters, probes) = unsafe {
        (
            list(algorithm.parameters, head.parameter_count, "parameters")?,
            list(algorithm.probes, head.probe_count, "probes")?,
        )
    };
    let parameters = parameters.iter().map(|parameter| {
        Ok(Parameter {
            // SAFETY: the ABI requires text that ends with a zero.
            name: unsafe { text(parameter.name)? },
            // SAFETY: as above.
            unit: unsafe { text(parameter.unit)? },
            initial: parameter.initial,
            minimum: parameter.minimum,
            maximum: parameter.maximum,
        })
    });
    // SAFETY: as above.
    let probes = probes.iter().map(|&name| unsafe { text(name) });
    Description::new(
        head,
        parameters.collect::<Result<_, _>>()?,
        probes.collect::<Result<_, _>>()?,
        has,
        algorithm.probe.is_some(),
    )
}

/// # Safety
///
/// A pointer that is not null refers to `count` items.
unsafe fn list<'a, T>(first: *const T, count: u32, name: &str) -> Result<&'a [T], Refusal> {
    match count {
        0 => Ok(&[]),
        _ if first.is_null() => {
            Err(Refusal::new(format!("whose {count} {name} are a null pointer"), "a list, or a count of 0"))
        }
        // SAFETY: required of the caller.
        count => Ok(unsafe { std::slice::from_raw_parts(first, count as usize) }),
    }
}

/// # Safety
///
/// A pointer that is not null refers to bytes that end with a zero.
unsafe fn text(start: *const c_char) -> Result<String, Refusal> {
    if start.is_null() {
        return Err(Refusal::new("with a name or unit that is a null pointer", "text"));
    }
    let mut bytes = Vec::new();
    loop {
        // SAFETY: no byte before this one was the zero at the end.
        let byte = unsafe { start.add(bytes.len()).read() } as u8;
        if byte == 0 {
            return as_text(bytes);
        }
        bytes.push(byte);
        if bytes.len() > LONGEST_TEXT {
            return as_text(bytes);
        }
    }
}

/// Text that a library states.
pub(crate) fn as_text(bytes: Vec<u8>) -> Result<String, Refusal> {
    let accepted = || format!("text in UTF-8 of at most {LONGEST_TEXT} bytes");
    if bytes.len() > LONGEST_TEXT {
        return Err(Refusal::new("with a name or unit that is too long", accepted()));
    }
    String::from_utf8(bytes).map_err(|_| Refusal::new("with a name or unit that is not UTF-8", accepted()))
}

/// The state of one connection.
#[derive(Debug)]
pub(crate) struct NativeState {
    native: Arc<Native>,
    /// Of 16 bytes each, to which the state is aligned.
    state: Vec<u128>,
}

impl NativeState {
    pub(crate) fn new(native: Arc<Native>, description: &Description) -> Self {
        let words = description.state_size.div_ceil(size_of::<u128>()).max(1);
        NativeState { native, state: vec![0; words] }
    }

    fn pointer(&mut self) -> *mut c_void {
        self.state.as_mut_ptr().cast()
    }

    pub(crate) fn start(&mut self, setup: &abi::Setup, parameters: &[f64], window: &mut abi::Window) {
        if let Some(start) = self.native.0.start {
            // SAFETY: the arguments are those that the ABI states; they live until the call returns.
            unsafe { start(self.pointer(), setup, parameters.as_ptr(), window) }
        }
    }

    #[inline]
    pub(crate) fn tell(&mut self, connection: &abi::Connection, event: Event<'_>, window: &mut abi::Window) {
        // Calls a function, if the library has it.
        macro_rules! call {
            ($function:ident $(, $event:ident)?) => {
                if let Some(function) = self.native.0.$function {
                    // SAFETY: the arguments are those that the ABI states; they live until the call returns.
                    unsafe { function(self.state.as_mut_ptr().cast(), connection $(, $event)?, window) }
                }
            };
        }
        match event {
            Event::Ack(event) => call!(on_ack, event),
            Event::Congestion(event) => call!(on_congestion, event),
            Event::DuplicateAck(event) => call!(on_duplicate_ack, event),
            Event::Loss(event) => call!(on_loss, event),
            Event::RecoveryEnter => call!(on_recovery_enter),
            Event::RecoveryExit(event) => call!(on_recovery_exit, event),
            Event::Undo(event) => call!(on_undo, event),
            Event::Restart(event) => call!(on_restart, event),
            Event::Sent(event) => call!(on_sent, event),
        }
    }

    pub(crate) fn probe(&self, index: u32) -> f64 {
        // SAFETY: the arguments are those that the ABI states.
        self.native.0.probe.map_or(f64::NAN, |probe| unsafe { probe(self.state.as_ptr().cast(), index) })
    }

    pub(crate) fn fork(&self) -> Self {
        let native = Arc::clone(&self.native);
        let Some(copy) = native.0.copy else {
            return NativeState { native, state: self.state.clone() };
        };
        let mut forked = NativeState { native, state: vec![0; self.state.len()] };
        // SAFETY: both are states of this library, one zeroed.
        unsafe { copy(forked.pointer(), self.state.as_ptr().cast()) };
        forked
    }
}

impl Drop for NativeState {
    fn drop(&mut self) {
        if let Some(destroy) = self.native.0.destroy {
            // SAFETY: the state is not used any more.
            unsafe { destroy(self.pointer()) }
        }
    }
}

// The head is the beginning of the struct.
const _: () = {
    assert!(offset_of!(abi::Algorithm, probe_count) == offset_of!(Head, probe_count));
    assert!(offset_of!(abi::Algorithm, parameters) == size_of::<Head>());
};
