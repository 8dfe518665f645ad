# The same bits by mpirun -n 1, 2 and 4: `sh mpi.sh <worker> <folder>`; 77 where there is no MPI.
command -v mpirun > /dev/null && [ -x "$1" ] || exit 77
flags= # Open MPI starts no more processes than there are cores unless it is told to
mpirun --version 2>&1 | grep -q 'Open MPI' && flags=--oversubscribe
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
folder=$(mktemp -d "${2:-/tmp}/dl4-mpi-XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
for n in 1 2 4; do
  mpirun $flags -n $n "$1" "$folder/checkpoint" "$folder/end$n" || exit 1
  rm -f "$folder/checkpoint"
  cmp "$folder/end1" "$folder/end$n" || exit 1
done
