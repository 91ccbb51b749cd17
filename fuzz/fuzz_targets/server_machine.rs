//! libFuzzer's door to [`switchboard_fuzz::server_machine`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| switchboard_fuzz::server_machine(data));
