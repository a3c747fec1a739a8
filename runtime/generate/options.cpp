#include "runtime/generate/options.hpp"

#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <unistd.h>

namespace troupe {
namespace {

Error bad_size(std::string_view name, std::string_view text) {
  return Error(
      Errc::invalid_argument,
      fmt::format("{}: expected a number of nodes such as 140, or a share from 0.0 to 1.0, "
                  "got \"{}\"",
                  name, text));
}

template <class T>
bool parse_whole(std::string_view text, T& value) {
  const auto* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

}  // namespace

Result<SplitSize> parse_split_size(std::string_view name, std::string_view text) {
  std::uint64_t count = 0;
  if (parse_whole(text, count)) {
    return SplitSize(count);
  }
  double share = 0;
  if (!parse_whole(text, share) || !(share >= 0 && share <= 1)) {
    return bad_size(name, text);
  }
  return SplitSize::of_share(share);
}

namespace generate {
namespace {

/// Centres of classes are in memory: 2 GB at most.
constexpr std::uint64_t most_centre_values = std::uint64_t{1} << 29;
constexpr double most_noise = 1e4;

}  // namespace

Status check_count(std::string_view name, std::uint64_t value, std::uint64_t least,
                   std::uint64_t most) {
  if (value >= least && value <= most) {
    return ok_status();
  }
  return Error(Errc::invalid_argument,
               fmt::format("{}: expected {} to {}, got {}", name, least, most, value));
}

Status check_between(std::string_view name, double value, double least, double most) {
  if (value >= least && value <= most) {
    return ok_status();
  }
  return Error(Errc::invalid_argument,
               fmt::format("{}: expected {} to {}, got {}", name, least, most, value));
}

Status check_features(std::string_view name, std::uint64_t features, std::uint64_t classes,
                      double noise) {
  TROUPE_RETURN_IF_ERROR(check_count(fmt::format("{}features", name), features, 0,
                                     store_layout::largest_feature_cols));
  if (features > 0 && classes > most_centre_values / features) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}features: expected features x classes of at most {}, got {} x {}",
                             name, most_centre_values, features, classes));
  }
  return check_between(fmt::format("{}noise", name), noise, 0, most_noise);
}

Status check_classes(std::string_view name, std::uint64_t nodes, std::uint64_t classes) {
  if (classes <= nodes) {
    return ok_status();
  }
  return Error(Errc::invalid_argument,
               fmt::format("{}classes: expected at most {}, a node for each class, got {}", name,
                           nodes, classes));
}

Status check_homophily(std::string_view name, double homophily, std::uint64_t classes) {
  const auto what = fmt::format("{}homophily", name);
  TROUPE_RETURN_IF_ERROR(check_between(what, homophily, 0, 1));
  if (classes == 1 && homophily < 1) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected 1 with one class, as no edge can leave it, got {}\n"
                             "try: --homophily 1, or more --classes",
                             what, homophily));
  }
  return ok_status();
}

Status check_splits(std::string_view name, std::uint64_t nodes, const SplitSize& train,
                    const SplitSize& val, const SplitSize& test) {
  std::uint64_t left = nodes;
  const auto take = [&](std::string_view role, const SplitSize& size) -> Status {
    if (size.is_share) {
      TROUPE_RETURN_IF_ERROR(check_between(fmt::format("{}{}", name, role), size.share, 0, 1));
    }
    const auto count = size.of(nodes);
    if (count > left) {
      return Error(Errc::invalid_argument,
                   left == nodes
                       ? fmt::format("{}{}: expected at most {}, the number of nodes, got {}", name,
                                     role, nodes, count)
                       : fmt::format("{}{}: expected at most {}, the nodes that are in no other "
                                     "role, got {}",
                                     name, role, left, count));
    }
    left -= count;
    return ok_status();
  };
  TROUPE_RETURN_IF_ERROR(take("train", train));
  TROUPE_RETURN_IF_ERROR(take("val", val));
  return take("test", test);
}

Status check_options(const GenerateOptions& options, std::uint64_t nodes, std::uint64_t edges) {
  TROUPE_RETURN_IF_ERROR(check_count("edges", edges, 0, store_layout::largest_count / 2));
  TROUPE_RETURN_IF_ERROR(check_count("classes", options.classes, 0, store_layout::largest_cols));
  TROUPE_RETURN_IF_ERROR(check_features("", options.features,
                                        options.learnable() ? options.classes : 0, options.noise));
  if (options.learnable()) {
    TROUPE_RETURN_IF_ERROR(check_classes("", nodes, options.classes));
    TROUPE_RETURN_IF_ERROR(check_homophily("", options.homophily, options.classes));
  }
  return check_splits("", nodes, options.train, options.val, options.test);
}

Status check_memory(std::uint64_t bytes, std::string_view what) {
  const auto there = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                     static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (bytes <= there) {
    return ok_status();
  }
  return Error(Errc::out_of_memory,
               fmt::format("{} need {} bytes of memory, this machine has {}\ntry: fewer nodes, "
                           "edges or features",
                           what, bytes, there));
}

}  // namespace generate
}  // namespace troupe
