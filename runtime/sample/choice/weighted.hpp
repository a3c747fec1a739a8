#pragma once
/// \file weighted.hpp
/// The weighted choice: each entry as likely as the weight of its edge says, with replacement or without.
#include "runtime/base/alias_table.hpp"
#include "runtime/sample/choice/choice.hpp"

#include <cstdint>
#include <memory>

namespace troupe {

/// As decision 0030 defines it. A draw is a slot, DrawStream::below(entries), and a coin, the next word; it
/// gives alias_entry(). With replacement `fanout` draws, repeats kept. Without, at most `fanout` entries
/// are all taken, and of more the first `fanout` distinct ones that draws give (successive sampling);
/// after weighted_draws(fanout) draws the missing ones are found by sums of the integer weights that are
/// left, which has the same distribution. Entries without weight are never taken.
std::unique_ptr<Choice> make_weighted(const ChoiceOptions& options);

/// Draws without replacement before sums are used.
constexpr std::uint64_t weighted_draws(std::uint32_t fanout) {
  return 4 * std::uint64_t{fanout} + 32;
}

}  // namespace troupe
