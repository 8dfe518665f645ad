// A thread goes through its rows alone; what is unknown becomes a fault.
#include "backend/cpu/kernels/text/text.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/utf8.hpp"

namespace dl4::kernels {
namespace {

std::string shown(std::string_view s) { return '"' + printable(excerpt(s)) + '"'; }
std::string shown(int64_t v) { return std::to_string(v); }

template <class T>
void refuse_unknown(T token, TextRoom &room, Report *report) {
  room.refusal = "expected tokens of the vocabulary, for num_oov_indices is 0, got " + shown(token);
  report->raise(Fault::refused, 0, 0, room.refusal.c_str());
}

}  // namespace

void lookup(const Vocabulary &v, std::span<const String> x, int64_t *y, TextRoom &room, Report *report) {
  constexpr size_t block = 512;
  std::array<Words, block> words;
  for (size_t i = 0; i < x.size(); i += block, y += block) {
    const std::span<const String> some = x.subspan(i, std::min(block, x.size() - i));
    words_of(some, words.data());
    v.indices(some, words.data(), y);
    if (v.rules().oov == 0)
      if (const int64_t *at = std::find(y, y + some.size(), Vocabulary::unknown); at != y + some.size())
        return refuse_unknown(some[static_cast<size_t>(at - y)].view(), room, report);
  }
}

void lookup(const Vocabulary &v, std::span<const int64_t> x, int64_t *y, TextRoom &room, Report *report) {
  for (const int64_t token : x) {
    *y = v.index(token);
    if (*y++ == Vocabulary::unknown) return refuse_unknown(token, room, report);
  }
}

void tokens_at(const Vocabulary &v, std::span<const int64_t> x, String *y) {
  for (int64_t i : x) *y++ = v.token(i);
}
void tokens_at(const Vocabulary &v, std::span<const int64_t> x, int64_t *y) {
  for (int64_t i : x) *y++ = v.number(i);
}

template <class T>
void hash_bins(const Bins &bins, std::span<const T> x, int64_t *y) {
  const bool masks = bins.mask || bins.mask_number;
  std::array<char, 24> room;
  for (const T &value : x) {
    bool is_mask = false;
    std::string_view text;
    if constexpr (std::is_same_v<T, String>) {
      text = value.view();
      is_mask = bins.mask && text == *bins.mask;
    } else {
      text = decimal(value, room);
      is_mask = bins.mask_number && value == *bins.mask_number;
    }
    *y++ = is_mask ? 0 : bin_of(text, bins.count - (masks ? 1 : 0), bins.salt) + (masks ? 1 : 0);
  }
}
template void hash_bins(const Bins &, std::span<const String>, int64_t *);
template void hash_bins(const Bins &, std::span<const int64_t>, int64_t *);

template <class T>
void cross(std::span<const T> x, uint64_t *y) {
  for (const T &value : x) {
    if constexpr (std::is_same_v<T, String>)
      *y = joined(*y, fingerprint(value.view()));
    else
      *y = joined(*y, static_cast<uint64_t>(value));
    ++y;
  }
}
template void cross(std::span<const String>, uint64_t *);
template void cross(std::span<const int64_t>, uint64_t *);

int64_t most_tokens(const Tokenizer &t, std::span<const String> x, int64_t pieces, TextRoom &room) {
  int64_t most = 0;
  const auto step = static_cast<size_t>(pieces);
  for (size_t i = 0; i < x.size(); i += step) {
    int64_t n = 0;
    t.each(x.subspan(i, step), room.tokens, [&](std::string_view) { return ++n, true; });
    most = std::max(most, n);
  }
  return most;
}

void sequences(const Tokenizer &t, const Vocabulary &v, std::span<const String> x, int64_t pieces, int64_t length,
               int64_t *y, TextRoom &room, Report *report) {
  const auto step = static_cast<size_t>(pieces);
  for (size_t i = 0; i < x.size() && !report->ends(); i += step, y += length) {
    int64_t n = 0;
    if (length > 0)
      t.each(x.subspan(i, step), room.tokens, [&](std::string_view token) {
        y[n] = v.index(token);
        if (y[n] == Vocabulary::unknown) return refuse_unknown(token, room, report), false;
        return ++n < length;
      });
    std::fill(y + n, y + length, int64_t{0});
  }
}

void token_counts(const Tokenizer &t, const Vocabulary &v, std::span<const String> x, int64_t pieces, int64_t depth,
                  bool binary, int64_t *y, TextRoom &room, Report *report) {
  const auto step = static_cast<size_t>(pieces);
  for (size_t i = 0; i < x.size() && !report->ends(); i += step, y += depth) {
    std::fill_n(y, depth, int64_t{0});
    t.each(x.subspan(i, step), room.tokens, [&](std::string_view token) {
      const int64_t index = v.index(token);
      if (index == Vocabulary::unknown) return refuse_unknown(token, room, report), false;
      if (index < depth) y[index] = binary ? 1 : y[index] + 1;
      return true;
    });
  }
}

template <class T>
void encode(const Encoding &how, const int64_t *ids, const float *weights, int64_t rows, T *y, Report *report) {
  std::fill_n(y, rows * how.depth, T{0});
  for (int64_t r = 0; r < rows; ++r, y += how.depth)
    for (int64_t i = r * how.ids; i < (r + 1) * how.ids; ++i) {
      const int64_t id = ids[i];
      if (id >= 0 && id < how.depth) {
        if (how.binary)
          y[id] = 1;
        else
          y[id] += weights ? static_cast<T>(weights[i]) : T{1};
      } else if (id < 0 ? how.refuses_negative : how.refuses_past) {
        return report->raise(Fault::index_out_of_range, id, how.depth);
      }
    }
}
template void encode(const Encoding &, const int64_t *, const float *, int64_t, float *, Report *);
template void encode(const Encoding &, const int64_t *, const float *, int64_t, int32_t *, Report *);
template void encode(const Encoding &, const int64_t *, const float *, int64_t, int64_t *, Report *);

}  // namespace dl4::kernels
