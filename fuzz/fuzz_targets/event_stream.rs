//! libFuzzer's door to [`switchboard_fuzz::event_stream`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| switchboard_fuzz::event_stream(data));
