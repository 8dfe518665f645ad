// The loops of the floors.
#include "loops.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace bench {
namespace {

constexpr int64_t worth_threads = 1 << 15;  // floats

// f(begin, end) for the parts of [0, n), each item of so many floats.
template <class F>
void parallel(int threads, int64_t n, int64_t floats, F f) {
  if (threads == 1 || n * floats < worth_threads) return f(0, n);
#pragma omp parallel for num_threads(threads)
  for (int t = 0; t < threads; ++t) f(n * t / threads, n * (t + 1) / threads);
}

}  // namespace

void activate(int threads, Activation activation, float *x, int64_t n) {
  constexpr float root_half = 0.70710678f;
  parallel(threads, n, activation == Activation::relu ? 1 : 8, [=](int64_t begin, int64_t end) {
    if (activation == Activation::relu)
      for (int64_t i = begin; i < end; ++i) x[i] = x[i] > 0 ? x[i] : 0;
    if (activation == Activation::gelu)
      for (int64_t i = begin; i < end; ++i) x[i] *= 0.5f + 0.5f * std::erf(x[i] * root_half);
    if (activation == Activation::sigmoid)
      for (int64_t i = begin; i < end; ++i) x[i] = 1 / (1 + std::exp(-x[i]));
  });
}

void relu_grad(int threads, const float *__restrict y, float *__restrict dy, int64_t n) {
  parallel(threads, n, 1, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) dy[i] = y[i] > 0 ? dy[i] : 0;
  });
}

void softmax(int threads, float *x, int64_t rows, int64_t cols) {
  parallel(threads, rows, cols * 8, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      float *p = x + r * cols, most = p[0], sum = 0;
      for (int64_t i = 1; i < cols; ++i) most = p[i] > most ? p[i] : most;
      for (int64_t i = 0; i < cols; ++i) p[i] = std::exp(p[i] - most);
      for (int64_t i = 0; i < cols; ++i) sum += p[i];
      float scale = 1 / sum;
      for (int64_t i = 0; i < cols; ++i) p[i] *= scale;
    }
  });
}

void softmax_grad(int threads, const float *y, float *dy, int64_t rows, int64_t cols) {
  parallel(threads, rows, cols * 2, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const float *__restrict p = y + r * cols;
      float *__restrict d = dy + r * cols, dot = 0;
      for (int64_t i = 0; i < cols; ++i) dot += p[i] * d[i];
      for (int64_t i = 0; i < cols; ++i) d[i] = p[i] * (d[i] - dot);
    }
  });
}

void add(const float *x, const float *y, float *z, int64_t n) {
  for (int64_t i = 0; i < n; ++i) z[i] = x[i] + y[i];
}

void column_sums(const float *__restrict x, float *__restrict y, int64_t rows, int64_t cols) {
  std::fill_n(y, cols, 0.0f);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < cols; ++i) y[i] += x[r * cols + i];
}

void max_pool(int threads, const Image &in, const float *x, float *y) {
  int64_t oh = in.h / 2, ow = in.w / 2, row = in.w * in.c;
  parallel(threads, in.n * oh, row * 2, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const float *a = x + (r / oh * in.h + r % oh * 2) * row;
      for (int64_t j = 0; j < ow; ++j) {
        const float *p = a + 2 * j * in.c;
        float *out = y + (r * ow + j) * in.c;
        for (int64_t c = 0; c < in.c; ++c)
          out[c] = std::max(std::max(p[c], p[in.c + c]), std::max(p[row + c], p[row + in.c + c]));
      }
    }
  });
}

void max_pool_grad(int threads, const Image &in, const float *x, const float *y, const float *dy, float *dx) {
  int64_t oh = in.h / 2, ow = in.w / 2, row = in.w * in.c;
  parallel(threads, in.n, in.h * row, [=](int64_t begin, int64_t end) {
    std::fill(dx + begin * in.h * row, dx + end * in.h * row, 0.0f);
    for (int64_t r = begin * oh; r < end * oh; ++r) {
      int64_t from = (r / oh * in.h + r % oh * 2) * row;
      for (int64_t j = 0; j < ow; ++j) {
        for (int64_t c = 0; c < in.c; ++c) {
          int64_t at = from + 2 * j * in.c + c, out = (r * ow + j) * in.c + c;
          int64_t places[] = {at, at + in.c, at + row, at + row + in.c};
          for (int64_t place : places) {
            if (x[place] != y[out]) continue;
            dx[place] = dy[out];
            break;
          }
        }
      }
    }
  });
}

void mean_steps(int threads, const float *x, float *y, int64_t n, int64_t steps, int64_t width) {
  parallel(threads, n, steps * width, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      column_sums(x + i * steps * width, y + i * width, steps, width);
      for (int64_t j = 0; j < width; ++j) y[i * width + j] /= static_cast<float>(steps);
    }
  });
}

void mean_steps_grad(int threads, const float *__restrict dy, float *__restrict dx, int64_t n, int64_t steps,
                     int64_t width) {
  float scale = 1 / static_cast<float>(steps);
  parallel(threads, n * steps, width, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      for (int64_t j = 0; j < width; ++j) dx[r * width + j] += dy[r / steps * width + j] * scale;
  });
}

void gather(int threads, const float *table, const int32_t *ids, float *y, int64_t n, int64_t width) {
  parallel(threads, n, width, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::memcpy(y + i * width, table + ids[i] * width, static_cast<size_t>(width) * sizeof(float));
  });
}

void scatter_add(const float *__restrict dy, const int32_t *ids, float *__restrict table, int64_t n, int64_t width) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < width; ++j) table[ids[i] * width + j] += dy[i * width + j];
}

double crossentropy(const float *p, const int32_t *labels, float *dx, int64_t rows, int64_t cols) {
  double loss = 0;
  float scale = 1 / static_cast<float>(rows);
  for (int64_t r = 0; r < rows; ++r) {
    loss -= std::log(std::clamp(p[r * cols + labels[r]], 1e-7f, 1 - 1e-7f));
    for (int64_t i = 0; i < cols; ++i) dx[r * cols + i] = p[r * cols + i] * scale;
    dx[r * cols + labels[r]] -= scale;
  }
  return loss / static_cast<double>(rows);
}

double mean_squared_error(const float *y, const float *target, float *dx, int64_t n) {
  double loss = 0;
  for (int64_t i = 0; i < n; ++i) {
    float d = y[i] - target[i];
    loss += static_cast<double>(d) * d;
    dx[i] = 2 * d / static_cast<float>(n);
  }
  return loss / static_cast<double>(n);
}

void sgd(int threads, float *__restrict w, const float *__restrict g, int64_t n) {
  parallel(threads, n, 1, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) w[i] -= 0.01f * g[i];
  });
}

void adam(int threads, int64_t step, float *__restrict w, const float *__restrict g, float *__restrict m,
          float *__restrict v, int64_t n) {
  double t = static_cast<double>(step);
  auto rate = static_cast<float>(1e-3 * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t)));
  parallel(threads, n, 1, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      m[i] += (g[i] - m[i]) * 0.1f;
      v[i] += (g[i] * g[i] - v[i]) * 0.001f;
      w[i] -= rate * m[i] / (std::sqrt(v[i]) + 1e-7f);
    }
  });
}

}  // namespace bench
