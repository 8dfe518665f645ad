// Kernels of the ops that take strings, and that count what they were made into.
#include <new>

#include "backend/cpu/families.hpp"
#include "backend/cpu/kernels/movement/strided.hpp"
#include "backend/cpu/kernels/text/text.hpp"
#include "ops/text.hpp"

namespace dl4::cpu {
namespace {

using kernels::TextRoom;

constexpr double us_per_token = 0.05, us_per_text = 10;

struct Rooms final : Bound {
  explicit Rooms(int64_t slices) : each(static_cast<size_t>(slices)) {}
  std::vector<TextRoom> each;
};

// f(first row, last row, run, room) for parts of `rows`, each with room of its own for what strings need.
template <class F>
std::unique_ptr<Kernel> by_rows(const char *name, int64_t slices, int64_t rows, F f) {
  struct ByRows final : Kernel {
    ByRows(const char *name, int64_t slices, int64_t rows, F g) : Kernel(name, slices), rows(rows), f(std::move(g)) {}
    std::unique_ptr<Bound> bind() const override { return std::make_unique<Rooms>(slices); }
    void run(int64_t slice, const Run &r) const noexcept override {
      const auto [begin, end] = kernels::part(rows, slices, slice);
      if (begin >= end) return;
      try {
        f(begin, end, r, static_cast<Rooms *>(r.bound)->each[static_cast<size_t>(slice)]);
      } catch (const std::exception &) {  // of a text's size
        r.report->raise(kernels::Fault::refused, 0, 0, "there is no memory for a copy of the longest text");
      }
    }
    const int64_t rows;
    const F f;
  };
  return std::make_unique<ByRows>(name, slices, rows, std::move(f));
}

template <class T>
std::span<const T> part_of(const Run &r, int source, int64_t begin, int64_t end) {
  return {r.in<T>(source) + begin, static_cast<size_t>(end - begin)};
}

// f(T{}) for the type of strings or of integers.
template <class F>
auto with_type(DType t, F f) {
  return t == DType::string ? f(String{}) : f(int64_t{});
}

std::unique_ptr<Kernel> lookup(const attributes::Lookup &op, const Site &site) {
  const int64_t n = site.dst[0].shape.elements();
  const int64_t slices = n ? site.cutting.short_slices(n, us_per_token * static_cast<double>(n)) : 0;
  return with_type(site.src[0].dtype, [&](auto type) {
    using T = decltype(type);
    return by_rows("lookup", slices, n, [v = op.vocabulary](int64_t begin, int64_t end, const Run &r, TextRoom &room) {
      kernels::lookup(*v, part_of<T>(r, 0, begin, end), r.out<int64_t>(0) + begin, room, r.report);
    });
  });
}

std::unique_ptr<Kernel> token_at(const attributes::TokenAt &op, const Site &site) {
  const int64_t n = site.dst[0].shape.elements();
  return with_type(site.dst[0].dtype, [&](auto type) {
    using T = decltype(type);
    return sliced("token_at", site, n, us_per_byte * 24 * static_cast<double>(n),
                  [v = op.vocabulary](int64_t begin, int64_t end, const Run &r) {
                    kernels::tokens_at(*v, part_of<int64_t>(r, 0, begin, end), r.out<T>(0) + begin);
                  });
  });
}

std::unique_ptr<Kernel> hash_bins(const attributes::HashBins &op, const Site &site) {
  const int64_t n = site.dst[0].shape.elements();
  return with_type(site.src[0].dtype, [&](auto type) {
    using T = decltype(type);
    return sliced(
        "hash_bins", site, n, us_per_token * static_cast<double>(n),
        [bins = kernels::Bins{op.bins, op.salt, op.mask, op.mask_number}](int64_t begin, int64_t end, const Run &r) {
          kernels::hash_bins<T>(bins, part_of<T>(r, 0, begin, end), r.out<int64_t>(0) + begin);
        });
  });
}

std::unique_ptr<Kernel> cross_bins(const attributes::CrossBins &op, const Site &site) {
  const int64_t n = site.dst[0].shape.elements();
  std::vector<DType> types;
  for (const Operand &x : site.src) types.push_back(x.dtype);
  const double us = us_per_token * static_cast<double>(checked_mul(n, static_cast<int64_t>(types.size())));
  return sliced("cross_bins", site, n, us, [types, bins = op.bins](int64_t begin, int64_t end, const Run &r) {
    auto *y = r.out<uint64_t>(0);
    std::fill(y + begin, y + end, kernels::first_cross);
    for (size_t i = 0; i < types.size(); ++i)
      with_type(types[i], [&](auto type) {
        using T = decltype(type);
        kernels::cross<T>(part_of<T>(r, static_cast<int>(i), begin, end), y + begin);
      });
    for (int64_t i = begin; i < end; ++i) y[i] %= static_cast<uint64_t>(bins);
  });
}

// Texts (B, N), of which no one knows how long they are before they come.
struct Texts {
  explicit Texts(const Site &site)
      : rows(site.src[0].shape[0]),
        pieces(site.src[0].shape[1]),
        slices(rows ? site.cutting.short_slices(rows, us_per_text * static_cast<double>(checked_mul(rows, pieces)))
                    : 0) {}
  std::span<const String> part(const Run &r, int64_t begin, int64_t end) const {
    return part_of<String>(r, 0, begin * pieces, end * pieces);
  }
  int64_t rows, pieces, slices;
};

std::unique_ptr<Kernel> count_tokens(const attributes::CountTokens &op, const Site &site) {
  const Texts texts(site);
  return by_rows("count_tokens", 1, 1, [texts, t = op.tokenizer](int64_t, int64_t, const Run &r, TextRoom &room) {
    *r.out<int64_t>(0) = texts.pieces ? kernels::most_tokens(t, texts.part(r, 0, texts.rows), texts.pieces, room) : 0;
  });
}

std::unique_ptr<Kernel> vectorize(const attributes::Vectorize &op, const Site &site) {
  const Texts texts(site);
  const int64_t width = site.dst[0].shape[1];
  return by_rows("vectorize", width ? texts.slices : 0, texts.rows,
                 [=](int64_t begin, int64_t end, const Run &r, TextRoom &room) {
                   auto *y = r.out<int64_t>(0) + begin * width;
                   if (!texts.pieces)
                     std::fill_n(y, (end - begin) * width, int64_t{0});
                   else if (op.depth)
                     kernels::token_counts(op.tokenizer, *op.vocabulary, texts.part(r, begin, end), texts.pieces, width,
                                           op.binary, y, room, r.report);
                   else
                     kernels::sequences(op.tokenizer, *op.vocabulary, texts.part(r, begin, end), texts.pieces, width, y,
                                        room, r.report);
                 });
}

std::unique_ptr<Kernel> encode(const attributes::Encode &op, const Site &site) {
  using attributes::Outside;
  const Shape &ids = site.src[0].shape;
  const int64_t in_row = op.each ? 1 : ids.last(), rows = op.each ? ids.elements() : ids.elements(0, ids.rank() - 1);
  const kernels::Encoding how{op.depth, in_row, op.binary, op.outside != Outside::dropped,
                              op.outside == Outside::refused};
  const double us = us_per_byte * static_cast<double>(checked_mul(rows, checked_add(op.depth * 8, in_row * 16)));
  auto make = [&](auto type) {
    using T = decltype(type);
    return sliced("encode", site, rows, us, [how](int64_t begin, int64_t end, const Run &r) {
      const auto *weights = r.in<float>(1);
      kernels::encode(how, r.in<int64_t>(0) + begin * how.ids, weights ? weights + begin * how.ids : nullptr,
                      end - begin, r.out<T>(0) + begin * how.depth, r.report);
    });
  };
  switch (op.dtype) {
    case DType::f32:
      return make(float{});
    case DType::i32:
      return make(int32_t{});
    default:
      return make(int64_t{});
  }
}

kernels::Strided both(const Site &site) {
  return kernels::strided(site.dst[0].shape, {site.src[0].shape, site.src[1].shape});
}

std::unique_ptr<Kernel> texts_equal(const attributes::TextsEqual &, const Site &site) {
  const int64_t n = site.dst[0].shape.elements();
  return sliced(
      "texts_equal", site, n, us_per_token * static_cast<double>(n),
      [s = both(site)](int64_t begin, int64_t end, const Run &r) {
        kernels::walk(s, begin, end, [&](int64_t at, const auto &offset, int64_t count) {
          const String *a = r.in<String>(0) + offset[0], *b = r.in<String>(1) + offset[1];
          for (int64_t i = 0; i < count; ++i, a += s.step(0), b += s.step(1))
            r.out<uint8_t>(0)[at + i] = a->view() == b->view();
        });
      },
      line_block);
}

// f(run, room) on one thread, for strings that are made.
template <class F>
std::unique_ptr<Kernel> making(const char *name, const Site &site, F f) {
  struct Making final : Kernel {
    Making(const char *name, int64_t slices, F g) : Kernel(name, slices), f(std::move(g)) {}
    std::unique_ptr<Bound> bind() const override { return std::make_unique<kernels::MakingRoom>(); }
    void run(int64_t, const Run &r) const noexcept override {
      try {
        f(r, static_cast<kernels::MakingRoom &>(*r.bound));
      } catch (const std::exception &) {  // of the bytes of all
        r.report->raise(kernels::Fault::refused, 0, 0, "there is no memory for the strings that it makes");
      }
    }
    const F f;
  };
  return std::make_unique<Making>(name, site.dst[0].shape.elements() ? 1 : 0, std::move(f));
}

std::unique_ptr<Kernel> join_texts(const attributes::JoinTexts &, const Site &site) {
  const int64_t n = site.dst[0].shape.elements();
  return making("join_texts", site, [n, s = both(site)](const Run &r, kernels::MakingRoom &room) {
    room.other.resize(static_cast<size_t>(n));
    kernels::walk(s, 0, n, [&](int64_t at, const auto &offset, int64_t count) {
      const String *a = r.in<String>(0) + offset[0], *b = r.in<String>(1) + offset[1];
      for (int64_t i = at; i < at + count; ++i, a += s.step(0), b += s.step(1))
        r.out<String>(0)[i] = *a, room.other[static_cast<size_t>(i)] = *b;
    });
    kernels::join_texts({r.out<String>(0), static_cast<size_t>(n)}, room, r.report);
  });
}

std::unique_ptr<Kernel> change_case(const attributes::ChangeCase &op, const Site &site) {
  const int64_t n = site.dst[0].shape.elements();
  return making("change_case", site, [n, upper = op.upper, ascii = op.ascii](const Run &r, kernels::MakingRoom &room) {
    kernels::change_case(part_of<String>(r, 0, 0, n), upper, ascii, r.out<String>(0), room, r.report);
  });
}

std::unique_ptr<Kernel> numbers_as_texts(const attributes::NumbersAsTexts &, const Site &site) {
  const int64_t n = site.dst[0].shape.elements();
  return making("numbers_as_texts", site, [n, type = site.src[0].dtype](const Run &r, kernels::MakingRoom &room) {
    kernels::numbers_as_texts(type, r.in<void>(0), n, r.out<String>(0), room, r.report);
  });
}

std::unique_ptr<Kernel> texts_as_numbers(const attributes::TextsAsNumbers &op, const Site &site) {
  const int64_t n = site.dst[0].shape.elements();
  const int64_t slices = n ? site.cutting.short_slices(n, us_per_token * static_cast<double>(n)) : 0;
  const auto make = [&](auto type) {
    using T = decltype(type);
    return by_rows("texts_as_numbers", slices, n, [](int64_t begin, int64_t end, const Run &r, TextRoom &room) {
      kernels::texts_as_numbers<T>(part_of<String>(r, 0, begin, end), r.out<T>(0) + begin, room, r.report);
    });
  };
  return op.dtype == DType::f32 ? make(float{}) : op.dtype == DType::i32 ? make(int32_t{}) : make(int64_t{});
}

int64_t slices_of_texts(const Site &site) {
  const int64_t n = site.src[0].shape.elements();
  return n ? site.cutting.short_slices(n, us_per_text * static_cast<double>(n)) : 0;
}

std::unique_ptr<Kernel> count_pieces(const attributes::CountPieces &op, const Site &site) {
  return by_rows("count_pieces", slices_of_texts(site), site.src[0].shape.elements(),
                 [splitter = op.splitter](int64_t begin, int64_t end, const Run &r, TextRoom &room) {
                   kernels::count_pieces(splitter, part_of<String>(r, 0, begin, end), r.out<int64_t>(0) + begin, room,
                                         r.report);
                 });
}

// op: lives as long as the Program, and with it the pad.
std::unique_ptr<Kernel> pieces(const attributes::Pieces &op, const Site &site) {
  const int64_t width = site.dst[0].shape.last();
  return by_rows("pieces", width ? slices_of_texts(site) : 0, site.src[0].shape.elements(),
                 [&splitter = op.splitter, width](int64_t begin, int64_t end, const Run &r, TextRoom &room) {
                   kernels::pieces(splitter, part_of<String>(r, 0, begin, end), width, r.out<String>(0) + begin * width,
                                   room, r.report);
                 });
}

std::unique_ptr<Kernel> count_ngrams(const attributes::CountNgrams &op, const Site &site) {
  const int64_t rows = site.src[0].shape[0], items = site.src[0].shape[1], width = op.ngrams->width();
  const double us = us_per_byte * static_cast<double>(checked_mul(rows, checked_add(width * 4, items * 200)));
  return sliced("count_ngrams", site, rows, us,
                [ngrams = op.ngrams, items, width](int64_t begin, int64_t end, const Run &r) {
                  auto *y = r.out<float>(0) + begin * width;
                  std::fill_n(y, (end - begin) * width, 0.0f);
                  for (int64_t i = begin; i < end; ++i, y += width)
                    ngrams->count(part_of<int64_t>(r, 0, i * items, (i + 1) * items), y);
                });
}

}  // namespace

std::span<const Row> text_kernels() {
  static const Row rows[] = {
      row<attributes::Lookup, lookup>(),
      row<attributes::TokenAt, token_at>(),
      row<attributes::HashBins, hash_bins>(),
      row<attributes::CrossBins, cross_bins>(),
      row<attributes::CountTokens, count_tokens>(),
      row<attributes::Vectorize, vectorize>(),
      row<attributes::Encode, encode>(),
      row<attributes::TextsEqual, texts_equal>(),
      row<attributes::JoinTexts, join_texts>(),
      row<attributes::ChangeCase, change_case>(),
      row<attributes::NumbersAsTexts, numbers_as_texts>(),
      row<attributes::TextsAsNumbers, texts_as_numbers>(),
      row<attributes::CountPieces, count_pieces>(),
      row<attributes::Pieces, pieces>(),
      row<attributes::CountNgrams, count_ngrams>(),
  };
  return rows;
}

}  // namespace dl4::cpu
