//! One login, used by many processes at once.
//!
//! A test starts this test binary again; [`a_process_with_a_login`] is what runs there. The
//! authority and the server are in the process of the test.

use std::env;
use std::ffi::OsStr;
use std::sync::Arc;

use switchboard_auth::{FileStore, Store};

use crate::authority::{Authority, Proofs, Protected};
use crate::child::{Child, expect_all, say, tell_all};
use crate::flow::{LOGIN, Program, expire, seen, seen_after, with_person};
use crate::folder::Folder;

/// An authority, a server, and a folder with a login.
struct Scene {
    authority: Authority,
    server: Protected,
    folder: Folder,
    store: Arc<dyn Store>,
}

impl Scene {
    async fn new(name: &str) -> Self {
        Self::with(name, Authority::start().await, Proofs::Taken).await
    }

    async fn with(name: &str, authority: Authority, proofs: Proofs) -> Self {
        let server = Protected::start_with(&authority, |knobs| knobs.proofs = proofs).await;
        let folder = Folder::new(name);
        let store: Arc<dyn Store> = Arc::new(folder.store());
        Self {
            authority,
            server,
            folder,
            store,
        }
    }

    async fn log_in(&self) {
        let program = Program::start(&self.server, &self.store, with_person);
        program.works().await;
        assert_eq!(seen(&self.authority), LOGIN);
    }

    fn processes(&self, number: usize, task: &str) -> Vec<Child> {
        let (store, url) = (self.folder.store(), self.server.url());
        let variables = [
            (TASK, OsStr::new(task)),
            (SERVER, OsStr::new(&url)),
            (FOLDER, store.folder().as_os_str()),
        ];
        let test = "many_processes::a_process_with_a_login";
        (0..number)
            .map(|_| Child::start(test, &variables))
            .collect()
    }

    /// Has all of them do their task at once, and waits until they have done it.
    async fn run(&self, processes: &mut [Child]) {
        expect_all(processes, "ready").await;
        tell_all(processes, "go").await;
        expect_all(processes, "done").await;
    }
}

#[tokio::test]
async fn of_ten_processes_with_one_token_that_ended_one_renews_it() {
    let scene = Scene::new("ten-renew").await;
    scene.log_in().await;
    expire(&scene.store, &scene.server).await;
    let before = scene.server.count();
    let mut processes = scene.processes(10, "call");
    scene.run(&mut processes).await;
    assert_eq!(scene.authority.count("/token"), 2);
    assert_eq!(scene.authority.count("/authorize"), 1);
    assert_eq!(scene.server.count(), before + 10, "none was refused");
}

#[tokio::test]
async fn of_ten_processes_with_one_token_that_is_refused_one_renews_it() {
    let authority = Authority::start_with(|knobs| knobs.expires_in = None).await;
    let scene = Scene::with("ten-refused", authority, Proofs::Taken).await;
    scene.log_in().await;
    scene.authority.expire_access();
    let mut processes = scene.processes(10, "call");
    scene.run(&mut processes).await;
    assert_eq!(scene.authority.count("/token"), 2);
    // And once more, with what each of them has in memory.
    scene.authority.expire_access();
    tell_all(&mut processes, "go").await;
    expect_all(&mut processes, "done").await;
    assert_eq!(scene.authority.count("/token"), 3);
    assert_eq!(scene.authority.count("/authorize"), 1);
}

#[tokio::test]
async fn ten_processes_share_the_key_that_their_token_is_bound_to() {
    let authority = Authority::start_with(|knobs| knobs.demands_nonce = true).await;
    let scene = Scene::with("ten-proofs", authority, Proofs::Needed).await;
    let program = Program::start(&scene.server, &scene.store, with_person);
    program.works().await;
    expire(&scene.store, &scene.server).await;
    let before = scene.authority.count("/token");
    let mut processes = scene.processes(10, "call");
    scene.run(&mut processes).await;
    assert_eq!(
        scene.authority.count("/token"),
        before + 2,
        "one renewal, which is told a nonce"
    );
}

#[tokio::test]
async fn of_ten_processes_that_need_a_login_one_asks_for_it() {
    for task in ["call-with-person", "login"] {
        let scene = Scene::new(task).await;
        let mut processes = scene.processes(10, task);
        expect_all(&mut processes, "ready").await;
        scene.authority.site.hold("/authorize");
        tell_all(&mut processes, "go").await;
        // All have asked the server, and one has sent its person away, before they come back.
        scene.server.site.reached("/mcp", 10).await;
        scene.authority.site.reached("/authorize", 1).await;
        scene.authority.site.release("/authorize");
        expect_all(&mut processes, "done").await;
        assert_eq!(scene.authority.count("/register"), 1, "{task}");
        assert_eq!(scene.authority.count("/authorize"), 1, "{task}");
        assert_eq!(scene.authority.count("/token"), 1, "{task}");
    }
}

#[tokio::test]
async fn a_process_that_is_killed_while_it_renews_holds_up_nobody() {
    let scene = Scene::new("killed-renew").await;
    scene.log_in().await;
    // What the one that is killed sent may be sent again.
    let stays = crate::authority::Refresh::Stays;
    scene.authority.change(|knobs| knobs.refresh = stays);
    expire(&scene.store, &scene.server).await;
    scene.authority.site.hold("/token");
    let mut killed = scene.processes(1, "call").pop().unwrap();
    killed.expect("ready").await;
    killed.tell("go").await;
    scene.authority.site.reached("/token", 2).await;
    let mut waiting = scene.processes(2, "call");
    expect_all(&mut waiting, "ready").await;
    tell_all(&mut waiting, "go").await;
    killed.kill().await;
    scene.authority.site.release("/token");
    expect_all(&mut waiting, "done").await;
    assert_eq!(scene.authority.count("/token"), 3);
    assert_eq!(
        seen_after(&scene.authority, 4).matches("authorize").count(),
        0
    );
}

/// Not a test by itself: what the others start.
#[tokio::test]
async fn a_process_with_a_login() {
    let (Ok(task), Ok(server), Some(folder)) =
        (env::var(TASK), env::var(SERVER), env::var_os(FOLDER))
    else {
        return;
    };
    let store: Arc<dyn Store> = Arc::new(FileStore::new(folder));
    let program = Program::at(&server, &store, |set| match task.as_str() {
        "call" => set,
        _ => with_person(set),
    });
    say("ready");
    // At the end of the input whoever started us is gone, and so are we.
    for line in std::io::stdin().lines() {
        assert_eq!(line.unwrap(), "go");
        match task.as_str() {
            "call" | "call-with-person" => program.works().await,
            "login" => {
                program.login.login().await.unwrap();
                program.works().await;
            }
            task => panic!("there is no task {task}"),
        }
        say("done");
    }
}

const TASK: &str = "SWITCHBOARD_LOGIN_TASK";

const SERVER: &str = "SWITCHBOARD_LOGIN_SERVER";

const FOLDER: &str = "SWITCHBOARD_LOGIN_FOLDER";
