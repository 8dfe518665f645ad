//! A library of another major version is refused at first use, with both versions.

use std::fs;
use std::path::Path;
use std::process::Command;

/// A library that has every name of ours, and says that it is version 7.
fn other_library(folder: &Path) {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../dl4-sys/dl4-api.json")).unwrap();
    let api = dl4::json::Value::parse(&text).unwrap();
    let mut source = String::from("#![allow(non_snake_case)]\n");
    for f in api.get("functions").unwrap().as_array().unwrap() {
        let name = f.get("name").unwrap().as_str().unwrap();
        let body = match name {
            "dl4_version" => "-> i32 { 7_001_002 }",
            _ => "-> usize { std::process::abort() }",
        };
        source += &format!("#[no_mangle] pub extern \"C\" fn {}() {}\n", name, body);
    }
    fs::write(folder.join("other.rs"), source).unwrap();
    let soname = "libdl4.so.1";
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let made = Command::new(rustc)
        .args(["--edition=2018", "--crate-type=cdylib", "other.rs", "-o", soname])
        .arg(format!("-Clink-arg=-Wl,-soname,{}", soname))
        .current_dir(folder)
        .status()
        .unwrap();
    assert!(made.success());
}

// Run by the test below with the other library in place.
#[test]
#[ignore = "a part of refused_with_both_versions"]
fn inside() {
    let refusals = [
        dl4::Graph::new().err(),
        dl4::Context::new(()).err(),
        dl4::Tensor::zeros::<f32>(&[1]).err(),
        dl4::Model::load("file").err(),
        dl4::Cancel::new().err(),
        dl4::registry::kinds("layer").err(),
        dl4::registry::build_info().err(),
        dl4::Context::default().trim().err(),
    ];
    for e in refusals {
        let e = e.expect("a refusal");
        assert_eq!((e.code(), e.expected(), e.got()), (dl4::Code::Version, Some("1"), Some("7.1.2")), "{}", e);
        assert_eq!(e.to_string(), "this crate is made for version 1 of libdl4, found 7.1.2");
    }
}

#[test]
fn refused_with_both_versions() {
    let folder = std::env::temp_dir().join(format!("dl4-version-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    other_library(&folder);
    let out = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "inside"])
        .env("LD_LIBRARY_PATH", &folder)
        .output()
        .unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success() && text.contains("1 passed"), "{}{}", text, String::from_utf8_lossy(&out.stderr));
}
