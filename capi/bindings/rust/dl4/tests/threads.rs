//! Objects on many threads, in any order, and how much memory they leave.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use dl4::{attrs, Cancel, Code, Context, DType, Dataset, Event, Fit, Flow, Graph, Model, Result, Session, Tensor};
use dl4::{Attrs, Kind, Trainer};

fn shared<T: Send + Sync>() {}
fn moved<T: Send>() {}

#[test]
fn types_follow_the_threads_of_the_interface() {
    shared::<Attrs>();
    shared::<Cancel>();
    shared::<Context>();
    shared::<Model>();
    shared::<Session>();
    shared::<Tensor<'static>>();
    shared::<dl4::Error>();
    moved::<Graph>();
    moved::<Dataset<'static>>();
    moved::<Trainer>();
    fn kind<K: Kind>() {
        shared::<K>();
    }
    let _ = kind::<Nothing>;
}

struct Nothing;

impl Kind for Nothing {
    fn forward(
        &self,
        _: &str,
        _: &[dl4::Source<'_>],
        _: &mut [Option<dl4::Target<'_>>],
    ) -> std::result::Result<(), dl4::Failure> {
        Ok(())
    }
}

fn model(units: i64) -> Result<Model> {
    let g = Graph::new()?;
    let x = g.input("x", DType::F32, &[-1, 8])?;
    let h = g.add("Dense", attrs! { units: units, activation: "relu" }, x)?;
    g.build(x, g.add("Dense", attrs! { units: 3 }, h)?)
}

#[test]
fn a_session_runs_on_many_threads() -> Result<()> {
    let session = Session::new(&model(16)?, ())?;
    let rows: Vec<f32> = (0..64 * 8).map(|i| (i % 13) as f32 / 13.0).collect();
    let all = Tensor::view(&rows, &[64, 8])?;
    let expected = session.run(&[&all])?.remove(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut out = Tensor::zeros::<f32>(&[64, 3]).unwrap();
                for _ in 0..200 {
                    session.run_into(&[&all], &mut [&mut out], None).unwrap();
                    assert_eq!(out.data::<f32>().unwrap(), expected.data::<f32>().unwrap());
                }
            });
        }
    });
    let (owned, x) = (session.clone(), Arc::new(Tensor::copy_of(&rows, &[64, 8])?));
    drop(session);
    let other = x.clone();
    let out = thread::spawn(move || owned.run(&[&other])).join().unwrap()?;
    assert_eq!(out[0].data::<f32>()?, expected.data::<f32>()?);
    Ok(())
}

#[test]
fn a_fit_is_cancelled_from_another_thread() -> Result<()> {
    let model = model(16)?;
    let (x, y) = (Tensor::zeros::<f32>(&[64, 8])?, Tensor::zeros::<f32>(&[64, 3])?);
    let data = Dataset::new(&[&x], &[&y], attrs! { batch_size: 8 })?;
    let trainer = Trainer::new(&model, attrs! { optimizer: "sgd", loss: "mse" })?;
    let cancel = Cancel::new()?;
    let other = cancel.clone();
    let (ready, wait) = std::sync::mpsc::channel();
    let thread = thread::spawn(move || {
        wait.recv().unwrap();
        other.trigger();
    });
    let begin = Instant::now();
    let long = Fit::new(attrs! { epochs: 1_000_000_000 }).cancel(&cancel).progress(|p| {
        if p.event == Event::BatchEnd && p.step == 1 {
            let _ = ready.send(());
        }
        Ok(Flow::Continue)
    });
    assert_eq!(trainer.fit(&data, long).unwrap_err().code(), Code::Cancelled);
    assert!(begin.elapsed() < Duration::from_secs(60));
    thread.join().unwrap();
    assert!(cancel.triggered() && trainer.get("iterations")? > 0.0);
    let refused = Session::new(&model, ())?.predict(&data, Some(&cancel)).unwrap_err();
    assert_eq!(refused.code(), Code::Cancelled);
    Ok(())
}

#[test]
fn a_trainer_moves_and_a_second_user_is_busy() -> Result<()> {
    let model = model(4)?;
    let trainer = Trainer::new(&model, attrs! { optimizer: "sgd", loss: "mse" })?;
    assert_eq!(
        Trainer::new(&model, attrs! { optimizer: "sgd", loss: "mse" }).err().map(|e| e.code()),
        Some(Code::Busy)
    );
    let trainer = thread::spawn(move || -> Result<Trainer> {
        let (x, y) = (Tensor::zeros::<f32>(&[4, 8])?, Tensor::zeros::<f32>(&[4, 3])?);
        trainer.fit(&Dataset::new(&[&x], &[&y], ())?, Fit::default())?;
        Ok(trainer)
    });
    assert_eq!(trainer.join().unwrap()?.get("iterations")?, 1.0);
    Ok(())
}

// A generator of its own: the same order each time.
struct Order(u64);

impl Order {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

type Thing = Box<dyn Send>;

fn things(i: usize) -> Result<Vec<Thing>> {
    let context = Context::new(attrs! { threads: 1 })?;
    let g = Graph::in_context(&context)?;
    let x = g.input("x", DType::F32, &[-1, 2])?;
    let model = g.build(x, g.add("Dense", attrs! { units: 1 }, x)?)?;
    let copy = model.try_clone()?;
    let session = Session::new(&model, ())?;
    let trainer = Trainer::new(&model, attrs! { optimizer: "sgd", loss: "mse" })?;
    let (a, b) = (Tensor::from_vec(vec![i as f32; 6], &[3, 2])?, Tensor::zeros::<f32>(&[3, 1])?);
    let data = Dataset::owned(vec![a.try_clone()?], vec![b.try_clone()?], Vec::new(), ())?;
    let out = session.run(&[&a])?;
    Ok(vec![
        Box::new(context),
        Box::new(g),
        Box::new(model),
        Box::new(copy),
        Box::new(session),
        Box::new(trainer),
        Box::new(a),
        Box::new(b),
        Box::new(data),
        Box::new(out),
        Box::new(Cancel::new()?),
    ])
}

#[test]
fn ten_thousand_objects_are_dropped_in_any_order() -> Result<()> {
    let mut order = Order(1);
    let (mut alive, mut made) = (Vec::new(), 0);
    while made < 10_000 {
        let new = things(made)?;
        made += new.len();
        alive.extend(new);
        while alive.len() > 300 {
            drop(alive.swap_remove(order.below(alive.len())));
        }
    }
    // The rest on other threads.
    thread::scope(|scope| {
        for _ in 0..3 {
            let mut part: Vec<Thing> =
                (0..alive.len().min(100)).map(|_| alive.swap_remove(order.below(alive.len()))).collect();
            scope.spawn(move || part.drain(..).for_each(drop));
        }
    });
    Ok(())
}
