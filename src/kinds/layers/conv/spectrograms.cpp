// STFTSpectrogram and MelSpectrogram.
#include <bit>
#include <cmath>
#include <numbers>

#include "base/math.hpp"
#include "kinds/layers/conv/data_format.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::Unary;

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
    f("mode", mode, {"log", "magnitude", "psd", "real", "imag", "angle", "stft"},
      "what is given of the spectrum: the logarithm of the magnitude, that, its square over both sides, the real "
      "or the imaginary part, the angle of both, or both one behind the other");
    f("frame_length", frame_length, "steps of a frame").within(2, max_dim);
    f("frame_step", frame_step, "steps from frame to frame; null: half a frame").within(1, max_dim);
    f("fft_length", fft_length, "length of the transform; null: the power of two that holds a frame")
        .within(2, max_dim);
    f("window", window, {"hann", "hamming", "blackman", "boxcar"}, "weights of a frame; null for none")
        .null_means(Window::none)
        .among_others();
    f("periodic", periodic, "the window's first element follows its last one");
    f("scaling", scaling, {"density", "spectrum"}, "divide by the window's L2 or L1 norm; null for neither")
        .null_means(Scaling::none)
        .among_others();
    f("padding", padding, {"valid", "same"}, "\"valid\": whole frames only; \"same\": zeros around");
    f("expand_dims", expand_dims, "whether the frequencies have an axis of their own");
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

double mel(double hertz) { return 1127.0 * math::log(1 + hertz / 700.0); }

struct MelSpectrogram final : LayerOf<MelSpectrogram> {
  static constexpr const char *doc =
      "Sound samples (B, S) or (S) to the energy of each frame in bands of the mel scale, as a rule in decibels. "
      "Frames are centred, the sound is reflected at both ends: S must be above fft_length / 2, and there are 1 + S // "
      "sequence_stride frames, one less for an odd fft_length where S is a multiple of the stride. Any dtype is taken "
      "as float32.";
  int64_t fft_length = 2048, sequence_stride = 512, sampling_rate = 16000, num_mel_bins = 128;
  std::optional<int64_t> sequence_length;
  enum class Window { hann, hamming, none } window = Window::hann;
  double min_freq = 20, top_db = 80, mag_exp = 2, min_power = 1e-10, ref_power = 1;
  std::optional<double> max_freq;
  bool power_to_db = true;

  void fields(Fields &f) override {
    f("fft_length", fft_length, "length of the transform").within(1, 8192);
    f("sequence_stride", sequence_stride, "samples from frame to frame").within(1, max_dim);
    f("sequence_length", sequence_length,
      "samples of a frame, at most fft_length, amid which they stand; null or 0: fft_length")
        .within(0, 8192);
    f("window", window, {"hann", "hamming"}, "weights of a frame, periodic where its length is even; null for none")
        .null_means(Window::none)
        .among_others();
    f("sampling_rate", sampling_rate, "samples of a second").within(1, max_dim);
    f("num_mel_bins", num_mel_bins, "bands").within(1, 4096);
    f("min_freq", min_freq, "where the lowest band begins, in hertz").at_least(0);
    f("max_freq", max_freq, "where the highest band ends; null or 0: sampling_rate // 2").at_least(0);
    f("power_to_db", power_to_db, "whether in decibels");
    f("top_db", top_db, "decibels below the largest value of the whole batch that are the least value");
    f("mag_exp", mag_exp, "power of the magnitude that is summed up: 1 energy, 2 power");
    f("min_power", min_power, "least value before the logarithm");
    f("ref_power", ref_power, "what is 0 decibels");
  }
  void check() override {
    if (sequence_length.value_or(0) > fft_length)
      refuse_attribute("sequence_length", "expected at most fft_length, ", fft_length, ", got ", *sequence_length);
    if (!(highest() > min_freq))
      refuse_attribute("max_freq", "expected above min_freq, ", Json(min_freq).dump(), ", got ",
                       Json(highest()).dump());
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, S) or (S)"}},
                                    .outputs = {{"y", "(B, num_mel_bins, frames) or (num_mel_bins, frames)"}}};

  std::vector<Symbol> call(Call &c) const override {
    Emit &e = c.e;
    const bool alone = c.shape().rank() == 1;
    if (!alone) c.need_rank(0, 2);
    Id x = ops::cast(e, c.x(), DType::f32);
    const Id power = spectrum(e, reflected(e, alone ? ops::expand_dims(e, x, 0) : x));
    Id y = ops::matmul(e, power, e.constant(bands()));
    if (power_to_db) y = decibels(e, y);
    y = ops::transpose(e, y, {0, 2, 1});
    return {{alone ? ops::squeeze(e, y, 0) : y}};
  }

 private:
  double highest() const {
    const auto half = static_cast<double>(sampling_rate / 2);
    return max_freq.value_or(0) == 0 ? half : *max_freq;
  }
  int64_t frame() const { return sequence_length.value_or(0) == 0 ? fft_length : *sequence_length; }
  int64_t frequencies() const { return fft_length / 2 + 1; }

  // Reflection padding by half a transform at both ends.
  Id reflected(Emit &e, Id x) const {
    const int64_t more = fft_length / 2, samples = e.shape(x)[1];
    if (samples != free_dim && samples <= more)
      fail(Code::shape_mismatch, "input 0 is incompatible with the layer: expected more than fft_length / 2, ", more,
           ", samples. Full shape received: ", e.shape(x));
    if (more == 0) return x;
    const Id before = ops::flip(e, ops::slice(e, x, 1, 1, more), 1);
    const Id after = ops::flip(e, ops::slice(e, x, 1, -more - 1, more), 1);
    return ops::concat(e, {before, x, after}, 1);
  }

  // (B, frames, frequencies): magnitudes to the power of mag_exp.
  Id spectrum(Emit &e, Id x) const {
    // The window is centred in the transform; samples outside have no weight.
    const int64_t before = (fft_length - frame()) / 2, after = fft_length - frame() - before;
    const Id framed = ops::expand_dims(e, ops::pad(e, x, 1, -before, -after), -1);
    const Id both =
        ops::conv(e, framed, e.constant(waves(before)), ops::none, {.strides = {sequence_stride}, .dilation = {1}});
    const auto part = [&](int64_t from) {
      return ops::unary(e, Unary::square, ops::slice(e, both, -1, from, frequencies()));
    };
    const Id power = ops::add(e, part(0), part(frequencies()));
    if (mag_exp == 2) return power;
    return ops::binary(e, Binary::pow, power, e.scalar(mag_exp / 2));
  }

  // TensorFlow's windows of odd length are symmetric.
  double weight(int64_t i) const {
    const int64_t n = frame();
    if (window == Window::none || n == 1) return 1;
    const double x = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n % 2 == 0 ? n : n - 1);
    return window == Window::hann ? 0.5 - 0.5 * math::cos(x) : 0.54 - 0.46 * math::cos(x);
  }
  // (frame, 1, 2 frequencies): windowed cosines and sines.
  Tensor waves(int64_t first) const {
    const int64_t n = fft_length, half = frequencies();
    std::vector<double> cosine(static_cast<size_t>(n)), sine(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n);
      cosine[static_cast<size_t>(i)] = math::cos(angle);
      sine[static_cast<size_t>(i)] = math::sin(angle);
    }
    Tensor t = make_tensor(DType::f32, {frame(), 1, checked_mul(2, half)});
    for (int64_t i = 0; i < frame(); ++i)
      for (int64_t k = 0; k < half; ++k) {
        const auto at = static_cast<size_t>((first + i) * k % n);
        t.as<float>()[(2 * i) * half + k] = static_cast<float>(weight(i) * cosine[at]);
        t.as<float>()[(2 * i + 1) * half + k] = static_cast<float>(weight(i) * sine[at]);
      }
    return t;
  }

  // (frequencies, bands): triangles of height 1 on the mel scale; the DC component is in none.
  Tensor bands() const {
    Tensor t = make_zeros(DType::f32, {frequencies(), num_mel_bins});
    const double low = mel(min_freq), width = (mel(highest()) - low) / static_cast<double>(num_mel_bins + 1);
    for (int64_t k = 1; k < frequencies(); ++k) {
      const double hertz =
          static_cast<double>(sampling_rate) / 2 * static_cast<double>(k) / static_cast<double>(frequencies() - 1);
      for (int64_t b = 0; b < num_mel_bins; ++b) {
        const double along = (mel(hertz) - low) / width - static_cast<double>(b);
        t.as<float>()[k * num_mel_bins + b] = static_cast<float>(std::max(0.0, std::min(along, 2 - along)));
      }
    }
    return t;
  }

  Id decibels(Emit &e, Id y) const {
    const Id power = ops::binary(e, Binary::max, y, e.scalar(min_power));
    const double reference = 10 * math::log10(std::max(std::abs(ref_power), min_power));
    const Id db = ops::sub(e, ops::scale(e, ops::unary(e, Unary::log, power), 4.34294482f), e.scalar(reference));
    const Id least = ops::sub(e, ops::reduce(e, ops::Reduce::max, db, {}), e.scalar(top_db));
    return ops::binary(e, Binary::max, db, least);
  }
};

}  // namespace

DL4_KINDS(spectrograms, STFTSpectrogram, MelSpectrogram)

}  // namespace dl4::kinds
