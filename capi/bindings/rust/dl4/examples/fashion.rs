//! Clothes in pictures, by a small convolutional net: trained, measured, saved and loaded.
//!
//!     cargo run --release --example fashion -- FOLDER
//!
//! FOLDER has t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz of Fashion-MNIST: the first 9,000 of its 10,000
//! images are for training, the last 1,000 for the test.

use std::error::Error;
use std::process::Command;
use std::time::Instant;

use dl4::{attrs, DType, Dataset, Event, Fit, Flow, Graph, Model, Session, Tensor, Trainer};

const SIDE: i64 = 28;

/// The bytes of a part, without the head that it must have.
fn read(folder: &str, name: &str, head: usize, magic: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let path = format!("{}/t10k-{}-ubyte.gz", folder, name);
    let unpacked = Command::new("gzip").args(["-dc", &path]).output()?;
    if !unpacked.status.success() || !unpacked.stdout.starts_with(magic) || unpacked.stdout.len() < head {
        return Err(format!("{} is not Fashion-MNIST: {}", path, String::from_utf8_lossy(&unpacked.stderr)).into());
    }
    Ok(unpacked.stdout[head..].to_vec())
}

fn net() -> dl4::Result<Model> {
    let g = Graph::new()?;
    let x = g.input("image", DType::F32, &[-1, SIDE, SIDE, 1])?;
    let mut h = x;
    for filters in [16, 32] {
        h = g.add("Conv2D", attrs! { filters: filters, kernel_size: 3, activation: "relu" }, h)?;
        h = g.add("MaxPooling2D", attrs! { pool_size: 2 }, h)?;
    }
    h = g.add("Flatten", (), h)?;
    let y = g.add("Dense", attrs! { units: 10, activation: "softmax" }, h)?;
    g.build(x, y)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: fashion FOLDER (with the files of Fashion-MNIST)")?;
    let pixels = read(&folder, "images-idx3", 16, &[0, 0, 8, 3])?;
    let images: Vec<f32> = pixels.iter().map(|&p| f32::from(p) / 255.0).collect();
    let labels: Vec<i32> = read(&folder, "labels-idx1", 8, &[0, 0, 8, 1])?.into_iter().map(i32::from).collect();
    let split = labels.len() - 1000;
    let part = |images, n: usize| Tensor::view(images, &[n as i64, SIDE, SIDE, 1]);
    let (train_images, test_images) = images.split_at(split * (SIDE * SIDE) as usize);
    let (x, xt) = (part(train_images, split)?, part(test_images, 1000)?);
    let (y, yt) = (Tensor::view(&labels[..split], &[split as i64])?, Tensor::view(&labels[split..], &[1000])?);
    let (train, test) = (
        Dataset::new(&[&x], &[&y], attrs! { batch_size: 128 })?,
        Dataset::new(&[&xt], &[&yt], attrs! { batch_size: 500, shuffle: false })?,
    );

    let model = net()?;
    println!("{}", model.describe(dl4::Format::Text)?);
    let how = attrs! { optimizer: "Adam", loss: "SparseCategoricalCrossentropy", metrics: ["accuracy"] };
    let trainer = Trainer::new(&model, how)?;
    let begin = Instant::now();
    let show = Fit::new(attrs! { epochs: 2 }).validation(&test).progress(|p| {
        if p.event == Event::EpochEnd {
            println!("epoch {}  accuracy {:.3}  of the test images {:.3}", p.step, p.metrics[1], p.metrics[3]);
        }
        Ok(Flow::Continue)
    });
    let history = trainer.fit(&train, show)?;
    println!("{:.1} s", begin.elapsed().as_secs_f64());

    let path = std::env::temp_dir().join(format!("fashion-{}.safetensors", std::process::id()));
    model.save(&path)?;
    let again = Model::load(&path)?;
    std::fs::remove_file(&path)?;
    let answers = |m: &Model| Session::new(m, ())?.predict(&test, None)?[0].to_vec::<f32>();
    if answers(&model)? != answers(&again)? {
        return Err("the model answers differently after saving and loading".into());
    }
    match history.last("val_accuracy") {
        Some(accuracy) if accuracy > 0.7 => Ok(()),
        other => Err(format!("expected an accuracy over 0.7, got {:?}", other).into()),
    }
}
