//! Typing that nobody sees.
//!
//! The terminal is told not to show what is typed, and to give each key as it is pressed: Ctrl-C
//! must not end the process before the terminal is as it was. Where a terminal cannot be told so,
//! nothing is read.

#[cfg(unix)]
pub(super) use unix::{hide, interrupt, read_line, show};

#[cfg(not(unix))]
pub(super) use elsewhere::{hide, interrupt, read_line, show};

#[cfg(unix)]
mod unix {
    use std::io::{self, Read};
    use std::sync::{Mutex, PoisonError};

    use rustix::process::{Signal, getpid, kill_process};
    use rustix::termios::{
        LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
    };
    use switchboard_auth::Secret;

    /// How the terminal was before. There is one terminal.
    static USUAL: Mutex<Option<Termios>> = Mutex::new(None);

    /// Until it is dropped, nothing that is typed is shown.
    pub(in crate::host) struct Hidden(());

    impl Drop for Hidden {
        fn drop(&mut self) {
            show();
        }
    }

    /// Shows no more of what is typed.
    pub(in crate::host) fn hide() -> io::Result<Hidden> {
        let usual = tcgetattr(io::stdin())?;
        let mut hidden = usual.clone();
        hidden.local_modes -=
            LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG;
        // Each key at once, however long it takes to come.
        hidden.special_codes[SpecialCodeIndex::VMIN] = 1;
        hidden.special_codes[SpecialCodeIndex::VTIME] = 0;
        USUAL
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(usual);
        // What was typed or pasted already stays.
        let set = tcsetattr(io::stdin(), OptionalActions::Now, &hidden);
        let hidden = Hidden(());
        set?;
        Ok(hidden)
    }

    /// Makes the terminal what it was.
    pub(in crate::host) fn show() {
        let usual = USUAL.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(usual) = usual {
            // A terminal that is gone needs nothing.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &usual);
        }
    }

    /// Ends us as Ctrl-C does, with the terminal as it was.
    pub(in crate::host) fn interrupt() {
        // Who cannot be told goes on without an answer.
        let _ = kill_process(getpid(), Signal::INT);
    }

    /// Reads key by key to the end of a line. None at the end of the input; interrupted by Ctrl-C.
    pub(in crate::host) fn read_line() -> io::Result<Option<Secret>> {
        read(io::stdin().lock())
    }

    fn read(mut keys: impl Read) -> io::Result<Option<Secret>> {
        let mut typed: Vec<u8> = Vec::with_capacity(USUAL_LENGTH);
        loop {
            let mut key = [0];
            if keys.read(&mut key)? == 0 {
                return Ok(None);
            }
            match key {
                [b'\n' | b'\r'] => break,
                [CTRL_C] => return Err(io::ErrorKind::Interrupted.into()),
                [CTRL_D] if typed.is_empty() => return Ok(None),
                [CTRL_D] => break,
                [CTRL_U] => typed.clear(),
                [BACKSPACE | DELETE] => erase(&mut typed),
                _ if typed.len() >= LONGEST => return Err(io::Error::other("it is too long")),
                [key] => typed.push(key),
            }
        }
        // The error of the standard library holds the bytes.
        let text = String::from_utf8(typed).map_err(|_| io::Error::other("it is not text"))?;
        Ok(Some(Secret::new(text)))
    }

    /// The last character, of however many bytes.
    fn erase(typed: &mut Vec<u8>) {
        while let Some(byte) = typed.pop() {
            let continues = byte & 0b1100_0000 == 0b1000_0000;
            if !continues {
                return;
            }
        }
    }

    const CTRL_C: u8 = 3;
    const CTRL_D: u8 = 4;
    const BACKSPACE: u8 = 8;
    const CTRL_U: u8 = 21;
    const DELETE: u8 = 127;
    const USUAL_LENGTH: usize = 1024;
    const LONGEST: usize = 64 * 1024;

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_line_is_as_it_was_corrected_and_not_too_long() {
            let check = |typed: &str, line: Option<&str>| {
                let read = read(typed.as_bytes()).unwrap();
                let read = read.as_ref().map(Secret::reveal);
                assert_eq!(read, line, "{typed:?}");
            };
            check("abc\ndef", Some("abc"));
            check("x\u{15}a\u{e9}\u{7f}b\r", Some("ab"));
            check("\u{4}", None);
            check("never ended", None);
            let most = "x".repeat(LONGEST);
            check(&format!("{most}\n"), Some(&most));
            let refused = read(format!("{most}x\n").as_bytes()).unwrap_err();
            assert_eq!(refused.to_string(), "it is too long");
        }
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use std::io;

    use switchboard_auth::Secret;

    /// Nobody has one.
    pub(in crate::host) enum Hidden {}

    pub(in crate::host) fn hide() -> io::Result<Hidden> {
        let reason = "what is typed cannot be hidden here";
        Err(io::Error::new(io::ErrorKind::Unsupported, reason))
    }

    pub(in crate::host) const fn show() {}

    pub(in crate::host) const fn interrupt() {}

    pub(in crate::host) fn read_line() -> io::Result<Option<Secret>> {
        Ok(None)
    }
}
