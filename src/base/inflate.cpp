// An own inflate instead of zlib: a program's own crc32() or inflate() would replace those of a shared zlib, and with
// libdl4.a those of a static one.
#include "base/inflate.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace dl4 {
namespace {

// A bit reader, least significant bit first. Reads zeros past the last byte.
class Bits {
 public:
  explicit Bits(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}
  // Afterwards at least 48 bits are available.
  void fill() noexcept {
    if (count_ >= 48) return;
    if (uint64_t next; end_ - at_ >= static_cast<ptrdiff_t>(sizeof next)) {
      std::memcpy(&next, at_, sizeof next);
      held_ |= next << count_;  // bits above `count_` are written again with the same values
      at_ += (63 - count_) / 8;
      count_ |= 56;
      return;
    }
    for (; count_ < 56; count_ += 8)
      if (at_ < end_)
        held_ |= uint64_t{static_cast<uint8_t>(*at_++)} << count_;
      else
        ++missing_;
  }
  uint64_t seen() const noexcept { return held_; }
  void drop(unsigned n) noexcept {
    held_ >>= n;
    count_ -= n;
  }
  unsigned take(unsigned n) noexcept {
    const auto bits = static_cast<unsigned>(held_ & ((uint64_t{1} << n) - 1));
    drop(n);
    return bits;
  }
  // Whether bits past the last byte were taken.
  bool past_end() const noexcept { return missing_ * 8 > count_; }
  // The remaining input, from the next whole byte on.
  std::string_view rest() noexcept {
    drop(count_ % 8);
    return {at_ - (count_ / 8 - missing_), end_};
  }

 private:
  const char *at_, *end_;
  uint64_t held_ = 0;
  unsigned count_ = 0, missing_ = 0;
};

constexpr int max_length = 15;
constexpr unsigned no_symbol = UINT32_MAX;

constexpr unsigned reversed(unsigned bits) {  // of 15 bits
  unsigned to = 0;
  for (int i = 0; i < max_length; ++i) to |= (bits >> i & 1) << (max_length - 1 - i);
  return to;
}

// A canonical Huffman code.
class Huffman {
 public:
  // False for lengths that form no code. Like zlib, accepts an incomplete code of a single bit.
  bool assign(std::span<const uint8_t> lengths, bool may_be_incomplete) noexcept {
    int counts[max_length + 1] = {}, longest = 0;
    for (const int n : lengths) ++counts[n], longest = std::max(longest, n);
    counts[0] = 0;
    unsigned code = 0, first = 0, at[max_length + 1];
    for (int n = 1; n <= max_length; ++n) {
      at[n] = first;
      offset_[n] = first - code;
      code += static_cast<unsigned>(counts[n]);
      first += static_cast<unsigned>(counts[n]);
      if (code > 1u << n) return false;
      limit_[n] = code << (max_length - n);
      code <<= 1;
    }
    if (limit_[max_length] != 1u << max_length && !(may_be_incomplete && longest <= 1)) return false;
    std::fill(std::begin(short_), std::end(short_), uint16_t{0});
    for (size_t s = 0; s < lengths.size(); ++s)
      if (const unsigned n = lengths[s]; n > 0) {
        const unsigned own = at[n] - offset_[n];
        symbols_[at[n]++] = static_cast<uint16_t>(s);
        for (unsigned i = reversed(own << (max_length - n)); n <= short_bits && i < std::size(short_); i += 1u << n)
          short_[i] = static_cast<uint16_t>(s << 4 | n);
      }
    return true;
  }
  unsigned next(Bits &in) const noexcept {
    if (const unsigned known = short_[in.seen() % std::size(short_)]; known != 0) {
      in.drop(known % 16);
      return known / 16;
    }
    const unsigned bits = reversed(static_cast<unsigned>(in.seen()) & ((1u << max_length) - 1));
    for (unsigned n = 1; n <= max_length; ++n)
      if (bits < limit_[n]) {
        in.drop(n);
        return symbols_[(bits >> (max_length - n)) + offset_[n]];
      }
    return no_symbol;
  }

 private:
  static constexpr unsigned short_bits = 10;
  uint16_t short_[1 << short_bits];  // symbol and length of a short code, by the next bits
  unsigned limit_[max_length + 1] = {}, offset_[max_length + 1] = {};
  uint16_t symbols_[288];
};

struct To {
  char *const begin, *at, *const end;
};

bool stored(Bits &in, To &to, std::string_view &from) noexcept {
  if (in.past_end()) return false;
  const std::string_view rest = in.rest();
  uint16_t size, inverted;
  if (rest.size() < 4) return false;
  std::memcpy(&size, rest.data(), 2);
  std::memcpy(&inverted, rest.data() + 2, 2);
  if ((size ^ inverted) != 0xFFFF || size > rest.size() - 4 || size > to.end - to.at) return false;
  to.at = std::copy_n(rest.data() + 4, size, to.at);
  from = rest.substr(4 + size);
  in = Bits(from);
  return true;
}

bool codes_of(Bits &in, Huffman &literals, Huffman &distances) noexcept {
  constexpr uint8_t order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  const unsigned literal_count = 257 + in.take(5), distance_count = 1 + in.take(5), count = 4 + in.take(4);
  if (literal_count > 286 || distance_count > 30) return false;
  uint8_t lengths[286 + 30] = {};
  for (unsigned i = 0; i < count; ++i) {
    in.fill();
    lengths[order[i]] = static_cast<uint8_t>(in.take(3));
  }
  if (!literals.assign(std::span(lengths, 19), false)) return false;
  for (unsigned i = 0; i < literal_count + distance_count;) {
    in.fill();
    const unsigned s = literals.next(in);
    if (s < 16) {
      lengths[i++] = static_cast<uint8_t>(s);
      continue;
    }
    if (s == no_symbol || (s == 16 && i == 0)) return false;
    const uint8_t length = s == 16 ? lengths[i - 1] : uint8_t{0};
    const unsigned times = s == 16 ? 3 + in.take(2) : s == 17 ? 3 + in.take(3) : 11 + in.take(7);
    if (times > literal_count + distance_count - i) return false;
    std::fill_n(lengths + i, times, length);
    i += times;
  }
  return lengths[256] != 0 && literals.assign(std::span(lengths, literal_count), true) &&
         distances.assign(std::span(lengths + literal_count, distance_count), true);
}

void fixed_codes(Huffman &literals, Huffman &distances) noexcept {
  uint8_t lengths[288];
  for (size_t i = 0; i < std::size(lengths); ++i) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
  literals.assign(lengths, false);
  std::fill_n(lengths, 32, uint8_t{5});
  distances.assign(std::span(lengths, 32), false);
}

// Distance of a match of `length` bytes; 0 if the code is invalid.
size_t distance_of(Bits &in, const Huffman &distances) noexcept {
  const unsigned s = distances.next(in);
  if (s >= 30) return 0;
  return s < 4 ? s + 1 : 1 + ((2 + s % 2) << (s / 2 - 1)) + in.take(s / 2 - 1);
}

bool coded(Bits &in, To &to, const Huffman &literals, const Huffman &distances) noexcept {
  while (true) {
    in.fill();
    unsigned s = literals.next(in);
    if (s < 256) {
      if (to.at == to.end) return false;
      *to.at++ = static_cast<char>(s);
      continue;
    }
    if (s == 256) return !in.past_end();
    s -= 257;
    if (s >= 29) return false;
    const size_t length = s < 8 ? s + 3 : s == 28 ? 258 : 3 + ((4 + s % 4) << (s / 4 - 1)) + in.take(s / 4 - 1);
    const size_t distance = distance_of(in, distances);
    if (distance == 0 || distance > static_cast<size_t>(to.at - to.begin) ||
        length > static_cast<size_t>(to.end - to.at) || in.past_end())
      return false;
    const char *source = to.at - distance;
    if (distance >= length)
      std::memcpy(to.at, source, length);
    else
      for (size_t i = 0; i < length; ++i) to.at[i] = source[i];
    to.at += length;
  }
}

uint32_t adler(std::span<const std::byte> bytes) noexcept {
  constexpr size_t before_overflow = 5552;
  constexpr uint32_t prime = 65521;
  uint32_t a = 1, b = 0;
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(before_overflow, bytes.size()))) {
    for (const std::byte x : bytes.first(std::min(before_overflow, bytes.size()))) b += a += static_cast<uint8_t>(x);
    a %= prime;
    b %= prime;
  }
  return b << 16 | a;
}

// Inflates into all of `bytes` and leaves the rest of the input in `from`.
bool deflated(std::string_view &from, std::span<std::byte> bytes) noexcept {
  char *const begin = reinterpret_cast<char *>(bytes.data());
  To to{begin, begin, begin + bytes.size()};
  Bits in(from);
  Huffman literals, distances;
  bool last = false;
  while (!last) {
    in.fill();
    last = in.take(1);
    const unsigned kind = in.take(2);
    if (kind == 1) fixed_codes(literals, distances);
    if (kind == 0
            ? !stored(in, to, from)
            : kind == 3 || (kind == 2 && !codes_of(in, literals, distances)) || !coded(in, to, literals, distances))
      return false;
  }
  from = in.rest();
  return to.at == to.end;
}

}  // namespace

bool inflate(std::string_view from, std::span<std::byte> to, bool raw) noexcept {
  if (raw) return deflated(from, to) && from.empty();
  constexpr int method = 8, window = 7, preset_dictionary = 32;
  if (from.size() < 2) return false;
  const int head = static_cast<uint8_t>(from[0]), flags = static_cast<uint8_t>(from[1]);
  if (head % 16 != method || head / 16 > window || flags & preset_dictionary || (head * 256 + flags) % 31 != 0)
    return false;
  from.remove_prefix(2);
  if (!deflated(from, to) || from.size() != 4) return false;
  uint32_t sum = 0;
  for (const char c : from) sum = sum << 8 | static_cast<uint8_t>(c);
  return sum == adler(to);
}

std::string inflated(std::string_view from, int64_t size) {
  std::string text(static_cast<size_t>(size), '\0');
  if (!inflate(from, std::as_writable_bytes(std::span(text)), true))
    fail(Code::internal, "a text of the library is not whole");
  return text;
}

}  // namespace dl4
