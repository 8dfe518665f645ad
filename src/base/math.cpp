// Compiled without contraction of a * b + c, like all of the library.
#include "base/math.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace dl4::math {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
constexpr double pi = 3.14159265358979323846, half_pi = 1.57079632679489661923;
constexpr double ln2_high = 0.6931471803691238, ln2_low = 1.9082149292705877e-10;  // high 32 bits of ln 2, and the rest

// Horner's method; highest power first.
template <class... C>
double poly(double x, double first, C... rest) {
  double r = first;
  ((r = r * x + rest), ...);
  return r;
}

// 2^n for -1022 <= n <= 1023.
double power_of_2(int64_t n) { return std::bit_cast<double>(static_cast<uint64_t>(n + 1023) << 52); }

// (exp(r) - 1 - r) / r^2 for |r| <= 0.35, by its Taylor series.
double exp_tail(double r) {
  return poly(r, 1 / 87178291200.0, 1 / 6227020800.0, 1 / 479001600.0, 1 / 39916800.0, 1 / 3628800.0, 1 / 362880.0,
              1 / 40320.0, 1 / 5040.0, 1 / 720.0, 1 / 120.0, 1 / 24.0, 1 / 6.0, 0.5);
}

// The quadrant of x and the remainder, |r| <= pi / 4.
struct Angle {
  int64_t quadrant;
  double r;
};

// Payne and Hanek, "Radian reduction for trigonometric functions", 1983. Only those bits of 2 / pi matter that neither
// contribute multiples of 4 nor lie far below the precision of the result.
Angle reduce_far(double x) {
  static constexpr uint32_t two_over_pi[] = {
      0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
      0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484,
      0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f,
      0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b,
      0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab, 0xf0cfbc20, 0x9af4361d};
  const auto bits = std::bit_cast<uint64_t>(std::fabs(x));
  const uint64_t m = (bits & ((uint64_t{1} << 52) - 1)) | uint64_t{1} << 52;
  const int64_t first = static_cast<int64_t>(bits >> 52) - 1075 - 2;  // |x| = m 2^(first + 2); bits from `first` on
  const auto word = [&](int64_t i) -> uint64_t { return i >= 0 && i < 40 ? two_over_pi[i] : 0; };
  uint32_t window[6];  // 192 bits, most significant first
  for (int64_t i = 0; i < 6; ++i) {
    const int64_t at = first + 32 * i, whole = at >> 5, shift = at & 31;
    window[i] = static_cast<uint32_t>((word(whole) << 32 | word(whole + 1)) >> (32 - shift));
  }
  // The product modulo 2^192, that is modulo 4.
  uint32_t p[6] = {};
  const uint64_t halves[] = {m & UINT32_MAX, m >> 32};
  for (int h = 0; h < 2; ++h) {
    uint64_t carry = 0;
    for (int i = 5 - h; i >= 0; --i) {
      carry += p[i] + halves[h] * window[i + h];
      p[i] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
  }
  int64_t quadrant = p[0] >> 30;
  uint64_t words[3];  // the fraction as 190 bits, most significant first
  for (int i = 0; i < 3; ++i) {
    const uint64_t high = uint64_t{p[2 * i]} << 32 | p[2 * i + 1];
    words[i] = high << 2 | (i < 2 ? p[2 * i + 2] >> 30 : 0);
  }
  const bool above = words[0] >> 63 != 0;
  if (above) {
    quadrant++;
    for (uint64_t &w : words) w = ~w;
  }
  const auto part = [](uint64_t w) {  // each half fits a double exactly
    return static_cast<double>(w >> 32) * 0x1p-32 + static_cast<double>(w & UINT32_MAX) * 0x1p-64;
  };
  const double f = part(words[0]) + (part(words[1]) * 0x1p-64 + part(words[2]) * 0x1p-128);
  const double r = (above ? -f : f) * half_pi;
  return x < 0 ? Angle{-quadrant, -r} : Angle{quadrant, r};
}

Angle reduce(double x) {
  if (!(std::fabs(x) < 1e5)) return std::fabs(x) < infinity ? reduce_far(x) : Angle{0, nan};
  // Cody and Waite: pi / 2 split into parts of 33 bits.
  const double k = std::floor(x * 0.63661977236758134308 + 0.5);
  const double r = ((x - k * 1.57079632673412561417) - k * 6.07710050630396597660e-11) - k * 2.02226624879595063154e-21;
  return {static_cast<int64_t>(k), r};
}

double sin_of(double r) {
  const double u = r * r;
  return r + r * u *
                 poly(u, 1 / 355687428096000.0, -1 / 1307674368000.0, 1 / 6227020800.0, -1 / 39916800.0, 1 / 362880.0,
                      -1 / 5040.0, 1 / 120.0, -1 / 6.0);
}

double cos_of(double r) {
  const double u = r * r;
  return 1 - u * 0.5 +
         u * u *
             poly(u, 1 / 6402373705728000.0 * -1, 1 / 20922789888000.0, -1 / 87178291200.0, 1 / 479001600.0,
                  -1 / 3628800.0, 1 / 40320.0, -1 / 720.0, 1 / 24.0);
}

bool is_odd(double whole) { return std::fabs(whole) < 0x1p53 && std::floor(whole / 2) * 2 != whole; }

}  // namespace

double exp(double x) noexcept {
  if (x != x) return x;
  if (x > 709.79) return infinity;
  if (x < -745.14) return 0;
  const double k = std::floor(x * 1.44269504088896340736 + 0.5), r = (x - k * ln2_high) - k * ln2_low;
  const auto n = static_cast<int64_t>(k);
  const double y = 1 + (r + r * r * exp_tail(r));
  return y * power_of_2(n / 2) * power_of_2(n - n / 2);
}

double expm1(double x) noexcept {
  if (std::fabs(x) < 0.35) return x == 0 ? x : x + x * x * exp_tail(x);
  return exp(x) - 1;
}

double log(double x) noexcept {
  if (!(x > 0)) return x == 0 ? -infinity : x != x ? x : nan;
  if (x == infinity) return x;
  int64_t e = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= 0x1p54;
    e = -54;
  }
  // Reduces the mantissa to [sqrt(1/2), sqrt(2)).
  constexpr auto least = std::bit_cast<uint64_t>(0.70710678118654752440);
  const uint64_t over = std::bit_cast<uint64_t>(x) - least;
  e += static_cast<int64_t>(over) >> 52;
  const double f = std::bit_cast<double>((over & ((uint64_t{1} << 52) - 1)) + least) - 1;
  const double s = f / (2 + f), z = s * s, half = 0.5 * f * f;
  const double rest = z * poly(z, 2 / 23.0, 2 / 21.0, 2 / 19.0, 2 / 17.0, 2 / 15.0, 2 / 13.0, 2 / 11.0, 2 / 9.0,
                               2 / 7.0, 2 / 5.0, 2 / 3.0);
  const auto k = static_cast<double>(e);
  return k * ln2_high - ((half - (s * (half + rest) + k * ln2_low)) - f);
}

// Kahan: the rounding error of 1 + x cancels in the quotient.
double log1p(double x) noexcept {
  const double u = 1 + x;
  if (u == 1 || x != x) return x;
  return u == infinity || u <= 0 ? log(u) : log(u) * (x / (u - 1));
}

double log10(double x) noexcept { return log(x) * 0.43429448190325182765; }

double pow(double x, double y) noexcept {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return nan;
  const bool whole = std::floor(y) == y, odd = whole && is_odd(y);
  const double a = std::fabs(x);
  double r;
  if (a == 0 || a == infinity)
    r = (a == 0) == (y < 0) ? infinity : 0;
  else if (std::fabs(y) == infinity)
    return a == 1 ? 1 : (a > 1) == (y > 0) ? infinity : 0;
  else if (x < 0 && !whole)
    return nan;
  else
    r = exp(y * log(a));
  return odd && std::signbit(x) ? -r : r;
}

double cbrt(double x) noexcept {
  const double a = std::fabs(x);
  if (a == 0 || !(a < infinity)) return x;
  const double y = exp(log(a) / 3);
  return std::copysign(y - (y - a / (y * y)) / 3, x);
}

double sin(double x) noexcept {
  const auto [quadrant, r] = reduce(x);
  if (x == 0) return x;
  const double y = quadrant & 1 ? cos_of(r) : sin_of(r);
  return quadrant & 2 ? -y : y;
}

double cos(double x) noexcept {
  const auto [quadrant, r] = reduce(x);
  const double y = quadrant & 1 ? sin_of(r) : cos_of(r);
  return (quadrant + 1) & 2 ? -y : y;
}

double tan(double x) noexcept {
  const auto [quadrant, r] = reduce(x);
  if (x == 0) return x;
  return quadrant & 1 ? -cos_of(r) / sin_of(r) : sin_of(r) / cos_of(r);
}

double atan(double x) noexcept {
  if (x != x) return x;
  const double a = std::fabs(x);
  const bool inverse = a > 1;
  const double b = inverse ? 1 / a : a;
  const bool turned = b > 0.41421356237309504880;  // tan(pi / 8)
  const double c = turned ? (b - 1) / (b + 1) : b, u = c * c;
  const double t =
      c * poly(u, -0.012911256782015863086, 0.029533108747433718112, -0.040511455656736090237, 0.047044349347049825281,
               -0.05255340850106285296, 0.058815973499589296721, -0.066666148135360870469, 0.076923051995894043986,
               -0.090909090092738038811, 0.11111111109374343806, -0.14285714285692104318, 0.199999999999998519,
               -0.33333333333333332943, 1.0);
  double y = turned ? 0.25 * pi + t : t;
  if (inverse) y = half_pi - y;
  return std::copysign(y, x);
}

double atan2(double y, double x) noexcept {
  if (x != x || y != y) return nan;
  const double a = std::fabs(y), b = std::fabs(x);
  double angle;
  if (a == 0)
    angle = 0;
  else if (a == infinity && b == infinity)
    angle = 0.25 * pi;
  else
    angle = b == 0 ? half_pi : atan(a / b);
  if (std::signbit(x)) angle = pi - angle;
  return std::copysign(angle, y);
}

double asin(double x) noexcept {
  if (!(std::fabs(x) <= 1)) return nan;
  return x == 0 ? x : atan2(x, std::sqrt((1 - x) * (1 + x)));
}

double acos(double x) noexcept { return std::fabs(x) <= 1 ? 2 * atan2(std::sqrt(1 - x), std::sqrt(1 + x)) : nan; }

double sinh(double x) noexcept {
  const double a = std::fabs(x);
  if (!(a < 40)) {
    const double half = exp(a / 2);  // exp(a) may overflow
    return std::copysign(0.5 * half * half, x) + (x != x ? x : 0);
  }
  const double t = expm1(a);
  return std::copysign((t + t / (t + 1)) / 2, x);
}

double cosh(double x) noexcept {
  const double half = exp(std::fabs(x) / 2), e = half * half;
  return e < 1e300 ? 0.5 * (exp(std::fabs(x)) + 1 / exp(std::fabs(x))) : 0.5 * half * half;
}

double asinh(double x) noexcept {
  const double a = std::fabs(x);
  if (!(a < 1e150)) return x != x || a == infinity ? x : std::copysign(log(a) + 0.69314718055994530942, x);
  return std::copysign(log1p(a + a * a / (1 + std::sqrt(1 + a * a))), x);
}

double acosh(double x) noexcept {
  if (!(x >= 1)) return nan;
  if (x > 1e150) return log(x) + 0.69314718055994530942;
  const double t = x - 1;
  return log1p(t + std::sqrt(2 * t + t * t));
}

double atanh(double x) noexcept {
  const double a = std::fabs(x);
  if (!(a <= 1)) return nan;
  return a == 1 ? std::copysign(infinity, x) : std::copysign(0.5 * log1p(2 * a / (1 - a)), x);
}

// exp(-x^2) / (1 + 2 x) times a polynomial in (x - 4) / (x + 4), fitted to 4e-19.
double erfc(double x) noexcept {
  if (x != x) return x;
  const double a = std::fabs(x);
  if (a > 27.3) return x > 0 ? 0 : 2;
  const double t = (a - 4) / (a + 4);
  const double p =
      poly(t, 4.3357446968801276677e-11, -1.3721243210955800331e-10, -5.47796315403793031e-10, 1.788749218907753683e-9,
           3.9799082099353337403e-9, -1.4705187552387630328e-8, -2.191712868477673216e-8, 1.1009041560728303061e-7,
           7.8934396347614201001e-8, -8.2491274349645719467e-7, 2.9090629683714268492e-7, 5.7092012122263517327e-6,
           -0.000011220753452725425138, -0.000024398942309069806371, 0.00015062130746391776463,
           -0.0001992567764579197046, -0.00075777321953522928882, 0.0050319699928109254543, -0.016197734065952531267,
           0.037167515535911412166, -0.066330365811648502817, 0.093732834998439512532, -0.1010390660363250336,
           0.06809705425469035044, 0.015379652102620041182, -0.13962111684056249603, 1.232995118625552509);
  // exp(-x^2) from the upper half of x, whose square is exact, and the remainder.
  const double high = std::bit_cast<double>(std::bit_cast<uint64_t>(a) & ~((uint64_t{1} << 27) - 1));
  const double y = exp(-high * high) * exp((high - a) * (high + a)) * p / (1 + 2 * a);
  return x < 0 ? 2 - y : y;
}

}  // namespace dl4::math
