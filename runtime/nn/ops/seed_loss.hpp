#pragma once
/// \file seed_loss.hpp
/// The loss over a batch's seeds, of which several may share a row of the network's: rows are repeated
/// for their seeds, and the gradients of a row's seeds are added in the seeds' order.
#include "runtime/base/matrix.hpp"
#include "runtime/nn/ops/loss.hpp"

#include <cstdint>
#include <span>

namespace troupe::nn {

enum class SeedLossKind : std::uint8_t { cross_entropy, bce_logits, numbers };

/// What a loss reads besides the network's rows.
struct SeedLoss {
  SeedLossKind kind = SeedLossKind::cross_entropy;
  std::span<const std::uint32_t> row_of_seed = {};
  bool own_rows = false;  ///< Seed i has row i alone, and `row_of_seed` is not read
  std::span<const std::int64_t> labels = {};  ///< of cross entropy, by seed; -1: unknown
  ConstMatrix targets = {};                   ///< of the others: [seeds, columns]; NaN: unknown
  float pos_weight = 1;                       ///< of bce_logits
  /// As cross_entropy() and bce_logits() read them; empty: 1.
  std::span<const std::uint64_t> class_weights = {};
  std::uint64_t weight_unit = 1;  ///< of bce_logits
  NumberLoss of_numbers = {};     ///< of numbers
};

/// LossResult::weight of it. \requires arrays in host memory
std::uint64_t seed_loss_weight(const SeedLoss& loss);

/// On the CPU. \param grad_rows  of the shape of `rows`; overwritten
LossResult seed_loss(const SeedLoss& loss, ConstMatrix rows, MutMatrix grad_rows);

/// A loss as a set of functions computes it; all arrays are in its memory.
struct SeedLossWork {
  SeedLoss loss;
  ConstMatrix rows = {};
  /// [rows + 1] where each row's seeds begin; read on a device alone, unless rows are the seeds' own.
  std::span<const std::uint32_t> row_begin = {};
  std::span<const std::uint32_t> by_row =
      {};                    ///< [seeds] the seeds by row, those of a row in order
  MutMatrix grad_rows = {};  ///< of the shape of `rows`; overwritten
  double* sum = nullptr;     ///< gets the sum of the losses
};

}  // namespace troupe::nn
