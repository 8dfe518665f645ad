// The list of built-in kinds, in registry order: a line for each file of kinds, or for a table.
#pragma once

#define DL4_LIST(X)                \
  /* layers */                     \
  X(dense)                         \
  X(identity)                      \
  X(activations)                   \
  X(reshape)                       \
  X(padding)                       \
  X(resize)                        \
  X(stateless_call)                \
  X(augmentation)                  \
  X(regions)                       \
  X(weight)                        \
  X(dropping)                      \
  X(SpatialDropouts)               \
  X(batch_normalization)           \
  X(item_normalization)            \
  X(normalization)                 \
  X(encoding)                      \
  X(discretization)                \
  X(strings)                       \
  X(lookups)                       \
  X(masking)                       \
  X(embedding)                     \
  X(einsum)                        \
  X(conv)                          \
  X(spectrograms)                  \
  X(pooling)                       \
  X(cells)                         \
  X(flow)                          \
  X(conv_lstm)                     \
  X(models)                        \
  X(bidirectional)                 \
  X(spectral_normalization)        \
  X(graph_weights)                 \
  X(draws)                         \
  X(scored_attention)              \
  X(headed_attention)              \
  X(free_attention)                \
  X(graph_layers)                  \
  X(merge)                         \
  X(concatenate)                   \
  X(functions)                     \
  X(Reductions)                    \
  X(reductions)                    \
  X(take)                          \
  X(arrays)                        \
  X(Cumulations)                   \
  X(Orderings)                     \
  X(loss)                          \
  /* activations */                \
  X(activation)                    \
  /* initializers */               \
  X(InitializerRows)               \
  X(for_weights)                   \
  /* regularizers */               \
  /* constraints */                \
  /* metrics that are no losses */ \
  X(accuracies)                    \
  X(confusion)                     \
  X(auc)                           \
  X(IoUs)                          \
  X(regression)                    \
  /* losses and their metrics */   \
  X(plain)                         \
  X(distances)                     \
  X(crossentropies)                \
  /* optimizers */                 \
  X(one_pass)                      \
  X(by_weight)                     \
  /* schedules */                  \
  X(schedules)                     \
  /* callbacks */                  \
  X(stopping)                      \
  X(checkpoints)
