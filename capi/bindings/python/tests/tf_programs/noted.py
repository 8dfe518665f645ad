"""The programs, and what several of them are given."""

import numpy as np

from programs import Programs

PROGRAMS = program = Programs()
TEXTS = ["The cat sat on the mat.", "The dog ate my homework!", "a cat, a dog & a bird", ""]
WORDS = np.array([["cat", "dog"], ["bird", "cat"], ["fish", "xxxx"]])
IMAGES = np.random.RandomState(3).uniform(0, 255, (4, 6, 8, 3)).astype("float32")
