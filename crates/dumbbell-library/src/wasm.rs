//! A WebAssembly module: the same interface in a sandbox. The module has the linear memory and the table of functions of a
//! 32-bit C program, exports [`ENTRY`], and imports nothing. Each connection has an instance of its own, so that no state
//! is shared, and a copy is a copy of the memory.

use crate::abi;
use crate::description::{Description, Head, LONGEST_TEXT, Parameter, Refusal};
use crate::event::Event;
use crate::image::ENTRY;
use crate::native::as_text;
use dumbbell_cc::Hook;
use std::sync::{Arc, Mutex, PoisonError};
use wasmi::{
    Config, Engine, Func, Linker, Memory, Module, Store, StoreLimits, StoreLimitsBuilder, Table, TrapCode,
    TypedFunc, Val,
};
use zerocopy::{FromBytes, IntoBytes};

/// Fuel of one call, about one unit per instruction. An endless loop ends with an error after it.
const FUEL: u64 = 10_000_000;
/// Maximum memory of an instance, in bytes.
const MOST_MEMORY: usize = 16 << 20;
/// Size of a page of memory, in bytes.
const PAGE: u32 = 1 << 16;

const TABLE: &str = "__indirect_function_table";
const MEMORY: &str = "memory";

/// Pointers behind the head of the struct: the parameters, the probes, then the functions.
const POINTERS: usize = 2 + 1 + Hook::NAMES.len() + 3;
/// Size of [`abi::Algorithm`] with pointers of 32 bits.
const SIZE: usize = size_of::<Head>() + 4 * POINTERS;
/// Size of [`abi::Parameter`] with pointers of 32 bits.
const PARAMETER: u32 = 32;

// Places of the arguments behind the state.
const CONNECTION: u32 = 0;
const EVENT: u32 = 256;
const WINDOW: u32 = 512;
const PARAMETERS: u32 = 768;
const ARGUMENTS: u32 = PARAMETERS + 8 * crate::description::MOST_NAMES;

/// Indices into the table of functions; 0 is null.
#[derive(Clone, Debug)]
struct Indices {
    start: u32,
    hooks: [u32; Hook::NAMES.len()],
    probe: u32,
}

/// A compiled module.
#[derive(Debug)]
pub(crate) struct Wasm {
    module: Module,
    indices: Indices,
    state_size: u32,
}

impl Wasm {
    /// Compiles a module.
    pub(crate) fn load(bytes: &[u8]) -> Result<(Self, Description), Refusal> {
        let mut config = Config::default();
        config.consume_fuel(true);
        let engine = Engine::new(&config);
        let invalid = |error| {
            Refusal::new(
                format!("that is no module ({error})"),
                "a WebAssembly module of 32 bits without SIMD",
            )
        };
        let module = Module::new(&engine, bytes).map_err(invalid)?;
        if let Some(import) = module.imports().next() {
            let found = format!("that imports {}.{}", import.module(), import.name());
            return Err(Refusal::new(found, "a module without imports"));
        }
        let mut instance = Raw::new(&module)?;
        let at = instance.enter()?;
        let mut head = [0; size_of::<Head>()];
        instance.read(at, &mut head)?;
        let head = Head::read_from_bytes(&head).map_err(|_| outside())?;
        head.check(SIZE)?;
        let mut rest = vec![0; head.size as usize - SIZE];
        instance.read(at + SIZE as u32, &mut rest)?;
        Head::check_rest(&rest)?;
        let mut pointers = [0_u32; POINTERS];
        instance.read(at + size_of::<Head>() as u32, pointers.as_mut_bytes())?;
        let [parameters, probes, start, functions @ ..] = pointers;
        let hooks = std::array::from_fn(|hook| functions[hook]);
        let indices = Indices { start, hooks, probe: functions[Hook::NAMES.len()] };
        let parameters = (0..head.parameter_count)
            .map(|index| instance.parameter(parameters.wrapping_add(index * PARAMETER)))
            .collect::<Result<_, _>>()?;
        let probes = (0..head.probe_count)
            .map(|index| {
                let name = instance.word(probes.wrapping_add(4 * index))?;
                instance.text(name)
            })
            .collect::<Result<_, _>>()?;
        let has = indices.hooks.map(|index| index != 0);
        let description = Description::new(&head, parameters, probes, has, indices.probe != 0)?;
        let wasm = Wasm { module, indices, state_size: head.state_size };
        // A wrong signature is an error of the library, not of a run.
        wasm.instance()?;
        Ok((wasm, description))
    }

    fn instance(&self) -> Result<Instance, Refusal> {
        let mut raw = Raw::new(&self.module)?;
        raw.enter()?;
        let state = raw.grow((self.state_size + ARGUMENTS + 16).div_ceil(PAGE))?;
        let arguments = (state + self.state_size).next_multiple_of(16);
        let mut hooks = [const { None }; Hook::NAMES.len()];
        let mut on_recovery_enter = None;
        for (hook, &index) in self.indices.hooks.iter().enumerate() {
            if hook == Hook::RecoveryEnter as usize {
                on_recovery_enter = raw.function(index)?;
            } else {
                hooks[hook] = raw.function(index)?;
            }
        }
        let start = raw.function(self.indices.start)?;
        let probe = raw.function(self.indices.probe)?;
        Ok(Instance { raw, state, arguments, start, hooks, on_recovery_enter, probe })
    }
}

fn outside() -> Refusal {
    Refusal::new("with a pointer outside of its memory", "pointers to data of the module")
}

/// An instance with its memory and its table.
#[derive(Debug)]
struct Raw {
    store: Store<StoreLimits>,
    instance: wasmi::Instance,
    memory: Memory,
    table: Table,
}

impl Raw {
    fn new(module: &Module) -> Result<Self, Refusal> {
        let limits = StoreLimitsBuilder::new().memory_size(MOST_MEMORY).build();
        let mut store = Store::new(module.engine(), limits);
        store.limiter(|limits| limits);
        refuel(&mut store);
        let instance = Linker::new(module.engine())
            .instantiate_and_start(&mut store, module)
            .map_err(|error| Refusal::new(format!("that does not start ({error})"), "a module that does"))?;
        let missing = |name: &str| {
            Refusal::new(
                format!("that does not export {name}"),
                "a module with this export: see docs/algorithms-in-c.md for the options of the compiler",
            )
        };
        let memory = instance.get_memory(&store, MEMORY).ok_or_else(|| missing(MEMORY))?;
        let table = instance.get_table(&store, TABLE).ok_or_else(|| missing(TABLE))?;
        if instance.get_func(&store, ENTRY).is_none() {
            return Err(missing(ENTRY));
        }
        Ok(Raw { store, instance, memory, table })
    }

    /// Calls the entry, and returns the address of the algorithm.
    fn enter(&mut self) -> Result<u32, Refusal> {
        refuel(&mut self.store);
        let entry = self.instance.get_typed_func::<(), u32>(&self.store, ENTRY);
        let called = entry.and_then(|entry| entry.call(&mut self.store, ()));
        called.map_err(|error| {
            Refusal::new(format!("whose {ENTRY} fails ({error})"), "a function that returns a pointer")
        })
    }

    /// Adds zeroed pages, and returns the address of the first.
    fn grow(&mut self, pages: u32) -> Result<u32, Refusal> {
        let before = self.memory.grow(&mut self.store, pages.into()).map_err(|error| {
            let found = format!("whose memory cannot grow by {pages} pages ({error})");
            Refusal::new(found, format!("a module that needs at most {MOST_MEMORY} bytes"))
        })?;
        Ok(before as u32 * PAGE)
    }

    fn read(&self, at: u32, bytes: &mut [u8]) -> Result<(), Refusal> {
        self.memory.read(&self.store, at as usize, bytes).map_err(|_| outside())
    }

    fn word(&self, at: u32) -> Result<u32, Refusal> {
        let mut bytes = [0; 4];
        self.read(at, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn text(&self, at: u32) -> Result<String, Refusal> {
        let data =
            self.memory.data(&self.store).get(at as usize..).filter(|_| at != 0).ok_or_else(outside)?;
        as_text(data.iter().copied().take_while(|&byte| byte != 0).take(LONGEST_TEXT + 1).collect())
    }

    fn parameter(&self, at: u32) -> Result<Parameter, Refusal> {
        let mut numbers = [0.0_f64; 3];
        self.read(at.wrapping_add(8), numbers.as_mut_bytes())?;
        let [initial, minimum, maximum] = numbers;
        let (name, unit) = (self.text(self.word(at)?)?, self.text(self.word(at.wrapping_add(4))?)?);
        Ok(Parameter { name, unit, initial, minimum, maximum })
    }

    /// The function at an index of the table; `None` for 0.
    fn function<P: wasmi::WasmParams, R: wasmi::WasmResults>(
        &self,
        index: u32,
    ) -> Result<Option<TypedFunc<P, R>>, Refusal> {
        if index == 0 {
            return Ok(None);
        }
        let found = match self.table.get(&self.store, index.into()) {
            Some(Val::FuncRef(function)) => function.val().copied(),
            _ => None,
        };
        let wrong = |text: String| Refusal::new(text, "the functions that the header declares");
        let function: Func =
            found.ok_or_else(|| wrong(format!("whose table has no function at the index {index}")))?;
        let typed = function.typed(&self.store);
        typed.map(Some).map_err(|error| wrong(format!("with a function of another signature ({error})")))
    }
}

/// Provides the fuel of the next call.
fn refuel(store: &mut Store<StoreLimits>) {
    // This fails only for engines without fuel.
    let _ = store.set_fuel(FUEL);
}

/// A function that receives the addresses of the state, two arguments and the window.
type Told = TypedFunc<(u32, u32, u32, u32), ()>;

/// The instance of one connection.
#[derive(Debug)]
struct Instance {
    raw: Raw,
    /// Address of the state.
    state: u32,
    /// Address of the arguments.
    arguments: u32,
    start: Option<Told>,
    hooks: [Option<Told>; Hook::NAMES.len()],
    on_recovery_enter: Option<TypedFunc<(u32, u32, u32), ()>>,
    probe: Option<TypedFunc<(u32, u32), f64>>,
}

/// A failure in the words of a sentence whose subject is the function.
fn failure(error: &wasmi::Error) -> String {
    match error.as_trap_code() {
        Some(TrapCode::OutOfFuel) => format!("does not return within {FUEL} instructions"),
        _ => format!("fails: {error}"),
    }
}

impl Instance {
    fn write(&mut self, place: u32, bytes: &[u8]) -> Result<(), String> {
        let at = (self.arguments + place) as usize;
        self.raw.memory.write(&mut self.raw.store, at, bytes).map_err(|error| format!("fails: {error}"))
    }

    /// Calls a function with the state, two arguments that are written already, and the window.
    fn call(&mut self, function: Option<Told>, second: u32, window: &mut abi::Window) -> Result<(), String> {
        let Some(function) = function else { return Ok(()) };
        self.write(WINDOW, window.as_bytes())?;
        refuel(&mut self.raw.store);
        let at = self.arguments;
        let arguments = (self.state, at + CONNECTION, at + second, at + WINDOW);
        function.call(&mut self.raw.store, arguments).map_err(|error| failure(&error))?;
        self.read_window(window)
    }

    fn read_window(&self, window: &mut abi::Window) -> Result<(), String> {
        let at = (self.arguments + WINDOW) as usize;
        let read = self.raw.memory.read(&self.raw.store, at, window.as_mut_bytes());
        read.map_err(|error| format!("fails: {error}"))
    }

    fn tell(
        &mut self,
        connection: &abi::Connection,
        event: Event<'_>,
        window: &mut abi::Window,
    ) -> Result<(), String> {
        self.write(CONNECTION, connection.as_bytes())?;
        if !matches!(event, Event::RecoveryEnter) {
            self.write(EVENT, event.bytes())?;
            return self.call(self.hooks[event.hook() as usize], EVENT, window);
        }
        let Some(function) = self.on_recovery_enter else { return Ok(()) };
        self.write(WINDOW, window.as_bytes())?;
        refuel(&mut self.raw.store);
        let arguments = (self.state, self.arguments + CONNECTION, self.arguments + WINDOW);
        function.call(&mut self.raw.store, arguments).map_err(|error| failure(&error))?;
        self.read_window(window)
    }
}

/// The state of one connection.
#[derive(Debug)]
pub(crate) struct WasmState {
    wasm: Arc<Wasm>,
    /// Probes are asked through a shared reference; nothing else locks it.
    instance: Mutex<Instance>,
}

impl WasmState {
    pub(crate) fn new(wasm: Arc<Wasm>) -> Result<Self, String> {
        let instance = wasm.instance().map_err(|refusal| format!("fails: a module {}", refusal.found))?;
        Ok(WasmState { wasm, instance: Mutex::new(instance) })
    }

    fn instance(&mut self) -> &mut Instance {
        self.instance.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn start(
        &mut self,
        setup: &abi::Setup,
        parameters: &[f64],
        window: &mut abi::Window,
    ) -> Result<(), String> {
        let instance = self.instance();
        instance.write(CONNECTION, setup.as_bytes())?;
        instance.write(PARAMETERS, parameters.as_bytes())?;
        instance.call(instance.start, PARAMETERS, window)
    }

    pub(crate) fn tell(
        &mut self,
        connection: &abi::Connection,
        event: Event<'_>,
        window: &mut abi::Window,
    ) -> Result<(), String> {
        self.instance().tell(connection, event, window)
    }

    pub(crate) fn probe(&self, index: u32) -> Result<f64, String> {
        let mut instance = self.instance.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(probe) = instance.probe else { return Ok(f64::NAN) };
        let state = instance.state;
        refuel(&mut instance.raw.store);
        probe.call(&mut instance.raw.store, (state, index)).map_err(|error| failure(&error))
    }

    pub(crate) fn fork(&self) -> Result<Self, String> {
        let forked = WasmState::new(Arc::clone(&self.wasm))?;
        {
            let original = self.instance.lock().unwrap_or_else(PoisonError::into_inner);
            let mut copy = forked.instance.lock().unwrap_or_else(PoisonError::into_inner);
            let data = original.raw.memory.data(&original.raw.store);
            let copy = &mut *copy;
            let more = data.len() - copy.raw.memory.data(&copy.raw.store).len();
            if more > 0 {
                copy.raw
                    .grow(more as u32 / PAGE)
                    .map_err(|refusal| format!("fails: a module {}", refusal.found))?;
            }
            copy.raw.memory.data_mut(&mut copy.raw.store).copy_from_slice(data);
        }
        Ok(forked)
    }
}
