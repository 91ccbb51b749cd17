//! Processes that were killed and have not ended: a broken device can hold them for long.

use std::process::Child;
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, WaitOptions, waitpid};

/// Reaps this one if it has ended, else later, and those that have ended since.
pub(super) fn reap(child: &mut Child) {
    let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
    waiting.retain(|child| !has_been_reaped(*child));
    if matches!(child.try_wait(), Ok(None)) {
        waiting.push(Pid::from_child(child));
    }
}

fn has_been_reaped(child: Pid) -> bool {
    !matches!(waitpid(Some(child), WaitOptions::NOHANG), Ok(None))
}

static WAITING: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use rustix::process::{WaitId, WaitIdOptions, waitid};

    use super::*;

    #[test]
    fn one_that_has_not_ended_is_reaped_with_a_later_one() {
        let mut first = Command::new("/bin/sh");
        let mut first = first
            .args(["-c", "read line"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        reap(&mut first);
        let mut second = Command::new("/bin/sh").args(["-c", ":"]).spawn().unwrap();
        second.wait().unwrap();
        drop(first.stdin.take());
        let id = Pid::from_child(&first);
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        // An error if another test has reaped it already.
        let _ = waitid(WaitId::Pid(id), options);
        reap(&mut second);
        assert!(waitid(WaitId::Pid(id), options).is_err());
    }
}
