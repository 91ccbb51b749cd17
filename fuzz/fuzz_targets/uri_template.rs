//! libFuzzer's door to [`switchboard_fuzz::uri_template`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| switchboard_fuzz::uri_template(data));
