//! The file of a shared library, checked before the system loads it: the loader trusts the headers, and touching a page
//! behind the end of a file ends the process.

use crate::description::Refusal;
use object::read::NameOrOrdinal;
use object::{Architecture, File, Object, ObjectKind, ObjectSegment};
use std::fmt::Display;

/// The function by which a library states its algorithm.
pub(crate) const ENTRY: &str = "dumbbell_library";

/// Checks that the file has all that its headers announce, is a shared library for this machine, and exports
/// [`ENTRY`]: the initializers of other libraries do not run.
pub(crate) fn check(bytes: &[u8]) -> Result<(), Refusal> {
    let file = File::parse(bytes).map_err(unloadable)?;
    let is_inside =
        |(offset, size): (u64, u64)| offset.checked_add(size).is_some_and(|end| end <= bytes.len() as u64);
    if !file.segments().all(|segment| is_inside(segment.file_range())) {
        return Err(unloadable("its end is missing"));
    }
    if file.kind() != ObjectKind::Dynamic {
        return Err(unloadable("it is no shared library"));
    }
    if machine().is_some_and(|machine| machine != file.architecture()) {
        return Err(unloadable(format!("it is for {:?}", file.architecture())));
    }
    // Mach-O has an underscore before the names of C.
    let is_entry = |name: &[u8]| name.strip_prefix(b"_").unwrap_or(name) == ENTRY.as_bytes();
    for export in file.exports().map_err(unloadable)? {
        if matches!(export.map_err(unloadable)?.name(), NameOrOrdinal::Name(name) if is_entry(name)) {
            return Ok(());
        }
    }
    Err(Refusal::new(
        format!("without the function {ENTRY}"),
        "a library that exports it, as docs/algorithms-in-c.md describes",
    ))
}

/// The architecture of this machine, if libraries of others are known apart here.
fn machine() -> Option<Architecture> {
    match std::env::consts::ARCH {
        "x86_64" => Some(Architecture::X86_64),
        "aarch64" => Some(Architecture::Aarch64),
        _ => None,
    }
}

/// A library that cannot be loaded, and why.
pub(crate) fn unloadable(why: impl Display) -> Refusal {
    Refusal::new(
        format!("that cannot be loaded ({why})"),
        "a shared library for this machine, or a WebAssembly module",
    )
}
