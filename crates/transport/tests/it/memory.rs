//! A pipe within a process.

use switchboard_transport::memory;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test]
async fn what_is_written_to_one_end_is_read_from_the_other() {
    let (mut near, mut far) = memory::pair();
    near.write_all(b"there").await.unwrap();
    far.write_all(b"back").await.unwrap();
    let (mut there, mut back) = ([0; 5], [0; 4]);
    far.read_exact(&mut there).await.unwrap();
    near.read_exact(&mut back).await.unwrap();
    assert_eq!((&there, &back), (b"there", b"back"));
}

#[tokio::test]
async fn the_other_end_reads_what_is_left_and_then_the_end() {
    let (mut near, mut far) = memory::pair();
    near.write_all(b"last").await.unwrap();
    drop(near);
    let mut rest = Vec::new();
    far.read_to_end(&mut rest).await.unwrap();
    assert_eq!(rest, b"last");
    assert!(far.write_all(b"nobody").await.is_err());
}
