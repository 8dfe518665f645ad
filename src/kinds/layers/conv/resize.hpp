// Image resizing as by TensorFlow's image.resize, for Resizing, CenterCrop and UpSampling2D.
#pragma once

#include "kinds/layers/conv/data_format.hpp"

namespace dl4::kinds {

enum class Interpolation : int { nearest, bilinear, bicubic, lanczos3, lanczos5 };

// Refuses images (B, H, W, C), channels last, of unknown or zero size.
void need_pixels(Call &c, const Shape &images);
// x (B, H, W, C), checked by need_pixels().
ops::Id resized(Call &c, ops::Id x, int64_t height, int64_t width, Interpolation how, bool antialias);

}  // namespace dl4::kinds
