//! A guide.
