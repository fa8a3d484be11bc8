//! Every script in `scripts/` passes on the simulator with the rules of Linux.

use dumbbell_script::{Simulator, Verdict, parse, play};
use std::path::{Path, PathBuf};

fn scripts(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder of scripts") {
        let path = entry.expect("a script").path();
        if path.is_dir() {
            found.extend(scripts(&path));
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn verdict(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let script = parse(&text).map_err(|error| error.to_string())?;
    let mut host = Simulator::new(&script)?;
    match play(&script, &mut host) {
        Verdict::Passed => Ok(()),
        Verdict::Failed(failure) => Err(format!("line {}: {}", failure.line, failure.message)),
        Verdict::NotExpressible(failure) => {
            Err(format!("line {}: not expressible: {}", failure.line, failure.message))
        }
    }
}

#[test]
fn every_script_passes() {
    let scripts = scripts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts"));
    let failures: Vec<String> = scripts
        .iter()
        .filter_map(|path| verdict(path).err().map(|error| format!("{}: {error}", path.display())))
        .collect();
    assert!(failures.is_empty(), "{} of {} scripts:\n{}", failures.len(), scripts.len(), failures.join("\n"));
    assert!(scripts.len() >= 60, "{} scripts", scripts.len());
}
