// The one list of built-in kinds: a line each, in the order the registry shows them.
#pragma once

#define DL4_LAYERS(X)       \
  X(Dense)                  \
  X(ActivationLayer)        \
  X(ReLU)                   \
  X(LeakyReLU)              \
  X(ELU)                    \
  X(PReLU)                  \
  X(Softmax)                \
  X(Flatten)                \
  X(Reshape)                \
  X(Permute)                \
  X(Transpose)              \
  X(Dropout)                \
  X(UnitNormalization)      \
  X(Masking)                \
  X(GetMask)                \
  X(SetMask)                \
  X(Embedding)              \
  X(Conv1D)                 \
  X(Conv2D)                 \
  X(MaxPooling2D)           \
  X(AveragePooling2D)       \
  X(GlobalAveragePooling1D) \
  X(GlobalAveragePooling2D) \
  X(GlobalMaxPooling1D)     \
  X(GlobalMaxPooling2D)     \
  X(LSTM)                   \
  X(Attention)              \
  X(AdditiveAttention)      \
  X(MatMul)                 \
  X(Add)                    \
  X(Subtract)               \
  X(Multiply)               \
  X(Average)                \
  X(Maximum)                \
  X(Minimum)                \
  X(Concatenate)            \
  X(LossLayer)              \
  X(MetricLayer)

#define DL4_INITIALIZERS(X) \
  X(Zeros)                  \
  X(Ones)                   \
  X(Constant)               \
  X(Identity)               \
  X(RandomNormal)           \
  X(RandomUniform)          \
  X(TruncatedNormal)        \
  X(VarianceScaling)        \
  X(GlorotNormal)           \
  X(GlorotUniform)          \
  X(HeNormal)               \
  X(HeUniform)              \
  X(LecunNormal)            \
  X(LecunUniform)           \
  X(Orthogonal)             \
  X(STFT)

#define DL4_REGULARIZERS(X) \
  X(L1)                     \
  X(L2)                     \
  X(L1L2)                   \
  X(OrthogonalRegularizer)

#define DL4_CONSTRAINTS(X) \
  X(MaxNorm)               \
  X(MinMaxNorm)            \
  X(NonNeg)                \
  X(UnitNorm)

#define DL4_LOSSES(X)              \
  X(MeanSquaredError)              \
  X(MeanAbsoluteError)             \
  X(MeanAbsolutePercentageError)   \
  X(MeanSquaredLogarithmicError)   \
  X(Huber)                         \
  X(LogCosh)                       \
  X(Crossentropy)                  \
  X(BinaryCrossentropy)            \
  X(CategoricalCrossentropy)       \
  X(SparseCategoricalCrossentropy) \
  X(KLDivergence)                  \
  X(Poisson)                       \
  X(Hinge)                         \
  X(SquaredHinge)                  \
  X(CategoricalHinge)              \
  X(CosineSimilarity)

#define DL4_METRICS(X)                   \
  X(Accuracy)                            \
  X(BinaryAccuracy)                      \
  X(CategoricalAccuracy)                 \
  X(SparseCategoricalAccuracy)           \
  X(TopKCategoricalAccuracy)             \
  X(SparseTopKCategoricalAccuracy)       \
  X(MeanSquaredErrorMetric)              \
  X(MeanAbsoluteErrorMetric)             \
  X(MeanAbsolutePercentageErrorMetric)   \
  X(MeanSquaredLogarithmicErrorMetric)   \
  X(HuberMetric)                         \
  X(LogCoshMetric)                       \
  X(BinaryCrossentropyMetric)            \
  X(CategoricalCrossentropyMetric)       \
  X(SparseCategoricalCrossentropyMetric) \
  X(KLDivergenceMetric)                  \
  X(PoissonMetric)                       \
  X(HingeMetric)                         \
  X(SquaredHingeMetric)                  \
  X(CategoricalHingeMetric)              \
  X(CosineSimilarityMetric)

#define DL4_OPTIMIZERS(X) \
  X(SGD)                  \
  X(Adam)

#define DL4_KINDS(X)  \
  DL4_LAYERS(X)       \
  DL4_INITIALIZERS(X) \
  DL4_REGULARIZERS(X) \
  DL4_CONSTRAINTS(X)  \
  DL4_LOSSES(X)       \
  DL4_METRICS(X)      \
  DL4_OPTIMIZERS(X)
