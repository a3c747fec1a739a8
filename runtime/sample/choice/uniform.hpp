#pragma once
/// \file uniform.hpp
/// The uniform choice: each entry is as likely as the others, with replacement or without.
#include "runtime/base/philox.hpp"
#include "runtime/sample/choice/choice.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace troupe {

/// As design section 4 fixes it: without replacement by Floyd's algorithm (Bentley and Floyd, CACM
/// 30(9), 1987), at most `fanout` entries are all taken; with replacement `fanout` draws, repeats
/// kept, none of an empty list. Bounded draws by DrawStream::below on the stream (key, original id).
std::unique_ptr<Choice> make_uniform(const ChoiceOptions& options);

/// The positions that the uniform choice takes of one stretch of `degree` entries: ascending; they
/// replace the contents of `out`.
void draw_positions(DrawStream stream, std::uint32_t degree, std::uint32_t fanout, bool replace,
                    std::vector<std::uint32_t>& out);

}  // namespace troupe
