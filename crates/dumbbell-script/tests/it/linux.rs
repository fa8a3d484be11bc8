//! Every script in `scripts/` passes on the simulator with the rules of Linux.

use dumbbell_script::{Script, Simulator, Verdict, judge, parse, scripts};
use std::path::Path;

#[test]
fn every_script_passes() {
    let paths = scripts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts")).expect("the folder");
    let failures: Vec<String> = paths
        .iter()
        .filter_map(|path| {
            let text = std::fs::read_to_string(path).expect("a script");
            let verdict = judge(&text, path.parent(), Simulator::new);
            (verdict != Verdict::Passed).then(|| format!("{}: {verdict}", path.display()))
        })
        .collect();
    assert!(failures.is_empty(), "{} of {} scripts:\n{}", failures.len(), paths.len(), failures.join("\n"));
    assert!(paths.len() >= 60, "{} scripts", paths.len());
}

/// What a script says, without its lines.
fn without_lines(mut script: Script) -> Script {
    script.events.iter_mut().for_each(|event| event.line = 0);
    script
}

#[test]
fn every_script_reads_as_it_was_written() {
    for path in scripts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts")).expect("the folder") {
        let script = parse(&std::fs::read_to_string(&path).expect("a script")).expect("a script");
        let written = parse(&script.to_string());
        assert_eq!(written.map(without_lines), Ok(without_lines(script)), "{}", path.display());
    }
}
