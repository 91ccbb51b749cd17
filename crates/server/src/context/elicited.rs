//! What a person said to a form.

/// What a person said to a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elicited<T> {
    /// He filled it in.
    Accepted(T),
    /// He does not want to.
    Declined,
    /// He closed it without deciding.
    Cancelled,
}

impl<T> Elicited<T> {
    /// What he filled in, if he did.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(content) => Some(content),
            Self::Declined | Self::Cancelled => None,
        }
    }
}
