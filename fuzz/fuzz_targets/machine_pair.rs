//! libFuzzer's door to [`switchboard_fuzz::machine_pair`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| switchboard_fuzz::machine_pair(data));
