/* Writes the registry of all kinds, as the library serves it, to the file named: part of the build. */
#include <dl4/dl4.h>
#include <stdio.h>

int main(int argc, char **argv) {
  dl4_blob *blob = NULL;
  dl4_error *e = dl4_registry_json(NULL, NULL, &blob);
  FILE *f;
  size_t n;
  if (e) {
    fprintf(stderr, "%s\n", dl4_error_message(e));
    dl4_release(e);
    return 1;
  }
  f = argc == 2 ? fopen(argv[1], "wb") : NULL;
  if (!f) return 1;
  n = fwrite(dl4_blob_data(blob), 1, (size_t)dl4_blob_size(blob), f);
  if (n != (size_t)dl4_blob_size(blob) || fclose(f) != 0) return 1;
  dl4_release(blob);
  return 0;
}
