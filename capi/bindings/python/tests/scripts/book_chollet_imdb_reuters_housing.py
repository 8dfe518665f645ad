"""First programs of a book: reviews as multi-hot vectors, newswires of many classes, prices by k-fold validation."""

import numpy as np
from tensorflow import keras
from tensorflow.keras import layers
from tensorflow.keras.utils import to_categorical
from filled import curves, fill

r = np.random.RandomState(50)
train_data = [sorted(set(r.randint(1, 50, r.randint(5, 20)).tolist())) for _ in range(40)]
train_labels = r.randint(0, 2, 40)
word_index = {f"word{i}": i for i in range(1, 50)}
reverse_word_index = dict([(value, key) for (key, value) in word_index.items()])
decoded_review = " ".join([reverse_word_index.get(i - 3, "?") for i in train_data[0]])


def vectorize_sequences(sequences, dimension=50):
    results = np.zeros((len(sequences), dimension))
    for i, sequence in enumerate(sequences):
        for j in sequence:
            results[i, j] = 1.0
    return results


x_train = vectorize_sequences(train_data)
y_train = np.asarray(train_labels).astype("float32")
model = keras.Sequential(
    [layers.Dense(16, activation="relu"), layers.Dense(16, activation="relu"), layers.Dense(1, activation="sigmoid")]
)
model.build((None, 50))
fill(model)
model.compile(optimizer="rmsprop", loss="binary_crossentropy", metrics=["accuracy"])
x_val, partial_x_train = x_train[:10], x_train[10:]
y_val, partial_y_train = y_train[:10], y_train[10:]
history = model.fit(
    partial_x_train, partial_y_train, epochs=4, batch_size=10, validation_data=(x_val, y_val), shuffle=False
)
history_dict = history.history
print(history_dict.keys())

targets = r.randint(0, 6, 40)
y_one_hot = to_categorical(targets)
model = keras.Sequential(
    [layers.Dense(16, activation="relu"), layers.Dense(16, activation="relu"), layers.Dense(6, activation="softmax")]
)
model.build(x_train.shape)
fill(model)
model.compile(optimizer="rmsprop", loss="categorical_crossentropy", metrics=["accuracy"])
newswires = model.fit(x_train, y_one_hot, epochs=2, batch_size=20, shuffle=False)
predictions = model.predict(x_train)
sums_to_one, chosen = np.sum(predictions[0]), np.argmax(predictions, axis=1)

houses, prices = r.normal(size=(24, 6)), r.uniform(10, 50, 24)
houses -= houses.mean(axis=0)
houses /= houses.std(axis=0)


def build_model():
    model = keras.Sequential([layers.Dense(16, activation="relu"), layers.Dense(1)])
    model.build((None, 6))
    fill(model)
    model.compile(optimizer="rmsprop", loss="mse", metrics=["mae"])
    return model


k = 3
num_val_samples = len(houses) // k
all_scores, all_mae_histories = [], []
for i in range(k):
    print(f"Processing fold #{i}")
    val_data = houses[i * num_val_samples : (i + 1) * num_val_samples]
    val_targets = prices[i * num_val_samples : (i + 1) * num_val_samples]
    partial_data = np.concatenate([houses[: i * num_val_samples], houses[(i + 1) * num_val_samples :]], axis=0)
    partial_targets = np.concatenate([prices[: i * num_val_samples], prices[(i + 1) * num_val_samples :]], axis=0)
    model = build_model()
    folds = model.fit(
        partial_data,
        partial_targets,
        validation_data=(val_data, val_targets),
        epochs=2,
        batch_size=8,
        verbose=0,
        shuffle=False,
    )
    all_mae_histories.append(folds.history["val_mae"])
    val_mse, val_mae = model.evaluate(val_data, val_targets, verbose=0)
    all_scores.append(val_mae)
average_mae_history = [np.mean([x[i] for x in all_mae_histories]) for i in range(2)]
results = [decoded_review, curves(history), curves(newswires), float(sums_to_one), chosen, all_scores]
results.append(average_mae_history)
