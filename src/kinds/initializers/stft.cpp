// STFT.
#include <cmath>
#include <numbers>
#include <vector>

#include "base/error.hpp"
#include "base/math.hpp"
#include "kinds/field.hpp"
#include "kinds/initializer.hpp"

namespace dl4::kinds {
namespace {

constexpr double pi = std::numbers::pi;

struct STFT : Initializer {
  static constexpr const char *doc =
      "kernel (frame, 1, fft / 2 + 1) of a convolution that is one side of a short-time Fourier transform";
  static constexpr const char *aliases[] = {"STFTInitializer"};
  enum class Side { real, imag } side = Side::real;
  enum class Window { hann, hamming, blackman, boxcar, none } window = Window::hann;
  enum class Scaling { density, spectrum, none } scaling = Scaling::density;
  bool periodic = false;

  void fields(Fields &f) override {
    f("side", side, {"real", "imag"}).doc("cosines or minus sines");
    f("window", window, {"hann", "hamming", "blackman", "boxcar"})
        .null_means(Window::none)
        .among_others()
        .doc("weights of a frame; null for none");
    f("scaling", scaling, {"density", "spectrum"})
        .null_means(Scaling::none)
        .among_others()
        .doc("divide by the window's L2 or L1 norm; null for neither");
    f("periodic", periodic).doc("the window's first element follows its last one");
  }
  void fill(Tensor &t, const Seed &) const override {
    const Shape &s = t.shape;
    if (s.rank() != 3 || s[1] != 1 || s[2] < 2)
      fail(Code::shape_mismatch, "initializer STFT: expected a weight (frame, 1, at least 2), got shape ", s);
    auto [weights, divisor] = frame(s[0]);
    for (int64_t i = 0; i < s[0]; ++i)
      for (int64_t k = 0; k < s[2]; ++k) {
        double angle = -2 * pi * static_cast<double>(i * k) / static_cast<double>(2 * (s[2] - 1));
        double v = side == Side::real ? math::cos(angle) : math::sin(angle);
        t.as<float>()[i * s[2] + k] = static_cast<float>(v * weights[static_cast<size_t>(i)] / divisor);
      }
  }

 private:
  // The window of n elements and its divisor.
  std::pair<std::vector<double>, double> frame(int64_t n) const {
    std::vector<double> w(static_cast<size_t>(n), 1.0);
    if (window == Window::none) return {w, 1};
    double l1 = 0, l2 = 0, last = static_cast<double>(periodic ? n : n - 1);
    for (size_t i = 0; i < w.size(); ++i) {
      double x = n > 1 ? 2 * pi * static_cast<double>(i) / last : pi;
      if (window == Window::hann) w[i] = 0.5 - 0.5 * math::cos(x);
      if (window == Window::hamming) w[i] = 0.54 - 0.46 * math::cos(x);
      if (window == Window::blackman) w[i] = 0.42 - 0.5 * math::cos(x) + 0.08 * math::cos(2 * x);
      l1 += std::abs(w[i]);
      l2 += w[i] * w[i];
    }
    if (scaling == Scaling::none) return {w, 1};
    return {w, scaling == Scaling::density ? std::sqrt(l2) : l1};
  }
};

}  // namespace

DL4_KINDS(stft, STFT)

}  // namespace dl4::kinds
