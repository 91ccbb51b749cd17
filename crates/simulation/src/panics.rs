//! Panics of a run: a runtime catches those of its tasks, and nobody would hear of them.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

/// Does something that is all done in this thread. What has panicked meanwhile, in any of its tasks.
pub(crate) fn noticed<T>(body: impl FnOnce() -> T) -> (Option<T>, Vec<String>) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let is_ours = NOTED.with_borrow_mut(|noted| {
                if let Some(noted) = noted {
                    noted.push(words(info));
                }
                noted.is_some()
            });
            if !is_ours {
                before(info);
            }
        }));
    });
    NOTED.set(Some(Vec::new()));
    let done = panic::catch_unwind(AssertUnwindSafe(body)).ok();
    (done, NOTED.take().unwrap_or_default())
}

fn words(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let reason = text.unwrap_or("something");
    match info.location() {
        Some(place) => format!("a panic at {place}: {reason}"),
        None => format!("a panic: {reason}"),
    }
}

thread_local! {
    /// None if nobody wants to know.
    static NOTED: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_panics_in_a_task_is_noticed() {
        let (done, panics) = noticed(|| {
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.build().unwrap();
            runtime.block_on(async {
                let task = tokio::spawn(async { panic!("no") });
                task.await.is_err()
            })
        });
        assert_eq!(done, Some(true));
        assert_eq!(panics.len(), 1, "{panics:?}");
        assert!(panics[0].ends_with(": no"), "{panics:?}");
        let (done, panics) = noticed(|| -> u32 { panic!("never") });
        assert_eq!((done, panics.len()), (None, 1));
    }
}
