//! Parameters declared once. The [`params!`](crate::params), [`choice!`](crate::choice) and
//! [`tagged!`](crate::tagged) macros turn one declaration into a struct, its defaults, its parser,
//! its JSON Schema and its catalogue entry, so none of them can disagree with another.
//!
//! A parser error names the field's path, the value found, what is accepted and, for a misspelt
//! name, a near miss.

use crate::quantity::{
    Bytes, Limit, PACKET_UNITS, RATE_UNITS, Rate, SEGMENT_UNITS, SIZE_UNITS, TIME_UNITS, Time, Window, amount,
};
use serde_json::{Map, Value, json};
use std::fmt;
use std::rc::Rc;

/// Why a scenario was rejected.
#[derive(Clone, Debug, PartialEq)]
pub struct SpecError {
    /// Path of the offending field, such as `flows.fg.tcp.mss`.
    pub field: String,
    /// The value found there, as written.
    pub value: String,
    /// What is accepted instead.
    pub accepted: String,
    /// The nearest accepted name, if a name was misspelt.
    pub suggestion: Option<String>,
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = if self.field.is_empty() { "scenario" } else { &self.field };
        write!(f, "{field}: {} is not accepted; expected {}", self.value, self.accepted)?;
        match &self.suggestion {
            Some(name) => write!(f, " (did you mean `{name}`?)"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SpecError {}

/// A value of a scenario together with the path that leads to it.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    value: &'a Value,
    root: &'a Value,
    /// `None` at the root. A path is written only for an error.
    step: Option<Rc<Step<'a>>>,
}

/// The last step of a path.
#[derive(Debug)]
struct Step<'a> {
    before: Option<Rc<Step<'a>>>,
    key: Key<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Key<'a> {
    Name(&'a str),
    Index(usize),
}

impl<'a> Node<'a> {
    /// The root of a scenario.
    pub fn root(value: &'a Value) -> Self {
        Node { value, root: value, step: None }
    }

    /// A part of a scenario that is read by itself. Its path begins with it.
    pub fn part(value: &'a Value, root: &'a Value) -> Self {
        Node { value, root, step: None }
    }

    /// The root that it belongs to.
    pub fn of_root(&self) -> Self {
        Node::root(self.root)
    }

    fn at(&self, key: Key<'a>, value: &'a Value) -> Self {
        Node { value, root: self.root, step: Some(Rc::new(Step { before: self.step.clone(), key })) }
    }

    /// The value as it was written.
    pub fn value(&self) -> &'a Value {
        self.value
    }

    /// The path from the root, such as `links.r1-r2.rate`.
    pub fn path(&self) -> String {
        let mut keys = Vec::new();
        let mut last = self.step.as_ref();
        while let Some(step) = last {
            keys.push(match step.key {
                Key::Name(name) => name.to_owned(),
                Key::Index(index) => index.to_string(),
            });
            last = step.before.as_ref();
        }
        keys.reverse();
        keys.join(".")
    }

    /// The member `key`; absent and null are the same.
    pub fn child(&self, key: &str) -> Option<Node<'a>> {
        let (key, value) =
            self.value.as_object()?.get_key_value(key).filter(|(_, value)| !value.is_null())?;
        Some(self.at(Key::Name(key), value))
    }

    /// The elements of an array, each addressed by its `name` where it has one.
    pub fn elements(&self) -> Result<Vec<Node<'a>>, SpecError> {
        let Value::Array(elements) = self.value else {
            return Err(self.error("a list"));
        };
        let addressed = |(index, value): (usize, &'a Value)| {
            let name = value.get("name").and_then(Value::as_str);
            self.at(name.map_or(Key::Index(index), Key::Name), value)
        };
        Ok(elements.iter().enumerate().map(addressed).collect())
    }

    /// The members of a table.
    pub fn members(&self) -> Result<Vec<(&'a str, Node<'a>)>, SpecError> {
        let addressed =
            |(key, value): (&'a String, &'a Value)| (key.as_str(), self.at(Key::Name(key), value));
        Ok(self.table()?.iter().map(addressed).collect())
    }

    /// The members of a table.
    pub fn table(&self) -> Result<&'a Map<String, Value>, SpecError> {
        self.value.as_object().ok_or_else(|| self.error("a table"))
    }

    /// An error about this value.
    pub fn error(&self, accepted: impl Into<String>) -> SpecError {
        SpecError {
            field: self.path(),
            value: written(self.value),
            accepted: accepted.into(),
            suggestion: None,
        }
    }

    /// An error about a name that should have been one of `names`.
    pub fn unknown_name(&self, name: &str, names: &[&str]) -> SpecError {
        SpecError {
            field: self.path(),
            value: format!("\"{name}\""),
            accepted: format!("one of {}", names.join(", ")),
            suggestion: near_miss(name, names),
        }
    }

    /// Rejects members that are not in `known`, and anything that is not a table.
    pub fn refuse_unknown(&self, known: &[&str]) -> Result<(), SpecError> {
        for key in self.table()?.keys() {
            if !known.contains(&key.as_str()) {
                return Err(SpecError {
                    field: self.join(key),
                    value: "this field".to_owned(),
                    accepted: format!("one of {}", known.join(", ")),
                    suggestion: near_miss(key, known),
                });
            }
        }
        Ok(())
    }

    /// Rejects a table without one of these members.
    pub fn require(&self, names: &[&str]) -> Result<(), SpecError> {
        match names.iter().find(|name| self.child(name).is_none()) {
            Some(name) => Err(SpecError {
                field: self.join(name),
                value: "nothing".to_owned(),
                accepted: "a value: this field is required".to_owned(),
                suggestion: None,
            }),
            None => Ok(()),
        }
    }

    fn join(&self, key: &str) -> String {
        if self.step.is_none() { key.to_owned() } else { format!("{}.{key}", self.path()) }
    }
}

fn written(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 { text } else { text.chars().take(57).collect::<String>() + "..." }
}

/// The accepted name most like `name`, if any is close.
pub fn near_miss(name: &str, names: &[&str]) -> Option<String> {
    names
        .iter()
        .map(|&known| (strsim::jaro_winkler(&name.to_ascii_lowercase(), &known.to_ascii_lowercase()), known))
        .filter(|&(likeness, _)| likeness > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known.to_owned())
}

/// A type that can appear in a scenario.
pub trait Field: Sized {
    /// Reads the value.
    fn decode(node: &Node<'_>) -> Result<Self, SpecError>;
    /// Reads the value over another: members that the table omits keep the other's values, if both are of the same
    /// kind.
    fn decode_over(self, node: &Node<'_>) -> Result<Self, SpecError> {
        Self::decode(node)
    }
    /// Writes the value in its canonical form.
    fn encode(&self) -> Value;
    /// The accepted values, as text for users.
    fn accepted() -> String;
    /// JSON Schema of the value.
    fn schema() -> Value;
}

/// One declared parameter, as the catalogue shows it.
#[derive(Clone, Debug)]
pub struct ParamInfo {
    /// Name in a scenario.
    pub name: &'static str,
    /// What it means, in one or two sentences.
    pub description: String,
    /// Canonical form of the default.
    pub default: Value,
    /// Unit, `-` for none.
    pub unit: &'static str,
    /// Where the parameter or its default comes from.
    pub source: &'static str,
    /// The accepted values, as text for users.
    pub accepted: String,
    /// JSON Schema of the value.
    pub schema: Value,
}

/// A table of declared parameters.
pub trait Params: Sized + Default {
    /// Names of the declared parameters in order.
    const NAMES: &'static [&'static str];
    /// Replaces the members that the node gives; those before a member that is not accepted are replaced.
    fn replace(&mut self, node: &Node<'_>) -> Result<(), SpecError>;
    /// The table with the members that the node gives.
    fn overlay(mut self, node: &Node<'_>) -> Result<Self, SpecError> {
        self.replace(node)?;
        Ok(self)
    }
    /// The declared parameters in order.
    fn infos() -> Vec<ParamInfo>;
    /// Canonical form with every member.
    fn members(&self) -> Map<String, Value>;
}

/// A condition of a parameter, and what is accepted.
pub type Check<T> = (fn(&T) -> bool, &'static str);

/// Reads the members of a table one after the other, up to the first that is not accepted. It has one function per type, not
/// one per parameter: hundreds of parameters are declared.
#[derive(Debug)]
pub struct Reader<'n, 'v> {
    node: &'n Node<'v>,
    read: Result<(), SpecError>,
}

impl<'n, 'v> Reader<'n, 'v> {
    /// A reader of a table, which has no other members than these.
    pub fn new(node: &'n Node<'v>, known: &[&str]) -> Self {
        Reader { node, read: node.refuse_unknown(known) }
    }

    /// Reads a member into its place, if the table has it.
    #[inline(never)]
    pub fn read<T: Field>(&mut self, name: &str, place: &mut T, check: Option<Check<T>>) {
        let Some(child) = self.node.child(name).filter(|_| self.read.is_ok()) else { return };
        match (T::decode(&child), check) {
            (Ok(value), Some((is_accepted, accepted))) if !is_accepted(&value) => {
                self.read = Err(child.error(accepted));
            }
            (Ok(value), _) => *place = value,
            (Err(error), _) => self.read = Err(error),
        }
    }

    /// Why a member is not accepted.
    pub fn finish(self) -> Result<(), SpecError> {
        self.read
    }
}

/// Adds the canonical form of a value to a table.
#[inline(never)]
pub fn put<T: Field>(members: &mut Members, name: &str, value: &T) {
    members.insert(name.to_owned(), value.encode());
}

/// JSON Schema of a table of parameters, with extra properties (for instance a tag) first.
pub fn table_schema(infos: &[ParamInfo], extra: Map<String, Value>, required: &[&str]) -> Value {
    let mut properties = extra;
    for info in infos {
        let mut schema = info.schema.clone();
        if let Value::Object(members) = &mut schema {
            members.insert("description".into(), json!(info.description));
            // What must be stated has no default.
            if !required.contains(&info.name) {
                members.insert("default".into(), info.default.clone());
            }
            members.insert("x-unit".into(), json!(info.unit));
            members.insert("x-source".into(), json!(info.source));
        }
        properties.insert(info.name.to_owned(), schema);
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Catalogue entries of declared parameters.
pub fn catalogue(infos: &[ParamInfo]) -> Value {
    let entry = |info: &ParamInfo| {
        json!({
            "name": info.name,
            "default": info.default,
            "unit": info.unit,
            "accepted": info.accepted,
            "description": info.description,
            "source": info.source,
            "type": info.schema.get("type").cloned().unwrap_or(json!("any")),
        })
    };
    Value::Array(infos.iter().map(entry).collect())
}

/// The sentences of a doc comment, joined.
pub fn doc(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Declares a table of parameters.
///
/// Each field reads `name: Type = default, "unit", "source";`, optionally followed before the
/// semicolon by `, |value| condition, "what is accepted"`.
#[macro_export]
macro_rules! params {
    (
        $(#[doc = $about:literal])+
        pub struct $Name:ident $(requires [$($required:ident),+])? {
            $(
                $(#[doc = $doc:literal])+
                $field:ident : $ty:ty = $default:expr, $unit:literal, $source:literal
                $(, |$value:ident| $check:expr, $accepts:literal)? ;
            )*
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $Name {
            $( $(#[doc = $doc])+ pub $field: $ty, )*
        }

        impl Default for $Name {
            fn default() -> Self {
                $Name { $( $field: $default, )* }
            }
        }

        impl $crate::spec::Params for $Name {
            const NAMES: &'static [&'static str] = &[$( stringify!($field) ),*];

            #[allow(unused_assignments, unused_mut, reason = "not every field has a condition")]
            fn replace(&mut self, node: &$crate::spec::Node<'_>) -> Result<(), $crate::spec::SpecError> {
                let mut reader = $crate::spec::Reader::new(node, Self::NAMES);
                $({
                    let mut check: Option<$crate::spec::Check<$ty>> = None;
                    $( check = Some((|$value: &$ty| $check, $accepts)); )?
                    reader.read(stringify!($field), &mut self.$field, check);
                })*
                reader.finish()
            }

            #[allow(unused_assignments, unused_mut, reason = "not every field narrows its type")]
            fn infos() -> Vec<$crate::spec::ParamInfo> {
                let defaults = $Name::default();
                let _ = &defaults;
                vec![$({
                    let mut accepted = <$ty as $crate::spec::Field>::accepted();
                    $( accepted = $accepts.to_owned(); )?
                    $crate::spec::ParamInfo {
                        name: stringify!($field),
                        description: $crate::spec::doc(&[$($doc),+]),
                        default: $crate::spec::Field::encode(&defaults.$field),
                        unit: $unit,
                        source: $source,
                        accepted,
                        schema: <$ty as $crate::spec::Field>::schema(),
                    }
                }),*]
            }

            fn members(&self) -> $crate::spec::Members {
                #[allow(unused_mut, reason = "a table may be empty")]
                let mut members = $crate::spec::Members::new();
                $( $crate::spec::put(&mut members, stringify!($field), &self.$field); )*
                members
            }
        }

        impl $crate::spec::Field for $Name {
            fn decode(node: &$crate::spec::Node<'_>) -> Result<Self, $crate::spec::SpecError> {
                let params = $crate::spec::Params::overlay($Name::default(), node)?;
                $( node.require(&[$( stringify!($required) ),+])?; )?
                Ok(params)
            }
            fn decode_over(self, node: &$crate::spec::Node<'_>) -> Result<Self, $crate::spec::SpecError> {
                $crate::spec::Params::overlay(self, node)
            }
            fn encode(&self) -> $crate::Value {
                $crate::Value::Object($crate::spec::Params::members(self))
            }
            fn accepted() -> String {
                let names = <$Name as $crate::spec::Params>::NAMES;
                format!("a table with {}", names.join(", "))
            }
            fn schema() -> $crate::Value {
                let required: &[&str] = &[$( $( stringify!($required) ),+ )?];
                $crate::spec::table_schema(
                    &<$Name as $crate::spec::Params>::infos(), Default::default(), required,
                )
            }
        }
    };
}

/// The members of a table in canonical form.
pub type Members = Map<String, Value>;

/// Declares a choice between names.
#[macro_export]
macro_rules! choice {
    (
        $(#[doc = $about:literal])+
        pub enum $Name:ident {
            $( $(#[doc = $doc:literal])+ $variant:ident = $text:literal, )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Name {
            $( $(#[doc = $doc])+ $variant, )+
        }

        impl $Name {
            /// Every name with what it means.
            pub const ALL: &'static [(&'static str, &'static [&'static str])] =
                &[$( ($text, &[$($doc),+]) ),+];

            /// The name in a scenario.
            pub fn name(self) -> &'static str {
                match self { $( $Name::$variant => $text, )+ }
            }

            /// The value of a name; `None` if unknown.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $( $text => Some($Name::$variant), )+
                    _ => None,
                }
            }
        }

        impl $crate::spec::Field for $Name {
            fn decode(node: &$crate::spec::Node<'_>) -> Result<Self, $crate::spec::SpecError> {
                match node.value().as_str() {
                    Some(name) => Self::named(name).ok_or_else(|| node.unknown_name(name, &[$($text),+])),
                    None => Err(node.error(Self::accepted())),
                }
            }
            fn encode(&self) -> $crate::Value {
                $crate::Value::from(self.name())
            }
            fn accepted() -> String {
                format!("one of {}", [$($text),+].join(", "))
            }
            fn schema() -> $crate::Value {
                $crate::spec::choice_schema(&[$($text),+])
            }
        }
    };
}

/// JSON Schema of a choice between names.
pub fn choice_schema(names: &[&str]) -> Value {
    json!({ "type": "string", "enum": names })
}

/// Declares a choice between tables of parameters, told apart by a tag. The tag alone is short for the table with all
/// defaults.
#[macro_export]
macro_rules! tagged {
    (
        $(#[doc = $about:literal])+
        pub enum $Name:ident by $tag:literal {
            $( $(#[doc = $doc:literal])+ $variant:ident($Params:ty) = $text:literal, )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq)]
        pub enum $Name {
            $( $(#[doc = $doc])+ $variant($Params), )+
        }

        impl $Name {
            /// The tags, in order.
            pub const NAMES: &'static [&'static str] = &[$($text),+];

            /// The variant with this tag and its default parameters.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $( $text => Some($Name::$variant(Default::default())), )+
                    _ => None,
                }
            }

            /// The tag in a scenario.
            pub fn name(&self) -> &'static str {
                match self { $( $Name::$variant(_) => $text, )+ }
            }

            /// The same variant with the parameters that a table states.
            fn overlay(mut self, node: &$crate::spec::Node<'_>) -> Result<Self, $crate::spec::SpecError> {
                match &mut self {
                    $( $Name::$variant(params) => $crate::spec::Params::replace(params, node), )+
                }?;
                Ok(self)
            }

            /// Catalogue entries: name, summary and parameters of every variant.
            pub fn catalogue() -> $crate::Value {
                $crate::Value::Array(vec![$(
                    $crate::spec::entry(
                        $text,
                        &$crate::spec::doc(&[$($doc),+]),
                        &<$Params as $crate::spec::Params>::infos(),
                    )
                ),+])
            }
        }

        impl $crate::spec::Field for $Name {
            fn decode(node: &$crate::spec::Node<'_>) -> Result<Self, $crate::spec::SpecError> {
                let (name, body) = $crate::spec::split_tag(node, $tag, Self::NAMES)?;
                let variant = Self::named(name).ok_or_else(|| node.unknown_name(name, Self::NAMES))?;
                match body {
                    Some(body) => variant.overlay(&node.with_value(&body)),
                    None => Ok(variant),
                }
            }
            fn decode_over(self, node: &$crate::spec::Node<'_>) -> Result<Self, $crate::spec::SpecError> {
                let Some(body) = $crate::spec::body_of_kind(node, $tag, self.name()) else {
                    return Self::decode(node);
                };
                if node.value().is_object() {
                    let known = match &self { $(
                        $Name::$variant(_) => <$Params as $crate::spec::Params>::NAMES,
                    )+ };
                    node.refuse_unknown(&[&[$tag], known].concat())?;
                }
                self.overlay(&node.with_value(&body))
            }
            fn encode(&self) -> $crate::Value {
                match self { $(
                    $Name::$variant(params) => $crate::spec::with_tag(
                        $tag, $text, $crate::spec::Params::members(params),
                    ),
                )+ }
            }
            fn accepted() -> String {
                format!("a table with `{}` one of {}", $tag, Self::NAMES.join(", "))
            }
            fn schema() -> $crate::Value {
                $crate::spec::tagged_schema($tag, &[$(
                    ($text, $crate::spec::doc(&[$($doc),+]), <$Params as $crate::spec::Params>::infos())
                ),+])
            }
        }
    };
}

/// JSON Schema of a value that satisfies one of several schemas.
pub fn any_of(schemas: Vec<Value>) -> Value {
    json!({ "anyOf": schemas })
}

/// A JSON Schema with a description.
pub fn described(mut schema: Value, description: &str) -> Value {
    schema["description"] = json!(description);
    schema
}

/// JSON Schema of a table with these members and no others.
pub fn closed_object(members: Members, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": members,
        "required": required,
        "additionalProperties": false,
    })
}

/// A catalogue entry.
pub fn entry(name: &str, summary: &str, infos: &[ParamInfo]) -> Value {
    json!({ "name": name, "summary": summary, "parameters": catalogue(infos) })
}

/// A catalogue entry with a source, as a citation.
pub fn sourced_entry<P: Params>(name: &str, summary: &str, source: &str) -> Value {
    let mut entry = entry(name, summary, &P::infos());
    entry["source"] = Value::from(source);
    entry
}

/// The tag's text and, for a table, the table without its tag.
pub fn split_tag<'a>(
    node: &Node<'a>,
    tag: &str,
    names: &[&str],
) -> Result<(&'a str, Option<Value>), SpecError> {
    match node.value() {
        Value::String(name) => Ok((name, None)),
        Value::Object(members) => {
            let Some(Value::String(name)) = members.get(tag) else {
                return Err(node.error(format!("a table with `{tag}` one of {}", names.join(", "))));
            };
            if !names.contains(&name.as_str()) {
                let tag_node = node.child(tag).unwrap_or_else(|| node.clone());
                return Err(tag_node.unknown_name(name, names));
            }
            let mut body = members.clone();
            body.shift_remove(tag);
            Ok((name, Some(Value::Object(body))))
        }
        _ => Err(node.error(format!("one of {}, or a table with `{tag}`", names.join(", ")))),
    }
}

/// The text of the tag, if given: that of a table, or the whole string.
pub fn tag_of<'a>(node: &Node<'a>, tag: &str) -> Option<&'a str> {
    match node.value() {
        Value::String(name) => Some(name),
        value => value.get(tag).and_then(Value::as_str),
    }
}

/// A table without its tag, if its kind is `name` or not given; otherwise `None`.
pub fn body_of_kind(node: &Node<'_>, tag: &str, name: &str) -> Option<Value> {
    let mut members = match node.value() {
        Value::String(text) if text == name => return Some(Value::Object(Map::new())),
        Value::Object(members) => members.clone(),
        _ => return None,
    };
    match members.shift_remove(tag) {
        None | Some(Value::Null) => Some(Value::Object(members)),
        Some(stated) => (stated.as_str() == Some(name)).then_some(Value::Object(members)),
    }
}

impl<'a> Node<'a> {
    /// A different value at the same path.
    pub fn with_value<'b>(&self, value: &'b Value) -> Node<'b>
    where
        'a: 'b,
    {
        Node { value, root: self.root, step: self.step.clone() }
    }
}

/// A table in canonical form with its tag first.
pub fn with_tag(tag: &str, name: &str, members: Map<String, Value>) -> Value {
    let mut table = Map::new();
    table.insert(tag.to_owned(), json!(name));
    table.extend(members);
    Value::Object(table)
}

/// JSON Schema of a tagged choice between variants, each with its name, its summary and its parameters.
pub fn tagged_schema(tag: &str, variants: &[(&str, String, Vec<ParamInfo>)]) -> Value {
    let names: Vec<&str> = variants.iter().map(|(name, ..)| *name).collect();
    let mut any = vec![choice_schema(&names)];
    for (name, summary, infos) in variants {
        let mut extra = Map::new();
        extra.insert(tag.to_owned(), json!({ "const": name }));
        any.push(described(table_schema(infos, extra, &[tag]), summary));
    }
    json!({ "anyOf": any })
}

impl Field for bool {
    fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
        node.value().as_bool().ok_or_else(|| node.error(Self::accepted()))
    }
    fn encode(&self) -> Value {
        json!(self)
    }
    fn accepted() -> String {
        "true or false".into()
    }
    fn schema() -> Value {
        json!({ "type": "boolean" })
    }
}

impl Field for f64 {
    fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
        node.value().as_f64().filter(|value| value.is_finite()).ok_or_else(|| node.error(Self::accepted()))
    }
    fn encode(&self) -> Value {
        json!(self)
    }
    fn accepted() -> String {
        "a finite number".into()
    }
    fn schema() -> Value {
        json!({ "type": "number" })
    }
}

impl Field for u64 {
    fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
        node.value().as_u64().ok_or_else(|| node.error(Self::accepted()))
    }
    fn encode(&self) -> Value {
        json!(self)
    }
    fn accepted() -> String {
        "a whole number, at least 0".into()
    }
    fn schema() -> Value {
        json!({ "type": "integer", "minimum": 0 })
    }
}

impl Field for String {
    fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
        node.value().as_str().map(str::to_owned).ok_or_else(|| node.error(Self::accepted()))
    }
    fn encode(&self) -> Value {
        json!(self)
    }
    fn accepted() -> String {
        "a string".into()
    }
    fn schema() -> Value {
        json!({ "type": "string" })
    }
}

impl<T: Field> Field for Option<T> {
    fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
        T::decode(node).map(Some)
    }
    fn encode(&self) -> Value {
        self.as_ref().map_or(Value::Null, Field::encode)
    }
    fn accepted() -> String {
        format!("{}, or nothing", T::accepted())
    }
    fn schema() -> Value {
        json!({ "anyOf": [T::schema(), { "type": "null" }] })
    }
}

impl<T: Field> Field for Vec<T> {
    fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
        node.elements()?.iter().map(T::decode).collect()
    }
    fn encode(&self) -> Value {
        Value::Array(self.iter().map(Field::encode).collect())
    }
    fn accepted() -> String {
        format!("a list, each element {}", T::accepted())
    }
    fn schema() -> Value {
        json!({ "type": "array", "items": T::schema() })
    }
}

fn quantity(node: &Node<'_>, units: &[crate::quantity::Unit], accepted: &str) -> Result<f64, SpecError> {
    node.value().as_str().and_then(|text| amount(text, units)).ok_or_else(|| node.error(accepted))
}

macro_rules! quantity_field {
    ($Type:ident, $units:expr, $accepted:literal) => {
        impl Field for $Type {
            fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
                quantity(node, $units, $accepted).map(|value| $Type((value + 0.5) as u64))
            }
            fn encode(&self) -> Value {
                json!(self.to_string())
            }
            fn accepted() -> String {
                $accepted.into()
            }
            fn schema() -> Value {
                json!({ "type": "string", "x-quantity": $accepted })
            }
        }
    };
}

quantity_field!(Time, TIME_UNITS, "a time such as \"50 ms\" (s, ms, us, ns, min, h), not negative");
quantity_field!(
    Rate,
    RATE_UNITS,
    "a rate such as \"1.6 Mbit/s\" (bit/s, kbit/s, Mbit/s, Gbit/s, B/s, kB/s, KiB/s)"
);
quantity_field!(Bytes, SIZE_UNITS, "a size such as \"1400 bytes\" (bytes, kB, MB, KiB, MiB)");

impl Field for Limit {
    fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
        let text = node.value().as_str().ok_or_else(|| node.error(Self::accepted()))?;
        if text == "unlimited" {
            return Ok(Limit::Unlimited);
        }
        let packets = amount(text, PACKET_UNITS).filter(|n| *n >= 1.0 && n.fract() == 0.0);
        let bytes = amount(text, SIZE_UNITS).filter(|n| *n >= 1.0);
        packets
            .map(|n| Limit::Packets(n as u64))
            .or(bytes.map(|n| Limit::Bytes((n + 0.5) as u64)))
            .ok_or_else(|| node.error(Self::accepted()))
    }
    fn encode(&self) -> Value {
        json!(self.to_string())
    }
    fn accepted() -> String {
        "\"10 packets\", \"15 kB\", \"0.5 BDP\", \"1 BDP of 40 ms\", \"50 ms\" or \"unlimited\", above 0"
            .into()
    }
    fn schema() -> Value {
        json!({ "type": "string", "x-quantity": Self::accepted() })
    }
}

impl Field for Window {
    fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
        let text = node.value().as_str().ok_or_else(|| node.error(Self::accepted()))?;
        if text == "unlimited" {
            return Ok(Window::Unlimited);
        }
        let segments = amount(text, SEGMENT_UNITS).map(Window::Segments);
        let bytes = amount(text, SIZE_UNITS).map(|n| Window::Bytes((n + 0.5) as u64));
        segments.or(bytes).ok_or_else(|| node.error(Self::accepted()))
    }
    fn encode(&self) -> Value {
        json!(self.to_string())
    }
    fn accepted() -> String {
        "\"2 segments\", \"64 KiB\" or \"unlimited\"".into()
    }
    fn schema() -> Value {
        json!({ "type": "string", "x-quantity": Self::accepted() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    params! {
        /// A table for the tests.
        pub struct Example {
            /// How fast.
            rate: Rate = Rate(1000), "bit/s", "test", |rate| rate.0 > 0, "a rate above 0";
            /// How long.
            delay: Time = Time(5), "s", "test";
        }
    }

    choice! {
        /// A choice for the tests.
        pub enum Colour {
            /// The colour of blood.
            Red = "red",
            /// The colour of grass.
            Green = "green",
        }
    }

    tagged! {
        /// A tagged choice for the tests.
        pub enum Thing by "kind" {
            /// An example.
            One(Example) = "one",
        }
    }

    #[test]
    fn choices_and_tagged_tables_list_their_alternatives() {
        assert_eq!(Colour::ALL.len(), 2);
        assert_eq!(Thing::One(Example::default()).name(), "one");
        assert_eq!(Thing::catalogue()[0]["parameters"][0]["name"], "rate");
        assert_eq!(Thing::schema()["anyOf"][1]["description"], "An example.");
    }

    fn parse<T: Field>(value: Value) -> Result<T, SpecError> {
        T::decode(&Node::root(&value))
    }

    #[test]
    fn a_misspelt_field_is_refused_with_a_near_miss() {
        let error = parse::<Example>(json!({ "rates": "1 bit/s" })).unwrap_err();
        assert_eq!(error.field, "rates");
        assert_eq!(error.suggestion.as_deref(), Some("rate"));
        assert_eq!(parse::<Colour>(json!("gren")).unwrap_err().suggestion.as_deref(), Some("green"));
    }

    #[test]
    fn errors_about_impossible_values_and_wrong_units_state_what_is_accepted() {
        let error = parse::<Example>(json!({ "rate": "0 bit/s" })).unwrap_err();
        assert_eq!((error.field.as_str(), error.accepted.as_str()), ("rate", "a rate above 0"));
        assert!(parse::<Example>(json!({ "rate": "5 s" })).is_err());
        assert!(parse::<Example>(json!({ "delay": -1 })).is_err());
        assert!(parse::<Example>(json!([1])).is_err());
    }

    #[test]
    fn the_schema_states_no_default_of_what_is_required() {
        let schema = table_schema(&Example::infos(), Map::new(), &["delay"]);
        assert!(schema["properties"]["delay"].get("default").is_none());
        assert_eq!(schema["properties"]["rate"]["default"], json!("1 kbit/s"));
    }

    #[test]
    fn tagged_tables_keep_their_path_and_round_trip() {
        let thing: Thing = parse(json!({ "kind": "one", "delay": "2 ms" })).unwrap();
        assert_eq!(parse::<Thing>(thing.encode()).unwrap(), thing);
        assert_eq!(parse::<Thing>(json!("one")).unwrap(), Thing::One(Example::default()));
        let error = parse::<Thing>(json!({ "kind": "one", "delay": 2 })).unwrap_err();
        assert_eq!(error.field, "delay");
        assert_eq!(parse::<Thing>(json!({ "kind": "two" })).unwrap_err().field, "kind");
    }
}
