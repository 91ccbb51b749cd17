//! Somebody who sits at a terminal and types.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

use crate::place::{Ended, Place};

/// A command whose standard input and standard error are a terminal.
pub(crate) struct Terminal {
    child: Child,
    keys: File,
    /// Its own end, to be looked at.
    end: File,
    shown: Receiver<Vec<u8>>,
    so_far: String,
}

impl Terminal {
    pub(crate) fn run(place: &Place, words: &[&str]) -> Self {
        Self::start(place.command(words))
    }

    pub(crate) fn start(mut command: Command) -> Self {
        let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&keys).unwrap();
        unlockpt(&keys).unwrap();
        let name = ptsname(&keys, Vec::new()).unwrap();
        let open = || {
            let mut options = OpenOptions::new();
            options.read(true).write(true);
            options.custom_flags(OFlags::NOCTTY.bits().cast_signed());
            options.open(name.to_str().unwrap()).unwrap()
        };
        let end = open();
        command.stdin(open()).stderr(open()).stdout(Stdio::piped());
        command.env("NO_COLOR", "1").env("TERM", "dumb");
        let child = command.spawn().unwrap();
        drop(command);
        let keys = File::from(keys);
        let mut screen = keys.try_clone().unwrap();
        let (sender, shown) = channel();
        // It ends when nobody has the other end open.
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            keys,
            end,
            shown,
            so_far: String::new(),
        }
    }

    /// Waits until this is on the screen, behind what was waited for before.
    #[track_caller]
    pub(crate) fn until(&mut self, words: &str) -> String {
        let ends = Instant::now() + BOUND;
        loop {
            if let Some(at) = self.so_far.find(words) {
                let rest = self.so_far.split_off(at + words.len());
                return std::mem::replace(&mut self.so_far, rest);
            }
            let left = ends.saturating_duration_since(Instant::now());
            match self.shown.recv_timeout(left) {
                Ok(bytes) => self.so_far.push_str(&String::from_utf8_lossy(&bytes)),
                Err(_) => panic!("{words:?} is not shown, but {:?}", self.so_far),
            }
        }
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Is what somebody types shown?
    pub(crate) fn echoes(&self) -> bool {
        let modes = tcgetattr(&self.end).unwrap().local_modes;
        modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG)
    }

    /// How it ended. What was shown stands for standard error.
    pub(crate) fn ended(mut self) -> Ended {
        let mut stdout = String::new();
        let mut pipe = self.child.stdout.take().unwrap();
        pipe.read_to_string(&mut stdout).unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        assert!(self.echoes(), "the terminal is not as it was");
        drop(self.end);
        let rest: Vec<u8> = self.shown.iter().flatten().collect();
        let stderr = self.so_far + &String::from_utf8_lossy(&rest);
        Ended {
            code,
            stdout,
            stderr,
        }
    }
}

/// A safety net, no measure.
const BOUND: Duration = Duration::from_secs(60);
