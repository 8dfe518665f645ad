"""Distillation by compute_loss() of a class that holds teacher and student; a rate with warm-up."""

import math

import numpy as np
import keras
from keras import layers, ops
from filled import curves, fill, sums

r = np.random.RandomState(75)
x_train, y_train = r.rand(32, 12, 12, 1).astype("float32"), r.randint(0, 5, 32)


class Distiller(keras.Model):
    def __init__(self, student, teacher):
        super().__init__()
        self.teacher = teacher
        self.student = student

    def compile(self, optimizer, metrics, student_loss_fn, distillation_loss_fn, alpha=0.1, temperature=3):
        super().compile(optimizer=optimizer, metrics=metrics)
        self.student_loss_fn = student_loss_fn
        self.distillation_loss_fn = distillation_loss_fn
        self.alpha = alpha
        self.temperature = temperature

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, allow_empty=False):
        teacher_pred = self.teacher(x, training=False)
        student_loss = self.student_loss_fn(y, y_pred)
        distillation_loss = self.distillation_loss_fn(
            ops.softmax(teacher_pred / self.temperature, axis=1),
            ops.softmax(y_pred / self.temperature, axis=1),
        ) * (self.temperature**2)
        loss = self.alpha * student_loss + (1 - self.alpha) * distillation_loss
        return loss

    def call(self, x):
        return self.student(x)


def convolutional(name, units):
    return keras.Sequential(
        [
            keras.Input(shape=(12, 12, 1)),
            layers.Conv2D(units, (3, 3), strides=(2, 2), padding="same"),
            layers.LeakyReLU(negative_slope=0.2),
            layers.MaxPooling2D(pool_size=(2, 2), strides=(1, 1), padding="same"),
            layers.Conv2D(units * 2, (3, 3), strides=(2, 2), padding="same"),
            layers.Flatten(),
            layers.Dense(5),
        ],
        name=name,
    )


teacher, student = convolutional("teacher", 6), convolutional("student", 3)
student_scratch = keras.models.clone_model(student)
fill(teacher, student, student_scratch)
teacher.compile(
    optimizer=keras.optimizers.Adam(),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=[keras.metrics.SparseCategoricalAccuracy()],
)
first = teacher.fit(x_train, y_train, epochs=2, batch_size=8, shuffle=False)
evaluated = teacher.evaluate(x_train, y_train)
distiller = Distiller(student=student, teacher=teacher)
distiller.compile(
    optimizer=keras.optimizers.Adam(),
    metrics=[keras.metrics.SparseCategoricalAccuracy()],
    student_loss_fn=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    distillation_loss_fn=keras.losses.KLDivergence(),
    alpha=0.1,
    temperature=10,
)
second = distiller.fit(x_train, y_train, epochs=2, batch_size=8, shuffle=False)
tested = distiller.evaluate(x_train, y_train)


class WarmUpCosine(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, learning_rate_base, total_steps, warmup_learning_rate, warmup_steps):
        super().__init__()
        self.learning_rate_base = learning_rate_base
        self.total_steps = total_steps
        self.warmup_learning_rate = warmup_learning_rate
        self.warmup_steps = warmup_steps
        self.pi = ops.array(np.pi)

    def __call__(self, step):
        step = ops.cast(step, "float32")
        cos_annealed_lr = ops.cos(self.pi * (step - self.warmup_steps) / float(self.total_steps - self.warmup_steps))
        learning_rate = 0.5 * self.learning_rate_base * (1 + cos_annealed_lr)
        slope = (self.learning_rate_base - self.warmup_learning_rate) / self.warmup_steps
        warmup_rate = slope * step + self.warmup_learning_rate
        learning_rate = ops.where(step < self.warmup_steps, warmup_rate, learning_rate)
        return ops.where(step > self.total_steps, 0.0, learning_rate)


schedule = WarmUpCosine(0.1, 8, 0.0, 3)
student_scratch.compile(
    optimizer=keras.optimizers.SGD(learning_rate=schedule),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=[keras.metrics.SparseCategoricalAccuracy()],
)
third = student_scratch.fit(x_train, y_train, epochs=2, batch_size=8, shuffle=False)
rates = [float(schedule(i)) for i in range(10)]
results = [curves(first), evaluated, curves(second), tested, sums(student), curves(third), rates]
results.append(math.isclose(rates[0], 0))
