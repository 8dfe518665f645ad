// The one list of built-in kinds: a line each, in the order the registry shows them.
#pragma once

#define DL4_LAYERS(X) \
  X(Dense)

#define DL4_INITIALIZERS(X)
#define DL4_REGULARIZERS(X)
#define DL4_CONSTRAINTS(X)
#define DL4_LOSSES(X)
#define DL4_METRICS(X)
#define DL4_OPTIMIZERS(X)

#define DL4_KINDS(X)  \
  DL4_LAYERS(X)       \
  DL4_INITIALIZERS(X) \
  DL4_REGULARIZERS(X) \
  DL4_CONSTRAINTS(X)  \
  DL4_LOSSES(X)       \
  DL4_METRICS(X)      \
  DL4_OPTIMIZERS(X)
