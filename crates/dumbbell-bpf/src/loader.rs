//! Registers a twin, or any other object of its form, as a congestion control of the running kernel.
//!
//! An object needs one `struct tcp_congestion_ops` in `.struct_ops.link`; parameters, probes and socket programs are
//! optional and are found by its type information. Nothing is pinned: what a registration holds ends with it, also if
//! the process is killed. Connections that use the algorithm then keep it until they close.
//!
//! ```no_run
//! use dumbbell_bpf::Twin;
//! use dumbbell_bpf::loader::{Options, Registration};
//!
//! let vegas = Twin::named("vegas").expect("a twin");
//! let settings = [("alpha".to_owned(), 2.0.into())].into_iter().collect();
//! let registration = Registration::of_twin(vegas, &Options { settings, run: 7, ..Options::default() })?;
//! // Sockets choose it by TCP_CONGESTION until the registration is dropped.
//! assert_eq!(registration.name(), "db_vegas_07");
//! # Ok::<(), dumbbell_bpf::loader::LoadError>(())
//! ```

use crate::layout::{self, Layout, RECORD};
use crate::{Parameter, Probe, Twin, parameters};
use dumbbell_units::spec::{Members, SpecError};
use libbpf_rs::btf::Btf;
use libbpf_rs::{
    Link, MapCore, MapType, Object, ObjectBuilder, OpenMapMut, OpenObject, PrintLevel, ProgramType,
    RingBufferBuilder,
};
use std::fmt;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Longest name of a congestion control, in bytes.
const LONGEST_NAME: usize = 15;

/// Number of different runs in a name: two digits to the base 36.
pub const RUNS: u16 = 36 * 36;

/// Why a twin cannot be registered.
#[derive(Debug)]
pub enum LoadError {
    /// A parameter is unknown, or its value is not accepted.
    Parameter(SpecError),
    /// The name would be longer than the kernel's, or has other characters than letters, digits and `_`.
    Name(String),
    /// A congestion control with this name is registered already.
    Taken(String),
    /// The object has not the form of a twin: what is missing.
    Form(&'static str),
    /// It was asked for probes and has none.
    NoProbes,
    /// It has a program for sockets, which needs the control group of these sockets.
    NeedsControlGroup,
    /// The control group cannot be opened.
    ControlGroup(PathBuf, std::io::Error),
    /// The kernel or libbpf refuses: the step, the reason, and what libbpf wrote about it.
    Refused {
        /// What was tried.
        step: &'static str,
        /// The reason.
        error: libbpf_rs::Error,
        /// The last lines of libbpf, with those of the verifier.
        log: String,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Parameter(error) => error.fmt(f),
            LoadError::Name(name) => write!(
                f,
                "{name} is no name of a congestion control: at most {LONGEST_NAME} letters, digits and _"
            ),
            LoadError::Taken(name) => write!(f, "{name} is registered already: choose another run"),
            LoadError::Form(missing) => write!(f, "the object has no {missing}"),
            LoadError::NoProbes => f.write_str("the object has no probes"),
            LoadError::NeedsControlGroup => {
                f.write_str("the object has a program for sockets, which needs their control group")
            }
            LoadError::ControlGroup(path, error) => write!(f, "control group {}: {error}", path.display()),
            LoadError::Refused { step, error, log } => write!(f, "cannot {step}: {error}\n{log}"),
        }
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            LoadError::Parameter(error) => Some(error),
            LoadError::ControlGroup(_, error) => Some(error),
            LoadError::Refused { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// How a twin is registered.
#[derive(Clone, Debug, Default)]
pub struct Options<'a> {
    /// Values of parameters, as a scenario writes them; the others keep their defaults. [`Twin::mechanisms`] gives those
    /// of mechanisms.
    pub settings: Members,
    /// Number of the run, below [`RUNS`], which distinguishes registrations on the same machine.
    pub run: u16,
    /// Report the probes.
    pub is_probing: bool,
    /// The folder of a control group (version 2), to whose sockets a program for sockets is attached. Every attached
    /// program serves all of them, so that two registrations with such programs need a group each.
    pub control_group: Option<&'a Path>,
}

/// The values of the probes when one of them changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// When, by the monotonic clock, in nanoseconds.
    pub at_ns: u64,
    /// Port of the sending side.
    pub local_port: u16,
    /// Port of the receiving side.
    pub remote_port: u16,
    /// The values in the order and unit of the algorithm's declaration; none yet without one.
    pub values: Vec<Option<f64>>,
}

/// A congestion control of the kernel for as long as this value lives.
#[derive(Debug)]
pub struct Registration {
    name: String,
    probes: Vec<(Probe, layout::Place)>,
    /// Links end before the object whose programs they hold.
    _links: Vec<Link>,
    object: Object,
}

impl Registration {
    /// Registers a twin under the name `db_<stem>_<run>`.
    pub fn of_twin(twin: Twin, options: &Options<'_>) -> Result<Registration, LoadError> {
        Registration::of_object(twin.name(), twin.object(), options)
    }

    /// Registers an object under the name `db_<stem>_<run>`.
    pub fn of_object(stem: &str, bytes: &[u8], options: &Options<'_>) -> Result<Registration, LoadError> {
        let name = kernel_name(stem, options.run)?;
        let libbpf = Libbpf::begin();
        let opened = ObjectBuilder::default().name(&name).and_then(|builder| builder.open_memory(bytes));
        let mut open = libbpf.checked("open the object", opened)?;
        let layout = layout_of(&libbpf, &name, bytes, &mut open)?;
        let parameters: Vec<Parameter> =
            layout.parameters.iter().map(|(parameter, _)| parameter.clone()).collect();
        let numbers = parameters::numbers(&parameters, &options.settings).map_err(LoadError::Parameter)?;

        let mut writes: Vec<(layout::Place, i64)> =
            numbers.into_iter().map(|(index, number)| (layout.parameters[index].1, number)).collect();
        if options.is_probing {
            writes.push((layout.is_probing.ok_or(LoadError::NoProbes)?, 1));
        }
        if let Some(constants) = constants_of(&mut open).as_mut().and_then(|map| map.initial_value_mut()) {
            writes.into_iter().for_each(|(place, number)| layout::write(constants, place, number));
        }

        let place = layout.name.ok_or(LoadError::Form("struct tcp_congestion_ops"))?;
        let mut operations = open.maps_mut().find(|map| map.map_type() == MapType::StructOps);
        let operations = operations.as_mut().and_then(|map| map.initial_value_mut());
        let operations = operations.ok_or(LoadError::Form("operations in .struct_ops.link"))?;
        let field = &mut operations[place.offset..place.offset + place.size];
        field.fill(0);
        field[..name.len()].copy_from_slice(name.as_bytes());

        let mut object = libbpf.checked("load the programs", open.load())?;
        let mut links = Vec::new();
        // A program for sockets precedes the algorithm, so that no connection chooses it without its options.
        for program in object.progs_mut().filter(|program| program.prog_type() == ProgramType::SockOps) {
            let path = options.control_group.ok_or(LoadError::NeedsControlGroup)?;
            let folder =
                std::fs::File::open(path).map_err(|error| LoadError::ControlGroup(path.to_owned(), error))?;
            links.push(
                libbpf.checked("attach to the control group", program.attach_cgroup(folder.as_raw_fd()))?,
            );
        }
        for mut map in object.maps_mut().filter(|map| map.map_type() == MapType::StructOps) {
            let attached = map.attach_struct_ops();
            if attached.as_ref().is_err_and(|error| error.kind() == libbpf_rs::ErrorKind::AlreadyExists) {
                return Err(LoadError::Taken(name));
            }
            links.push(libbpf.checked("register the congestion control", attached)?);
        }
        Ok(Registration { name, probes: layout.probes, _links: links, object })
    }

    /// The name by which sockets choose it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The probes, in the order of a record's values.
    pub fn probes(&self) -> impl Iterator<Item = &Probe> {
        self.probes.iter().map(|(probe, _)| probe)
    }

    /// The records since the last call, oldest first; none unless probes were asked for. The kernel keeps a megabyte of
    /// them and then drops new ones.
    pub fn take_records(&self) -> Result<Vec<Record>, LoadError> {
        let libbpf = Libbpf::begin();
        let Some(map) = self.object.maps().find(|map| map.map_type() == MapType::RingBuf) else {
            return Ok(Vec::new());
        };
        let mut records = Vec::new();
        let mut builder = RingBufferBuilder::new();
        let added = builder.add(&map, |bytes| {
            records.push(self.record(bytes));
            0
        });
        libbpf.checked("read the records", added)?;
        let buffer = libbpf.checked("read the records", builder.build())?;
        libbpf.checked("read the records", buffer.consume())?;
        drop(buffer);
        Ok(records)
    }

    fn record(&self, bytes: &[u8]) -> Record {
        let [at_ns, local_port, remote_port] = RECORD.map(|place| layout::read(bytes, place).unsigned_abs());
        let value = |(probe, place): &(Probe, layout::Place)| {
            let number = layout::read(bytes, *place);
            (number != i64::MIN).then(|| probe.scale.real(number))
        };
        Record {
            at_ns,
            local_port: local_port as u16,
            remote_port: remote_port as u16,
            values: self.probes.iter().map(value).collect(),
        }
    }
}

/// The parameters that an object declares, in order.
pub fn parameters_of(bytes: &[u8]) -> Result<Vec<Parameter>, LoadError> {
    let libbpf = Libbpf::begin();
    let name = "db_parameters";
    let opened = ObjectBuilder::default().name(name).and_then(|builder| builder.open_memory(bytes));
    let mut open = libbpf.checked("open the object", opened)?;
    let layout = layout_of(&libbpf, name, bytes, &mut open)?;
    Ok(layout.parameters.into_iter().map(|(parameter, _)| parameter).collect())
}

/// The name of a twin in the kernel.
pub fn kernel_name(stem: &str, run: u16) -> Result<String, LoadError> {
    let digit = |number: u16| char::from_digit(u32::from(number), 36).unwrap_or('?');
    let name = format!("db_{stem}_{}{}", digit(run / 36), digit(run % 36));
    let is_accepted =
        name.len() <= LONGEST_NAME && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_accepted { Ok(name) } else { Err(LoadError::Name(name)) }
}

fn layout_of(libbpf: &Libbpf, name: &str, bytes: &[u8], open: &mut OpenObject) -> Result<Layout, LoadError> {
    let btf = libbpf.checked("read the type information", Btf::from_raw(name, bytes))?;
    let btf = btf.ok_or(LoadError::Form("type information"))?;
    let constants = constants_of(open);
    Ok(Layout::of(&btf, constants.as_ref().and_then(|map| map.initial_value()).unwrap_or_default()))
}

/// The section of constants, if the object has one.
fn constants_of(open: &mut OpenObject) -> Option<OpenMapMut<'_>> {
    open.maps_mut().find(|map| map.name().to_string_lossy().ends_with(".rodata"))
}

/// What libbpf wrote since the last operation began. Its print function is global, so one operation runs at a time.
static LOG: Mutex<String> = Mutex::new(String::new());
static TURN: Mutex<()> = Mutex::new(());

/// One operation of libbpf, whose warnings go into its error instead of to the standard error output.
struct Libbpf {
    _turn: MutexGuard<'static, ()>,
}

impl Libbpf {
    fn begin() -> Libbpf {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        LOG.lock().unwrap_or_else(PoisonError::into_inner).clear();
        libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| {
            LOG.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
        })));
        Libbpf { _turn: turn }
    }

    fn checked<T>(&self, step: &'static str, result: libbpf_rs::Result<T>) -> Result<T, LoadError> {
        result.map_err(|error| {
            let log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
            let lines: Vec<&str> = log.lines().collect();
            let log = lines[lines.len().saturating_sub(30)..].join("\n");
            LoadError::Refused { step, error, log }
        })
    }
}
