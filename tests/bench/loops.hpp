// What no library routine does, as plain loops that the compiler vectorises (-O3 -ffast-math for this machine); large
// ones in `threads` OpenMP threads.
#pragma once

#include <cstdint>

namespace bench {

struct Image {
  int64_t n, h, w, c;
};

enum class Activation { none, relu, gelu, sigmoid };
void activate(int threads, Activation activation, float *x, int64_t n);                 // in place
void relu_grad(int threads, const float *y, float *dy, int64_t n);                      // in place
void softmax(int threads, float *x, int64_t rows, int64_t cols);                        // in place
void softmax_grad(int threads, const float *y, float *dy, int64_t rows, int64_t cols);  // in place
void add(const float *x, const float *y, float *z, int64_t n);
void column_sums(const float *x, float *y, int64_t rows, int64_t cols);

void max_pool(int threads, const Image &in, const float *x, float *y);  // windows of 2x2, whole ones only
void max_pool_grad(int threads, const Image &in, const float *x, const float *y, const float *dy, float *dx);

// The mean over the middle axis of [n, steps, width], and its gradient, added to dx.
void mean_steps(int threads, const float *x, float *y, int64_t n, int64_t steps, int64_t width);
void mean_steps_grad(int threads, const float *dy, float *dx, int64_t n, int64_t steps, int64_t width);

void gather(int threads, const float *table, const int32_t *ids, float *y, int64_t n, int64_t width);
void scatter_add(const float *dy, const int32_t *ids, float *table, int64_t n, int64_t width);

// Losses, with the gradient of the last product in dx: of the logits where p is a softmax.
double crossentropy(const float *p, const int32_t *labels, float *dx, int64_t rows, int64_t cols);
double mean_squared_error(const float *y, const float *target, float *dx, int64_t n);

void sgd(int threads, float *w, const float *g, int64_t n);
void adam(int threads, int64_t step, float *w, const float *g, float *m, float *v, int64_t n);

}  // namespace bench
