#pragma once
/// \file codec_batch_key.hpp
/// The key of a batch in the messages that carry one. Only for runtime/wire/*.cpp.
#include "runtime/sample/mini_batch.hpp"
#include "runtime/wire/codec_support.hpp"
#include "schema/batches.capnp.h"

namespace troupe::net {

inline void write_key(const BatchKey& from, wire::BatchKey::Builder to) {
  to.setPurpose(from.purpose == Purpose::train ? wire::Purpose::TRAIN : wire::Purpose::EVALUATE);
  to.setEpoch(from.epoch);
  to.setNumber(from.number);
}

inline Result<BatchKey> read_key(std::string_view message, wire::BatchKey::Reader from) {
  const auto purpose = static_cast<unsigned>(from.getPurpose());
  if (purpose > static_cast<unsigned>(wire::Purpose::EVALUATE) || from.getEpoch() >> 31 != 0) {
    return corrupt_message(
        message,
        fmt::format("key: expected purpose 0 or 1 and an epoch below 2^31, found {} and {}",
                    purpose, from.getEpoch()));
  }
  return BatchKey{static_cast<Purpose>(purpose), from.getEpoch(), from.getNumber()};
}

}  // namespace troupe::net
