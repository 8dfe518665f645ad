//! Datasets, trainers, checkpoints, files.

use dl4::json::Value;
use dl4::{Batch, Cancel, Dataset, Event, Fit, Flow, Format, Result, Tensor, Trainer};

use crate::checking::agree;
use crate::{differs, Case, Done, Slot, Step};

fn event(number: f64) -> Event {
    let all = [Event::TrainBegin, Event::EpochBegin, Event::BatchEnd, Event::EpochEnd, Event::TrainEnd];
    all[number as usize]
}

impl Case {
    pub(crate) fn train(&mut self, word: &str, step: Step<'_>) -> Option<Done> {
        let done = match word {
            "dataset" => self.new_dataset(step).map(|d| self.put(step.text("to"), Slot::Dataset(d))),
            "batches" => self.batches(step).map(|d| self.put(step.text("to"), Slot::Dataset(d))),
            "adapt" => self
                .dataset(step.text("dataset"))
                .adapt(step.text("kind"), step.attrs("attrs"), self.cancel(step))
                .map(|c| self.put(step.text("to"), Slot::Config(c))),
            "trainer" => Trainer::new(self.model(step.text("model")), step.attrs("options"))
                .map(|t| self.put(step.text("to"), Slot::Trainer(t))),
            "cancel" => Cancel::new().map(|c| self.put(step.text("to"), Slot::Cancel(c))),
            "trigger" => {
                self.flag(step.text("cancel")).trigger();
                Ok(())
            }
            "apply" => self.trainer(step.text("trainer")).apply(),
            "gradient" => self
                .trainer(step.text("trainer"))
                .gradient(step.text("weight"))
                .map(|t| self.put(step.text("to"), Slot::Tensor(t))),
            "set" => self.trainer(step.text("trainer")).set(step.text("key"), step.number("value")),
            "step" | "accumulate" | "evaluate" => return Some(self.measured(word, step)),
            "fit" => return Some(self.fit(step)),
            "get" => return Some(self.get(step)),
            "save" => self.save(step),
            "load" => self.load_checkpoint(step),
            "describe" => return Some(self.describe(step)),
            _ => return None,
        };
        Some(done.map_err(Into::into))
    }

    fn new_dataset(&self, step: Step<'_>) -> Result<Dataset<'static>> {
        let own = |list: Vec<&Tensor<'static>>| list.into_iter().map(|t| t.try_clone()).collect::<Result<Vec<_>>>();
        let weights = self.weights(step).into_iter().map(|t| t.map(|t| t.try_clone()).transpose());
        let (x, y) = (own(self.tensors(step, "x"))?, own(self.tensors(step, "y"))?);
        Dataset::owned(x, y, weights.collect::<Result<_>>()?, step.attrs("options"))
    }

    fn batches(&self, step: Step<'_>) -> Result<Dataset<'static>> {
        let mut all = Vec::new();
        for batch in step.list("batches") {
            let own = |key: &str| {
                let slots = Step(batch).list(key).iter();
                slots.map(|v| v.as_str().map(|s| self.tensor(s).try_clone()).transpose()).collect::<Result<Vec<_>>>()
            };
            all.push([own("x")?, own("y")?, own("w")?]);
        }
        let copy = |list: &[Option<Tensor<'static>>]| {
            list.iter().map(|t| t.as_ref().map(|t| t.try_clone()).transpose()).collect::<Result<Vec<_>>>()
        };
        let give = move |index: i64| {
            let [x, y, w] = match all.get(index as usize) {
                Some(batch) => batch,
                None => return Ok(None),
            };
            let (x, y) = (copy(x)?.into_iter().flatten().collect(), copy(y)?.into_iter().flatten().collect());
            Ok(Some(Batch { x, y, w: copy(w)? }))
        };
        Dataset::from_fn(give, step.attrs("options"))
    }

    fn measured(&self, word: &str, step: Step<'_>) -> Done {
        let trainer = self.trainer(step.text("trainer"));
        let (x, y) = (self.tensors(step, "x"), self.tensors(step, "y"));
        let w = self.weights(step);
        let got = match word {
            "step" => trainer.step(&x, &y, &w)?,
            "accumulate" => trainer.accumulate(&x, &y, &w)?,
            _ => trainer.evaluate(self.dataset(step.text("dataset")), self.cancel(step))?,
        };
        for (name, expected) in step.members("metrics") {
            let at = trainer.metric_names().iter().position(|n| n == name);
            let value = at.and_then(|i| got.get(i)).copied().unwrap_or(f64::NAN);
            agree(name, &[value], &[expected.as_f64().expect("a number")], step)?;
        }
        Ok(())
    }

    fn fit(&self, step: Step<'_>) -> Done {
        let mut how = Fit::new(step.attrs("options"));
        if step.has("valid") {
            how = how.validation(self.dataset(step.text("valid")));
        }
        if let Some(cancel) = self.cancel(step) {
            how = how.cancel(cancel);
        }
        if let Some(at) = step.0.get("at").map(Step) {
            how = how.progress(move |p| {
                if p.event != event(at.number("event")) || p.step != at.number("step") as i64 {
                    return Ok(Flow::Continue);
                }
                if at.has("trigger") {
                    self.flag(at.text("trigger")).trigger();
                }
                let stop = at.0.get("stop").and_then(Value::as_bool) == Some(true);
                Ok(if stop { Flow::Stop } else { Flow::Continue })
            });
        }
        let history = self.trainer(step.text("trainer")).fit(self.dataset(step.text("train")), how)?;
        for (name, list) in step.members("history") {
            let expected: Vec<f64> =
                list.as_array().expect("a list").iter().map(|v| v.as_f64().unwrap_or(f64::NAN)).collect();
            agree(name, history.get(name).unwrap_or_default(), &expected, step)?;
        }
        Ok(())
    }

    fn get(&self, step: Step<'_>) -> Done {
        let got = self.trainer(step.text("trainer")).get(step.text("key"))?;
        if !step.has("value") {
            return Ok(());
        }
        agree(step.text("key"), &[got], &[step.number("value")], step)
    }

    fn save(&mut self, step: Step<'_>) -> Result<()> {
        if step.has("path") {
            let path = self.folder.join(step.text("path"));
            return if step.has("model") {
                self.model(step.text("model")).save(path)
            } else {
                self.trainer(step.text("trainer")).save(path)
            };
        }
        let bytes = if step.has("model") {
            self.model(step.text("model")).to_bytes()?
        } else {
            self.trainer(step.text("trainer")).to_bytes()?
        };
        self.put(step.text("to"), Slot::Bytes(bytes));
        Ok(())
    }

    fn load_checkpoint(&self, step: Step<'_>) -> Result<()> {
        let trainer = self.trainer(step.text("trainer"));
        if step.has("path") {
            return trainer.load(self.folder.join(step.text("path")));
        }
        trainer.load_bytes(self.bytes(step.text("bytes")))
    }

    fn describe(&mut self, step: Step<'_>) -> Done {
        let format = match step.text("format") {
            "json" => Format::Json,
            "text" => Format::Text,
            _ => Format::Dot,
        };
        let text = match self.slots.get(step.text("object")) {
            Some(Slot::Graph(g)) => g.describe(format)?,
            Some(Slot::Model(m)) => m.describe(format)?,
            Some(Slot::Session(s)) => s.describe(format)?,
            Some(Slot::Trainer(t)) => t.describe(format)?,
            Some(Slot::Dataset(d)) => d.describe(format)?,
            Some(Slot::Tensor(t)) => t.describe(format)?,
            _ => return differs(format!("nothing to describe in {}", step.0)),
        };
        for part in step.texts("contains") {
            if !text.contains(part) {
                return differs(format!("no \"{}\" in {}", part, text));
            }
        }
        if step.has("to") {
            self.put(step.text("to"), Slot::Text(text));
        }
        Ok(())
    }
}
