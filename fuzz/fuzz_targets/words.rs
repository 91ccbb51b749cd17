//! libFuzzer's door to [`switchboard_fuzz::words`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| switchboard_fuzz::words(data));
