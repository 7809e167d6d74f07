//! notebook

pub mod stream_text;
