//! Where the parameters, the probes and the name of a twin are, by the type information (BTF) of its object.

use crate::{Parameter, Probe, Scale};
use libbpf_rs::btf::types::{Const, DataSec, DeclTag, Enum, Struct, Typedef, Var, Volatile};
use libbpf_rs::btf::{Btf, BtfType, HasSize, ReferencesType, TypeId};
use std::ffi::OsStr;

/// Bytes of a section or a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// First byte.
    pub offset: usize,
    /// Number of bytes.
    pub size: usize,
}

/// What the loader needs to know of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The parameters, with their places in the section of constants.
    pub parameters: Vec<(Parameter, Place)>,
    /// The switch that makes the twin report its probes, in the section of constants.
    pub is_probing: Option<Place>,
    /// The probes, with their places in a record.
    pub probes: Vec<(Probe, Place)>,
    /// The name, in `struct tcp_congestion_ops`.
    pub name: Option<Place>,
}

/// The places of the fields of a record that precede its probes: time, local port, remote port.
pub const RECORD: [Place; 3] =
    [Place { offset: 0, size: 8 }, Place { offset: 8, size: 2 }, Place { offset: 10, size: 2 }];

/// A string that the compiler wrote.
fn text(name: Option<&OsStr>) -> &str {
    name.and_then(OsStr::to_str).unwrap_or_default()
}

impl Layout {
    /// Reads the layout of an object, and the defaults from its section of constants, `rodata`.
    pub fn of(btf: &Btf<'_>, rodata: &[u8]) -> Layout {
        let mut layout = Layout { probes: probes(btf), name: name(btf), ..Layout::default() };
        let tags: Vec<(TypeId, String)> = btf
            .type_by_kind::<DeclTag<'_>>()
            .map(|tag| (tag.referenced_type().type_id(), text(tag.name()).to_owned()))
            .collect();
        let sections = btf.type_by_kind::<DataSec<'_>>().filter(|section| text(section.name()) == ".rodata");
        for section in sections {
            for info in section.iter() {
                let Some(var) = btf.type_by_id::<Var<'_>>(info.ty) else { continue };
                let place = Place { offset: info.offset as usize, size: info.size };
                let name = text(var.name());
                if name == "is_probing" {
                    layout.is_probing = Some(place);
                }
                let own = || tags.iter().filter(|(of, _)| *of == info.ty).map(|(_, tag)| tag.as_str());
                let range = own().find_map(|tag| tag.strip_prefix("parameter "));
                let Some((least, most)) = range.and_then(|range| range.split_once(' ')) else { continue };
                let Some(type_of) = unqualified(var.referenced_type()) else { continue };
                let Some((scale, enumerators)) = scale(type_of) else { continue };
                let number = |text: &str| {
                    let index = enumerators.iter().position(|enumerator| enumerator == text);
                    index.and_then(|index| i64::try_from(index).ok()).or_else(|| text.parse().ok())
                };
                let (Some(least), Some(most)) = (number(least), number(most)) else { continue };
                let parameter = Parameter {
                    name: name.to_owned(),
                    scale,
                    default: read(rodata, place),
                    least,
                    most,
                    mechanism: own().find_map(|tag| tag.strip_prefix("mechanism ")).map(str::to_owned),
                };
                layout.parameters.push((parameter, place));
            }
        }
        layout
    }
}

/// A type without the qualifiers of a constant that is read anew each time.
fn unqualified(mut of: BtfType<'_>) -> Option<BtfType<'_>> {
    loop {
        of = match (Const::try_from(of), Volatile::try_from(of)) {
            (Ok(of), _) => of.referenced_type(),
            (_, Ok(of)) => of.referenced_type(),
            _ => return Some(of),
        };
    }
}

/// The scale of a type, with its enumerators if it is an enum.
fn scale(of: BtfType<'_>) -> Option<(Scale, Vec<String>)> {
    if let Ok(of) = Enum::try_from(of) {
        let enumerators: Vec<String> = of.iter().map(|member| text(member.name).to_owned()).collect();
        let scale = Scale::of_enum(text(of.name()), enumerators.iter().map(String::as_str));
        return Some((scale, enumerators));
    }
    let of = Typedef::try_from(of).ok()?;
    Scale::of_type(text(of.name())).map(|scale| (scale, Vec::new()))
}

/// The members of a struct: name, type, place.
fn members<'a>(btf: &'a Btf<'_>, name: &str) -> Option<Vec<(String, BtfType<'a>, Place)>> {
    let found = btf.type_by_kind::<Struct<'_>>().find(|known| text(known.name()) == name)?;
    let starts: Vec<usize> = found
        .iter()
        .map(|member| match member.attr {
            libbpf_rs::btf::types::MemberAttr::Normal { offset } => offset as usize / 8,
            libbpf_rs::btf::types::MemberAttr::BitField { offset, .. } => offset as usize / 8,
        })
        .collect();
    let member = |(index, member): (usize, libbpf_rs::btf::types::StructMember<'_>)| {
        let end = starts.get(index + 1).copied().unwrap_or(found.size());
        let place = Place { offset: starts[index], size: end - starts[index] };
        Some((text(member.name).to_owned(), btf.type_by_id::<BtfType<'_>>(member.ty)?, place))
    };
    found.iter().enumerate().map(member).collect()
}

fn probes(btf: &Btf<'_>) -> Vec<(Probe, Place)> {
    let record = members(btf, "record").unwrap_or_default();
    let Some(start) = record.iter().find(|(name, ..)| name == "probes").map(|(.., place)| place.offset)
    else {
        return Vec::new();
    };
    let probe = |(name, of, place): (String, BtfType<'_>, Place)| {
        let (scale, _) = scale(of)?;
        Some((Probe { name, scale }, Place { offset: start + place.offset, size: 8 }))
    };
    members(btf, "probes").unwrap_or_default().into_iter().filter_map(probe).collect()
}

fn name(btf: &Btf<'_>) -> Option<Place> {
    let found = members(btf, "tcp_congestion_ops")?.into_iter().find(|(name, ..)| name == "name");
    found.map(|(.., place)| Place { size: place.size.min(16), ..place })
}

/// The number at a place, in the byte order of this machine; 0 if it is outside.
pub fn read(bytes: &[u8], place: Place) -> i64 {
    let Some(bytes) = bytes.get(place.offset..place.offset + place.size) else { return 0 };
    match *bytes {
        [a, b] => i64::from(u16::from_ne_bytes([a, b])),
        [a, b, c, d] => i64::from(u32::from_ne_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => i64::from_ne_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}

/// Writes the number at a place, in the byte order of this machine.
pub fn write(bytes: &mut [u8], place: Place, number: i64) {
    let number = number.to_ne_bytes();
    let start = if cfg!(target_endian = "big") { number.len() - place.size } else { 0 };
    bytes[place.offset..place.offset + place.size].copy_from_slice(&number[start..start + place.size]);
}
