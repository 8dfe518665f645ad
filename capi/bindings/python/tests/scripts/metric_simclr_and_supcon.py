"""Contrastive learning: SimCLR's loss of two views, a queue, supervised contrast, cross-batch similarity."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from filled import curves, fill, sums

r = np.random.RandomState(45)
features, labels = r.normal(size=(32, 8, 8, 1)).astype("float32"), r.randint(0, 3, 32)
width, temperature = 8, 0.1


def get_encoder():
    return keras.Sequential(
        [
            keras.Input(shape=(8, 8, 1)),
            layers.Conv2D(4, kernel_size=3, strides=2, activation="relu"),
            layers.Flatten(),
            layers.Dense(width, activation="relu"),
        ],
        name="encoder",
    )


class ContrastiveModel(keras.Model):
    def __init__(self):
        super().__init__()
        self.temperature = temperature
        self.contrastive_augmenter = keras.Sequential([layers.Rescaling(0.5)])
        self.encoder = get_encoder()
        self.projection_head = keras.Sequential(
            [keras.Input(shape=(width,)), layers.Dense(width, activation="relu"), layers.Dense(width)],
            name="projection_head",
        )
        self.linear_probe = keras.Sequential([layers.Input(shape=(width,)), layers.Dense(3)], name="linear_probe")
        self.encoder.summary()

    def compile(self, contrastive_optimizer, probe_optimizer, **kwargs):
        super().compile(**kwargs)
        self.contrastive_optimizer = contrastive_optimizer
        self.probe_optimizer = probe_optimizer
        self.probe_loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.contrastive_loss_tracker = keras.metrics.Mean(name="c_loss")
        self.contrastive_accuracy = keras.metrics.SparseCategoricalAccuracy(name="c_acc")
        self.probe_loss_tracker = keras.metrics.Mean(name="p_loss")
        self.probe_accuracy = keras.metrics.SparseCategoricalAccuracy(name="p_acc")

    @property
    def metrics(self):
        return [
            self.contrastive_loss_tracker,
            self.contrastive_accuracy,
            self.probe_loss_tracker,
            self.probe_accuracy,
        ]

    def contrastive_loss(self, projections_1, projections_2):
        projections_1 = ops.normalize(projections_1, axis=1)
        projections_2 = ops.normalize(projections_2, axis=1)
        similarities = ops.matmul(projections_1, ops.transpose(projections_2)) / self.temperature
        batch_size = ops.shape(projections_1)[0]
        contrastive_labels = ops.arange(batch_size)
        self.contrastive_accuracy.update_state(contrastive_labels, similarities)
        self.contrastive_accuracy.update_state(contrastive_labels, ops.transpose(similarities))
        loss_1_2 = keras.losses.sparse_categorical_crossentropy(contrastive_labels, similarities, from_logits=True)
        loss_2_1 = keras.losses.sparse_categorical_crossentropy(
            contrastive_labels, ops.transpose(similarities), from_logits=True
        )
        return (loss_1_2 + loss_2_1) / 2

    def train_step(self, data):
        (unlabeled_images, _), (labeled_images, labels) = data
        images = ops.concatenate((unlabeled_images, labeled_images), axis=0)
        augmented_images_1 = self.contrastive_augmenter(images)
        augmented_images_2 = images[:, ::-1]
        with tf.GradientTape() as tape:
            features_1 = self.encoder(augmented_images_1, training=True)
            features_2 = self.encoder(augmented_images_2, training=True)
            projections_1 = self.projection_head(features_1, training=True)
            projections_2 = self.projection_head(features_2, training=True)
            contrastive_loss = self.contrastive_loss(projections_1, projections_2)
        gradients = tape.gradient(
            contrastive_loss,
            self.encoder.trainable_weights + self.projection_head.trainable_weights,
        )
        self.contrastive_optimizer.apply_gradients(
            zip(gradients, self.encoder.trainable_weights + self.projection_head.trainable_weights)
        )
        self.contrastive_loss_tracker.update_state(contrastive_loss)
        with tf.GradientTape() as tape:
            features = self.encoder(labeled_images, training=False)
            class_logits = self.linear_probe(features, training=True)
            probe_loss = self.probe_loss(labels, class_logits)
        gradients = tape.gradient(probe_loss, self.linear_probe.trainable_weights)
        self.probe_optimizer.apply_gradients(zip(gradients, self.linear_probe.trainable_weights))
        self.probe_loss_tracker.update_state(probe_loss)
        self.probe_accuracy.update_state(labels, class_logits)
        return {m.name: m.result() for m in self.metrics}

    def test_step(self, data):
        labeled_images, labels = data
        features = self.encoder(labeled_images, training=False)
        class_logits = self.linear_probe(features, training=False)
        probe_loss = self.probe_loss(labels, class_logits)
        self.probe_loss_tracker.update_state(probe_loss)
        self.probe_accuracy.update_state(labels, class_logits)
        return {m.name: m.result() for m in self.metrics[2:]}


unlabeled = tf.data.Dataset.from_tensor_slices((features, labels)).batch(8)
labeled = tf.data.Dataset.from_tensor_slices((features[::-1].copy(), labels[::-1].copy())).batch(4).take(4)
pretraining_model = ContrastiveModel()
fill(pretraining_model.encoder, pretraining_model.projection_head, pretraining_model.linear_probe)
pretraining_model.compile(keras.optimizers.Adam(), keras.optimizers.Adam())
history = pretraining_model.fit(tf.data.Dataset.zip((unlabeled, labeled)), epochs=2, validation_data=labeled)


class SupervisedContrastiveLoss(keras.losses.Loss):
    def __init__(self, temperature=1, name=None):
        super().__init__(name=name)
        self.temperature = temperature

    def __call__(self, labels, feature_vectors, sample_weight=None):
        feature_vectors_normalized = keras.utils.normalize(feature_vectors, axis=1, order=2)
        logits = ops.divide(
            ops.matmul(feature_vectors_normalized, ops.transpose(feature_vectors_normalized)),
            self.temperature,
        )
        labels = ops.reshape(labels, (-1, 1))
        same = ops.cast(ops.equal(labels, ops.transpose(labels)), "float32")
        same = same / ops.sum(same, axis=1, keepdims=True)
        return ops.mean(-ops.sum(same * ops.log_softmax(logits, axis=1), axis=1))


supervised = SupervisedContrastiveLoss(0.5)(tf.constant(labels), tf.constant(features[:, 0, :, 0]))


class EmbeddingModel(keras.Model):
    def train_step(self, data):
        if isinstance(data, tuple):
            data = data[0]
        anchors, positives = data[0], data[1]
        with tf.GradientTape() as tape:
            anchor_embeddings = self(anchors, training=True)
            positive_embeddings = self(positives, training=True)
            similarities = keras.ops.einsum("ae,pe->ap", anchor_embeddings, positive_embeddings)
            similarities /= 0.2
            sparse_labels = keras.ops.arange(4)
            loss = self.compute_loss(y=sparse_labels, y_pred=similarities)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply(gradients, self.trainable_variables)
        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss)
            else:
                metric.update_state(sparse_labels, similarities)
        return {m.name: m.result() for m in self.metrics}


class AnchorPositivePairs(keras.utils.Sequence):
    def __init__(self, num_batches):
        super().__init__()
        self.count = num_batches

    def __len__(self):
        return self.count

    def __getitem__(self, _idx):
        return np.stack([features[:4], features[4:8]])


inputs = layers.Input(shape=(8, 8, 1))
x = layers.Conv2D(filters=4, kernel_size=3, strides=2, activation="relu")(inputs)
x = layers.GlobalAveragePooling2D()(x)
embeddings = layers.Dense(units=5, activation=None)(x)
embeddings = layers.UnitNormalization()(embeddings)
model = fill(EmbeddingModel(inputs, embeddings))
model.compile(
    optimizer=keras.optimizers.Adam(learning_rate=1e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
)
pairs = model.fit(AnchorPositivePairs(num_batches=3), epochs=2)
results = [curves(history), float(supervised), curves(pairs), sums(model, pretraining_model.encoder)]
