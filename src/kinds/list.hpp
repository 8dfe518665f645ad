// The one list of built-in kinds: a line for each file of kinds, in the order the registry shows them. A file with a
// table has a line for the table.
#pragma once

#define DL4_LIST(X)                \
  /* layers */                     \
  X(Dense)                         \
  X(ActivationLayer)               \
  X(ReLU)                          \
  X(LeakyReLU)                     \
  X(ELU)                           \
  X(PReLU)                         \
  X(Softmax)                       \
  X(Flatten)                       \
  X(Reshape)                       \
  X(Permute)                       \
  X(Transpose)                     \
  X(Dropout)                       \
  X(SpatialDropouts)               \
  X(GaussianNoise)                 \
  X(GaussianDropout)               \
  X(AlphaDropout)                  \
  X(ActivityRegularization)        \
  X(BatchNormalization)            \
  X(LayerNormalization)            \
  X(RMSNormalization)              \
  X(GroupNormalization)            \
  X(Normalization)                 \
  X(UnitNormalization)             \
  X(Masking)                       \
  X(GetMask)                       \
  X(SetMask)                       \
  X(Embedding)                     \
  X(Conv1D)                        \
  X(Conv2D)                        \
  X(Poolings)                      \
  X(GlobalPoolings)                \
  X(LSTM)                          \
  X(GRU)                           \
  X(SimpleRNN)                     \
  X(RNN)                           \
  X(ConvLSTM1D)                    \
  X(ConvLSTM2D)                    \
  X(LSTMCell)                      \
  X(GRUCell)                       \
  X(SimpleRNNCell)                 \
  X(StackedRNNCells)               \
  X(Bidirectional)                 \
  X(TimeDistributed)               \
  X(Functional)                    \
  X(Attention)                     \
  X(AdditiveAttention)             \
  X(MultiHeadAttention)            \
  X(GroupQueryAttention)           \
  X(GlobalAttention)               \
  X(LocalAttention)                \
  X(JoinHeads)                     \
  X(GraphAttention)                \
  X(GraphNetwork)                  \
  X(SegmentSum)                    \
  X(SegmentMax)                    \
  X(MatMul)                        \
  X(Merges)                        \
  X(Concatenate)                   \
  X(LossLayer)                     \
  X(MetricLayer)                   \
  /* activations */                \
  X(Activations)                   \
  /* initializers */               \
  X(Constants)                     \
  X(Identity)                      \
  X(RandomNormal)                  \
  X(RandomUniform)                 \
  X(TruncatedNormal)               \
  X(FanInitializers)               \
  X(Orthogonal)                    \
  X(STFT)                          \
  /* regularizers */               \
  X(L1)                            \
  X(L2)                            \
  X(L1L2)                          \
  X(OrthogonalRegularizer)         \
  /* constraints */                \
  X(MaxNorm)                       \
  X(MinMaxNorm)                    \
  X(NonNeg)                        \
  X(UnitNorm)                      \
  /* metrics that are no losses */ \
  X(Accuracy)                      \
  X(BinaryAccuracy)                \
  X(CategoricalAccuracy)           \
  X(SparseCategoricalAccuracy)     \
  X(TopKCategoricalAccuracy)       \
  X(SparseTopKCategoricalAccuracy) \
  /* losses and their metrics */   \
  X(PlainLosses)                   \
  X(Huber)                         \
  X(Crossentropy)                  \
  X(BinaryCrossentropy)            \
  X(CategoricalCrossentropy)       \
  X(SparseCategoricalCrossentropy) \
  X(CosineSimilarity)              \
  X(CosineSimilarityMetric)        \
  /* optimizers */                 \
  X(SGD)                           \
  X(Adam)
