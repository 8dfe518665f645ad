//! Declares the library from its description, dl4-api.json, and finds it.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

#[path = "src/json.rs"]
#[allow(dead_code)]
mod json;
use json::Value;

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("OUT_DIR"));
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/json.rs");
    println!("cargo:rerun-if-changed=dl4-api.json");
    let text = fs::read_to_string("dl4-api.json").expect("dl4-api.json");
    let api = Value::parse(&text).expect("dl4-api.json");
    fs::write(out.join("declarations.rs"), declarations(&api)).expect("declarations.rs");
    if env::var_os("DOCS_RS").is_none() {
        link(&out, word(&api, "soname"));
    }
}

// ---- Declarations

fn members<'a>(v: &'a Value, key: &str) -> &'a [Value] {
    v.get(key).and_then(Value::as_array).unwrap_or_else(|| panic!("dl4-api.json: no list {}", key))
}

fn word<'a>(v: &'a Value, key: &str) -> &'a str {
    v.get(key).and_then(Value::as_str).unwrap_or_else(|| panic!("dl4-api.json: no text {} in {}", key, v))
}

fn declarations(api: &Value) -> String {
    let mut to = String::new();
    let major = word(api, "soname").rsplit('.').next().expect("a version");
    writeln!(to, "/// The major version of what is declared here.\npub const DL4_VERSION_MAJOR: i32 = {};", major)
        .unwrap();
    for c in members(api, "constants") {
        let value = c.get("value").and_then(Value::as_f64).expect("value");
        writeln!(to, "/// {}\npub const {}: i32 = {};", word(c, "group"), word(c, "name"), value).unwrap();
    }
    for o in members(api, "objects") {
        // Neither Send nor Sync nor Unpin: what an object allows is not for its declaration to say.
        writeln!(
            to,
            "/// Opaque: {}.\n#[repr(C)]\n#[derive(Debug)]\npub struct {} {{\n    _opaque: [u8; 0],\n    \
             _marker: core::marker::PhantomData<(*mut u8, core::marker::PhantomPinned)>,\n}}",
            word(o, "doc"),
            word(o, "name")
        )
        .unwrap();
    }
    for i in members(api, "ids") {
        writeln!(to, "/// An id: {}.\npub type {} = {};", word(i, "doc"), word(i, "name"), rust_type(word(i, "type")))
            .unwrap();
    }
    for c in members(api, "callbacks") {
        writeln!(to, "{}pub type {} = Option<unsafe extern \"C\" fn{}>;", doc(c), word(c, "name"), signature(c))
            .unwrap();
    }
    to.push_str("extern \"C\" {\n");
    for f in members(api, "functions") {
        writeln!(to, "{}pub fn {}{};", doc(f), word(f, "name"), signature(f)).unwrap();
    }
    to.push_str("}\n");
    to
}

fn doc(f: &Value) -> String {
    match word(f, "doc") {
        "" => String::new(),
        text => format!("/// {}\n", text.replace('[', "\\[").replace(']', "\\]")), // of a shape, not of a link
    }
}

fn signature(f: &Value) -> String {
    let list: Vec<String> = members(f, "parameters")
        .iter()
        .map(|p| {
            let name = match word(p, "name") {
                name if KEYWORDS.contains(&name) => format!("{}_", name),
                name => name.to_string(),
            };
            format!("{}: {}", name, rust_type(word(p, "type")))
        })
        .collect();
    match word(f, "returns") {
        "void" => format!("({})", list.join(", ")),
        returns => format!("({}) -> {}", list.join(", "), rust_type(returns)),
    }
}

const KEYWORDS: &[&str] = &[
    "as", "box", "break", "const", "continue", "crate", "else", "enum", "extern", "fn", "for", "if", "impl", "in",
    "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "self", "static", "struct", "super", "trait",
    "type", "unsafe", "use", "where", "while",
];

// "const T *const *" is a pointer to const pointers to const T.
fn rust_type(c: &str) -> String {
    let (constant, rest) = match c.strip_prefix("const ") {
        Some(rest) => (true, rest),
        None => (false, c),
    };
    let (name, stars) = rest.split_at(rest.find('*').unwrap_or(rest.len()));
    let mut of = match name.trim() {
        "int32_t" => "i32",
        "int64_t" => "i64",
        "double" => "f64",
        "char" => "c_char",
        "void" => "c_void",
        name => name,
    }
    .to_string();
    let mut constant = constant;
    for star in stars.split('*').skip(1) {
        of = format!("*{} {}", if constant { "const" } else { "mut" }, of);
        constant = star.trim() == "const";
    }
    of
}

// ---- The library

fn link(out: &Path, soname: &str) {
    for name in ["DL4_LIBRARY", "DL4_LIB_DIR", "PKG_CONFIG", "PKG_CONFIG_PATH"] {
        println!("cargo:rerun-if-env-changed={}", name);
    }
    if env::var_os("CARGO_FEATURE_STATIC").is_some() {
        return link_statically();
    }
    let library = find().unwrap_or_else(|why| {
        end(&format!(
            "libdl4 was not found: {}.\nInstall it where pkg-config finds dl4.pc (PKG_CONFIG_PATH), or set \
             DL4_LIBRARY to its file (/path/to/libdl4.so.1) or DL4_LIB_DIR to its folder.",
            why
        ))
    });
    println!("cargo:rerun-if-changed={}", library.display());
    // Cargo's run path holds folders of its own target alone, so links there stand for the library's folder: one for
    // the linker, one, by the soname, for the program.
    for name in ["libdl4.so", soname] {
        let to = out.join(name);
        let _ = fs::remove_file(&to);
        std::os::unix::fs::symlink(&library, &to).expect("a link to the library");
    }
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=dylib=dl4");
    println!("cargo:lib_dir={}", library.parent().expect("a folder").display());
}

fn end(why: &str) -> ! {
    eprintln!("dl4-sys: {}", why);
    std::process::exit(1);
}

// libdl4.a, and what pkg-config says that it needs.
fn link_statically() {
    let said = pkg_config(&["--static", "--libs", "dl4"]).and_then(|words| {
        let folder = pkg_config(&["--variable=libdir", "dl4"])?;
        let library = Path::new(&folder).join("libdl4.a");
        match library.exists() {
            true => Ok((folder, words)),
            false => Err(format!("there is no {}; a build with DL4_STATIC=ON has it", library.display())),
        }
    });
    let (folder, words) =
        said.unwrap_or_else(|why| end(&format!("the feature static needs libdl4.a by pkg-config: {}.", why)));
    println!("cargo:rustc-link-search=native={}", folder);
    println!("cargo:rustc-link-lib=static=dl4");
    for word in words.split_whitespace() {
        if let Some(place) = word.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={}", place);
        }
        match word.strip_prefix("-l") {
            Some("dl4") | None => {}
            Some(name) => println!("cargo:rustc-link-lib=dylib={}", name),
        }
    }
    println!("cargo:lib_dir={}", folder);
}

fn pkg_config(words: &[&str]) -> Result<String, String> {
    let tool = env::var_os("PKG_CONFIG").unwrap_or_else(|| "pkg-config".into());
    match Command::new(&tool).arg("--print-errors").args(words).output() {
        Ok(o) if o.status.success() => Ok(String::from_utf8_lossy(&o.stdout).trim().to_string()),
        Ok(o) => Err(format!("pkg-config says: {}", String::from_utf8_lossy(&o.stderr).trim().replace('\n', " "))),
        Err(e) => Err(format!("pkg-config: {}", e)),
    }
}

fn find() -> Result<PathBuf, String> {
    // A relative path is one of the folder where cargo was started, which its scripts know by the shell's PWD alone.
    let started_in = env::var_os("PWD").unwrap_or_default();
    let absolute = |path: PathBuf, whose: &str| {
        Path::new(&started_in)
            .join(&path)
            .canonicalize()
            .map_err(|e| format!("{} names {}: {}", whose, path.display(), e))
    };
    if let Some(file) = env::var_os("DL4_LIBRARY") {
        return absolute(file.into(), "DL4_LIBRARY");
    }
    if let Some(folder) = env::var_os("DL4_LIB_DIR") {
        return absolute(Path::new(&folder).join("libdl4.so"), "DL4_LIB_DIR");
    }
    let folder = pkg_config(&["--variable=libdir", "dl4"])
        .map_err(|why| format!("neither DL4_LIBRARY nor DL4_LIB_DIR is set, and {}", why))?;
    absolute(Path::new(&folder).join("libdl4.so"), "pkg-config")
}
