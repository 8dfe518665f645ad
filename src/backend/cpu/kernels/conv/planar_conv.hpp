// The geometry of convolutions that are computed on planes: padded copies of each channel, one for each phase of the
// strides. There every tap of all pixels is one run of the plane, shifted.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "backend/cpu/kernels/conv/conv.hpp"

namespace dl4::kernels {

// An axis. Place i of the source's phase p is at phases[p] + i * src_step, place j of the destination's phase q at
// dst_first + q + j * dst_step; places outside are padding. A tap adds to place j the place j + shift.
struct PlanarAxis {
  struct Tap {
    int64_t src_phase, shift, dst_phase;
  };
  int64_t src = 1, dst = 1;
  int64_t src_step = 1, dst_step = 1, dst_first = 0;
  std::vector<int64_t> phases;
  std::vector<Tap> taps;
  int64_t count = 1, extent = 1;  // places of the destination and of the source in a band
};

// A convolution, or its gradient by the source. Images are cut into bands along the first axis that has more than one
// place; all bands have the same number of places, and the last may go past the end.
struct Planes {
  std::array<PlanarAxis, 3> axes;
  int64_t src_channels = 1, dst_channels = 1, groups = 1;
  int64_t src_phases = 1, dst_phases = 1;
  bool products = false;  // the source's channels are products, of each tap for each filter: they are added only
  size_t cut = 0;
  int64_t bands = 1;

  int64_t plane() const;   // places of a source plane
  int64_t pixels() const;  // places of a run: the destination's, with the padding between its rows
};

// In at least `slices` bands of all images if possible, small enough for the cache. None where padding would be most of
// the planes. products: without groups, and forward without strides.
std::optional<Planes> planes_of(const Conv &conv, bool by_source, bool products, int64_t slices);

// The sums of a convolution whose products are made: those of tap t and filter f at channel t * filters + f of an image
// as large as the source. Arguments: products, bias (forward, if `bias`), destination.
std::unique_ptr<Kernel> shifted_sums(const Conv &conv, bool by_source, int64_t slices);

// How a slice goes through the channels of a group, and what its scratch has where, in floats.
struct PlanarRoom {
  int64_t summed;    // channels at a time, whose planes are in the first cache
  int64_t channels;  // in planes at a time: as many blocks of these as pay off
  int64_t groups;    // in planes at a time
  int64_t run;       // from one plane of sums to the next
  int64_t sums_at, first_at, turned_at, end;

  PlanarRoom(const Planes &p, int64_t taps);
};

}  // namespace dl4::kernels
