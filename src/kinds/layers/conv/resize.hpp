// Images of another size, as TensorFlow's image.resize makes them: of Resizing, CenterCrop and UpSampling2D.
#pragma once

#include "kinds/layers/conv/data_format.hpp"

namespace dl4::kinds {

enum class Interpolation : int { nearest, bilinear, bicubic, lanczos3, lanczos5 };

// Refuses images (B, H, W, C), channels last, of an unknown size or without a pixel.
void need_pixels(Call &c, const Shape &images);
// x (B, H, W, C) for which need_pixels() was asked.
ops::Id resized(Call &c, ops::Id x, int64_t height, int64_t width, Interpolation how, bool antialias);

}  // namespace dl4::kinds
