// STFTSpectrogram: short-time Fourier transforms as convolutions with cosines and sines.
#include <bit>

#include "base/error.hpp"
#include "kinds/layers/conv/data_format.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;
using ops::Unary;

struct STFTSpectrogram final : LayerOf<STFTSpectrogram> {
  static constexpr const char *doc =
      "The spectrum of each frame of a sequence, channel by channel, by kernels of cosines and sines that may be "
      "trained.";
  enum class Mode { log, magnitude, psd, real, imag, angle, stft } mode = Mode::log;
  int64_t frame_length = 256;
  std::optional<int64_t> frame_step, fft_length;
  enum class Window { hann, hamming, blackman, boxcar, none } window = Window::hann;
  enum class Scaling { density, spectrum, none } scaling = Scaling::density;
  bool periodic = false, expand_dims = false;
  ops::Padding padding = ops::Padding::valid;
  DataFormat data_format;

  void fields(Fields &f) override {
    f("mode", mode, {"log", "magnitude", "psd", "real", "imag", "angle", "stft"})
        .doc(
            "what is given of the spectrum: the logarithm of the magnitude, that, its square over both sides, the real "
            "or the imaginary part, the angle of both, or both one behind the other");
    f("frame_length", frame_length).at_least(2).at_most(max_dim).doc("steps of a frame");
    f("frame_step", frame_step).at_least(1).at_most(max_dim).doc("steps from frame to frame; null: half a frame");
    f("fft_length", fft_length)
        .at_least(2)
        .at_most(max_dim)
        .doc("length of the transform; null: the power of two that holds a frame");
    f("window", window, {"hann", "hamming", "blackman", "boxcar"})
        .null_means(Window::none)
        .among_others()
        .doc("weights of a frame; null for none");
    f("periodic", periodic).doc("the window's first element follows its last one");
    f("scaling", scaling, {"density", "spectrum"})
        .null_means(Scaling::none)
        .among_others()
        .doc("divide by the window's L2 or L1 norm; null for neither");
    f("padding", padding, {"valid", "same"}).doc("\"valid\": whole frames only; \"same\": zeros around");
    f("expand_dims", expand_dims).doc("whether the frequencies have an axis of their own");
    data_format.fields(f);
  }
  void check() override {
    if (frame_step && *frame_step > frame_length)
      refuse_attribute("frame_step", "expected at most frame_length, ", frame_length, ", got ", *frame_step);
    if (fft_length && *fft_length < frame_length)
      refuse_attribute("fft_length", "expected at least frame_length, ", frame_length, ", got ", *fft_length);
  }
  static constexpr PlainFacts plain{
      .inputs = {{"x", "(B, T, C)"}},
      .outputs = {{"y", "(B, frames, C * F), with expand_dims (B, frames, F, C)"}},
      .weights = {{"real_kernel", "(frame_length, 1, F), F = fft_length / 2 + 1", "mode not imag"},
                  {"imag_kernel", "(frame_length, 1, F)", "mode not real"}}};

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, 3);
    c.need_float(0);
    // Channels become an axis over which the frames don't move: (B, T, C, 1) to (B, frames, C, F).
    Id x = ops::expand_dims(c.e, data_format.to_last(c.e, c.x()), -1);
    Id real = mode == Mode::imag ? ops::none : side(c, x, "real");
    Id imag = mode == Mode::real ? ops::none : side(c, x, "imag");
    Id y = spectrum(c.e, real, imag);
    const Shape s = c.e.shape(y);
    if (expand_dims)
      return {{ops::transpose(c.e, y,
                              data_format.is_first() ? std::vector<int>{0, 2, 1, 3} : std::vector<int>{0, 1, 3, 2})}};
    return {
        {data_format.from_last(c.e, ops::reshape(c.e, y, 2, {s[2] == free_dim ? free_dim : checked_mul(s[2], s[3])}))}};
  }

 private:
  Id side(Call &c, Id x, const char *which) const {
    const int64_t fft = fft_length.value_or(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(frame_length))));
    static constexpr const char *windows[] = {"hann", "hamming", "blackman", "boxcar"};
    static constexpr const char *scalings[] = {"density", "spectrum"};
    Json config{{"side", which}, {"periodic", periodic}};
    config["window"] = window == Window::none ? Json(nullptr) : Json(windows[static_cast<int>(window)]);
    config["scaling"] = scaling == Scaling::none ? Json(nullptr) : Json(scalings[static_cast<int>(scaling)]);
    const std::string weight = std::string(which) + "_kernel";
    Id w = c.weight(weight.c_str(), {frame_length, 1, fft / 2 + 1},
                    parse<Initializer>(Json{{"class_name", "STFT"}, {"config", config}}));
    return ops::conv(c.e, x, ops::expand_dims(c.e, w, 1), ops::none,
                     {.strides = {frame_step.value_or(frame_length / 2), 1}, .padding = padding});
  }

  Id spectrum(ops::Emit &e, Id real, Id imag) const {
    if (mode == Mode::real) return real;
    if (mode == Mode::imag) return imag;
    if (mode == Mode::stft) return ops::concat(e, {real, imag}, -1);
    if (mode == Mode::angle) return ops::binary(e, ops::Binary::atan2, imag, real);
    Id power = ops::add(e, ops::unary(e, Unary::square, real), ops::unary(e, Unary::square, imag));
    if (mode == Mode::psd) {
      // All frequencies but the first and the last count twice.
      const int64_t inner = e.shape(power).last() - 2;
      return ops::add(e, power, ops::pad(e, ops::slice(e, power, -1, 1, inner), -1, 1, 1));
    }
    Id y = ops::unary(e, Unary::sqrt, ops::binary(e, ops::Binary::max, power, e.scalar(1e-7)));
    if (mode == Mode::magnitude) return y;
    return ops::unary(e, Unary::log, ops::binary(e, ops::Binary::max, y, e.scalar(1e-7)));
  }
};

}  // namespace
DL4_KINDS(stft_spectrogram, STFTSpectrogram)
}  // namespace dl4::kinds
