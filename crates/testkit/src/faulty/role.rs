//! Which defect a server has, in which eras it speaks, and when the defect shows.

use std::fmt;
use std::str::FromStr;

/// What a misbehaving server is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    pub(super) kind: String,
    pub(super) eras: Eras,
    pub(super) is_everywhere: bool,
}

impl Role {
    /// A server of this kind that speaks both eras; the defect shows when `defect` is called.
    pub fn new(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            eras: Eras::Both,
            is_everywhere: false,
        }
    }

    /// The eras that the server speaks.
    #[must_use]
    pub fn eras(mut self, eras: Eras) -> Self {
        self.eras = eras;
        self
    }

    /// The defect shows on every request, beginning with the opening.
    #[must_use]
    pub fn everywhere(mut self) -> Self {
        self.is_everywhere = true;
        self
    }
}

/// As [`Role::from_str`] reads it: one word, safe in a shell.
impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scope = if self.is_everywhere { "all" } else { "call" };
        write!(f, "{},{},{scope}", self.kind, self.eras.name())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',');
        let mut next = || parts.next().ok_or(format!("a role of three parts: {text}"));
        let (kind, eras, scope) = (next()?, next()?, next()?);
        let eras = Eras::ALL.into_iter().find(|known| known.name() == eras);
        Ok(Self {
            kind: kind.to_owned(),
            eras: eras.ok_or(format!("unknown eras in {text}"))?,
            is_everywhere: scope == "all",
        })
    }
}

/// The eras that a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eras {
    /// `initialize` only; `server/discover` is an unknown method.
    Legacy,
    /// `server/discover` and requests that carry their context.
    Modern,
    /// Either, as the client begins.
    Both,
    /// `initialize` only; `server/discover` is never answered.
    SilentOnProbe,
}

impl Eras {
    const ALL: [Self; 4] = [Self::Legacy, Self::Modern, Self::Both, Self::SilentOnProbe];

    const fn name(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
            Self::Both => "both",
            Self::SilentOnProbe => "silent-on-probe",
        }
    }

    pub(super) fn has_handshake(self) -> bool {
        self != Self::Modern
    }

    pub(super) fn is_stateless(self) -> bool {
        matches!(self, Self::Modern | Self::Both)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_survives_being_a_word() {
        for eras in Eras::ALL {
            let role = Role::new("noise").eras(eras).everywhere();
            assert_eq!(role.to_string().parse(), Ok(role));
        }
        assert_eq!("noise,both,call".parse(), Ok(Role::new("noise")));
        assert!("noise".parse::<Role>().is_err());
    }
}
