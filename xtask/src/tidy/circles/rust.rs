//! How the modules of a Rust crate use each other.
//!
//! Among the modules with the same parent, each taken with all modules below it, an arrow leads from one whose code
//! outside of tests names an item to the one that defines the item; what a module and those below it exchange is no
//! arrow.
//!
//! A module is a file and has its name from its path, so it does not matter whether a macro declares it. Names that are
//! imported or re-exported lead to where they are defined.

use super::Modules;
use crate::tidy::Tree;
use proc_macro2::{Spacing, Span, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, UseTree};

/// The modules of every crate: those of its library, or else those of its program.
pub fn modules(tree: &Tree) -> Modules {
    let mut files: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for (path, text) in tree.files().filter(|(path, _)| path.ends_with(".rs")) {
        if let Some((of_crate, file)) = path.split_once("/src/") {
            files.entry(of_crate).or_default().push((file, text));
        }
    }
    files.iter().flat_map(|(of_crate, files)| modules_of_crate(of_crate, files)).collect()
}

fn modules_of_crate(of_crate: &str, files: &[(&str, &str)]) -> Modules {
    let has_library = files.iter().any(|(file, _)| *file == "lib.rs");
    let root = if has_library { "lib.rs" } else { "main.rs" };
    let other_roots = ["lib.rs", "main.rs"].map(|file| file.to_owned());
    let mut known = Crate::default();
    let mut paths = BTreeMap::new();
    for (file, text) in files {
        if (*file != root && other_roots.iter().any(|other| other == file)) || file.starts_with("bin/") {
            continue;
        }
        let name = file.trim_end_matches(".rs").trim_end_matches("/mod");
        let place: Place =
            if *file == root { Vec::new() } else { name.split('/').map(str::to_owned).collect() };
        // What is no Rust is a finding of the compiler.
        let Ok(syntax) = syn::parse_file(text) else { continue };
        let mut source = Source::default();
        source.visit_file(&syntax);
        paths.insert(place.clone(), format!("{of_crate}/src/{file}"));
        known.sources.insert(place, source);
    }
    let tests: BTreeSet<Place> = known.test_modules();
    known.sources.retain(|place, _| !tests.iter().any(|test| place.starts_with(test)));
    known.arrows(of_crate, &paths)
}

/// Names from the root of the crate to a module.
type Place = Vec<String>;

/// What a path leads to.
enum Named {
    Module(Place),
    /// An item that this module defines.
    ItemOf(Place),
}

/// What a file says.
#[derive(Default)]
struct Source {
    /// Names of its items, also of those that macros define here.
    items: BTreeSet<String>,
    /// Names that it imports, with their paths.
    imports: BTreeMap<String, Vec<String>>,
    /// Modules of which it imports everything.
    globs: Vec<Vec<String>>,
    mentions: Vec<(Vec<String>, usize)>,
    /// Files that belong to tests.
    test_modules: Vec<String>,
    /// Number of modules without a file around the item.
    depth: usize,
}

#[derive(Default)]
struct Crate {
    sources: BTreeMap<Place, Source>,
}

impl Crate {
    fn test_modules(&self) -> BTreeSet<Place> {
        let of = |(place, source): (&Place, &Source)| {
            let child = |name: &String| [place.as_slice(), std::slice::from_ref(name)].concat();
            source.test_modules.iter().map(child).collect::<Vec<_>>()
        };
        self.sources.iter().flat_map(of).collect()
    }

    /// The arrows between modules with the same parent.
    fn arrows(&self, of_crate: &str, paths: &BTreeMap<Place, String>) -> Modules {
        let name = of_crate.rsplit('/').next().unwrap_or_default();
        let mut modules = Modules::new();
        for place in self.sources.keys() {
            for (target, line) in self.used(place) {
                let shared = place.iter().zip(&target).take_while(|(one, other)| one == other).count();
                if let (Some(from), Some(to)) = (place.get(..=shared), target.get(..=shared)) {
                    let [from, to] = [from, to].map(|place| format!("{name}::{}", place.join("::")));
                    let at = (paths[place].clone(), line);
                    modules.entry(from).or_default().entry(to).or_insert(at);
                }
            }
        }
        modules
    }

    /// The modules whose items a module names, each with the first line that does.
    fn used(&self, place: &Place) -> BTreeMap<Place, usize> {
        let mut found = BTreeMap::new();
        for (path, line) in &self.sources[place].mentions {
            let target = match self.resolve(place, path, 0) {
                Some(Named::ItemOf(target)) => target,
                Some(Named::Module(target)) if path.last().is_some_and(|last| last == "*") => target,
                _ => continue,
            };
            found.entry(target).or_insert(*line);
        }
        found
    }

    fn resolve(&self, from: &Place, path: &[String], depth: usize) -> Option<Named> {
        // A name that is imported from itself leads nowhere.
        if depth > 16 {
            return None;
        }
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.walk(Vec::new(), rest, depth),
            "self" => self.walk(from.clone(), rest, depth),
            "super" => {
                let mut above = from.clone();
                above.pop()?;
                self.resolve_from(&above, rest, depth)
            }
            name => {
                let source = self.sources.get(from)?;
                if source.imports.contains_key(name) || self.child(from, name).is_some() {
                    self.walk(from.clone(), path, depth)
                } else {
                    None
                }
            }
        }
    }

    fn resolve_from(&self, above: &Place, rest: &[String], depth: usize) -> Option<Named> {
        match rest.first() {
            Some(first) if first == "super" => self.resolve(above, rest, depth),
            _ => self.walk(above.clone(), rest, depth),
        }
    }

    fn child(&self, place: &Place, name: &str) -> Option<Place> {
        let child = [place.as_slice(), &[name.to_owned()]].concat();
        self.sources.contains_key(&child).then_some(child)
    }

    fn walk(&self, place: Place, path: &[String], depth: usize) -> Option<Named> {
        let Some((name, rest)) = path.split_first().filter(|(name, _)| *name != "*") else {
            return Some(Named::Module(place));
        };
        let source = self.sources.get(&place)?;
        if rest.is_empty() && source.items.contains(name) {
            return Some(Named::ItemOf(place));
        }
        if let Some(child) = self.child(&place, name) {
            return self.walk(child, rest, depth);
        }
        if source.items.contains(name) {
            return Some(Named::ItemOf(place));
        }
        if let Some(import) = source.imports.get(name) {
            return match self.resolve(&place, import, depth + 1)? {
                Named::Module(module) => self.walk(module, rest, depth + 1),
                item => Some(item),
            };
        }
        for glob in &source.globs {
            if let Some(Named::Module(module)) = self.resolve(&place, glob, depth + 1)
                && self.sources.get(&module).is_some_and(|source| source.items.contains(name))
            {
                return Some(Named::ItemOf(module));
            }
        }
        Some(Named::ItemOf(place))
    }
}

impl Source {
    /// Notes a path, as it is written in the module of the file.
    fn mention(&mut self, mut path: Vec<String>, span: Span) {
        // In a module without a file, `super` may be the module of the file.
        for _ in 0..self.depth {
            if path.first().is_some_and(|first| first == "super") {
                path.remove(0);
                if path.first().is_none_or(|first| first != "super") {
                    path.insert(0, "self".to_owned());
                }
            }
        }
        self.mentions.push((path, span.start().line));
    }

    fn import(&mut self, tree: &UseTree, before: &[String]) {
        let with = |ident: &syn::Ident| [before, &[ident.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.import(&path.tree, &with(&path.ident)),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(tree, before)),
            UseTree::Glob(glob) => {
                self.globs.push(before.to_vec());
                self.mention([before, &["*".to_owned()]].concat(), glob.star_token.spans[0]);
            }
            UseTree::Name(name) => self.import_as(with(&name.ident), &name.ident),
            UseTree::Rename(rename) => self.import_as(with(&rename.ident), &rename.rename),
        }
    }

    fn import_as(&mut self, mut path: Vec<String>, name: &syn::Ident) {
        let mut local = name.to_string();
        if local == "self" {
            path.pop();
            local = path.last().cloned().unwrap_or_default();
        }
        self.mention(path.clone(), name.span());
        // A name that stands for itself, as `use toml;` would, is of another crate.
        if path.len() > 1 {
            self.imports.entry(local).or_insert(path);
        }
    }

    /// The paths in the tokens of a macro, and the names of items that they define.
    fn scan(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut index = 0;
        while index < tokens.len() {
            match &tokens[index] {
                TokenTree::Group(group) => self.scan(group.stream()),
                TokenTree::Ident(ident) => {
                    let is_variable = index > 0
                        && matches!(&tokens[index - 1], TokenTree::Punct(mark) if mark.as_char() == '$')
                        && ident != "crate";
                    let mut path = vec![ident.to_string()];
                    while let Some(TokenTree::Ident(next)) = after_colons(&tokens, index + 1) {
                        path.push(next.to_string());
                        index += 3;
                    }
                    if DEFINING.contains(&path[0].as_str())
                        && let Some(TokenTree::Ident(name)) = tokens.get(index + 1)
                    {
                        self.items.insert(name.to_string());
                    }
                    if !is_variable {
                        self.mention(path, ident.span());
                    }
                }
                _ => {}
            }
            index += 1;
        }
    }
}

/// Words before the name of an item.
const DEFINING: [&str; 9] =
    ["const", "enum", "fn", "macro_rules", "static", "struct", "trait", "type", "union"];

/// The token after `::`.
fn after_colons(tokens: &[TokenTree], index: usize) -> Option<&TokenTree> {
    match tokens.get(index..index + 3)? {
        [TokenTree::Punct(first), TokenTree::Punct(second), next]
            if first.as_char() == ':' && first.spacing() == Spacing::Joint && second.as_char() == ':' =>
        {
            Some(next)
        }
        _ => None,
    }
}

fn is_of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute.meta.require_list().is_ok_and(|list| {
                    list.tokens.clone().into_iter().next().is_some_and(|token| token.to_string() == "test")
                })
    })
}

impl<'ast> Visit<'ast> for Source {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name) = match item {
            Item::Const(item) => (&item.attrs, Some(&item.ident)),
            Item::Enum(item) => (&item.attrs, Some(&item.ident)),
            Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
            Item::Impl(item) => (&item.attrs, None),
            Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
            Item::Mod(item) => (&item.attrs, None),
            Item::Static(item) => (&item.attrs, Some(&item.ident)),
            Item::Struct(item) => (&item.attrs, Some(&item.ident)),
            Item::Trait(item) => (&item.attrs, Some(&item.ident)),
            Item::Type(item) => (&item.attrs, Some(&item.ident)),
            Item::Union(item) => (&item.attrs, Some(&item.ident)),
            Item::Use(item) => (&item.attrs, None),
            _ => return visit::visit_item(self, item),
        };
        if is_of_tests(attributes) {
            if let Item::Mod(item) = item {
                self.test_modules.push(item.ident.to_string());
            }
            return;
        }
        if let Some(name) = name {
            self.items.insert(name.to_string());
        }
        match item {
            Item::Macro(item) => self.scan(item.mac.tokens.clone()),
            Item::Use(item) => self.import(&item.tree, &[]),
            Item::Mod(inline) => {
                self.depth += 1;
                if inline.content.is_some() {
                    self.items.insert(inline.ident.to_string());
                }
                visit::visit_item(self, item);
                self.depth -= 1;
            }
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if !matches!(item, ImplItem::Fn(function) if is_of_tests(&function.attrs)) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if let Some(first) = path.segments.first().filter(|_| path.leading_colon.is_none()) {
            self.mention(names, first.ident.span());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        self.scan(mac.tokens.clone());
        visit::visit_macro(self, mac);
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}

#[cfg(test)]
mod tests {
    use crate::tidy::{Tree, circles::check};

    const USES_B: &str = "use crate::b::B;\n";

    /// The circles in a crate with these files beside `lib.rs`.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let paths: Vec<(String, &str)> =
            files.iter().map(|(file, text)| (format!("crates/one/src/{file}"), *text)).collect();
        let mut texts = vec![("crates/one/src/lib.rs", "mod a;\nmod b;\npub use a::A;\npub use b::*;\n")];
        texts.extend(paths.iter().map(|(path, text)| (path.as_str(), *text)));
        check(&Tree::of_texts(&texts)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_circle_is_found_however_an_item_is_named() {
        for back in [
            "use crate::a::A;\n",
            "use super::a::{self, A as Other};\n",
            "use crate::A;\n",
            "use crate::a;\nfn f() -> a::A { a::A }\n",
            "fn f() { crate::a::A.g(); }\n",
            "fn f() { use crate::a::A; }\n",
            "impl crate::a::A {}\n",
            "registry! { \"a\" => crate::a::A, }\n",
            "macro_rules! m { () => { $crate::a::A }; }\n",
            "mod inner { use super::super::a::A; }\n",
            "use crate::a::*;\n",
        ] {
            let back = format!("pub struct B;\n{back}");
            assert_eq!(
                found(&[("a.rs", "use crate::b::B;\npub struct A;\n"), ("b.rs", &back)]),
                ["crates/one/src/a.rs:1: uses itself through others: one::a -> one::b -> one::a"],
                "{back}"
            );
        }
    }

    #[test]
    fn uses_in_one_direction_or_in_tests_are_no_circle() {
        for back in [
            "",
            "use other::a::A;\n",
            "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n",
            "#[cfg(test)]\nuse crate::a::A;\n",
            "#[cfg(test)]\nimpl crate::a::A {}\n",
            "// use crate::a::A;\n",
        ] {
            let b = format!("pub struct B;\n{back}");
            assert_eq!(found(&[("a.rs", USES_B), ("b.rs", &b)]), [] as [String; 0], "{back}");
        }
    }

    #[test]
    fn a_module_is_one_with_those_below_it() {
        let below = [
            ("a/mod.rs", "mod x;\nmod y;\nuse x::X;\npub struct A;\n"),
            ("a/x.rs", "use super::A;\npub struct X;\n"),
        ];
        let no_circle = [below[0], below[1], ("a/y.rs", USES_B), ("b.rs", "pub struct B;\n")];
        assert_eq!(found(&no_circle), [] as [String; 0]);
        let circle = [below[0], below[1], ("a/y.rs", USES_B), ("b.rs", "pub struct B(crate::a::x::X);\n")];
        assert_eq!(
            found(&circle),
            ["crates/one/src/a/y.rs:1: uses itself through others: one::a -> one::b -> one::a"]
        );
    }

    #[test]
    fn files_need_no_declaration_that_the_parser_sees() {
        let circle = [
            ("a/mod.rs", "registry! { \"x\" => x::X, \"y\" => y::Y, }\n"),
            ("a/x.rs", "use super::y::Y;\npub struct X;\n"),
            ("a/y.rs", "use super::x::X;\npub struct Y;\n"),
        ];
        assert_eq!(
            found(&circle),
            ["crates/one/src/a/x.rs:1: uses itself through others: one::a::x -> one::a::y -> one::a::x"]
        );
    }
}
