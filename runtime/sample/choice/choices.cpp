#include "runtime/sample/choice/choices.hpp"

#include "runtime/sample/choice/labor.hpp"
#include "runtime/sample/choice/last.hpp"
#include "runtime/sample/choice/uniform.hpp"
#include "runtime/sample/choice/weighted.hpp"

#include <array>

namespace troupe {
namespace {

constexpr std::array<std::string_view, 1> with_replace = {"replace"};
constexpr std::array<std::string_view, 1> with_shared = {"shared"};

constexpr std::array rows = {
    ChoiceKind{.name = "uniform",
               .help = "each neighbor as likely as the others",
               .options = with_replace,
               .make = make_uniform},
    ChoiceKind{.name = "weighted",
               .help = "neighbors as likely as the weights of their edges say",
               .options = with_replace,
               .needs_weights = true,
               .make = make_weighted},
    ChoiceKind{.name = "last",
               .help = "the most recent neighbors before the seed's time",
               .needs_times = true,
               .make = make_last},
    ChoiceKind{.name = "labor",
               .help = "neighbors that lists share, as many as the fanout on average (LABOR-0)",
               .options = with_shared,
               .needs_originals = true,
               .on_average = true,
               .domain = Domain::labor,
               .make = make_labor},
};

}  // namespace

std::uint64_t most_taken(const ChoiceKind& kind, std::uint32_t fanout) {
  if (!kind.on_average) {
    return fanout;
  }
  constexpr std::uint64_t deviations = 6;
  constexpr std::uint64_t least = 8;  // of small fanouts, whose tails are longer
  std::uint64_t root = 0;
  while (root * root < fanout) {
    ++root;
  }
  return fanout + deviations * root + least;
}

std::span<const ChoiceKind> choice_kinds() {
  return rows;
}

}  // namespace troupe
