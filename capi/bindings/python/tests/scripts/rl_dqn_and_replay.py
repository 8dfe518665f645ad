"""Deep Q-learning with a target network and a memory, in a little world of its own."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers
from filled import fill, sums

gamma, epsilon, batch_size, num_actions = 0.99, 0.3, 8, 3
r = np.random.RandomState(40)


class World:
    def reset(self):
        self.t, self.state = 0, r.rand(2, 6, 6).astype("float32")
        return self.state, {}

    def step(self, action):
        self.t += 1
        self.state = np.roll(self.state, action + 1, axis=0)
        return self.state, float(self.state[0, 0, 0] > 0.5), self.t >= 10, False, {}


def create_q_model():
    return keras.Sequential(
        [
            layers.Input((2, 6, 6)),
            layers.Lambda(lambda tensor: keras.ops.transpose(tensor, [0, 2, 3, 1]), output_shape=(6, 6, 2)),
            layers.Conv2D(4, 3, strides=2, activation="relu"),
            layers.Flatten(),
            layers.Dense(16, activation="relu"),
            layers.Dense(num_actions, activation="linear"),
        ]
    )


model, model_target = fill(create_q_model()), fill(create_q_model())
optimizer = keras.optimizers.Adam(learning_rate=0.00025, clipnorm=1.0)
loss_function = keras.losses.Huber()
action_history, state_history, state_next_history, rewards_history, done_history, losses = [], [], [], [], [], []
frame_count, env = 0, World()
for episode in range(2):
    observation, _ = env.reset()
    state = np.array(observation)
    for timestep in range(1, 12):
        frame_count += 1
        if epsilon > r.rand(1)[0]:
            action = r.choice(num_actions)
        else:
            state_tensor = keras.ops.convert_to_tensor(state)
            state_tensor = keras.ops.expand_dims(state_tensor, 0)
            action_probs = model(state_tensor, training=False)
            action = int(keras.ops.argmax(action_probs[0]))
        state_next, reward, done, _, _ = env.step(action)
        state_next = np.array(state_next)
        action_history.append(action)
        state_history.append(state)
        state_next_history.append(state_next)
        done_history.append(done)
        rewards_history.append(reward)
        state = state_next
        if frame_count % 4 == 0 and len(done_history) > batch_size:
            indices = r.choice(range(len(done_history)), size=batch_size)
            state_sample = np.array([state_history[i] for i in indices])
            state_next_sample = np.array([state_next_history[i] for i in indices])
            rewards_sample = [rewards_history[i] for i in indices]
            action_sample = [action_history[i] for i in indices]
            done_sample = keras.ops.convert_to_tensor([float(done_history[i]) for i in indices])
            future_rewards = model_target.predict(state_next_sample, verbose=0)
            updated_q_values = rewards_sample + gamma * keras.ops.amax(future_rewards, axis=1)
            updated_q_values = updated_q_values * (1 - done_sample) - done_sample
            masks = keras.ops.one_hot(action_sample, num_actions)
            with tf.GradientTape() as tape:
                q_values = model(state_sample)
                q_action = keras.ops.sum(keras.ops.multiply(q_values, masks), axis=1)
                loss = loss_function(updated_q_values, q_action)
            grads = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(grads, model.trainable_variables))
            losses.append(float(loss))
        if frame_count % 10 == 0:
            model_target.set_weights(model.get_weights())
        if done:
            break
results = [losses, sums(model, model_target), action_history]
