//! libFuzzer's door to [`switchboard_fuzz::seal`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| switchboard_fuzz::seal(data));
