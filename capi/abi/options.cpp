// Options of each function.
#include "options.hpp"

namespace dl4::capi {

Json options_of(std::string_view function) {
  constexpr struct {
    const char *function;
    Json (*describe)();
  } all[] = {{"dl4_context_create", describe_context_options},
             {"dl4_registry_add", describe_custom_options},
             {"dl4_model_check_gradients", describe_check_options},
             {"dl4_session_create", describe_session_options},
             {"dl4_stream_create", describe_stream_options},
             {"dl4_stream_next", describe_next_options},
             {"dl4_stream_fork", describe_fork_options},
             {"dl4_model_load", describe_load_options},
             {"dl4_model_load_bytes", describe_load_options},
             {"dl4_model_load_weights", describe_load_weights_options},
             {"dl4_model_save", describe_save_options},
             {"dl4_model_save_bytes", describe_save_options},
             {"dl4_dataset_from_tensors", train::TensorsOptions::describe},
             {"dl4_dataset_from_callback", describe_callback_options},
             {"dl4_trainer_create", train::Trainer::describe_options},
             {"dl4_trainer_fit", train::FitOptions::describe}};
  for (const auto &one : all)
    if (function == one.function) return one.describe();
  return nullptr;
}

}  // namespace dl4::capi
