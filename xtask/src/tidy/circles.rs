//! No module of the Python package imports itself through others. Imports inside functions and those for types alone count
//! as well; only the package itself may look down at all of its rooms.

use super::{Finding, Tree};
use std::collections::{BTreeMap, BTreeSet};

const ROOT: &str = "python/";
const PACKAGE: &str = "dumbbell";

/// Modules and the lines on which they import others.
type Imports = BTreeMap<String, BTreeMap<String, usize>>;

/// Checks the modules of the package.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let files: BTreeMap<String, (&str, &str)> = tree
        .files()
        .filter_map(|(path, text)| Some((module_of(path)?, (path, text))))
        .filter(|(module, _)| module != PACKAGE)
        .collect();
    let mut imports: Imports = files
        .iter()
        .map(|(module, (_, text))| (module.clone(), imported(text, module, |name| files.contains_key(name))))
        .collect();
    drop_leaves(&mut imports);
    let Some(circle) = imports.keys().find_map(|module| path_back(&imports, module)) else {
        return Vec::new();
    };
    let (first, second) = (&circle[0], &circle[1]);
    vec![Finding {
        path: files[first].0.to_owned(),
        line: imports[first][second],
        message: format!("imports itself through others: {}", circle.join(" -> ")),
    }]
}

/// The name of the module in a file of the package.
fn module_of(path: &str) -> Option<String> {
    let name = path.strip_prefix(ROOT)?.strip_suffix(".py")?.replace('/', ".");
    let name = name.strip_suffix(".__init__").unwrap_or(&name);
    (name == PACKAGE || name.starts_with("dumbbell.")).then(|| name.to_owned())
}

/// The modules that a text imports, with the lines.
fn imported(text: &str, module: &str, is_module: impl Fn(&str) -> bool) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let mut statement = line.trim().to_owned();
        if !statement.starts_with("from ") && !statement.starts_with("import ") {
            continue;
        }
        while statement.ends_with(['(', ',']) {
            let Some((_, next)) = lines.next() else { break };
            statement.push_str(next.trim());
        }
        for name in names_in(&statement) {
            // What is imported from a module is a module of its own, or in it.
            let target = [name.as_str(), name.rsplit_once('.').map_or("", |(before, _)| before)];
            if let Some(target) = target.into_iter().find(|target| is_module(target) && *target != module) {
                found.entry(target.to_owned()).or_insert(index + 1);
            }
        }
    }
    found
}

/// The full names in an import, such as `a.b` and `a.c` of `from a import b, c`.
fn names_in(statement: &str) -> Vec<String> {
    let first_word = |part: &str| part.trim().split(' ').next().unwrap_or_default().to_owned();
    let (from, names) = match statement.strip_prefix("from ").and_then(|rest| rest.split_once(" import")) {
        Some((from, names)) => (format!("{}.", from.trim()), names),
        None => (String::new(), statement.strip_prefix("import ").unwrap_or_default()),
    };
    let names = names.split('#').next().unwrap_or_default();
    let names = names.trim().trim_matches(['(', ')']).split(',').map(first_word);
    names.filter(|name| !name.is_empty()).map(|name| format!("{from}{name}")).collect()
}

/// Drops modules that import none of the others until none is left: what remains is circles and the ways to them.
fn drop_leaves(imports: &mut Imports) {
    loop {
        let before = imports.len();
        let left: BTreeSet<String> = imports.keys().cloned().collect();
        imports.values_mut().for_each(|targets| targets.retain(|target, _| left.contains(target)));
        imports.retain(|_, targets| !targets.is_empty());
        if imports.len() == before {
            return;
        }
    }
}

/// A shortest way from a module back to itself.
fn path_back(imports: &Imports, module: &str) -> Option<Vec<String>> {
    let mut seen = BTreeSet::new();
    let mut ways = vec![vec![module.to_owned()]];
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            for target in imports.get(way.last()?).into_iter().flatten().map(|(target, _)| target) {
                let next = [way.as_slice(), std::slice::from_ref(target)].concat();
                if target == module {
                    return Some(next);
                }
                if seen.insert(target.clone()) {
                    longer.push(next);
                }
            }
        }
        ways = longer;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: (&str, &str) = ("python/dumbbell/a.py", "from dumbbell.b import (\n    one,\n    two,\n)\n");
    const B: (&str, &str) = ("python/dumbbell/b/__init__.py", "import numpy\nfrom dumbbell.b import c\n");

    fn found(last: &str) -> Vec<String> {
        let tree = Tree::of_texts(&[
            ("python/dumbbell/__init__.py", "from dumbbell import a, c\n"),
            A,
            B,
            ("python/dumbbell/b/c.py", last),
        ]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_circle_is_found_wherever_its_imports_are() {
        let circle = "python/dumbbell/a.py:1: imports itself through others: \
                      dumbbell.a -> dumbbell.b -> dumbbell.b.c -> dumbbell.a";
        for late in [
            "from dumbbell.a import three\n",
            "import dumbbell.a\n",
            "from dumbbell import x, a  # late\n",
            "if TYPE_CHECKING:\n    from dumbbell.a import Three\n",
            "def function():\n    from dumbbell import a as other\n",
        ] {
            assert_eq!(found(late), [circle], "{late}");
        }
    }

    #[test]
    fn the_package_may_be_imported_and_may_look_down() {
        assert_eq!(found("from dumbbell import version\nimport dumbbell\n"), [] as [String; 0]);
    }
}
