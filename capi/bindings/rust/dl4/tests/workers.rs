//! Trainers whose closures add up train as one does with the whole batch.

use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use dl4::{attrs, Code, DType, Dataset, Error, Failure, Fit, Graph, Model, Result, Sums, Tensor, Trainer};

/// Sums over threads that meet here, in the order of their ranks.
struct Ring {
    bits: Mutex<Vec<Vec<u32>>>,
    meeting: Barrier,
}

impl Ring {
    fn new(size: usize) -> Arc<Ring> {
        Arc::new(Ring { bits: Mutex::new(vec![Vec::new(); size]), meeting: Barrier::new(size) })
    }

    fn exchange(&self, rank: usize, mine: Vec<u32>) -> Vec<Vec<u32>> {
        self.bits.lock().unwrap()[rank] = mine;
        self.meeting.wait();
        let all = self.bits.lock().unwrap().clone();
        self.meeting.wait();
        all
    }

    fn reduce(self: Arc<Ring>, rank: usize) -> impl FnMut(Sums<'_>) -> std::result::Result<(), Failure> + Send {
        move |sums| {
            match sums {
                Sums::F32(values) => {
                    let all = self.exchange(rank, values.iter().map(|v| v.to_bits()).collect());
                    for (i, v) in values.iter_mut().enumerate() {
                        *v = all.iter().map(|part| f32::from_bits(part[i])).sum();
                    }
                }
                Sums::I32(values) => {
                    let all = self.exchange(rank, values.iter().map(|v| *v as u32).collect());
                    for (i, v) in values.iter_mut().enumerate() {
                        *v = all.iter().fold(0, |sum, part| sum.wrapping_add(part[i] as i32));
                    }
                }
            }
            Ok(())
        }
    }
}

fn model() -> Result<Model> {
    let g = Graph::new()?;
    let x = g.input("x", DType::F32, &[-1, 2])?;
    g.build(x, g.add("Dense", attrs! { units: 3 }, x)?)
}

fn train(model: &Model, workers: Option<(usize, Arc<Ring>)>) -> Result<Vec<f32>> {
    let trainer = Trainer::new(model, attrs! { optimizer: "adam", loss: "mse" })?;
    if let Some((rank, ring)) = &workers {
        trainer.set_workers(*rank as i64, 2, ring.clone().reduce(*rank))?;
    }
    let x: Vec<f32> = (0..40).map(|i| (i as f32).sin()).collect();
    let y: Vec<f32> = (0..60).map(|i| (i as f32).cos()).collect();
    let (x, y) = (Tensor::copy_of(&x, &[20, 2])?, Tensor::copy_of(&y, &[20, 3])?);
    trainer.fit(&Dataset::new(&[&x], &[&y], attrs! { batch_size: 5 })?, Fit::new(attrs! { epochs: 3 }))?;
    let weights = model.weight("*")?.to_vec()?;
    if workers.is_some() {
        trainer.leave_workers()?;
        trainer.step(&[&x], &[&y], &[])?;
    }
    Ok(weights)
}

#[test]
fn two_train_as_one() -> Result<()> {
    let first = model()?;
    let (second, alone, ring) = (first.try_clone()?, first.try_clone()?, Ring::new(2));
    let other = ring.clone();
    let thread = thread::spawn(move || train(&second, Some((1, other))));
    let mine = train(&first, Some((0, ring)))?;
    assert_eq!(mine, thread.join().unwrap()?);
    for (a, b) in mine.iter().zip(train(&alone, None)?) {
        assert!((a - b).abs() < 1e-5, "{} {}", a, b);
    }
    Ok(())
}

#[test]
fn what_the_closure_fails_with_comes_out_of_the_call() -> Result<()> {
    let model = model()?;
    let trainer = Trainer::new(&model, attrs! { optimizer: "adam", loss: "mse" })?;
    let kept = Arc::new(());
    let held = kept.clone();
    let lost = trainer.set_workers(0, 2, move |_| {
        let _ = &held;
        Err("no network".into())
    });
    match lost {
        Err(Error::Callback(failure)) => assert_eq!(failure.to_string(), "no network"),
        other => panic!("{:?}", other),
    }
    assert_eq!(Arc::strong_count(&kept), 1);
    let held = kept.clone();
    let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        trainer.set_workers(0, 2, move |_| {
            let _ = &held;
            panic!("gone")
        })
    }));
    assert_eq!(panics.unwrap_err().downcast_ref::<&str>(), Some(&"gone"));
    assert_eq!(Arc::strong_count(&kept), 1);
    let refused = trainer.set_workers(2, 2, |_| Ok(())).unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    let held = kept.clone();
    trainer.set_workers(0, 1, move |_| {
        let _ = &held;
        Ok(())
    })?;
    assert_eq!(Arc::strong_count(&kept), 2);
    drop(trainer);
    assert_eq!(Arc::strong_count(&kept), 1);
    Ok(())
}
