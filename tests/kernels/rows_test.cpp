// Joined steps on rows of few channels against the kernels that they stand for: the same bits.
#include "backend/cpu/kernels/rows/rows.hpp"

#include "backend/cpu/kernels/elementwise/elementwise.hpp"
#include "backend/cpu/kernels/gemm/packed_gemm.hpp"
#include "base/tensor.hpp"
#include "kernels/targets.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

using Floats = std::vector<float>;
using Does = RowCode::Does;

void run(const Kernel &kernel, std::vector<void *> args) {
  const Bytes scratch = allocate(kernel.scratch);
  Report report;
  kernel.run(0, {args.data(), static_cast<int>(args.size()), scratch.get(), nullptr, &report});
}

void expect_bits(const Floats &expected, const Floats &got) {
  ASSERT_EQ(expected.size(), got.size());
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(0, std::memcmp(&expected[i], &got[i], sizeof(float))) << i << ": " << expected[i] << ", " << got[i];
}

// A convolution over what comes and what a ring has kept, as the ops of a stream compute it.
struct Case {
  int64_t rows, in, out, taps, dilation, capacity, ticks, skip = 0;
  int64_t place(int64_t step) const { return (ticks + step) & (capacity - 1); }
};

struct Conv {
  const Case &c;
  int64_t count = (c.taps - 1) * c.dilation + c.rows, first = c.rows - c.skip - count, k = c.taps * c.in;
  Floats weights = random_floats(k * c.out, -1, 1, 2), bias = random_floats(c.out, -1, 1, 3);
  Floats x = random_floats(c.rows * c.in, -1, 1, 4), ring = random_floats(c.capacity * c.in, -1, 1, 5);
  std::shared_ptr<const PackedFloats> panels = packed_panels({weights.data()}, k, c.out, c.out);
  int64_t tick = c.ticks;

  explicit Conv(const Case &of) : c(of) {}

  Floats expected() const {
    Floats y(static_cast<size_t>(c.rows * c.out)), window(static_cast<size_t>(k));
    for (int64_t r = 0; r < c.rows; ++r) {
      for (int64_t t = 0; t < c.taps; ++t)
        for (int64_t i = 0; i < c.in; ++i) {
          const int64_t at = first + r + t * c.dilation;
          window[static_cast<size_t>(t * c.in + i)] =
              at < 0 ? ring[static_cast<size_t>(c.place(at) * c.in + i)] : x[static_cast<size_t>(at * c.in + i)];
        }
      PackedGemm g{1, c.out, k, window.data(), k, panels->floats(), bias.data(), 0, y.data() + r * c.out, c.out};
      g.by_row = c.out;
      packed_gemm(g);
    }
    return y;
  }
  Floats ring_after() const {
    Floats after = ring;
    for (int64_t r = 0; r < c.rows; ++r)
      for (int64_t i = 0; i < c.in; ++i)
        after[static_cast<size_t>(c.place(r) * c.in + i)] = x[static_cast<size_t>(r * c.in + i)];
    return after;
  }
  // [capacity, in] as [in, capacity].
  Floats turned(const Floats &of) const {
    Floats to(of.size());
    for (int64_t p = 0; p < c.capacity; ++p)
      for (int64_t i = 0; i < c.in; ++i)
        to[static_cast<size_t>(i * c.capacity + p)] = of[static_cast<size_t>(p * c.in + i)];
    return to;
  }
};

RowCode code(Does does, int64_t in, int64_t out, int64_t a, int64_t to) {
  RowCode c{.does = does, .in = static_cast<int32_t>(in), .out = static_cast<int32_t>(out)};
  c.a = a, c.to = to;
  return c;
}

enum class Way { memory, loaded, turned };  // where the ring finds x: in memory, or as a value

void check(const Case &c, Way way) {
  const bool loads = way != Way::memory, turned = way == Way::turned;
  SCOPED_TRACE(::testing::Message() << c.rows << " rows of " << c.in << " to " << c.out << ", " << c.taps << " taps "
                                    << c.dilation << " apart, of " << c.capacity << " at " << c.ticks);
  const Conv conv(c);
  RowCode take = code(turned ? Does::turned_ring : Does::ring, c.in, c.in, 0, round_up(c.rows * c.in, 16));
  take.taps = static_cast<int32_t>(c.taps), take.dilation = c.dilation, take.capacity = c.capacity, take.each = 1;
  take.count = conv.count, take.first = conv.first;
  take.from = take.state = 1, take.tick = 2, take.arg = loads ? -1 : 0;
  const int64_t y = take.to + round_up(ring_floats(take, c.rows), 16), floats = y + round_up(c.rows * c.out, 16);
  take.staging = floats;
  const auto weights = row_weights(*conv.panels, conv.k, c.out);
  Edge<float> x(conv.x), ring(turned ? conv.turned(conv.ring) : conv.ring), bias(conv.bias), to(c.rows * c.out);
  int64_t tick = conv.tick;
  std::vector<RowCode> codes;
  if (loads) {
    codes.push_back(code(Does::load, c.in, c.in, 0, 0));
    codes.back().arg = 0;
  }
  codes.push_back(take);
  RowCode product = code(Does::product, c.in, c.out, take.to, y);
  product.taps = take.taps, product.arg = 3, product.weights = weights->floats();
  product.by_pointers = true;
  codes.push_back(product);
  codes.push_back(code(Does::store, c.out, c.out, y, 0));
  codes.back().arg = 4;
  run(*joined_rows(c.rows, codes, floats + staging_floats(take, c.rows), {weights}),
      {x.data(), ring.data(), &tick, bias.data(), to.data()});
  expect_bits(conv.expected(), to.vector());
  expect_bits(turned ? conv.turned(conv.ring_after()) : conv.ring_after(), ring.vector());
}

TEST(JoinedRows, ConvolvesWhatARingHasKept) {
  on_every_target([] {
    for (int64_t channels = 1; channels <= most_row_channels; ++channels)
      for (const Way way : {Way::memory, Way::loaded}) {
        check({32, channels, (channels * 5) % 16 + 1, 6, 3, 64, 5}, way);  // all of the window side by side
        check({32, channels, channels, 4, 30, 128, 200}, way);
        check({16, channels, 3, 3, 24, 64, 40}, way);  // around the end
        check({64, channels, 2, 2, 1, 64, 1000}, way);
        check({48, channels, 1, 1, 1, 64, 30, 7}, way);  // late
        check({16, channels, channels, 16 / channels, 1, 16, 3}, way);
      }
  });
}

TEST(JoinedRows, ReadsATurnedRingWhereItLies) {
  on_every_target([] {
    for (int64_t channels = 1; channels <= most_row_channels; ++channels) {
      for (const int64_t at : {0, 5, 90, 127, 128, 5000})
        check({32, channels, (channels * 5) % 16 + 1, 4, 13, 128, at}, Way::turned);
      check({16, channels, 3, 15, 2, 64, 77}, Way::turned);
      check({64, channels, 1, 2, 64, 128, 70}, Way::turned);
      check({48, channels, 4, 2, 3, 64, 70, 5}, Way::turned);
    }
  });
}

TEST(JoinedRows, ComputesAsTheKernelsDo) {
  on_every_target([] {
    for (const int64_t rows : {16, 32, 48, 64})
      for (int64_t channels = 1; channels <= most_row_channels; ++channels) {
        const int64_t n = rows * channels;
        Edge<float> a(random_floats(n, -2, 2, 1)), b(random_floats(n, -2, 2, 2)), y(n);
        a[0] = nan, a[n - 1] = -0.0f, b[n - 1] = -inf;
        for (const auto f : {ops::Binary::add, ops::Binary::mul, ops::Binary::max})
          for (const auto then : {ops::Unary::leaky_relu, ops::Unary::relu, ops::Unary::tanh, ops::Unary::elu}) {
            std::vector<RowCode> codes{
                code(Does::load, channels, channels, 0, 0), code(Does::load, channels, channels, 0, n),
                code(Does::binary, channels, channels, 0, 2 * n), code(Does::unary, channels, channels, 2 * n, 3 * n),
                code(Does::store, channels, channels, 3 * n, 0)};
            codes[0].arg = 0, codes[1].arg = 1, codes[4].arg = 2;
            codes[2].f = f, codes[2].b = n, codes[2].then = {then, {0.3f}, true};
            codes[3].then = {ops::Unary::sigmoid, {}, true};
            run(*joined_rows(rows, codes, 4 * n, {}), {a.data(), b.data(), y.data()});
            Floats expected(static_cast<size_t>(n));
            binary_run(f, DType::f32, a.data(), 1, b.data(), 1, expected.data(), n);
            const float slope[3] = {0.3f};
            unary(then, slope, expected.data(), expected.data(), n);
            unary(ops::Unary::sigmoid, nullptr, expected.data(), expected.data(), n);
            expect_bits(expected, y.vector());
          }
      }
  });
}

// A product adds a value before its activation.
TEST(JoinedRows, AddsToAProduct) {
  on_every_target([] {
    for (const auto then : {ops::Unary::leaky_relu, ops::Unary::relu, ops::Unary::tanh})
      for (int64_t channels = 1; channels <= most_row_channels; ++channels) {
        const int64_t rows = 48, n = rows * channels;
        Edge<float> x(random_floats(n, -1, 1, 1)), other(random_floats(n, -1, 1, 2)), y(n);
        const Floats weights = random_floats(channels * channels, -1, 1, 3);
        const auto panels = packed_panels({weights.data()}, channels, channels, channels);
        const auto weights_of = row_weights(*panels, channels, channels);
        std::vector<RowCode> codes{
            code(Does::load, channels, channels, 0, 0), code(Does::load, channels, channels, 0, n),
            code(Does::product, channels, channels, 0, 2 * n), code(Does::store, channels, channels, 2 * n, 0)};
        codes[0].arg = 0, codes[1].arg = 1, codes[3].arg = 2;
        codes[2].adds = true, codes[2].b = n, codes[2].weights = weights_of->floats();
        codes[2].then = {then, {0.3f}, true};
        run(*joined_rows(rows, codes, 3 * n, {weights_of}), {x.data(), other.data(), y.data()});
        Floats expected(static_cast<size_t>(n));
        PackedGemm g{rows,    channels, channels,        x.data(), channels, panels->floats(),
                     nullptr, 0,        expected.data(), channels};
        g.by_row = channels;
        packed_gemm(g);
        const Floats alone = expected;
        binary_run(ops::Binary::add, DType::f32, expected.data(), 1, other.data(), 1, expected.data(), n);
        const float slope[3] = {0.3f};
        unary(then, slope, expected.data(), expected.data(), n);
        expect_bits(expected, y.vector());

        // Or a product of few sources.
        for (int32_t more = 1; more <= std::min<int64_t>(most_more_sources, channels); ++more) {
          const Floats second = random_floats(more * channels, -1, 1, 4);
          const auto by = packed_panels({second.data()}, more, channels, channels);
          const auto by_rows = row_weights(*by, more, channels);
          codes[0].in = static_cast<int32_t>(channels), codes[2].more = more, codes[2].more_weights = by_rows->floats();
          run(*joined_rows(rows, codes, 3 * n, {weights_of, by_rows}), {x.data(), other.data(), y.data()});
          g.k = more, g.a = other.data(), g.packed = by->floats(), g.c = expected.data();
          packed_gemm(g);
          binary_run(ops::Binary::add, DType::f32, expected.data(), 1, alone.data(), 1, expected.data(), n);
          unary(then, slope, expected.data(), expected.data(), n);
          expect_bits(expected, y.vector());
        }
      }
  });
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
