//! The ten mechanisms by which TCP Vegas differs from Reno, one switch each [hengartner2000 §VI]. A, B, F and I belong
//! to the window, and therefore to the congestion controls that own them; the sender owns C, D, E, G, H and J.

use dumbbell_units::Value;
use dumbbell_units::spec::{Field, Node, SpecError};

macro_rules! mechanisms {
    ($( $(#[doc = $doc:literal])+ $field:ident = $letter:literal, )+) => {
        /// The switches A to J.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Mechanisms {
            $( $(#[doc = $doc])+ pub $field: bool, )+
        }

        impl Mechanisms {
            /// Every letter with its mechanism.
            pub const ALL: &'static [(&'static str, &'static [&'static str])] =
                &[$( ($letter, &[$($doc),+]) ),+];

            /// The combination of these letters; `None` if a letter is unknown.
            pub fn from_letters(letters: &str) -> Option<Self> {
                let mut mechanisms = Mechanisms::default();
                let known = letters.chars().all(|letter| mechanisms.set(&letter.to_string(), true));
                known.then_some(mechanisms)
            }

            /// The letters that are on, in order.
            pub fn letters(self) -> impl Iterator<Item = &'static str> {
                [$( (self.$field, $letter) ),+].into_iter().filter_map(|(on, letter)| on.then_some(letter))
            }

            /// The combination in which bit `i` switches letter `i`; A is bit 0.
            pub fn from_bits(bits: u16) -> Self {
                let mut mechanisms = Mechanisms::default();
                let mut bit = 0;
                $( mechanisms.$field = bits >> bit & 1 == 1; bit += 1; )+
                let _ = bit;
                mechanisms
            }

            fn set(&mut self, letter: &str, on: bool) -> bool {
                match letter {
                    $( $letter => self.$field = on, )+
                    _ => return false,
                }
                true
            }
        }

        impl Field for Mechanisms {
            fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
                match node.value() {
                    Value::String(text) => {
                        Self::from_letters(text).ok_or_else(|| node.error(Self::accepted()))
                    }
                    Value::Object(_) => {
                        Mechanisms::default().decode_over(node)
                    }
                    _ => Err(node.error(Self::accepted())),
                }
            }
            fn decode_over(mut self, node: &Node<'_>) -> Result<Self, SpecError> {
                let Value::Object(_) = node.value() else { return Self::decode(node) };
                node.refuse_unknown(&[$($letter),+])?;
                for (letter, member) in node.members()? {
                    self.set(letter, bool::decode(&member)?);
                }
                Ok(self)
            }
            fn encode(&self) -> Value {
                let mut members = dumbbell_units::spec::Members::new();
                $( members.insert($letter.to_owned(), Value::Bool(self.$field)); )+
                Value::Object(members)
            }
            fn accepted() -> String {
                "letters from ABCDEFGHIJ, such as \"ABCDEFG\", or a table { A = true, ... }".into()
            }
            fn schema() -> Value {
                let mut members = dumbbell_units::spec::Members::new();
                $( members.insert($letter.to_owned(), bool::schema()); )+
                dumbbell_units::spec::any_of(vec![
                    String::schema(),
                    dumbbell_units::spec::closed_object(members, &[]),
                ])
            }
        }
    };
}

mechanisms! {
    /// Congestion detection in slow start; the window grows only every other RTT.
    slow_start_detection = "A",
    /// Congestion detection in congestion avoidance, between alpha and beta.
    avoidance_detection = "B",
    /// Retransmission on the first duplicate ACK once the fine timeout has expired.
    fine_retransmit = "C",
    /// Fine timeout checked on the first new ACKs after a retransmission.
    check_after_retransmit = "D",
    /// One window reduction per loss episode.
    one_reduction = "E",
    /// Window reduced by a quarter instead of a half.
    quarter_cut = "F",
    /// Window of two segments at the start and after a timeout.
    window_of_two = "G",
    /// At most three segments back to back.
    burst_limit = "H",
    /// No growth while the window is not filled.
    growth_guard = "I",
    /// Sending rate at most twice the rate of the last RTT.
    spike_suppression = "J",
}

impl Mechanisms {
    /// Letters of the mechanisms that belong to the window, and therefore to a congestion control.
    pub const OF_WINDOWS: &'static str = "ABFI";
    /// Letters of the mechanisms that belong to the recovery.
    pub const OF_RECOVERIES: &'static str = "CDE";
}
