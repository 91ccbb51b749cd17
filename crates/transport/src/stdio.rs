//! The standard streams without blocking.
//!
//! Pipes and sockets are what a host gives to its servers (Node gives sockets), and the system
//! can tell when those are ready. It cannot for terminals and files, and not on Windows: these
//! are read and written by a thread of their own. No pool of the runtime has such a thread, so
//! that a read nobody answers never delays the end of the process.
//!
//! Messages in the bytes are found by [`lines`](crate::lines). That nothing else is printed to
//! stdout is the part of whoever writes the program.
//!
//! # Who else has the stream
//! Not to block is a property of the open stream and not of a descriptor: whoever shares the
//! stream gets it too. Two consequences are worth knowing.
//! - With `2>&1` stderr would not block either and `eprintln!` would panic on a full pipe. A
//!   stream that seems to be the same as stderr is therefore left as it is and given a thread.
//! - A pipe stays non-blocking when this process ends. That matters to a shell script that goes
//!   on to use the same pipe, and is not undone here: who had set it cannot be told.
//!
//! Specification: basic/transports, stdio.

mod thread;
#[cfg(unix)]
pub(crate) mod wide;

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
#[cfg(unix)]
use tokio::net::{UnixStream, unix::pipe};

#[cfg(unix)]
use wide::Wide;

/// The standard input of the process.
///
/// Ask for it once: two readers would share the bytes between them. What `std::io::stdin` has
/// read ahead is not seen.
///
/// # Errors
/// When the stream is closed or not readable, when no thread can be started, or outside of a
/// runtime.
///
/// # Panics
/// When the runtime is built without I/O.
pub fn stdin() -> io::Result<Stdin> {
    tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
    #[cfg(unix)]
    let input = unix::input(&io::stdin())?;
    // Not a file of the same handle: only the library's own reads a console as UTF-8.
    #[cfg(not(unix))]
    let input = Input::Thread(thread::Reader::new(io::stdin())?);
    Ok(Stdin(input))
}

/// The standard output of the process.
///
/// Flush it before the process ends: what a thread has still in hand is lost otherwise.
///
/// # Errors
/// When the stream is closed or not writable, when no thread can be started, or outside of a
/// runtime.
///
/// # Panics
/// When the runtime is built without I/O.
pub fn stdout() -> io::Result<Stdout> {
    tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
    #[cfg(unix)]
    let output = unix::output(&io::stdout())?;
    #[cfg(not(unix))]
    let output = Output::Thread(thread::Writer::new(io::stdout())?);
    Ok(Stdout(output))
}

/// The standard input, made by [`stdin`].
#[derive(Debug)]
pub struct Stdin(Input);

/// The standard output, made by [`stdout`].
#[derive(Debug)]
pub struct Stdout(Output);

#[derive(Debug)]
enum Input {
    #[cfg(unix)]
    Pipe(Wide<pipe::Receiver>),
    #[cfg(unix)]
    Socket(UnixStream),
    Thread(thread::Reader),
}

#[derive(Debug)]
enum Output {
    #[cfg(unix)]
    Pipe(Wide<pipe::Sender>),
    #[cfg(unix)]
    Socket(UnixStream),
    Thread(thread::Writer),
}

/// Calls the same method on whatever the stream is.
macro_rules! delegate {
    ($kind:ident, $self:ident.$method:ident($($argument:expr),*)) => {
        match &mut $self.get_mut().0 {
            #[cfg(unix)]
            $kind::Pipe(pipe) => Pin::new(pipe).$method($($argument),*),
            #[cfg(unix)]
            $kind::Socket(socket) => Pin::new(socket).$method($($argument),*),
            $kind::Thread(thread) => Pin::new(thread).$method($($argument),*),
        }
    };
}

impl AsyncRead for Stdin {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        delegate!(Input, self.poll_read(cx, buffer))
    }
}

impl AsyncWrite for Stdout {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        delegate!(Output, self.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        delegate!(Output, self.poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        delegate!(Output, self.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        delegate!(Output, self.poll_shutdown(cx))
    }
}

#[cfg(unix)]
mod unix {
    //! What a descriptor stands for.

    use std::fs::{File, Metadata};
    use std::io;
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::fs::{FileTypeExt, MetadataExt};

    use tokio::net::{UnixStream, unix::pipe};

    use super::{Input, Output, Wide, thread};

    pub(super) fn input(stream: &impl AsFd) -> io::Result<Input> {
        let file = duplicate(stream)?;
        Ok(match Kind::of(&file)? {
            Kind::Pipe => Input::Pipe(Wide::new(pipe::Receiver::from_owned_fd(file.into())?)),
            Kind::Socket => Input::Socket(socket(file)?),
            Kind::Other => Input::Thread(thread::Reader::new(file)?),
        })
    }

    pub(super) fn output(stream: &impl AsFd) -> io::Result<Output> {
        let file = duplicate(stream)?;
        Ok(match Kind::of(&file)? {
            Kind::Pipe => Output::Pipe(Wide::new(pipe::Sender::from_owned_fd(file.into())?)),
            Kind::Socket => Output::Socket(socket(file)?),
            Kind::Other => Output::Thread(thread::Writer::new(file)?),
        })
    }

    enum Kind {
        Pipe,
        Socket,
        Other,
    }

    impl Kind {
        fn of(file: &File) -> io::Result<Self> {
            let metadata = file.metadata()?;
            let file_type = metadata.file_type();
            Ok(if is_stderr(&metadata) {
                Self::Other
            } else if file_type.is_fifo() {
                Self::Pipe
            } else if file_type.is_socket() {
                Self::Socket
            } else {
                Self::Other
            })
        }
    }

    /// May it be the same open stream as stderr? A fifo that was opened twice looks the same and
    /// gets a thread that it does not need.
    fn is_stderr(metadata: &Metadata) -> bool {
        duplicate(&io::stderr())
            .and_then(|stderr| stderr.metadata())
            .is_ok_and(|stderr| stderr.dev() == metadata.dev() && stderr.ino() == metadata.ino())
    }

    /// A descriptor of our own, so that the one of the process stays open.
    fn duplicate(stream: &impl AsFd) -> io::Result<File> {
        stream.as_fd().try_clone_to_owned().map(File::from)
    }

    /// Any stream socket reads and writes alike, of whatever family.
    fn socket(file: File) -> io::Result<UnixStream> {
        let socket = std::os::unix::net::UnixStream::from(OwnedFd::from(file));
        socket.set_nonblocking(true)?;
        UnixStream::from_std(socket)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[tokio::test]
        async fn a_pipe_is_waited_for_by_the_system() {
            let (reader, writer) = io::pipe().unwrap();
            assert!(matches!(input(&reader), Ok(Input::Pipe(_))));
            assert!(matches!(output(&writer), Ok(Output::Pipe(_))));
        }

        #[tokio::test]
        async fn a_socket_is_waited_for_by_the_system() {
            let (near, _far) = std::os::unix::net::UnixStream::pair().unwrap();
            assert!(matches!(input(&near), Ok(Input::Socket(_))));
            assert!(matches!(output(&near), Ok(Output::Socket(_))));
        }

        #[tokio::test]
        async fn anything_else_gets_a_thread() {
            let device = File::options()
                .read(true)
                .write(true)
                .open("/dev/null")
                .unwrap();
            assert!(matches!(input(&device), Ok(Input::Thread(_))));
            assert!(matches!(output(&device), Ok(Output::Thread(_))));
        }

        #[tokio::test]
        async fn the_wrong_end_of_a_pipe_is_an_error() {
            let (reader, writer) = io::pipe().unwrap();
            assert!(input(&writer).is_err());
            assert!(output(&reader).is_err());
        }

        #[test]
        fn outside_of_a_runtime_is_an_error() {
            assert!(crate::stdio::stdin().is_err());
            assert!(crate::stdio::stdout().is_err());
        }
    }
}
