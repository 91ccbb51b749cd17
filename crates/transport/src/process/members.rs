//! Who is in a process group.
//!
//! A zombie is in its group until it is reaped, and signals to it succeed. So on Linux the table
//! of processes is read, which takes a few microseconds for each that there is.
//!
//! Darwin says that a group of zombies is none, or refuses to signal it. Where a system does
//! neither, everybody is waited for in vain and killed in vain, which takes time and harms nobody.

use rustix::process::Pid;
#[cfg(not(target_os = "linux"))]
use rustix::process::test_kill_process_group;

/// Everybody but the leader who is alive in it. `None` if that cannot be found out.
#[cfg(target_os = "linux")]
pub(super) fn others(group: Pid) -> Option<Vec<u32>> {
    let leader = group.as_raw_nonzero().get().cast_unsigned();
    let entries = std::fs::read_dir("/proc").ok()?.flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let others = processes.filter(|process| *process != leader && is_alive(*process, group));
    Some(others.collect())
}

/// Is it in the group, and not a zombie? Some containers have nobody who reaps orphans.
#[cfg(target_os = "linux")]
pub(super) fn is_alive(process: u32, group: Pid) -> bool {
    let stat = std::fs::read(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name in front is in parentheses and may hold anything.
    let name_end = stat.iter().rposition(|byte| *byte == b')');
    let fields = name_end.and_then(|end| stat.get(end + 2..));
    let fields = fields.and_then(|fields| str::from_utf8(fields).ok());
    // The state, the parent, the group.
    let mut fields = fields.unwrap_or_default().split(' ');
    let is_alive = !matches!(fields.next(), None | Some("Z" | "X"));
    let own_group = fields.nth(1).and_then(|field| field.parse().ok());
    is_alive && own_group == Some(group.as_raw_nonzero().get())
}

/// The leader, for anybody.
#[cfg(not(target_os = "linux"))]
pub(super) fn others(group: Pid) -> Option<Vec<u32>> {
    let leader = group.as_raw_nonzero().get().cast_unsigned();
    let somebody = test_kill_process_group(group).is_ok().then_some(leader);
    Some(somebody.into_iter().collect())
}

/// Is anybody?
#[cfg(not(target_os = "linux"))]
pub(super) fn is_alive(_process: u32, group: Pid) -> bool {
    test_kill_process_group(group).is_ok()
}
