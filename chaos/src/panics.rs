//! Messages and places of panics. Nothing is printed.

use std::any::Any;
use std::cell::RefCell;

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Records the place of each panic for [`message`] instead of printing it.
pub fn keep_places() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|place| format!("{}:{}", place.file(), place.line()));
        LAST.with(|last| last.replace(place));
    }));
}

/// The message of a caught panic, with its place if recorded.
pub fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    let text = text.unwrap_or_else(|| "an unknown panic".to_owned());
    match LAST.with(RefCell::take) {
        Some(place) => format!("{text} ({place})"),
        None => text,
    }
}
