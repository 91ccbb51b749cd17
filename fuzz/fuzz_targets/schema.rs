//! libFuzzer's door to [`switchboard_fuzz::schema`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| switchboard_fuzz::schema(data));
