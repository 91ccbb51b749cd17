//! A stream that only blocks, on a thread of its own.
//!
//! One buffer goes back and forth between the thread and the task, so nothing piles up in either
//! direction: the thread reads only when it was asked to, and a writer waits until its last bytes
//! are written. When the task lets go, the thread ends after the call that it is in; nobody waits
//! for it.

use std::io::{self, IoSlice, Read, Write};
use std::pin::Pin;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;

/// A blocking reader.
#[derive(Debug)]
pub(super) struct Reader {
    buffer: Lent<usize>,
    /// What was read and not yet taken is `buffer[start..end]`.
    start: usize,
    end: usize,
}

impl Reader {
    pub(super) fn new(mut stream: impl Read + Send + 'static) -> io::Result<Self> {
        let buffer = Lent::new(
            "stdin",
            vec![0; SIZE],
            move |buffer: &mut Vec<u8>, is_wanted| {
                patiently(is_wanted, || stream.read(buffer.as_mut_slice()))
            },
        )?;
        Ok(Self {
            buffer,
            start: 0,
            end: 0,
        })
    }
}

impl AsyncRead for Reader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        target: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.start == self.end {
            if self.buffer.is_here() {
                self.buffer.lend()?;
            }
            let count = ready!(self.buffer.poll_return(cx))?;
            (self.start, self.end) = (0, count.unwrap_or_default());
        }
        let end = self.end.min(self.start + target.remaining());
        if let Some(bytes) = self.buffer.as_slice().get(self.start..end) {
            target.put_slice(bytes);
            self.start = end;
        }
        Poll::Ready(Ok(()))
    }
}

/// A blocking writer.
#[derive(Debug)]
pub(super) struct Writer(Lent<()>);

impl Writer {
    pub(super) fn new(mut stream: impl Write + Send + 'static) -> io::Result<Self> {
        Lent::new(
            "stdout",
            Vec::new(),
            move |buffer: &mut Vec<u8>, _is_wanted| {
                let result = write_all(&mut stream, buffer);
                buffer.clear();
                result
            },
        )
        .map(Self)
    }
}

impl AsyncWrite for Writer {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    /// An error of these bytes is told by the next call.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.0.poll_return(cx))?;
        let Some(buffer) = &mut self.0.buffer else {
            return Poll::Ready(Err(gone()));
        };
        for slice in slices {
            let room = SIZE.saturating_sub(buffer.len()).min(slice.len());
            buffer.extend_from_slice(slice.get(..room).unwrap_or_default());
        }
        let count = buffer.len();
        if count > 0 {
            self.0.lend()?;
        }
        Poll::Ready(Ok(count))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_return(cx).map_ok(drop)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

/// A buffer that is either here or with the thread.
#[derive(Debug)]
struct Lent<T> {
    buffer: Option<Vec<u8>>,
    there: SyncSender<Vec<u8>>,
    back: mpsc::Receiver<(Vec<u8>, io::Result<T>)>,
}

/// Does anyone still want what the thread does?
type IsWanted<'a> = &'a dyn Fn() -> bool;

impl<T: Send + 'static> Lent<T> {
    fn new(
        name: &str,
        buffer: Vec<u8>,
        mut work: impl FnMut(&mut Vec<u8>, IsWanted<'_>) -> io::Result<T> + Send + 'static,
    ) -> io::Result<Self> {
        let (there, wanted): (_, Receiver<Vec<u8>>) = sync_channel(1);
        let (done, back) = mpsc::channel(1);
        let run = move || {
            while let Ok(mut buffer) = wanted.recv() {
                let result = work(&mut buffer, &|| !done.is_closed());
                if done.blocking_send((buffer, result)).is_err() {
                    break;
                }
            }
        };
        std::thread::Builder::new().name(name.into()).spawn(run)?;
        Ok(Self {
            buffer: Some(buffer),
            there,
            back,
        })
    }

    const fn is_here(&self) -> bool {
        self.buffer.is_some()
    }

    fn as_slice(&self) -> &[u8] {
        self.buffer.as_deref().unwrap_or_default()
    }

    /// Gives the buffer to the thread.
    fn lend(&mut self) -> io::Result<()> {
        let buffer = self.buffer.take().ok_or_else(gone)?;
        // There is one buffer and room for one.
        self.there.try_send(buffer).map_err(|_| gone())
    }

    /// Waits for the buffer and for what the thread says of it; `None` if it was here already.
    fn poll_return(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<T>>> {
        if self.is_here() {
            return Poll::Ready(Ok(None));
        }
        let (buffer, result) = ready!(self.back.poll_recv(cx)).ok_or_else(gone)?;
        self.buffer = Some(buffer);
        Poll::Ready(result.map(Some))
    }
}

fn write_all(stream: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        // Taken is taken: it is written even when the task is gone.
        let count = patiently(&|| true, || stream.write(bytes))?;
        if count == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = bytes.get(count..).unwrap_or_default();
    }
    patiently(&|| true, || stream.flush())
}

/// Tries until the stream has answered.
///
/// Another process that has the same terminal or pipe may have made it non-blocking. Then
/// nothing but trying tells when it is ready.
fn patiently<T>(
    is_wanted: IsWanted<'_>,
    mut attempt: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    let mut pause = SHORTEST_PAUSE;
    loop {
        match attempt() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && is_wanted() => {
                std::thread::sleep(pause);
                pause = LONGEST_PAUSE.min(pause * 2);
            }
            answer => return answer,
        }
    }
}

/// The thread has panicked, which it does only if the stream does.
fn gone() -> io::Error {
    io::Error::new(
        io::ErrorKind::BrokenPipe,
        "the thread of the stream has ended",
    )
}

/// What is read or written at once.
const SIZE: usize = 64 * 1024;

// Shorter than anyone notices at a terminal, longer than would keep a processor busy.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(16);

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Sender;
    use std::sync::{Arc, Mutex};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// Answers reads and writes from a list: `None` is "not now".
    struct Script(Vec<Option<&'static [u8]>>);

    impl Read for Script {
        fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                return Ok(0);
            }
            let bytes = self.0.remove(0).ok_or(io::ErrorKind::WouldBlock)?;
            target[..bytes.len()].copy_from_slice(bytes);
            Ok(bytes.len())
        }
    }

    /// Takes three bytes at a time, and none on every other call.
    struct Reluctant(Arc<Mutex<Vec<u8>>>, bool);

    impl Write for Reluctant {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let count = bytes.len().min(3);
            self.0.lock().unwrap().extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn bytes_come_in_order_and_then_the_end() {
        let mut reader = Reader::new(Script(vec![Some(b"ab"), None, None, Some(b"cde")])).unwrap();
        let mut all = Vec::new();
        reader.read_to_end(&mut all).await.unwrap();
        assert_eq!(all, b"abcde");
        assert_eq!(reader.read(&mut [0; 8]).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn a_small_target_takes_what_fits() {
        let mut reader = Reader::new(Script(vec![Some(b"abc")])).unwrap();
        let mut target = [0; 2];
        assert_eq!(reader.read(&mut target).await.unwrap(), 2);
        assert_eq!(reader.read(&mut target).await.unwrap(), 1);
        assert_eq!(&target, b"cb");
    }

    #[tokio::test]
    async fn all_is_written_when_the_flush_is_done() {
        let written = Arc::new(Mutex::new(Vec::new()));
        let mut writer = Writer::new(Reluctant(Arc::clone(&written), false)).unwrap();
        writer.write_all(b"abcdefg").await.unwrap();
        writer.write_all(b"hij").await.unwrap();
        writer.flush().await.unwrap();
        assert_eq!(*written.lock().unwrap(), b"abcdefghij");
    }

    #[tokio::test]
    async fn an_error_of_a_write_is_told_by_the_flush() {
        struct Broken;
        impl Write for Broken {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut writer = Writer::new(Broken).unwrap();
        writer.write_all(b"a").await.unwrap();
        let error = writer.flush().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }

    #[tokio::test]
    async fn nothing_is_read_before_someone_asks() {
        struct Counting(Sender<()>);
        impl Read for Counting {
            fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
                self.0.send(()).unwrap();
                target[0] = b'a';
                Ok(1)
            }
        }
        let (sender, reads) = std::sync::mpsc::channel();
        let mut reader = Reader::new(Counting(sender)).unwrap();
        assert!(reads.try_recv().is_err());
        assert_eq!(reader.read(&mut [0; 8]).await.unwrap(), 1);
        assert_eq!(reads.try_iter().count(), 1);
        drop(reader);
        // The thread lets go of the stream, and with it of the sender.
        assert!(reads.recv().is_err());
    }

    #[tokio::test]
    async fn a_thread_that_waits_for_a_busy_stream_ends_with_its_reader() {
        struct Busy(Sender<()>);
        impl Read for Busy {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                self.0.send(()).unwrap();
                Err(io::ErrorKind::WouldBlock.into())
            }
        }
        let (sender, reads) = std::sync::mpsc::channel();
        let mut reader = Reader::new(Busy(sender)).unwrap();
        let mut target = [0; 8];
        tokio::select! {
            biased;
            _ = reader.read(&mut target) => panic!("nothing has come"),
            () = std::future::ready(()) => {}
        }
        drop(reader);
        while reads.recv().is_ok() {}
    }
}
