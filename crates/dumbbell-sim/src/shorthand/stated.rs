//! Members of a shape of networks. They are kept as stated, and read at the links and nodes that get them.

use dumbbell_units::Value;
use dumbbell_units::spec::{Field, Node, SpecError, any_of};
use serde_json::json;
use std::fmt;
use std::marker::PhantomData;

/// Declares a member that keeps the value as stated; `$T` is the type of what it has.
macro_rules! stated {
    ($(#[doc = $about:literal])+ $Name:ident, $T:ident, $accepted:expr, $schema:expr) => {
        $(#[doc = $about])+
        pub struct $Name<$T>(pub Value, PhantomData<fn() -> $T>);

        impl<$T> $Name<$T> {
            /// A default.
            pub(super) fn of(value: Value) -> Self {
                $Name(value, PhantomData)
            }
        }

        impl<$T> Clone for $Name<$T> {
            fn clone(&self) -> Self {
                $Name::of(self.0.clone())
            }
        }

        impl<$T> fmt::Debug for $Name<$T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }

        impl<$T> PartialEq for $Name<$T> {
            fn eq(&self, other: &Self) -> bool {
                self.0 == other.0
            }
        }

        impl<$T: Field> Field for $Name<$T> {
            fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
                Ok($Name::of(node.value().clone()))
            }
            fn encode(&self) -> Value {
                self.0.clone()
            }
            fn accepted() -> String {
                $accepted
            }
            fn schema() -> Value {
                $schema
            }
        }
    };
}

stated! {
    /// One value.
    As, T, T::accepted(), T::schema()
}

stated! {
    /// One value for all pairs, or a list with one for each.
    Each, T, format!("{}; or a list with one per pair", T::accepted()), any_of(vec![T::schema(), Vec::<T>::schema()])
}

stated! {
    /// One value for all nodes or links, or a table of values by their names.
    Named, T, format!("{}; or a table of them by name", T::accepted()),
        any_of(vec![T::schema(), json!({ "type": "object", "additionalProperties": T::schema() })])
}

/// Nodes that stamp queueing times: all, none, or those named.
#[derive(Clone, Debug, PartialEq)]
pub struct Stamping(pub Value);

impl Field for Stamping {
    fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
        Ok(Stamping(node.value().clone()))
    }
    fn encode(&self) -> Value {
        self.0.clone()
    }
    fn accepted() -> String {
        "true, false, or names of nodes".to_owned()
    }
    fn schema() -> Value {
        any_of(vec![bool::schema(), String::schema(), Vec::<String>::schema()])
    }
}

/// Largest number of pairs or hops of a network: it needs about 4 GB.
const MOST: u64 = 1_000_000;

/// A number of pairs or hops that is at least `LEAST`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count<const LEAST: u64>(pub usize);

impl<const LEAST: u64> Field for Count<LEAST> {
    fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
        let count = node.value().as_u64().filter(|count| (LEAST..=MOST).contains(count));
        count.map(|count| Count(count as usize)).ok_or_else(|| node.error(Self::accepted()))
    }
    fn encode(&self) -> Value {
        json!(self.0)
    }
    fn accepted() -> String {
        format!("a whole number of at least {LEAST}, and at most {MOST}")
    }
    fn schema() -> Value {
        json!({ "type": "integer", "minimum": LEAST, "maximum": MOST })
    }
}
