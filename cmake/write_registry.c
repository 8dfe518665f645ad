/* Writes the registry of all kinds and the description of the interface, as the library serves them, to the two files
 * named: part of the build. */
#include <dl4/dl4.h>
#include <stdio.h>

static int write_to(const char *path, dl4_error *e, dl4_blob *blob) {
  FILE *f;
  size_t n;
  if (e) {
    fprintf(stderr, "%s\n", dl4_error_message(e));
    dl4_release(e);
    return 1;
  }
  f = fopen(path, "wb");
  if (!f) return 1;
  n = fwrite(dl4_blob_data(blob), 1, (size_t)dl4_blob_size(blob), f);
  if (fclose(f) != 0 || n != (size_t)dl4_blob_size(blob)) return 1;
  dl4_release(blob);
  return 0;
}

int main(int argc, char **argv) {
  dl4_blob *registry = NULL, *api = NULL;
  dl4_error *e;
  if (argc != 3) return 1;
  e = dl4_registry_json(NULL, NULL, &registry);
  if (write_to(argv[1], e, registry)) return 1;
  e = dl4_api_description(&api);
  return write_to(argv[2], e, api);
}
