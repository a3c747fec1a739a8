#pragma once
/// \file program_device.hpp
/// What a rank that a user program trains has of its device.
#include "gpu/run/program_stream.hpp"
#include "launcher/session.hpp"
#include "runtime/run/device_mean.hpp"

#include <memory>
#include <string>

namespace troupe {

struct ProgramDevice {
  RankDevice info = {};
  std::shared_ptr<gpu::ProgramStream> stream = nullptr;
  std::shared_ptr<DeviceMeans> means =
      nullptr;                ///< In that stream; null: vectors go over the links
  std::string why_host = {};  ///< Why batches are in host memory; empty: they are on the device
};

}  // namespace troupe
