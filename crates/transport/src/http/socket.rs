//! What is asked of the sockets of both sides. All of it works without, too.

use socket2::SockRef;
use tokio::net::TcpStream;

/// Before anything is read from it.
pub(super) fn prepare(socket: &TcpStream) {
    // Without it small messages wait for the peer's acknowledgement.
    let _ = socket.set_nodelay(true);
    let peer = socket.peer_addr();
    if peer.is_ok_and(|peer| peer.ip().to_canonical().is_loopback()) {
        let _ = SockRef::from(socket).set_recv_buffer_size(UNREAD);
    }
}

/// What the system holds of what a peer on this machine has sent and nobody has read. On Linux that may be 6 MiB
/// or more of each connection, and whoever gives up a body that never ends gives all of that back in one step, of
/// milliseconds. Of peers elsewhere it may hold what it likes: it is what keeps a long way busy.
const UNREAD: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn what_is_unread_of_a_peer_on_this_machine_is_bounded() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).await;
        let (near, (far, _)) = (near.unwrap(), listener.accept().await.unwrap());
        // What the system makes of such a wish.
        let size = |socket: &TcpStream| SockRef::from(socket).recv_buffer_size().unwrap();
        SockRef::from(&far).set_recv_buffer_size(UNREAD).unwrap();
        SockRef::from(&near)
            .set_recv_buffer_size(UNREAD / 64)
            .unwrap();
        assert_ne!(size(&near), size(&far));
        prepare(&near);
        assert_eq!(size(&near), size(&far));
        assert!(near.nodelay().unwrap());
    }
}
