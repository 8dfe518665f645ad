// Strings made of strings and numbers. The bytes of new ones are counted first, then written into one block.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "backend/cpu/kernels/text/text.hpp"
#include "base/error.hpp"
#include "base/strings.hpp"

namespace dl4::kernels {
namespace {

std::string shown(std::string_view s) { return '"' + printable(excerpt(s)) + '"'; }

template <class Room>
void refuse(Room &room, Report *report, const char *expected, std::string_view got) {
  room.refusal = expected + shown(got);
  report->raise(Fault::refused, 0, 0, room.refusal.c_str());
}

// Room for all; null with a fault: there is none.
char *room_for(int64_t bytes, MakingRoom &room, Report *report) {
  char *to = room.take(bytes);
  if (!to)
    report->raise(Fault::refused, 0, 0,
                  "makes strings where no run keeps them: in the body of a loop or a branch, or in a stream");
  return to;
}

// The text of a number, as printf's %.8g gives it.
std::string_view text_of(float v, std::array<char, 32> &room) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v < 0 ? "-INF" : "INF";
  const auto end = std::to_chars(room.data(), room.data() + room.size(), v, std::chars_format::general, 8).ptr;
  return {room.data(), static_cast<size_t>(end - room.data())};
}
std::string_view text_of(int64_t v, std::array<char, 32> &room) {
  const auto end = std::to_chars(room.data(), room.data() + room.size(), v).ptr;
  return {room.data(), static_cast<size_t>(end - room.data())};
}

bool spelt(std::string_view s, std::string_view name) {
  return std::ranges::equal(s, name, {}, [](char c) { return byte_table.lower[static_cast<unsigned char>(c)]; });
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
  return s;
}

// The number that a text is as a whole.
bool number_of(std::string_view s, double &to) {
  if (s.starts_with('+')) s.remove_prefix(1);
  const bool negative = s.starts_with('-');
  const std::string_view size = s.substr(negative ? 1 : 0);
  if (spelt(size, "inf")) return to = negative ? -HUGE_VAL : HUGE_VAL, true;
  if (spelt(s, "nan")) return to = std::numeric_limits<double>::quiet_NaN(), true;
  if (size.empty() || !(size[0] == '.' || (size[0] >= '0' && size[0] <= '9'))) return false;
  return read_decimal(s, to);
}

bool number_of(std::string_view s, float &to) {
  double wide = 0;
  if (!number_of(s, wide)) return false;
  to = static_cast<float>(wide);
  if (!std::isfinite(wide)) return true;
  if (std::isinf(to)) return false;
  if (s.starts_with('+')) s.remove_prefix(1);
  read_decimal(s, to);  // rounded once; the least ones stay as they are
  return true;
}

template <class T>
bool number_of(std::string_view s, T &to) {
  const std::string_view digits = s.starts_with('+') ? s.substr(1) : s;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), to);
  if (error == std::errc() && end == digits.data() + digits.size()) return !s.starts_with("+-");
  double real = 0;
  if (!number_of(s, real) || !(std::trunc(real) >= static_cast<double>(std::numeric_limits<T>::min()) &&
                               std::trunc(real) < -static_cast<double>(std::numeric_limits<T>::min())))
    return false;
  to = static_cast<T>(real);
  return true;
}

}  // namespace

void join_texts(std::span<String> y, MakingRoom &room, Report *report) {
  int64_t bytes = 0;
  for (size_t i = 0; i < y.size(); ++i) bytes = checked_add(bytes, checked_add(y[i].size, room.other[i].size));
  char *to = room_for(bytes, room, report);
  if (!to) return;
  for (size_t i = 0; i < y.size(); ++i) {
    char *const begin = to;
    for (const String &s : {y[i], room.other[i]}) to = std::copy_n(s.data, s.size, to);
    y[i] = {begin, to - begin};
  }
}

void change_case(std::span<const String> x, bool upper, bool ascii, String *y, MakingRoom &room, Report *report) {
  std::string all;
  std::vector<size_t> ends;
  for (const String &s : x) {
    if (const auto left = append_in_case(s.view(), upper, ascii, all); !left.empty()) {
      const size_t n = utf8_length(left);
      if (!n) return refuse(room, report, "expected UTF-8, got ", s.view());
      return refuse(room, report, "expected letters whose other case is one letter that is known, got ",
                    left.substr(0, n));
    }
    ends.push_back(all.size());
  }
  char *to = room_for(static_cast<int64_t>(all.size()), room, report);
  if (!to) return;
  std::ranges::copy(all, to);
  size_t begin = 0;
  for (const size_t end : ends) *y++ = {to + begin, static_cast<int64_t>(end - begin)}, begin = end;
}

void numbers_as_texts(DType type, const void *x, int64_t n, String *y, MakingRoom &room, Report *report) {
  std::array<char, 32> digits;
  const auto each = [&](auto f) {
    for (int64_t i = 0; i < n; ++i) switch (type) {
        case DType::f32:
          f(i, text_of(static_cast<const float *>(x)[i], digits));
          break;
        case DType::i64:
          f(i, text_of(static_cast<const int64_t *>(x)[i], digits));
          break;
        case DType::i32:
          f(i, text_of(int64_t{static_cast<const int32_t *>(x)[i]}, digits));
          break;
        default:
          f(i, text_of(int64_t{static_cast<const uint8_t *>(x)[i]}, digits));
      }
  };
  int64_t bytes = 0;
  each([&](int64_t, std::string_view s) { bytes += static_cast<int64_t>(s.size()); });  // bounded: 32 of a number
  char *to = room_for(bytes, room, report);
  if (!to) return;
  each([&](int64_t i, std::string_view s) {
    y[i] = {to, static_cast<int64_t>(s.size())};
    to = std::ranges::copy(s, to).out;
  });
}

template <class T>
void texts_as_numbers(std::span<const String> x, T *y, TextRoom &room, Report *report) {
  for (const String &s : x)
    if (!number_of(trimmed(s.view()), *y++))
      return refuse(
          room, report,
          std::is_same_v<T, float> ? "expected numbers of float32, got " : "expected integers of its type, got ",
          s.view());
}
template void texts_as_numbers(std::span<const String>, float *, TextRoom &, Report *);
template void texts_as_numbers(std::span<const String>, int32_t *, TextRoom &, Report *);
template void texts_as_numbers(std::span<const String>, int64_t *, TextRoom &, Report *);

void count_pieces(const Splitter &splitter, std::span<const String> x, int64_t *y, TextRoom &room, Report *report) {
  for (const String &s : x) {
    *y = 0;
    if (!splitter.each(s.view(), [&](std::string_view) { ++*y; }))
      refuse(room, report, "expected UTF-8, got ", s.view());
    ++y;
  }
}

void pieces(const Splitter &splitter, std::span<const String> x, int64_t width, String *y, TextRoom &room,
            Report *report) {
  const String pad{splitter.pad().data(), static_cast<int64_t>(splitter.pad().size())};
  for (const String &s : x) {
    int64_t n = 0;
    const bool valid = splitter.each(s.view(), [&](std::string_view piece) {
      if (n < width) y[n++] = {piece.data(), static_cast<int64_t>(piece.size())};
    });
    if (!valid) refuse(room, report, "expected UTF-8, got ", s.view());
    std::fill(y + n, y + width, pad);
    y += width;
  }
}

}  // namespace dl4::kernels
