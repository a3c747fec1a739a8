#pragma once
/// \file communicator.hpp
/// What devices of several ranks do together, and the means that are made of it. Stages are templates over a
/// stream and a communicator for it: EmulatedCommunicator (emulated_communicator.hpp), or NCCL's (nccl.cuh).
#include "gpu/comm/mean_bodies.hpp"
#include "runtime/base/even_share.hpp"

#include <concepts>
#include <cstddef>
#include <span>

namespace troupe::gpu {

/// One rank of a communicator. Its operations are launched in a stream and wait for nothing on the host; all
/// ranks launch the same ones in the same order, with vectors of one length. Once the stream has passed an
/// operation its arguments may be changed.
///   exchange(stream, vector, received): slice k of the vector (even_share()) goes to rank k; of this rank's
///     slice, what all ranks have is received, [world, size of the slice]
///   gather(stream, mine, count, all): `all` [world, count] are the ranks' `mine`, in rank order
///   add(stream, vector): in place of it comes the sum over ranks, added in any order
template <class T, class Stream>
concept Communicator = requires(T& comm, Stream& on, std::span<float> vector, float* values) {
  { comm.rank() } -> std::convertible_to<std::size_t>;
  { comm.world() } -> std::convertible_to<std::size_t>;
  comm.exchange(on, vector, values);
  comm.gather(on, values, vector.size(), values);
  comm.add(on, vector);
};

/// In place of the vector comes its mean over the ranks, with the bits of GradientReducer: each rank adds the
/// slice that it owns in rank order.
/// \param vector   on the device; of a rank whose weight is 0 zeros, which change no bit of a sum
/// \param divisor  sum of the weights, not 0
/// \cost each rank sends and receives the vector less its own slice, twice
template <class Stream, Communicator<Stream> Comm>
void exact_mean(Stream& on, Comm& comm, std::span<float> vector, float divisor) {
  if (vector.empty()) {
    return;
  }
  const std::size_t world = comm.world();
  const std::size_t most = even_share(vector.size(), world, 0).size;
  const std::size_t own = even_share(vector.size(), world, comm.rank()).size;
  const auto received = on.template array<float>(world * own);
  const auto sums = on.template array<float>(most);
  const auto all = on.template array<float>(world * most);
  comm.exchange(on, vector, received.data());
  on.for_each(own, MeanOfRanks{received.data(), world, own, divisor, sums.data()});
  comm.gather(on, sums.data(), most, all.data());
  on.for_rows(world, most, PutSlice{all.data(), world, most, vector.size(), vector.data()});
}

/// The same with sums in any order.
template <class Stream, Communicator<Stream> Comm>
void fast_mean(Stream& on, Comm& comm, std::span<float> vector, float divisor) {
  if (vector.empty()) {
    return;
  }
  comm.add(on, vector);
  on.for_each(vector.size(), DivideSum{divisor, vector.data()});
}

}  // namespace troupe::gpu
