//! What measures the libraries, mostly for those who work on them.
//!
//! | module | what it measures |
//! |---|---|
//! | [`audit`] | what an attacker finds, beside what is claimed |
//! | [`mod@bench`] | speed and memory |
//! | [`idx`] | nothing: it reads images and their labels for the others |
//! | [`papers`] | tables and figures of the papers that are covered |
//! | [`posteriordb`] | posteriors of posteriordb's models, beside its reference draws |
//! | [`utility`] | how good private posteriors are |

pub mod audit;
pub mod bench;
pub mod idx;
pub mod papers;
pub mod posteriordb;
pub mod utility;
