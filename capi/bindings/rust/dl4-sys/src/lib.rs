#![doc = include_str!("../README.md")]
#![allow(non_camel_case_types)]

use std::os::raw::{c_char, c_void};

pub mod json;

include!(concat!(env!("OUT_DIR"), "/declarations.rs"));
