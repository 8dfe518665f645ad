// Bytes of standard input become steps, and those of the output bytes again.
#include "stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "system.hpp"

namespace dl4::tool {
namespace {

constexpr size_t most = 4096;  // steps of one run: what has come is run at once

class StandardInput {
 public:
  // Some bytes, as many as have come; none at the end.
  std::string_view some(size_t n) {
    if (begin_ == end_) {
      const int64_t got = os::read_input(bytes_, sizeof bytes_);
      if (got < 0) throw Refusal(files, std::string("standard input: ") + std::strerror(errno));
      begin_ = bytes_, end_ = bytes_ + got;
    }
    const size_t here = std::min(n, static_cast<size_t>(end_ - begin_));
    begin_ += here;
    return {begin_ - here, here};
  }
  // So many, or fewer at the end.
  std::string exactly(size_t n) {
    std::string all;
    while (all.size() < n) {
      const std::string_view more = some(n - all.size());
      if (more.empty()) break;
      all += more;
    }
    return all;
  }
  // To be read again.
  void put_back(size_t n) { begin_ -= n; }

 private:
  char bytes_[1 << 16];
  char *begin_ = bytes_, *end_ = bytes_;
};

void write_all(const char *from, size_t n) {
  while (n > 0) {
    const int64_t put = os::write_output(from, n);
    if (put < 0) throw Refusal(files, std::string("standard output: ") + std::strerror(errno));
    from += put, n -= static_cast<size_t>(put);
  }
}

// Little-endian numbers of a WAV file.
uint32_t little_endian(std::string_view bytes) {
  uint32_t n = 0;
  for (size_t i = 0; i < bytes.size(); ++i) n |= static_cast<uint32_t>(static_cast<uint8_t>(bytes[i])) << 8 * i;
  return n;
}
std::string bytes(uint32_t n, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += static_cast<char>(n >> 8 * i & 255);
  return all;
}

struct Wav {
  uint32_t rate = 0, size = 0;  // of the samples in bytes; 2^32 - 1: not known
};

// Behind "RIFF": all up to the samples.
Wav read_wav(StandardInput &in, uint32_t channels) {
  const std::string head = in.exactly(8);
  if (head.size() < 8 || head.substr(4) != "WAVE") throw Refusal(refused, "standard input: no WAV file behind RIFF");
  Wav wav;
  for (;;) {
    const std::string chunk = in.exactly(8);
    if (chunk.size() < 8) throw Refusal(refused, "standard input: the WAV file ends before its samples");
    const uint32_t size = little_endian(std::string_view(chunk).substr(4));
    if (chunk.starts_with("data")) {
      if (!wav.rate) throw Refusal(refused, "standard input: the WAV file has samples before their format");
      wav.size = size;
      return wav;
    }
    const std::string body = in.exactly(size + size % 2);
    if (!chunk.starts_with("fmt ")) continue;
    const std::string_view f = body;
    if (f.size() < 16) throw Refusal(refused, "standard input: the WAV file ends before its samples");
    const uint32_t format = little_endian(f.substr(0, 2)), bits = little_endian(f.substr(14, 2)),
                   got = little_endian(f.substr(2, 2));
    const bool is_pcm = format == 1 || (format == 0xFFFE && f.size() >= 26 && little_endian(f.substr(24, 2)) == 1);
    if (!is_pcm || bits != 16)
      throw Refusal(refused, "standard input: expected a WAV file of 16-bit integers, got format " +
                                 std::to_string(format) + " of " + std::to_string(bits) + " bits");
    if (got != channels)
      throw Refusal(refused, "standard input: expected a WAV file of " + std::to_string(channels) +
                                 " channels as the input has, got " + std::to_string(got));
    wav.rate = std::max(little_endian(f.substr(4, 4)), 1u);
  }
}

std::string wav_head(const Wav &wav, uint32_t channels_in, uint32_t channels) {
  const bool known = wav.size != 0xFFFFFFFF && uint64_t{wav.size} / channels_in * channels < 0xFFFFFF00u;
  const uint32_t size = known ? wav.size / channels_in * channels : 0xFFFFFFFF;
  return "RIFF" + bytes(known ? size + 36 : size, 4) + "WAVEfmt " + bytes(16, 4) + bytes(1, 2) + bytes(channels, 2) +
         bytes(wav.rate, 4) + bytes(wav.rate * channels * 2, 4) + bytes(channels * 2, 2) + bytes(16, 2) + "data" +
         bytes(size, 4);
}

std::string as_samples(const float *from, size_t n) {
  std::string all;
  all.reserve(2 * n);
  for (size_t i = 0; i < n; ++i) {
    const float v = std::clamp(std::nearbyint(from[i] * 32768), -32768.0f, 32767.0f);
    all += bytes(static_cast<uint32_t>(static_cast<int32_t>(std::isnan(v) ? 0 : v)), 2);
  }
  return all;
}

const Slot &only(const std::vector<Slot> &slots, const char *what) {
  if (slots.size() != 1 || slots[0].dtype != DL4_FLOAT32)
    throw Refusal(usage, std::string("--stream: expected a model with one float32 ") + what);
  return slots[0];
}

}  // namespace

void run_stream(const Model &m, double scale) {
  const std::vector<Slot> ins = slots(m, DL4_INPUTS), outs = slots(m, DL4_OUTPUTS);
  const Slot &in = only(ins, "input"), &out = only(outs, "output");
  const Stream stream(Session(m, Attrs{{"states", true}}));
  const int64_t width = elements(in.dims, 2);
  if (width < 1)
    throw Refusal(usage, "--stream: expected an input whose steps have a known shape, got " + shape(in.dims));
  const bool sequence = out.dims.size() >= 2 && out.dims[1] == -1;
  StandardInput from;
  const std::string begin = from.exactly(4);
  const bool is_wav = begin == "RIFF";
  const size_t sample = is_wav ? 2 : 4, step = static_cast<size_t>(width) * sample;
  Wav wav;
  if (is_wav) {
    if (in.dims.size() != 3)
      throw Refusal(usage, "--stream: a WAV file needs an input [B, T, channels], the model has " + shape(in.dims));
    wav = read_wav(from, static_cast<uint32_t>(width));
    const bool wav_out = sequence && out.dims.size() == 3 && out.dims[2] > 0;
    if (sequence && !wav_out) throw Refusal(usage, "--stream: a WAV file needs an output [B, T, channels]");
    if (wav_out) {
      const std::string head = wav_head(wav, static_cast<uint32_t>(width), static_cast<uint32_t>(out.dims[2]));
      write_all(head.data(), head.size());
    }
  } else {
    from.put_back(begin.size());
  }
  uint64_t left = is_wav && wav.size != 0xFFFFFFFF ? wav.size : UINT64_MAX;
  std::string waiting, last;  // bytes of a step that is not whole; what is written at the end
  for (bool ended = false; !ended;) {
    const auto more = from.some(static_cast<size_t>(std::min<uint64_t>(left, most * step)));
    ended = more.empty();
    left -= more.size();
    waiting += more;
    const size_t steps = std::min(waiting.size() / step, most);
    if (steps == 0) continue;
    Dims dims = in.dims;
    dims[0] = 1, dims[1] = static_cast<int64_t>(steps);
    const Tensor x = zeros(DL4_FLOAT32, dims);
    float *to = x.data<float>().data();
    for (size_t i = 0; i < steps * static_cast<size_t>(width); ++i) {
      const char *at = waiting.data() + i * sample;
      if (is_wav) {
        int16_t v = 0;
        std::memcpy(&v, at, 2);
        to[i] = static_cast<float>(v / 32768.0 * scale);
      } else {
        float v = 0;
        std::memcpy(&v, at, 4);
        to[i] = static_cast<float>(v * scale);
      }
    }
    waiting.erase(0, steps * step);
    const Tensors given = stream.run({x});
    const auto y = given[0].data<float>();
    const std::string as = is_wav && sequence
                               ? as_samples(y.data(), y.size())
                               : std::string(reinterpret_cast<const char *>(y.data()), y.size() * sizeof(float));
    if (sequence)
      write_all(as.data(), as.size());
    else
      last = as;
  }
  if (!waiting.empty())
    throw Refusal(refused, "standard input: it ends with " + std::to_string(waiting.size()) + " bytes of a step of " +
                               std::to_string(step));
  write_all(last.data(), last.size());
}

}  // namespace dl4::tool
