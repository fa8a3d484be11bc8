//! Scripts in files: what became of each on a host.

use crate::parse::parse;
use crate::play::{Failure, Host, Verdict, play};
use crate::script::Script;
use std::io;
use std::path::{Path, PathBuf};

/// The scripts in a folder and those below it, or the script itself, in the order of their names.
///
/// # Errors
///
/// What cannot be read.
pub fn scripts(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return path.metadata().map(|_| vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(scripts(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Plays the text of a script on the host that `start` makes for it. Files that its commands name are in `folder`.
pub fn judge<H: Host>(
    text: &str,
    folder: Option<&Path>,
    start: impl FnOnce(&Script) -> Result<H, String>,
) -> Verdict {
    let script = match parse(text) {
        Ok(script) => Script { folder: folder.map(Path::to_owned), ..script },
        Err(error) => {
            let expected = if error.is_outside { "" } else { "expected " };
            let message = format!("column {}: {expected}{}", error.column, error.message);
            let failure = Failure { line: error.line, message };
            return if error.is_outside {
                Verdict::NotExpressible(failure)
            } else {
                Verdict::Failed(failure)
            };
        }
    };
    match start(&script) {
        Ok(mut host) => play(&script, &mut host),
        Err(message) => Verdict::NotExpressible(Failure { line: 0, message }),
    }
}
