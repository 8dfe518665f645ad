// oneDNN as the floors use it.
#pragma once

#include <unordered_map>
#include <utility>

#include "direct.hpp"
#include "backend/cpu/kernels/onednn/dnnl_compat.hpp"

namespace bench {

using dl4::kernels::onednn::Desc;
using dl4::kernels::onednn::Dims;
using dl4::kernels::onednn::make;
using dl4::kernels::onednn::make_backward;
using dl4::kernels::onednn::Memory;
using Args = std::unordered_map<int, Memory>;

const dnnl::engine &engine();
dnnl::primitive_attr attributes(Activation after = Activation::none);
Desc strided(const Dims &dims, const Dims &strides);
Desc plain(const Dims &dims);
Desc any(const Dims &dims);
Memory memory(const Desc &d, const float *data);
Call execution(const dnnl::primitive &p, const Args &args);

// A copy of m that lies as wanted, made here and now.
Memory reordered(const Memory &m, const Desc &wanted);
// The same made by each call; m itself and no call where it lies so already.
std::pair<Memory, Call> reorder(const Memory &m, const Desc &wanted);
Call reorder_into(const Memory &from, const Memory &to);

}  // namespace bench
