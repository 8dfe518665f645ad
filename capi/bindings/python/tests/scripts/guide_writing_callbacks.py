"""Callbacks of one's own: what they are told, early stopping at the least loss, a schedule, predictions of batches."""

import numpy as np
import keras
from filled import curves, fill

r = np.random.RandomState(5)
x_train, y_train = r.rand(64, 20).astype("float32"), r.rand(64, 1).astype("float32")
x_test, y_test = r.rand(32, 20).astype("float32"), r.rand(32, 1).astype("float32")


def get_model():
    model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(1)])
    fill(model)
    model.compile(
        optimizer=keras.optimizers.RMSprop(learning_rate=0.1),
        loss="mean_squared_error",
        metrics=["mean_absolute_error"],
    )
    return model


told = []


class CustomCallback(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        told.append("train begin " + " ".join(list(logs.keys())))

    def on_train_end(self, logs=None):
        told.append("train end " + " ".join(sorted(logs.keys())))

    def on_epoch_begin(self, epoch, logs=None):
        told.append(f"epoch {epoch} begin " + " ".join(sorted(logs.keys())))

    def on_epoch_end(self, epoch, logs=None):
        told.append(f"epoch {epoch} end " + " ".join(sorted(logs.keys())))

    def on_test_begin(self, logs=None):
        told.append("test begin " + " ".join(sorted(logs.keys())))

    def on_test_end(self, logs=None):
        told.append("test end " + " ".join(sorted(logs.keys())))

    def on_predict_begin(self, logs=None):
        told.append("predict begin " + " ".join(sorted(logs.keys())))

    def on_predict_end(self, logs=None):
        told.append("predict end " + " ".join(sorted(logs.keys())))

    def on_train_batch_begin(self, batch, logs=None):
        told.append(f"train batch {batch} begin " + " ".join(sorted(logs.keys())))

    def on_train_batch_end(self, batch, logs=None):
        told.append(f"train batch {batch} end " + " ".join(sorted(logs.keys())))

    def on_test_batch_begin(self, batch, logs=None):
        told.append(f"test batch {batch} begin")

    def on_test_batch_end(self, batch, logs=None):
        told.append(f"test batch {batch} end")

    def on_predict_batch_begin(self, batch, logs=None):
        told.append(f"predict batch {batch} begin " + " ".join(sorted(logs.keys())))

    def on_predict_batch_end(self, batch, logs=None):
        told.append(f"predict batch {batch} end " + " ".join(sorted(logs.keys())))


model = get_model()
model.fit(x_train, y_train, batch_size=32, epochs=1, verbose=0, validation_split=0.5, callbacks=[CustomCallback()])
res = model.evaluate(x_test, y_test, batch_size=16, verbose=0, callbacks=[CustomCallback()])
res = model.predict(x_test, batch_size=16, callbacks=[CustomCallback()])


class LossAndErrorPrintingCallback(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        print("Up to batch {}, the average loss is {:7.2f}.".format(batch, logs["loss"]))

    def on_epoch_end(self, epoch, logs=None):
        print(
            "The average loss for epoch {} is {:7.2f} and mean absolute error is {:7.2f}.".format(
                epoch, logs["loss"], logs["mean_absolute_error"]
            )
        )


class EarlyStoppingAtMinLoss(keras.callbacks.Callback):
    def __init__(self, patience=0):
        super().__init__()
        self.patience = patience
        self.best_weights = None

    def on_train_begin(self, logs=None):
        self.wait = 0
        self.stopped_epoch = 0
        self.best = np.inf

    def on_epoch_end(self, epoch, logs=None):
        current = logs.get("loss")
        if np.less(current, self.best):
            self.best = current
            self.wait = 0
            self.best_weights = self.model.get_weights()
        else:
            self.wait += 1
            if self.wait >= self.patience:
                self.stopped_epoch = epoch
                self.model.stop_training = True
                print("Restoring model weights from the end of the best epoch.")
                self.model.set_weights(self.best_weights)

    def on_train_end(self, logs=None):
        if self.stopped_epoch > 0:
            print(f"Epoch {self.stopped_epoch + 1}: early stopping")


model = get_model()
stopping = EarlyStoppingAtMinLoss()
stopped = curves(
    model.fit(
        x_train, y_train, batch_size=64, epochs=30, verbose=0, callbacks=[LossAndErrorPrintingCallback(), stopping]
    )
)


class CustomLearningRateScheduler(keras.callbacks.Callback):
    def __init__(self, schedule):
        super().__init__()
        self.schedule = schedule

    def on_epoch_begin(self, epoch, logs=None):
        if not hasattr(self.model.optimizer, "learning_rate"):
            raise ValueError('Optimizer must have a "learning_rate" attribute.')
        lr = self.model.optimizer.learning_rate
        scheduled_lr = self.schedule(epoch, lr)
        self.model.optimizer.learning_rate = scheduled_lr
        print(f"\nEpoch {epoch}: Learning rate is {float(np.array(scheduled_lr))}.")


LR_SCHEDULE = [(3, 0.05), (6, 0.01), (9, 0.005), (12, 0.001)]


def lr_schedule(epoch, lr):
    if epoch < LR_SCHEDULE[0][0] or epoch > LR_SCHEDULE[-1][0]:
        return lr
    for i in range(len(LR_SCHEDULE)):
        if epoch == LR_SCHEDULE[i][0]:
            return LR_SCHEDULE[i][1]
    return lr


model = get_model()
scheduled = curves(
    model.fit(
        x_train,
        y_train,
        batch_size=64,
        epochs=8,
        verbose=0,
        callbacks=[LossAndErrorPrintingCallback(), CustomLearningRateScheduler(lr_schedule)],
    )
)
results = [told, stopped, stopping.stopped_epoch, scheduled, float(model.optimizer.learning_rate)]
