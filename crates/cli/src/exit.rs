//! How a command ended: a number with a meaning, made in one place.

use std::fmt;
use std::process::ExitCode;

use switchboard_client::{Class, ErrorKind};
use switchboard_hub::{Absence, ConfigError, HubError, LockError, NotFound};

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// What was asked for was done.
    Done = 0,
    /// Nobody expected that.
    Unexpected = 1,
    /// What was said, or a configuration, makes no sense.
    Usage = 2,
    /// Somebody must log in.
    LoginRequired = 3,
    /// A server cannot be reached, did not start, did not answer in time.
    Unreachable = 4,
    /// A tool says that it failed, or there is none.
    ToolError = 5,
    /// It may not be used.
    Refused = 6,
    /// A server asks something, and there is nobody to answer.
    InputRequired = 7,
    /// Some servers failed, the rest answered.
    Partial = 8,
    /// A server broke the protocol.
    Violation = 9,
    /// Nobody has agreed to what a project's file starts.
    Untrusted = 10,
    /// The user did not want to wait.
    Interrupted = 130,
}

impl Exit {
    pub(crate) const fn number(self) -> u8 {
        self as u8
    }

    pub(crate) fn code(self) -> ExitCode {
        ExitCode::from(self.number())
    }
}

impl From<Class> for Exit {
    fn from(class: Class) -> Self {
        match class {
            Class::Caller => Self::Usage,
            Class::Unauthorized => Self::LoginRequired,
            Class::Refused => Self::ToolError,
            Class::Peer => Self::Violation,
            Class::Connection | Class::Unavailable | Class::Timeout | Class::Ended => {
                Self::Unreachable
            }
            Class::Limit => Self::Refused,
            _ => Self::Unexpected,
        }
    }
}

/// Why something was not done, for people and for scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// What went wrong: lower case, no full stop.
    pub(crate) message: String,
    /// The server that it is about.
    pub(crate) server: Option<String>,
    /// What can be done about it.
    pub(crate) hint: Option<String>,
    /// What was said already, so that only the number is left to be told.
    pub(crate) is_told: bool,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
            server: None,
            hint: None,
            is_told: false,
        }
    }

    /// Nobody expected that.
    pub(crate) fn unexpected(message: impl Into<String>) -> Self {
        Self::new(Exit::Unexpected, message)
    }

    /// What was said makes no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    #[must_use]
    pub(crate) fn server(mut self, server: &str) -> Self {
        self.server = Some(server.to_owned());
        self
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// This hint, if there is none yet.
    #[must_use]
    pub(crate) fn or_hint(mut self, hint: impl FnOnce() -> String) -> Self {
        self.hint = self.hint.or_else(|| Some(hint()));
        self
    }

    /// The people have read it already: in the result.
    #[must_use]
    pub(crate) fn told(mut self) -> Self {
        self.is_told = true;
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<HubError> for Failure {
    fn from(error: HubError) -> Self {
        let message = with_causes(&error);
        match error {
            HubError::Config(error) => error.into(),
            HubError::Lock(error) => error.into(),
            HubError::Exists { .. } => Self::usage(message),
            HubError::UnknownServer { .. } => {
                Self::usage(message).hint("`switchboard ls` shows the servers that there are")
            }
            HubError::NotFound(missing) => missing.into(),
            HubError::NotReady { server, class, .. } => match class {
                Some(Class::Unauthorized) => Self::login(&server, message),
                // A server that does not let us in is as good as none.
                None | Some(Class::Refused | Class::Limit) => {
                    Self::new(Exit::Unreachable, message).doctor(&server)
                }
                Some(class) => Self::new(class.into(), message).doctor(&server),
            },
            HubError::NotWatchable { server, .. } => {
                Self::new(Exit::ToolError, message).server(&server)
            }
            HubError::ResultTooLarge { server, .. } => {
                Self::new(Exit::Refused, message).server(&server)
            }
            HubError::Unreadable { server, .. } => {
                Self::new(Exit::Violation, message).server(&server)
            }
            HubError::Cancelled => Self::new(Exit::Interrupted, message),
            HubError::TooLate => Self::new(Exit::Unreachable, message),
            HubError::Call(error) => error.into(),
            _ => Self::unexpected(message),
        }
    }
}

impl From<NotFound> for Failure {
    fn from(missing: NotFound) -> Self {
        match &missing.absence {
            Absence::Denied(denial) => {
                let server = denial.server.clone();
                Self::new(Exit::Refused, missing.to_string()).server(&server)
            }
            Absence::Ambiguous { .. } => Self::usage(missing.to_string()),
            _ => Self::new(Exit::ToolError, missing.to_string()),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::usage(with_causes(&error))
    }
}

impl From<LockError> for Failure {
    fn from(error: LockError) -> Self {
        let failure = Self::usage(with_causes(&error));
        match error.is_missing() {
            true => failure.hint("`switchboard lock`"),
            false => failure.hint("remove it, run `switchboard lock`, and look at what it writes"),
        }
    }
}

impl From<switchboard_client::Error> for Failure {
    fn from(error: switchboard_client::Error) -> Self {
        let exit = match (error.kind(), error.class()) {
            (ErrorKind::Cancelled, _) => Exit::Interrupted,
            (ErrorKind::NotAnswered(_), _) => Exit::InputRequired,
            (ErrorKind::NotOffered(_), _) => Exit::ToolError,
            (_, class) => class.into(),
        };
        let failure = match exit {
            Exit::LoginRequired => Self::login(error.server(), with_causes(&error)),
            _ => Self::new(exit, with_causes(&error)),
        };
        failure.server(error.server())
    }
}

impl Failure {
    /// There is a verb that finds out why.
    fn doctor(self, server: &str) -> Self {
        self.hint(format!("`switchboard doctor {server}` finds out why"))
            .server(server)
    }

    /// Somebody must log in.
    pub(crate) fn login(server: &str, message: impl Into<String>) -> Self {
        Self::new(Exit::LoginRequired, message)
            .hint(format!("`switchboard login {server}`"))
            .server(server)
    }
}

/// An error with what caused it, unless that is said already.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_cannot_be_called_ends_with_who_must_act() {
        let check = |class: Option<Class>, expected: u8| {
            let failure = Failure::from(HubError::NotReady {
                server: "one".to_owned(),
                state: "failed".to_owned(),
                needs_login: class == Some(Class::Unauthorized),
                class,
            });
            assert_eq!(failure.exit.number(), expected, "{class:?}");
            assert_eq!(failure.server.as_deref(), Some("one"));
            assert!(failure.hint.is_some());
        };
        check(None, 4);
        check(Some(Class::Caller), 2);
        check(Some(Class::Unauthorized), 3);
        check(Some(Class::Connection), 4);
        check(Some(Class::Timeout), 4);
        check(Some(Class::Unavailable), 4);
        // It does not let us in.
        check(Some(Class::Refused), 4);
        check(Some(Class::Peer), 9);
    }

    #[test]
    fn causes_are_said_once() {
        #[derive(Debug)]
        struct Outer(std::fmt::Error);
        impl fmt::Display for Outer {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "outer")
            }
        }
        impl std::error::Error for Outer {
            fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
                Some(&self.0)
            }
        }
        let cause = std::fmt::Error.to_string();
        assert_eq!(
            with_causes(&Outer(std::fmt::Error)),
            format!("outer: {cause}")
        );
    }
}
