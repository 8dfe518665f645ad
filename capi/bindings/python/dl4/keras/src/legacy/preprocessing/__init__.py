"""keras.preprocessing: generators of images, tokens of texts."""
