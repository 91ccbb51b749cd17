//! The limit on stdio: one read, answers by byte search, one write for all whole lines.
//!
//! `limit-stdio --pong` sends every line back as it came: the raw pipe.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;

use memchr::{memchr_iter, memrchr};
use switchboard_bench::Copier;

fn main() -> io::Result<()> {
    let pong = std::env::args().nth(1).as_deref() == Some("--pong");
    // Without the buffers and locks of the standard streams.
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let copier = Copier::default();
    let mut buffer = vec![0; 64 * 1024];
    let mut filled = 0;
    let mut answers = Vec::with_capacity(64 * 1024);
    loop {
        if filled == buffer.len() {
            buffer.resize(2 * buffer.len(), 0);
        }
        let count = input.read(&mut buffer[filled..])?;
        if count == 0 {
            return Ok(());
        }
        // Only what is new can hold the end of a line.
        let Some(end) = memrchr(b'\n', &buffer[filled..filled + count]) else {
            filled += count;
            continue;
        };
        let whole = filled + end + 1;
        filled += count;
        if pong {
            answers.extend_from_slice(&buffer[..whole]);
        } else {
            let mut start = 0;
            for end in memchr_iter(b'\n', &buffer[..whole]) {
                if copier.answer(&buffer[start..end], &mut answers) {
                    answers.push(b'\n');
                }
                start = end + 1;
            }
        }
        output.write_all(&answers)?;
        answers.clear();
        buffer.copy_within(whole..filled, 0);
        filled -= whole;
    }
}
