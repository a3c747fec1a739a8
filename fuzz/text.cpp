// The small texts inside files: digests, dtypes, names, paths.
#include "runtime/base/digest.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/graph/store_layout.hpp"

#include "fuzz/targets.hpp"

#include <cctype>
#include <filesystem>

namespace troupe::fuzz {

void run_text(Input input) {
  const std::string text(text_of(input));
  if (const auto digest = parse_digest(text); digest.ok()) {
    std::string lower = text;
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    require(to_string(*digest) == lower, "a digest prints as its text");
  }
  if (const auto dtype = parse_dtype(text)) {
    require(to_string(*dtype) == text && size_bytes(*dtype) > 0, "a dtype prints as its text");
  }
  if (store_layout::is_safe_path(text)) {
    const auto path = (std::filesystem::path("/store") / text).lexically_normal().string();
    require(path.starts_with("/store/") && path.size() == text.size() + 7,
            "a safe path stays inside its store");
  }
  if (store_layout::is_valid_name(text)) {
    require(store_layout::is_safe_path(text), "a name is a safe path");
  }
}

}  // namespace troupe::fuzz

TROUPE_FUZZ_TARGET(troupe::fuzz::run_text)
