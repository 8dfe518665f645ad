// Image resizing as by TensorFlow's image.resize, for Resizing, CenterCrop and UpSampling2D; interpolation between an
// image's pixels, for GridSample and RoiAlign.
#pragma once

#include "kinds/layers/conv/data_format.hpp"

namespace dl4::kinds {

enum class Interpolation : int { nearest, bilinear, bicubic, lanczos3, lanczos5 };

// Refuses images (B, H, W, C), channels last, of unknown or zero size.
void need_pixels(Call &c, const Shape &images);
// x (B, H, W, C), checked by need_pixels().
ops::Id resized(Call &c, ops::Id x, int64_t height, int64_t width, Interpolation how, bool antialias);

enum class Between { nearest, linear, cubic, nearest_up };  // nearest: ties to even, or up
enum class Outside { zeros, border, reflection, wrap };

// A valid position on an axis, an integer in float32, and its weight.
struct Tap {
  ops::Id place, weight;
};
// Taps for positions x along an axis of n. Positions outside: zeros, clamped to the border, or reflected at the first
// and last pixel's centre, or at their outer edges (`edges`); or as if the image were repeated.
std::vector<Tap> taps(ops::Emit &e, ops::Id x, int64_t n, Between between, Outside outside, bool edges);

// Values of x, (B, H, W, C) or with one or three spatial axes, at the taps of each axis: (..., C) for taps of (...).
// item: int64 index along B, broadcastable to the taps' shape.
ops::Id sampled(ops::Emit &e, ops::Id x, ops::Id item, const std::vector<std::vector<Tap>> &axes);

}  // namespace dl4::kinds
