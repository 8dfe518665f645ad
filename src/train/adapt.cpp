// A pass over the data.
#include "train/adapt.hpp"

#include "base/error.hpp"
#include "kinds/layer.hpp"

namespace dl4::train {
namespace {

// Views are valid until the next batch; the adapter keeps none.
Tensor tensor_of(const runtime::View &v) {
  return {v.dtype, v.shape, Bytes(Bytes(), static_cast<std::byte *>(v.data))};
}

}  // namespace

Json adapt(const std::string &kind, const Json &config, Dataset &data, int64_t memory_limit,
           const std::atomic<int32_t> *cancel) {
  const auto layer = std::static_pointer_cast<const kinds::Layer>(kinds::find("layer", kind).make(config));
  const std::shared_ptr<kinds::Adapter> learner = layer->adapter(memory_limit);
  if (!learner) fail(Code::unsupported, "a layer ", layer->entry().name.view(), " learns nothing from data");
  Batch batch;
  data.start(false, 0);
  for (int64_t i = 0; data.next(batch); ++i) {
    if (cancel && cancel->load(std::memory_order_relaxed)) fail(Code::cancelled, "cancelled at batch ", i);
    if (batch.x.size() != 1) fail(Code::shape_mismatch, "expected one input, got ", batch.x.size());
    if (batch.x[0].strides) fail(Code::unsupported, "expected dense batches, got a strided one");
    learner->add(tensor_of(batch.x[0]));
  }
  return learner->config();
}

}  // namespace dl4::train
