#include "launcher/processes/store_identity.hpp"

#include "runtime/base/digest.hpp"
#include "runtime/base/files.hpp"

#include <fmt/format.h>
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

Status check_store(const net::Welcome& welcome) {
  TROUPE_ASSIGN_OR_RETURN(const auto found, store_identity(welcome.store));
  if (found == welcome.store_checksum) {
    return ok_status();
  }
  return Error(Errc::failed_precondition,
               fmt::format("{}: expected the director's store ({:016x}), found another ({:016x}); "
                           "try: the same partitioned store on all hosts",
                           welcome.store, welcome.store_checksum, found));
}

}  // namespace troupe
