// The list of built-in kinds, in registry order: a line for each file of kinds, or for a table.
#pragma once

#define DL4_LIST(X)                \
  /* layers */                     \
  X(dense)                         \
  X(identity)                      \
  X(rectifiers)                    \
  X(softmax)                       \
  X(permute)                       \
  X(reshape)                       \
  X(arange)                        \
  X(padding)                       \
  X(up_sampling)                   \
  X(pipeline)                      \
  X(resize)                        \
  X(augmentation)                  \
  X(regions)                       \
  X(weight)                        \
  X(dropout)                       \
  X(SpatialDropouts)               \
  X(noise)                         \
  X(random_draws)                  \
  X(batch_normalization)           \
  X(layer_normalization)           \
  X(group_normalization)           \
  X(normalization)                 \
  X(unit_normalization)            \
  X(category_encoding)             \
  X(discretization)                \
  X(hashing)                       \
  X(lookups)                       \
  X(text_vectorization)            \
  X(strings)                       \
  X(masking)                       \
  X(embedding)                     \
  X(einsum_dense)                  \
  X(conv)                          \
  X(conv_transpose)                \
  X(depthwise_conv)                \
  X(locally_connected)             \
  X(stft_spectrogram)              \
  X(mel_spectrogram)               \
  X(pooling)                       \
  X(global_pooling)                \
  X(lstm)                          \
  X(gru)                           \
  X(simple_rnn)                    \
  X(rnn)                           \
  X(conv_lstm)                     \
  X(graph_cell)                    \
  X(flow)                          \
  X(bidirectional)                 \
  X(time_distributed)              \
  X(spectral_normalization)        \
  X(functional)                    \
  X(stateless_call)                \
  X(graph_weights)                 \
  X(gradients)                     \
  X(apply_gradients)               \
  X(update_step)                   \
  X(draws)                         \
  X(scored_attention)              \
  X(headed_attention)              \
  X(free_attention)                \
  X(linear_attention)              \
  X(graph_layers)                  \
  X(matmul)                        \
  X(merge)                         \
  X(concatenate)                   \
  X(functions)                     \
  X(clip)                          \
  X(Reductions)                    \
  X(reductions)                    \
  X(take)                          \
  X(arrays)                        \
  X(Cumulations)                   \
  X(Orderings)                     \
  X(einsum)                        \
  X(loss)                          \
  /* activations */                \
  X(activation)                    \
  /* initializers */               \
  X(InitializerRows)               \
  X(initializers)                  \
  /* regularizers */               \
  X(regularizers)                  \
  /* constraints */                \
  X(constraints)                   \
  /* metrics that are no losses */ \
  X(accuracies)                    \
  X(confusion)                     \
  X(auc)                           \
  X(IoUs)                          \
  X(iou)                           \
  X(f_score)                       \
  X(regression)                    \
  /* losses and their metrics */   \
  X(plain)                         \
  X(distances)                     \
  X(crossentropies)                \
  X(functional_loss)               \
  /* optimizers */                 \
  X(one_pass)                      \
  X(by_weight)                     \
  /* schedules */                  \
  X(schedules)                     \
  /* callbacks */                  \
  X(stopping)                      \
  X(learning_rate)                 \
  X(model_checkpoint)              \
  X(backup_and_restore)            \
  X(csv_logger)                    \
  X(swap_ema_weights)
