//! Where an operation comes from.

use crate::base::Source;
use std::fmt;
use std::sync::Arc;

/// Where an operation comes from: a line of the model, and the site that was being built there.
///
/// A program that was read back from text has lines too, as text.
#[derive(Clone, PartialEq, Eq)]
pub struct Origin {
    line: Line,
    site: Option<Arc<str>>,
}

#[derive(Clone, PartialEq, Eq)]
enum Line {
    /// A line of the running program's source.
    Here(Source),
    /// `file:line:column`, as it was written down.
    #[cfg(feature = "serde")]
    Written(Arc<str>),
}

impl Origin {
    pub(crate) fn new(source: Source, site: Option<Arc<str>>) -> Self {
        Self { line: Line::Here(source), site }
    }

    #[cfg(feature = "serde")]
    pub(crate) fn written(line: &str, site: Option<&str>) -> Self {
        Self { line: Line::Written(line.into()), site: site.map(Into::into) }
    }

    /// The same line, said of this site.
    pub(crate) fn of_site(&self, site: &str) -> Self {
        Self { line: self.line.clone(), site: Some(site.into()) }
    }

    /// The name of the site that was being built, if one was.
    #[must_use]
    pub fn site(&self) -> Option<&str> {
        self.site.as_deref()
    }

    /// The file's own name and the line, without folders and column: `model.rs:12`.
    pub(crate) fn short(&self) -> String {
        let long = self.to_string();
        let place = long.rsplit(['/', '\\']).next().unwrap_or_default();
        let mut parts = place.rsplitn(3, ':');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(_), Some(line), Some(file)) => format!("{file}:{line}"),
            _ => place.to_owned(),
        }
    }
}

/// `file:line:column`
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.line {
            Line::Here(source) => source.fmt(f),
            #[cfg(feature = "serde")]
            Line::Written(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.site {
            Some(site) => write!(f, "{self} (site '{site}')"),
            None => fmt::Display::fmt(self, f),
        }
    }
}
