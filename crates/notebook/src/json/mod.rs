//! JSON as text.
//!
//! A notebook is saved with the smallest textual change, so the document works on the text of the file and not on a
//! tree made from it: this module finds where values stand ([`scan`]), reads and writes strings ([`string`], and [`halves`]
//! for what no text can hold), lays new values out the way the file does ([`style`]), replaces members of an object in place ([`edit`]), and holds values
//! that travel on ([`raw`]).
//!
//! The scanner is our own because notebooks in the wild are not always JSON: Python writes `NaN` and `Infinity`, and
//! some tools write half a surrogate pair. Both are kept as they stand. It never recurses, so nesting cannot overflow
//! the stack.

pub(crate) mod edit;
pub(crate) mod halves;
pub(crate) mod raw;
pub(crate) mod scan;
pub(crate) mod string;
pub(crate) mod style;
