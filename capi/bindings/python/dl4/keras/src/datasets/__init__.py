"""keras.datasets: the data sets that Keras's programs use, from its own folder or from where they are published."""
