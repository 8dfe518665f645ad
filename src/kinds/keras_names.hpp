// The names of Keras 3.15.1's kinds, by category, written by keras_names.py: those that are not registered are
// "not in this version", rather than unknown.
#pragma once

// clang-format off
namespace dl4::kinds {

struct KerasNames {
  const char *category, *names;  // words with spaces between
};

inline constexpr KerasNames keras_names[] = {
    {"layer",
     "Activation ActivityRegularization AdaptiveAveragePooling1D AdaptiveAveragePooling2D "
     "AdaptiveAveragePooling3D AdaptiveMaxPooling1D AdaptiveMaxPooling2D AdaptiveMaxPooling3D Add "
     "AdditiveAttention AlphaDropout Attention AugMix AutoContrast Average AveragePooling1D AveragePooling2D "
     "AveragePooling3D AvgPool1D AvgPool2D AvgPool3D BatchNormalization Bidirectional CategoryEncoding "
     "CenterCrop Concatenate ContrastLimitedAdaptiveHistogramEqualization Conv1D Conv1DTranspose Conv2D "
     "Conv2DTranspose Conv3D Conv3DTranspose ConvLSTM1D ConvLSTM2D ConvLSTM3D Convolution1D "
     "Convolution1DTranspose Convolution2D Convolution2DTranspose Convolution3D Convolution3DTranspose "
     "Cropping1D Cropping2D Cropping3D CutMix Dense DepthwiseConv1D DepthwiseConv2D Discretization Dot Dropout "
     "ELU EinsumDense Embedding Equalization Flatten FlaxLayer GRU GRUCell GaussianDropout GaussianNoise "
     "GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D GlobalAvgPool1D GlobalAvgPool2D "
     "GlobalAvgPool3D GlobalMaxPool1D GlobalMaxPool2D GlobalMaxPool3D GlobalMaxPooling1D GlobalMaxPooling2D "
     "GlobalMaxPooling3D GroupNormalization GroupQueryAttention HashedCrossing Hashing Identity IntegerLookup "
     "JaxLayer LSTM LSTMCell Lambda LayerNormalization LeakyReLU Masking MaxNumBoundingBoxes MaxPool1D "
     "MaxPool2D MaxPool3D MaxPooling1D MaxPooling2D MaxPooling3D Maximum MelSpectrogram Minimum MixUp "
     "MultiHeadAttention Multiply Normalization PReLU Permute Pipeline RMSNormalization RNN RandAugment "
     "RandomBrightness RandomColorDegeneration RandomColorJitter RandomContrast RandomCrop "
     "RandomElasticTransform RandomErasing RandomFlip RandomGaussianBlur RandomGrayscale RandomHue RandomInvert "
     "RandomPerspective RandomPosterization RandomRotation RandomSaturation RandomSharpness RandomShear "
     "RandomTranslation RandomZoom ReLU RepeatVector Rescaling Reshape Resizing ReversibleEmbedding "
     "STFTSpectrogram SeparableConv1D SeparableConv2D SeparableConvolution1D SeparableConvolution2D SimpleRNN "
     "SimpleRNNCell Softmax Solarization SpatialDropout1D SpatialDropout2D SpatialDropout3D "
     "SpectralNormalization StackedRNNCells StringLookup Subtract TFSMLayer TextVectorization TimeDistributed "
     "TorchModuleWrapper UnitNormalization UpSampling1D UpSampling2D UpSampling3D Wrapper ZeroPadding1D "
     "ZeroPadding2D ZeroPadding3D "},
    {"initializer",
     "Constant GlorotNormal GlorotUniform HeNormal HeUniform Identity IdentityInitializer LecunNormal "
     "LecunUniform Ones Orthogonal OrthogonalInitializer RandomNormal RandomUniform STFT STFTInitializer "
     "TruncatedNormal VarianceScaling Zeros constant glorot_normal glorot_uniform he_normal he_uniform identity "
     "lecun_normal lecun_uniform ones orthogonal random_normal random_uniform stft truncated_normal "
     "variance_scaling zeros "},
    {"regularizer",
     "L1 L1L2 L2 OrthogonalRegularizer l1 l1_l2 l2 orthogonal_regularizer "},
    {"constraint",
     "MaxNorm MinMaxNorm NonNeg UnitNorm max_norm min_max_norm non_neg unit_norm "},
    {"loss",
     "BinaryCrossentropy BinaryFocalCrossentropy CTC CategoricalCrossentropy CategoricalFocalCrossentropy "
     "CategoricalGeneralizedCrossEntropy CategoricalHinge Circle CosineSimilarity Dice Hinge Huber KLDivergence "
     "LogCosh MeanAbsoluteError MeanAbsolutePercentageError MeanSquaredError MeanSquaredLogarithmicError "
     "Poisson SparseCategoricalCrossentropy SquaredHinge Tversky "},
    {"metric",
     "AUC Accuracy BinaryAccuracy BinaryCrossentropy BinaryIoU CategoricalAccuracy CategoricalCrossentropy "
     "CategoricalHinge ConcordanceCorrelation CosineSimilarity F1Score FBetaScore FalseNegatives FalsePositives "
     "Hinge IoU KLDivergence LogCoshError Mean MeanAbsoluteError MeanAbsolutePercentageError MeanIoU "
     "MeanMetricWrapper MeanSquaredError MeanSquaredLogarithmicError OneHotIoU OneHotMeanIoU PearsonCorrelation "
     "Poisson Precision PrecisionAtRecall R2Score Recall RecallAtPrecision RootMeanSquaredError "
     "SensitivityAtSpecificity SparseCategoricalAccuracy SparseCategoricalCrossentropy "
     "SparseTopKCategoricalAccuracy SpecificityAtSensitivity SquaredHinge Sum TopKCategoricalAccuracy "
     "TrueNegatives TruePositives "},
    {"optimizer",
     "Adadelta Adafactor Adagrad Adam AdamW Adamax Ftrl Lamb Lion LossScaleOptimizer MultiOptimizer Muon Nadam "
     "RMSprop SGD ScheduleFreeAdamW "},
};

}  // namespace dl4::kinds
