//! How are messages moved on stdin and stdout, without a server around them?
//!
//! Each request is answered with its own parameters, until the end of input. With a number as
//! argument it stops after so many requests, though stdin is still open. With `--chatter` it
//! first writes 256 KiB to stderr, more than a pipe holds.
//!
//! ```sh
//! echo '{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":1}}' | cargo run -q -p switchboard-transport --example stdio_echo
//! ```

use std::future::poll_fn;
use std::io::{self, Write};

use switchboard_protocol::Payload;
use switchboard_protocol::jsonrpc::{Frame, Limits, Message, Response};
use switchboard_transport::lines::Lines;
use switchboard_transport::stdio;

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let argument = std::env::args().nth(1);
    let mut left = argument
        .as_deref()
        .and_then(|argument| argument.parse().ok())
        .unwrap_or(u64::MAX);
    let limits = Limits::default();
    let mut lines = Lines::new(stdio::stdin()?, stdio::stdout()?, limits);
    if argument.as_deref() == Some("--chatter") {
        io::stderr().write_all(&vec![b'#'; 256 * 1024])?;
        io::stderr().write_all(b"\n")?;
    }
    let mut is_open = true;
    while left > 0 {
        let Some(line) = lines.finish_line() else {
            if !is_open {
                break;
            }
            // All that came together is answered: one write, then wait for more.
            poll_fn(|cx| lines.poll_flush(cx)).await?;
            is_open = poll_fn(|cx| lines.poll_read(cx)).await?;
            continue;
        };
        if let Ok(Frame::Single(Message::Request(request))) = line.read(&limits) {
            let params = request.params.unwrap_or_else(Payload::empty);
            lines.send(&Response::new(request.id, Ok(params)).into());
            left -= 1;
        }
    }
    poll_fn(|cx| lines.poll_flush(cx)).await
}
