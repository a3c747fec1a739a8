#pragma once
/// \file stream_for_program.hpp
/// ProgramStream over the streams of gpu/base. For emulated_program_stream.cpp and cuda_program_stream.cu only.
#include "gpu/base/array.hpp"
#include "gpu/base/on_stream.hpp"
#include "gpu/comm/mean_bodies.hpp"
#include "gpu/run/program_stream.hpp"

#include <utility>

namespace troupe::gpu {

template <class Stream>
class StreamForProgram : public ProgramStream, public OnStream<Stream> {
 public:
  explicit StreamForProgram(Stream stream) : on_(std::move(stream)) {}
  ~StreamForProgram() override { on_.drain(); }

  Stream stream() const override { return on_; }

  Result<std::shared_ptr<void>> memory(std::size_t size_bytes) override {
    Stream on = on_;  // whose errors stay with this call; so in all others
    const auto array =
        std::make_shared<const Array<std::byte>>(on.template array<std::byte>(size_bytes));
    TROUPE_RETURN_IF_ERROR(on.finish());
    return std::shared_ptr<void>(array, array->data());
  }
  Status upload(const void* host, void* to, std::size_t size_bytes) override {
    Stream on = on_;
    on.upload(host, to, size_bytes);
    return on.finish();  // the host's memory of a copy may go afterwards
  }
  Status download(const void* from, void* host, std::size_t size_bytes) override {
    Stream on = on_;
    on.download(from, host, size_bytes);
    return on.finish();
  }
  Status zero(std::span<float> values) override {
    Stream on = on_;
    on.zero(values.data(), values.size_bytes());
    return on.status();
  }
  Status mean_of_one(std::span<float> values, float divisor) override {
    Stream on = on_;
    on.for_each(values.size(),
                MeanOfRanks{values.data(), 1, values.size(), divisor, values.data()});
    return on.finish();
  }

 protected:
  Stream on_;
};

}  // namespace troupe::gpu
