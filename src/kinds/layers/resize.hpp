// Images of another size, as TensorFlow's image.resize makes them: of Resizing, CenterCrop and UpSampling2D.
#pragma once

#include "kinds/layers/data_format.hpp"

namespace dl4::kinds {

enum class Interpolation : int { nearest, bilinear, bicubic, lanczos3, lanczos5 };

// x (B, H, W, C) with H and W known, its channels last.
ops::Id resized(Call &c, ops::Id x, int64_t height, int64_t width, Interpolation how, bool antialias);

}  // namespace dl4::kinds
