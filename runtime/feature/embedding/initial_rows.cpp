#include "runtime/feature/embedding/initial_rows.hpp"

#include "runtime/base/digest.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace troupe {
namespace {

/// Of domain `initial_rows`; the batch is the low half of the name's digest.
StreamKey key_of_table(const std::string& name, std::uint64_t job_seed) {
  const auto digest = digest_of(std::as_bytes(std::span<const char>(name)));
  return stream_key(job_seed, {.domain = Domain::initial_rows, .batch = digest.low});
}

}  // namespace

InitialRows::InitialRows(const EmbeddingOptions& table, std::uint64_t job_seed)
    : key_(key_of_table(table.name, job_seed)) {
  if (table.init.kind == "normal") {
    kind_ = Kind::normal;
    size_ = table.init.std;
  } else if (table.init.kind == "uniform") {
    kind_ = Kind::uniform;
    size_ = table.init.scale;
  }
}

void InitialRows::fill(OriginalId id, std::span<float> row) const {
  if (kind_ == Kind::zeros) {
    std::ranges::fill(row, 0.0F);
    return;
  }
  DrawStream draw(key_, raw(id));
  if (kind_ == Kind::uniform) {
    for (float& value : row) {
      value = static_cast<float>(size_ * (2 * static_cast<double>(unit_float(draw.next())) - 1));
    }
    return;
  }
  for (std::size_t c = 0; c < row.size(); c += 2) {
    const double first = static_cast<double>((draw.next() >> 8) + 1) * 0x1p-24;  // in (0, 1]
    const double second = static_cast<double>(unit_float(draw.next()));
    const double length = size_ * std::sqrt(-2 * std::log(first));
    const double angle = 2 * std::numbers::pi * second;
    row[c] = static_cast<float>(length * std::cos(angle));
    if (c + 1 < row.size()) {
      row[c + 1] = static_cast<float>(length * std::sin(angle));
    }
  }
}

}  // namespace troupe
