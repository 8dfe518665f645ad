//! The cases that every binding runs: `../../conformance.json`, whose words `../../README.md` explains.

use std::collections::HashMap;
use std::path::PathBuf;

use dl4::json::Value;
use dl4::{Attrs, Cancel, Context, Dataset, Error, Graph, Layer, Model, Node, Session, Stream, Tensor, Trainer};

mod building;
mod checking;
mod training;

/// What a slot holds.
enum Slot {
    Tensor(Tensor<'static>),
    Context(Context),
    Graph(Graph),
    Node(Node),
    Layer(Layer),
    Model(Model),
    Session(Session),
    Stream(Stream),
    Dataset(Dataset<'static>),
    Trainer(Trainer),
    Cancel(Cancel),
    Config(Attrs),
    Text(String),
    Bytes(Vec<u8>),
}

/// Why a step ended: the library's error, or a difference from what the case expects.
enum Stop {
    Refused(Error),
    Differs(String),
}

type Done = Result<(), Stop>;

impl From<Error> for Stop {
    fn from(e: Error) -> Stop {
        Stop::Refused(e)
    }
}

fn differs<T>(text: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Differs(text.into()))
}

struct Case {
    slots: HashMap<String, Slot>,
    folder: PathBuf,
}

/// A step of a case: its members by name.
#[derive(Clone, Copy)]
struct Step<'a>(&'a Value);

impl<'a> Step<'a> {
    fn has(self, key: &str) -> bool {
        self.0.get(key).is_some()
    }

    fn text(self, key: &str) -> &'a str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_else(|| panic!("no text \"{}\" in {}", key, self.0))
    }

    fn number(self, key: &str) -> f64 {
        self.0.get(key).and_then(Value::as_f64).unwrap_or_else(|| panic!("no number \"{}\" in {}", key, self.0))
    }

    fn list(self, key: &str) -> &'a [Value] {
        self.0.get(key).and_then(Value::as_array).unwrap_or_default()
    }

    fn texts(self, key: &str) -> impl Iterator<Item = &'a str> {
        self.list(key).iter().map(|v| v.as_str().expect("a text"))
    }

    fn numbers(self, key: &str) -> Vec<f64> {
        self.list(key).iter().map(|v| v.as_f64().expect("a number")).collect()
    }

    fn dims(self, key: &str) -> Vec<i64> {
        self.numbers(key).into_iter().map(|d| d as i64).collect()
    }

    fn members(self, key: &str) -> &'a [(String, Value)] {
        self.0.get(key).and_then(Value::as_object).unwrap_or_default()
    }

    /// JSON for the library.
    fn attrs(self, key: &str) -> Attrs {
        self.0.get(key).map_or_else(Attrs::new, |v| Attrs::json(v.to_string()))
    }
}

macro_rules! getters {
    ($($name:ident: $kind:ident -> $of:ty;)*) => {
        $(fn $name(&self, slot: &str) -> &$of {
            match self.slots.get(slot) {
                Some(Slot::$kind(v)) => v,
                _ => panic!(concat!("no ", stringify!($name), " in \"{}\""), slot),
            }
        })*
    };
}

impl Case {
    getters! {
        tensor: Tensor -> Tensor<'static>;
        graph: Graph -> Graph;
        node: Node -> Node;
        layer: Layer -> Layer;
        model: Model -> Model;
        session: Session -> Session;
        stream: Stream -> Stream;
        dataset: Dataset -> Dataset<'static>;
        trainer: Trainer -> Trainer;
        flag: Cancel -> Cancel;
        config: Config -> Attrs;
        string: Text -> String;
        bytes: Bytes -> Vec<u8>;
    }

    fn put(&mut self, slot: &str, value: Slot) {
        self.slots.insert(slot.into(), value);
    }

    fn tensors(&self, step: Step<'_>, key: &str) -> Vec<&Tensor<'static>> {
        step.texts(key).map(|slot| self.tensor(slot)).collect()
    }

    /// With null for a target that has no weights.
    fn weights(&self, step: Step<'_>) -> Vec<Option<&Tensor<'static>>> {
        step.list("w").iter().map(|v| v.as_str().map(|slot| self.tensor(slot))).collect()
    }

    fn nodes(&self, step: Step<'_>, key: &str) -> Vec<Node> {
        step.texts(key).map(|slot| *self.node(slot)).collect()
    }

    fn cancel(&self, step: Step<'_>) -> Option<&Cancel> {
        if step.has("cancel") {
            Some(self.flag(step.text("cancel")))
        } else {
            None
        }
    }

    fn step(&mut self, step: Step<'_>) -> Done {
        let word = step.text("do");
        if let Some(done) = self.build(word, step) {
            return done;
        }
        if let Some(done) = self.train(word, step) {
            return done;
        }
        self.check(word, step)
    }
}

/// `SHAPE_MISMATCH` of ShapeMismatch.
fn code_of(e: &Error) -> String {
    let mut name = String::from("DL4");
    for c in format!("{:?}", e.code()).chars() {
        if c.is_uppercase() {
            name.push('_');
        }
        name.extend(c.to_uppercase());
    }
    name
}

fn judge(step: Step<'_>, done: Done) -> Result<(), String> {
    let expected = step.0.get("error").and_then(Value::as_object);
    match (done, expected) {
        (Ok(()), None) => Ok(()),
        (Ok(()), Some(_)) => Err("it was not refused".into()),
        (Err(Stop::Differs(why)), _) => Err(why),
        (Err(Stop::Refused(e)), None) => Err(e.to_string()),
        (Err(Stop::Refused(e)), Some(members)) => {
            let refusal = e.refusal().cloned().unwrap_or_default();
            for (key, value) in members {
                let got = match key.as_str() {
                    "code" => Some(code_of(&e)),
                    "layer" => refusal.layer.clone(),
                    "attribute" => refusal.attribute.clone(),
                    "argument" => refusal.argument.clone(),
                    "expected" => refusal.expected.clone(),
                    "got" => refusal.got.clone(),
                    "did_you_mean" => refusal.did_you_mean.clone(),
                    "function" => refusal.function.clone(),
                    other => panic!("an error's {}?", other),
                };
                if got.as_deref() != value.as_str() {
                    return Err(format!("{}: expected {}, got {:?} of \"{}\"", key, value, got, e));
                }
            }
            Ok(())
        }
    }
}

fn run(case: &Value, folder: PathBuf) -> Result<(), String> {
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut state = Case { slots: HashMap::new(), folder };
    for (i, step) in Step(case).list("steps").iter().enumerate() {
        let step = Step(step);
        let done = state.step(step);
        judge(step, done).map_err(|why| format!("step {} ({}): {}", i, step.text("do"), why))?;
    }
    Ok(())
}

#[test]
fn every_case() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../conformance.json");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {}", file.display(), e));
    let all = Value::parse(&text).expect("JSON");
    assert_eq!(Step(&all).number("format"), 1.0);
    let folder = std::env::temp_dir().join(format!("dl4-conformance-{}", std::process::id()));
    let mut failed = 0;
    for (i, case) in Step(&all).list("cases").iter().enumerate() {
        let result = run(case, folder.join(i.to_string()));
        println!("{:>6}  {}", if result.is_ok() { "ok" } else { "FAILED" }, Step(case).text("name"));
        if let Err(why) = result {
            println!("        {}", why);
            failed += 1;
        }
    }
    std::fs::remove_dir_all(&folder).expect("a folder");
    assert!(!Step(&all).list("cases").is_empty());
    assert_eq!(failed, 0, "cases that failed");
}
