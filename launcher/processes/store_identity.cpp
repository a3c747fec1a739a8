#include "launcher/processes/store_identity.hpp"

#include "runtime/base/digest.hpp"
#include "runtime/base/files.hpp"

#include <span>

namespace troupe {

Result<std::uint64_t> store_identity(const std::filesystem::path& store) {
  constexpr std::uint64_t longest = std::uint64_t{64} << 20;
  DigestBuilder digest;
  for (const char* name : {"graph.json", "partition.json"}) {
    TROUPE_ASSIGN_OR_RETURN(const auto text, read_text_file(store / name, longest));
    digest.add_array(std::span(text));
  }
  return digest.digest().low;
}

}  // namespace troupe
