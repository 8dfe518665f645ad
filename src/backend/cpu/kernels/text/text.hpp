// From strings to numbers and back.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "backend/cpu/kernels/kernel.hpp"
#include "base/pieces.hpp"
#include "base/strings.hpp"
#include "base/tokens.hpp"
#include "base/vocabulary.hpp"

namespace dl4::kernels {

// What a slice keeps from run to run: room for texts, and what a refusal says.
struct TextRoom {
  Tokenizer::Room tokens;
  std::string refusal;
};

// Of the vocabulary's type. A token without an index is a fault.
void lookup(const Vocabulary &v, std::span<const String> x, int64_t *y, TextRoom &room, Report *report);
void lookup(const Vocabulary &v, std::span<const int64_t> x, int64_t *y, TextRoom &room, Report *report);
// The first bytes of each, where the processor can without a branch for each size.
void words_of(std::span<const String> x, Words *y) noexcept;
void tokens_at(const Vocabulary &v, std::span<const int64_t> x, String *y);
void tokens_at(const Vocabulary &v, std::span<const int64_t> x, int64_t *y);

struct Bins {
  int64_t count;
  std::optional<std::array<uint64_t, 2>> salt;
  std::optional<std::string> mask;  // they have bin 0
  std::optional<int64_t> mask_number;
};
template <class T>
void hash_bins(const Bins &bins, std::span<const T> x, int64_t *y);
// y: fingerprints so far, to which those of x are joined.
inline constexpr uint64_t first_cross = 0xDECAFCAFFE;
template <class T>
void cross(std::span<const T> x, uint64_t *y);

// Rows of `pieces` texts each.
int64_t most_tokens(const Tokenizer &t, std::span<const String> x, int64_t pieces, TextRoom &room);
// y: rows of `length` indices.
void sequences(const Tokenizer &t, const Vocabulary &v, std::span<const String> x, int64_t pieces, int64_t length,
               int64_t *y, TextRoom &room, Report *report);
// y: rows of `depth` counts, or of flags.
void token_counts(const Tokenizer &t, const Vocabulary &v, std::span<const String> x, int64_t pieces, int64_t depth,
                  bool binary, int64_t *y, TextRoom &room, Report *report);

struct Encoding {
  int64_t depth, ids;  // of a row
  bool binary, refuses_negative, refuses_past;
};
// T: float, int32_t, int64_t. weights: null, each counts as 1.
template <class T>
void encode(const Encoding &how, const int64_t *ids, const float *weights, int64_t rows, T *y, Report *report);


// ---- texts of texts

// What a step keeps that makes strings.
struct MakingRoom final : StringRoom {
  std::string refusal;
  std::vector<String> other;
};
// y: in one block of `room`. Without room, and for what they can't convert, they report a fault.
// y: at first what room.other is joined to.
void join_texts(std::span<String> y, MakingRoom &room, Report *report);
void change_case(std::span<const String> x, bool upper, bool ascii, String *y, MakingRoom &room, Report *report);
void numbers_as_texts(DType type, const void *x, int64_t n, String *y, MakingRoom &room, Report *report);
// T: float, int32_t, int64_t.
template <class T>
void texts_as_numbers(std::span<const String> x, T *y, TextRoom &room, Report *report);

void count_pieces(const Splitter &splitter, std::span<const String> x, int64_t *y, TextRoom &room, Report *report);
// y: `width` for each of x.
void pieces(const Splitter &splitter, std::span<const String> x, int64_t width, String *y, TextRoom &room,
            Report *report);

}  // namespace dl4::kernels
