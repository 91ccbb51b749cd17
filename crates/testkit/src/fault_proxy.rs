//! Stands between two peers and spoils the way of their bytes, never the bytes themselves.
//!
//! What is harmless by the rules of TCP and of pipes ([`Manner`]) must not be noticed by anybody:
//! delays, writes of single bytes, a slow reader, a pause. What is not ([`TcpProxy::cut`]) is done
//! on request, so that whoever counts knows to whom it was done.
//!
//! Plain threads and the standard library only, as `faulty`: two for each connection.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::dice::Dice;

/// How bytes go through, in one direction of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// As they come.
    Plain,
    /// Each piece later, by less than this many milliseconds.
    Delayed(u64),
    /// The first bytes of each piece one by one.
    SingleBytes,
    /// In pieces of a few hundred bytes, with pauses: as read by somebody slow.
    Slow,
    /// As they come, after a pause of this many milliseconds.
    Stalled(u64),
}

impl Manner {
    /// One by chance. Most connections are plain.
    pub const fn rolled(dice: &mut Dice) -> Self {
        match dice.roll(10) {
            0 => Self::Delayed(1 + dice.roll(20)),
            1 => Self::SingleBytes,
            2 => Self::Slow,
            3 => Self::Stalled(1 + dice.roll(300)),
            _ => Self::Plain,
        }
    }
}

/// Moves bytes from one peer to the other until there are no more.
///
/// # Errors
/// Reading or writing failed.
pub fn pump(
    mut from: impl Read,
    mut to: impl Write,
    manner: Manner,
    mut dice: Dice,
) -> io::Result<()> {
    let size = if manner == Manner::Slow { SIP } else { GULP };
    let mut buffer = vec![0; size];
    if let Manner::Stalled(pause) = manner {
        thread::sleep(Duration::from_millis(pause));
    }
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let mut piece = buffer.get(..count).unwrap_or_default();
        match manner {
            Manner::Delayed(most) => thread::sleep(Duration::from_millis(dice.roll(most.max(1)))),
            Manner::Slow => thread::sleep(Duration::from_micros(dice.roll(500))),
            Manner::SingleBytes => {
                let singles = piece.len().min(MOST_SINGLES);
                let (first, rest) = piece.split_at(singles);
                for byte in first.chunks(1) {
                    to.write_all(byte)?;
                    to.flush()?;
                }
                piece = rest;
            }
            Manner::Plain | Manner::Stalled(_) => {}
        }
        to.write_all(piece)?;
        to.flush()?;
    }
}

/// How connections are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Both directions, for both peers.
    Both,
    /// Whoever connected hears that no more will come. What it sends still arrives.
    Half,
}

/// A proxy before an address of this machine. It ends when it is dropped.
#[derive(Debug)]
pub struct TcpProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    target: SocketAddr,
    is_over: AtomicBool,
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    dice: Dice,
    last: u64,
    pairs: Vec<Pair>,
}

/// The two halves of a connection.
#[derive(Debug)]
struct Pair {
    number: u64,
    near: TcpStream,
    far: TcpStream,
}

impl TcpProxy {
    /// Begins to listen, on a port of its own.
    ///
    /// # Errors
    /// There is no port.
    pub fn start(target: SocketAddr, seed: u64) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            target,
            is_over: AtomicBool::new(false),
            open: Mutex::new(Open {
                dice: Dice::new(seed),
                last: 0,
                pairs: Vec::new(),
            }),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || accept(&listener, &accepting));
        Ok(Self { address, shared })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections go through it now.
    pub fn connections(&self) -> usize {
        self.shared.open().pairs.len()
    }

    /// Cuts all connections that there are. When it returns, both peers can see it. How many
    /// there were.
    pub fn cut(&self, how: Cut) -> usize {
        let open = self.shared.open();
        for pair in &open.pairs {
            // It may have ended by itself.
            let _ = match how {
                Cut::Both => {
                    let _ = pair.far.shutdown(Shutdown::Both);
                    pair.near.shutdown(Shutdown::Both)
                }
                Cut::Half => pair.near.shutdown(Shutdown::Write),
            };
        }
        open.pairs.len()
    }
}

impl Drop for TcpProxy {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        self.cut(Cut::Both);
        // Wakes whoever accepts.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for near in listener.incoming() {
        if shared.is_over.load(Ordering::Relaxed) {
            return;
        }
        // If nobody is there, whoever connected sees an end at once.
        if let Ok(near) = near
            && let Ok(far) = TcpStream::connect(shared.target)
        {
            // A connection that ends while it is made is one that was cut.
            let _ = join(near, far, shared);
        }
    }
}

/// Lets the bytes of a connection through.
fn join(near: TcpStream, far: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let ways = [
        (near.try_clone()?, far.try_clone()?),
        (far.try_clone()?, near.try_clone()?),
    ];
    let mut open = shared.open();
    open.last += 1;
    let number = open.last;
    open.pairs.push(Pair { number, near, far });
    let rolls = [0, 1].map(|_| (Manner::rolled(&mut open.dice), open.dice.roll(u64::MAX)));
    drop(open);
    let both = Arc::new(AtomicBool::new(false));
    for ((from, to), (manner, seed)) in ways.into_iter().zip(rolls) {
        let (shared, both) = (Arc::clone(shared), Arc::clone(&both));
        thread::spawn(move || {
            let ended = pump(&from, &to, manner, Dice::new(seed));
            // An end is passed on as such; a failure ends both directions.
            let _ = match ended {
                Ok(()) => to.shutdown(Shutdown::Write),
                Err(_) => {
                    let _ = from.shutdown(Shutdown::Both);
                    to.shutdown(Shutdown::Both)
                }
            };
            if both.swap(true, Ordering::AcqRel) {
                shared.open().pairs.retain(|pair| pair.number != number);
            }
        });
    }
    Ok(())
}

const GULP: usize = 64 * 1024;
const SIP: usize = 512;
const MOST_SINGLES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers with what it is sent, reversed piece by piece.
    fn mirror() -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                thread::spawn(move || pump(&stream, &stream, Manner::Plain, Dice::default()));
            }
        });
        address
    }

    #[test]
    fn every_manner_leaves_the_bytes_as_they_are() {
        let text: Vec<u8> = (0..=255).cycle().take(3_000).collect();
        for manner in [
            Manner::Plain,
            Manner::Delayed(2),
            Manner::SingleBytes,
            Manner::Slow,
            Manner::Stalled(1),
        ] {
            let mut out = Vec::new();
            pump(&*text, &mut out, manner, Dice::default()).unwrap();
            assert_eq!(out, text, "{manner:?}");
        }
    }

    #[test]
    fn what_is_cut_is_seen_at_once_and_the_next_connection_is_whole() {
        let proxy = TcpProxy::start(mirror(), 1).unwrap();
        let mut stream = TcpStream::connect(proxy.address()).unwrap();
        let mut echoed = [0; 4];
        stream.write_all(b"ping").unwrap();
        stream.read_exact(&mut echoed).unwrap();
        assert_eq!(&echoed, b"ping");
        assert_eq!(proxy.cut(Cut::Both), 1);
        assert_eq!(stream.read(&mut echoed).unwrap_or(0), 0);
        let mut stream = TcpStream::connect(proxy.address()).unwrap();
        stream.write_all(b"pong").unwrap();
        stream.read_exact(&mut echoed).unwrap();
        assert_eq!(&echoed, b"pong");
        assert_eq!(proxy.cut(Cut::Half), 1);
        assert_eq!(stream.read(&mut echoed).unwrap(), 0);
    }
}
