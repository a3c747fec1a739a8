// A safetensors file: decodes to tensors that encode to a file with the same tensors.
#include "runtime/nn/model_file.hpp"

#include "runtime/base/digest.hpp"

#include "fuzz/small_model.hpp"
#include "fuzz/targets.hpp"

namespace troupe::fuzz {
namespace {

bool same_tensor(const nn::NamedTensor& a, const nn::NamedTensor& b) {
  return a.name == b.name && a.shape == b.shape &&
         std::ranges::equal(std::as_bytes(std::span(a.values)), std::as_bytes(std::span(b.values)));
}

}  // namespace

void run_model_file(Input input) {
  // A copy that ends where its memory ends.
  const std::vector<std::uint8_t> bytes(input.begin(), input.end());
  const auto file = nn::decode_tensors(std::as_bytes(std::span(bytes)));
  if (!file.ok()) {
    require(!file.error().what().empty(), "an error has a sentence");
    return;
  }
  const auto encoded = nn::encode_tensors(*file);
  const auto again = nn::decode_tensors(encoded);
  require(again.ok(), "tensors that were read can be written");
  require(again->metadata == file->metadata, "with their metadata");
  require(std::ranges::equal(again->tensors, file->tensors, same_tensor), "to the bit");
  const auto joined = nn::join_parameters(small_layout(), file->tensors);
  require(!joined.ok() || joined->size() == small_parameters, "parameters fit their layout");
}

}  // namespace troupe::fuzz

TROUPE_FUZZ_TARGET(troupe::fuzz::run_model_file)
