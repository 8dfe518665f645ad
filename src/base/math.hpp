// Elementary functions built from additions, multiplications, divisions and square roots alone, which IEEE 754 rounds
// uniquely. Results have the same bits with every C library, compiler and processor. Relative errors are a few units of
// 1e-16 at most; NaN, infinities and signed zeros behave as in C.
#pragma once

namespace dl4::math {

double exp(double x) noexcept;
double expm1(double x) noexcept;
double log(double x) noexcept;
double log1p(double x) noexcept;
double log10(double x) noexcept;
double pow(double x, double y) noexcept;
double cbrt(double x) noexcept;
double sin(double x) noexcept;
double cos(double x) noexcept;
double tan(double x) noexcept;
double asin(double x) noexcept;
double acos(double x) noexcept;
double atan(double x) noexcept;
double atan2(double y, double x) noexcept;
double sinh(double x) noexcept;
double cosh(double x) noexcept;
double asinh(double x) noexcept;
double acosh(double x) noexcept;
double atanh(double x) noexcept;
double erfc(double x) noexcept;

// float versions: computed in double, rounded once more.
inline float log(float x) noexcept { return static_cast<float>(log(static_cast<double>(x))); }
inline float sin(float x) noexcept { return static_cast<float>(sin(static_cast<double>(x))); }
inline float cos(float x) noexcept { return static_cast<float>(cos(static_cast<double>(x))); }
inline float pow(float x, float y) noexcept {
  return static_cast<float>(pow(static_cast<double>(x), static_cast<double>(y)));
}
inline float atan2(float y, float x) noexcept {
  return static_cast<float>(atan2(static_cast<double>(y), static_cast<double>(x)));
}

}  // namespace dl4::math
