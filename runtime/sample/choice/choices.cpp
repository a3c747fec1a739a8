#include "runtime/sample/choice/choices.hpp"

#include "runtime/sample/choice/last.hpp"
#include "runtime/sample/choice/uniform.hpp"
#include "runtime/sample/choice/weighted.hpp"

#include <array>

namespace troupe {
namespace {

constexpr std::array<std::string_view, 1> with_replace = {"replace"};

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
    ChoiceKind{.name = "labor", .help = "layer-neighbor sampling (LABOR-0)"},
};

}  // namespace

std::span<const ChoiceKind> choice_kinds() {
  return rows;
}

}  // namespace troupe
