//! The extension module `acp._core`.
