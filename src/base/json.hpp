// JSON values that keep the order of their keys.
#pragma once

#include <nlohmann/json.hpp>

namespace dl4 {
using Json = nlohmann::ordered_json;
}
