"""PPO: advantages by discounted sums, log-probabilities, clipped ratios, tf.function with early ends by KL."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers
from filled import fill, sums

r = np.random.RandomState(42)


def discounted_cumulative_sums(x, discount):
    out, total = np.zeros(len(x)), 0.0
    for i in reversed(range(len(x))):
        total = x[i] + discount * total
        out[i] = total
    return out


class Buffer:
    def __init__(self, observation_dimensions, size, gamma=0.99, lam=0.95):
        self.observation_buffer = np.zeros((size, observation_dimensions), dtype=np.float32)
        self.action_buffer = np.zeros(size, dtype=np.int32)
        self.advantage_buffer = np.zeros(size, dtype=np.float32)
        self.reward_buffer = np.zeros(size, dtype=np.float32)
        self.return_buffer = np.zeros(size, dtype=np.float32)
        self.value_buffer = np.zeros(size, dtype=np.float32)
        self.logprobability_buffer = np.zeros(size, dtype=np.float32)
        self.gamma, self.lam = gamma, lam
        self.pointer, self.trajectory_start_index = 0, 0

    def store(self, observation, action, reward, value, logprobability):
        self.observation_buffer[self.pointer] = observation
        self.action_buffer[self.pointer] = action
        self.reward_buffer[self.pointer] = reward
        self.value_buffer[self.pointer] = value
        self.logprobability_buffer[self.pointer] = logprobability
        self.pointer += 1

    def finish_trajectory(self, last_value=0):
        path_slice = slice(self.trajectory_start_index, self.pointer)
        rewards = np.append(self.reward_buffer[path_slice], last_value)
        values = np.append(self.value_buffer[path_slice], last_value)
        deltas = rewards[:-1] + self.gamma * values[1:] - values[:-1]
        self.advantage_buffer[path_slice] = discounted_cumulative_sums(deltas, self.gamma * self.lam)
        self.return_buffer[path_slice] = discounted_cumulative_sums(rewards, self.gamma)[:-1]
        self.trajectory_start_index = self.pointer

    def get(self):
        self.pointer, self.trajectory_start_index = 0, 0
        advantage_mean, advantage_std = np.mean(self.advantage_buffer), np.std(self.advantage_buffer)
        self.advantage_buffer = (self.advantage_buffer - advantage_mean) / advantage_std
        return (
            self.observation_buffer,
            self.action_buffer,
            self.advantage_buffer,
            self.return_buffer,
            self.logprobability_buffer,
        )


def mlp(x, sizes, activation=tf.tanh, output_activation=None):
    for size in sizes[:-1]:
        x = layers.Dense(units=size, activation="tanh")(x)
    return layers.Dense(units=sizes[-1], activation=output_activation)(x)


def logprobabilities(logits, a):
    logprobabilities_all = keras.ops.log_softmax(logits)
    return keras.ops.sum(keras.ops.one_hot(a, num_actions) * logprobabilities_all, axis=1)


@tf.function
def train_policy(observation_buffer, action_buffer, logprobability_buffer, advantage_buffer):
    with tf.GradientTape() as tape:
        ratio = keras.ops.exp(logprobabilities(actor(observation_buffer), action_buffer) - logprobability_buffer)
        min_advantage = keras.ops.where(
            advantage_buffer > 0,
            (1 + clip_ratio) * advantage_buffer,
            (1 - clip_ratio) * advantage_buffer,
        )
        policy_loss = -keras.ops.mean(keras.ops.minimum(ratio * advantage_buffer, min_advantage))
    policy_grads = tape.gradient(policy_loss, actor.trainable_variables)
    policy_optimizer.apply_gradients(zip(policy_grads, actor.trainable_variables))
    kl = keras.ops.mean(logprobability_buffer - logprobabilities(actor(observation_buffer), action_buffer))
    kl = keras.ops.sum(kl)
    return kl


@tf.function
def train_value_function(observation_buffer, return_buffer):
    with tf.GradientTape() as tape:
        value_loss = keras.ops.mean((return_buffer - critic(observation_buffer)) ** 2)
    value_grads = tape.gradient(value_loss, critic.trainable_variables)
    value_optimizer.apply_gradients(zip(value_grads, critic.trainable_variables))


steps_per_epoch, clip_ratio, target_kl, hidden_sizes = 24, 0.2, 0.01, (8, 8)
observation_dimensions, num_actions = 4, 2
buffer = Buffer(observation_dimensions, steps_per_epoch)
observation_input = keras.Input(shape=(observation_dimensions,), dtype="float32")
logits = mlp(observation_input, list(hidden_sizes) + [num_actions])
actor = fill(keras.Model(inputs=observation_input, outputs=logits))
value = keras.ops.squeeze(mlp(observation_input, list(hidden_sizes) + [1]), axis=1)
critic = fill(keras.Model(inputs=observation_input, outputs=value))
policy_optimizer = keras.optimizers.Adam(learning_rate=3e-3)
value_optimizer = keras.optimizers.Adam(learning_rate=1e-3)
kls, returns = [], []
for epoch in range(2):
    observation, episode_return = r.normal(size=4), 0
    for t in range(steps_per_epoch):
        observation = observation.reshape(1, -1)
        logits = actor(observation)
        action = np.array([int(np.argmax(keras.ops.convert_to_numpy(logits)[0] + r.gumbel(size=2)))])
        value_t = critic(observation)
        logprobability_t = logprobabilities(logits, action)
        reward = float(observation[0, action[0]])
        episode_return += reward
        buffer.store(observation, action[0], reward, np.asarray(value_t)[0], np.asarray(logprobability_t)[0])
        observation = 0.9 * observation + 0.1 * r.normal(size=(1, 4))
        if (t + 1) % 8 == 0:
            last_value = 0 if t + 1 == steps_per_epoch else np.asarray(critic(observation.reshape(1, -1)))[0]
            buffer.finish_trajectory(last_value)
            returns.append(episode_return)
    data = [tf.convert_to_tensor(v) for v in buffer.get()]
    observations, action_buffer, advantages, return_buffer, log_buffer = data
    for _ in range(4):
        kl = train_policy(observations, action_buffer, log_buffer, advantages)
        kls.append(float(kl))
        if kl > 1.5 * target_kl:
            break
    for _ in range(4):
        train_value_function(observations, return_buffer)
results = [kls, returns, sums(actor, critic)]
