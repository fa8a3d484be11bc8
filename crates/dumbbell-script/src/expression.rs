//! Statements about the state of a connection, as `assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd`: the part of Python that
//! asserts of scripts use.

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// The value must not be 0.
    Assert(Expression),
    /// The name has this value from now on.
    Assign(String, Expression),
    /// Prints something, which says nothing about the connection.
    Print,
}

/// An expression of whole numbers. False is 0, and true is 1.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A number.
    Number(i64),
    /// A field of `TCP_INFO`, as `tcpi_snd_cwnd`, or a constant, as `TCP_CA_Open`.
    Name(String),
    /// `-x`.
    Minus(Box<Expression>),
    /// `not x`.
    Not(Box<Expression>),
    /// Two values and what joins them.
    Pair(Operator, Box<Expression>, Box<Expression>),
}

/// What joins two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "their names say it")]
pub enum Operator {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    BitAnd,
    Plus,
    Minus,
    Times,
    Divide,
    Modulo,
}

impl Operator {
    /// The operators with their texts, in groups of equal precedence from the lowest, a longer text before one that begins
    /// it.
    pub(crate) const LEVELS: [&'static [(&'static str, Operator)]; 6] = [
        &[("or ", Operator::Or)],
        &[("and ", Operator::And)],
        &[
            ("==", Operator::Equal),
            ("!=", Operator::Unequal),
            ("<=", Operator::LessOrEqual),
            (">=", Operator::GreaterOrEqual),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ],
        &[("&", Operator::BitAnd)],
        &[("+", Operator::Plus), ("-", Operator::Minus)],
        &[("*", Operator::Times), ("//", Operator::Divide), ("/", Operator::Divide), ("%", Operator::Modulo)],
    ];

    fn apply(self, left: i64, right: i64) -> Option<i64> {
        Some(match self {
            Operator::Or if left != 0 => left,
            Operator::And if left == 0 => left,
            Operator::Or | Operator::And => right,
            Operator::Equal => i64::from(left == right),
            Operator::Unequal => i64::from(left != right),
            Operator::Less => i64::from(left < right),
            Operator::LessOrEqual => i64::from(left <= right),
            Operator::Greater => i64::from(left > right),
            Operator::GreaterOrEqual => i64::from(left >= right),
            Operator::BitAnd => left & right,
            Operator::Plus => left.checked_add(right)?,
            Operator::Minus => left.checked_sub(right)?,
            Operator::Times => left.checked_mul(right)?,
            Operator::Divide => left.checked_div_euclid(right)?,
            Operator::Modulo => left.checked_rem_euclid(right)?,
        })
    }
}

/// States of `tcpi_ca_state` and bits of `tcpi_options` (`include/uapi/linux/tcp.h`).
const CONSTANTS: [(&str, i64); 11] = [
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCPI_OPT_TIMESTAMPS", 1),
    ("TCPI_OPT_SACK", 2),
    ("TCPI_OPT_WSCALE", 4),
    ("TCPI_OPT_ECN", 8),
    ("TCPI_OPT_ECN_SEEN", 16),
    ("TCPI_OPT_SYN_DATA", 32),
];

impl Expression {
    /// Its value, where `field` gives those of `TCP_INFO`.
    ///
    /// # Errors
    ///
    /// The name that has no value, or what cannot be computed.
    pub fn value(&self, field: &impl Fn(&str) -> Option<i64>) -> Result<i64, String> {
        match self {
            Expression::Number(number) => Ok(*number),
            Expression::Name(name) => {
                let constant = CONSTANTS.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
                constant.or_else(|| field(name)).ok_or_else(|| name.clone())
            }
            Expression::Minus(inner) => Ok(inner.value(field)?.wrapping_neg()),
            Expression::Not(inner) => Ok(i64::from(inner.value(field)? == 0)),
            Expression::Pair(operator, left, right) => operator
                .apply(left.value(field)?, right.value(field)?)
                .ok_or_else(|| "an arithmetic without a result".into()),
        }
    }

    /// The names in it, in their order.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Expression::Number(_) => Vec::new(),
            Expression::Name(name) => vec![name],
            Expression::Minus(inner) | Expression::Not(inner) => inner.names(),
            Expression::Pair(_, left, right) => [left.names(), right.names()].concat(),
        }
    }
}
