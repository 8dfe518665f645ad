// A user's C++ program: builds a graph, and an error comes back as an object.
#include <dl4/dl4.h>

#include <iostream>
#include <memory>
#include <string>

int main() {
  dl4_graph *made = nullptr;
  if (dl4_graph_create(nullptr, &made) != nullptr) return 1;
  const std::unique_ptr<dl4_graph, void (*)(void *)> graph(made, dl4_release);
  dl4_layer layer;
  dl4_error *e = dl4_graph_add_layer(graph.get(), "Dens", nullptr, nullptr, nullptr, &layer);
  if (dl4_error_code(e) != DL4_UNKNOWN_KIND) return 1;
  std::cout << "C++ with libdl4 " << dl4_version() << ": " << dl4_error_message(e) << "\n";
  dl4_release(e);
  return 0;
}
