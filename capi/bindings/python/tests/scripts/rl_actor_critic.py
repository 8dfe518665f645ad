"""Actor and critic on one tape for an episode, returns normalised in NumPy."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from filled import fill, sums

r = np.random.RandomState(43)
gamma, eps = 0.99, np.finfo(np.float32).eps.item()
num_inputs, num_actions, num_hidden = 4, 2, 16
inputs = layers.Input(shape=(num_inputs,))
common = layers.Dense(num_hidden, activation="relu")(inputs)
action = layers.Dense(num_actions, activation="softmax")(common)
critic = layers.Dense(1)(common)
model = fill(keras.Model(inputs=inputs, outputs=[action, critic]))
optimizer = keras.optimizers.Adam(learning_rate=0.01)
huber_loss = keras.losses.Huber()
action_probs_history, critic_value_history, rewards_history, losses = [], [], [], []
running_reward, episode_count = 0, 0
while episode_count < 3:
    state = r.normal(size=4)
    episode_reward = 0
    with tf.GradientTape() as tape:
        for timestep in range(1, 7):
            state = ops.convert_to_tensor(state)
            state = ops.expand_dims(state, 0)
            action_probs, critic_value = model(state)
            critic_value_history.append(critic_value[0, 0])
            p = np.squeeze(action_probs)
            action = int(r.rand() > p[0])
            action_probs_history.append(ops.log(action_probs[0, action]))
            state, reward = r.normal(size=4), float(action)
            rewards_history.append(reward)
            episode_reward += reward
        running_reward = 0.05 * episode_reward + (1 - 0.05) * running_reward
        returns, discounted_sum = [], 0
        for value in rewards_history[::-1]:
            discounted_sum = value + gamma * discounted_sum
            returns.insert(0, discounted_sum)
        returns = np.array(returns)
        returns = (returns - np.mean(returns)) / (np.std(returns) + eps)
        returns = returns.tolist()
        history = zip(action_probs_history, critic_value_history, returns)
        actor_losses, critic_losses = [], []
        for log_prob, value, ret in history:
            diff = ret - value
            actor_losses.append(-log_prob * diff)
            critic_losses.append(huber_loss(ops.expand_dims(value, 0), ops.expand_dims(ret, 0)))
        loss_value = sum(actor_losses) + sum(critic_losses)
    grads = tape.gradient(loss_value, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    losses.append(float(loss_value))
    action_probs_history.clear()
    critic_value_history.clear()
    rewards_history.clear()
    episode_count += 1
results = [losses, running_reward, sums(model)]
