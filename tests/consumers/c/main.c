/* A user's C program: the library answers, and is as new as its header. */
#include <dl4/dl4.h>
#include <stdio.h>

int main(void) {
  const int32_t header = DL4_VERSION_MAJOR * 1000000 + DL4_VERSION_MINOR * 1000 + DL4_VERSION_PATCH;
  int64_t dims[2] = {2, 3};
  dl4_tensor *t = NULL;
  dl4_error *e = dl4_tensor_create(NULL, DL4_FLOAT32, 2, dims, &t);
  if (e || dl4_tensor_bytes(t) != 24 || dl4_version() < header) return 1;
  dl4_release(t);
  printf("C with libdl4 %d\n", (int)dl4_version());
  return 0;
}
