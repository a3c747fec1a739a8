#pragma once
/// \file tape_state.hpp
/// Recorded operations of a tape and the gradient of its parameters. For the sources of Tape only.
#include "runtime/nn/ops/tape.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace troupe::nn {

/// Memory of an operation, kept for the operation in the same place of the next pass.
struct Tape::Slot {
  explicit Slot(PassMemory* from)
      : finish(from), statistics(from), bias(from), gradient(from), memory(from) {}

  struct OfTerm {
    explicit OfTerm(PassMemory* from)
        : weight(from),
          summed(from),
          argmax(from),
          grad_summed(from),
          grad_weights(from),
          grad_rows(from),
          grad_weight(from) {}

    GrowBuffer<float> weight;  ///< sum of several parameters
    GrowBuffer<float> summed;
    GrowBuffer<std::uint32_t> argmax;
    GrowBuffer<float> grad_summed;
    GrowBuffer<float> grad_weights;  ///< of edges
    GrowBuffer<float> grad_rows;     ///< of a term with places: of the result's rows there
    GrowBuffer<float> grad_weight;   ///< likewise: of its product
    MutMatrix placed_rows;           ///< in `grad_rows`
    MutMatrix placed_weight;         ///< in `grad_weight`
    MutMatrix placed_x;              ///< in `grad_summed`; no data: not wanted
  };
  FinishState finish;
  GrowBuffer<float> statistics;  ///< mean and variance
  GrowBuffer<float> bias;        ///< sum of several parameters
  GrowBuffer<float> gradient;
  std::vector<std::unique_ptr<OfTerm>> terms;
  PassMemory* memory;

  OfTerm& term(std::size_t position) {
    while (terms.size() <= position) {
      terms.push_back(std::make_unique<OfTerm>(memory));
    }
    return *terms[position];
  }
};

struct Tape::Operation {
  explicit Operation(PassMemory* memory) : slot(memory) {}

  struct OrderedUse {
    std::uint32_t order;
    UseWork work;
  };
  enum class Kind : std::uint8_t {
    input,
    drop,
    combination,
    head_scores,
    attention,
    pair_attention,
    batch_norm,
    head_products,
    gate,
  };

  Kind kind = Kind::input;
  ConstMatrix value;
  bool wants_gradient = false;
  // A combination:
  std::vector<Term> terms;
  std::vector<TermWork> work;
  Ending ending;  ///< also the mask of a dropout
  Finish finish;
  // Others:
  Rows source;
  Rows destination;         ///< of attention, also by pairs; of a gate the old rows
  std::uint32_t order = 0;  ///< of the use of the source; the destination's is the next
  std::size_t vectors = 0;  ///< parameter of head scores and others
  BlockOps::AttentionWork attention;
  PairAttention pair;
  std::optional<Rows> edges;  ///< of attention by pairs
  bool fixed_vectors = false;
  BatchNorm batch_norm;   ///< its gain is the parameter `vectors`
  std::size_t part = 0;   ///< of a pair attention of so many `parts`, in operations that follow
  std::size_t parts = 0;  ///< each other
  // Of backward:
  std::vector<OrderedUse> uses;
  MutMatrix gradient;
  Slot slot;

  bool is_attention() const { return kind == Kind::attention || kind == Kind::pair_attention; }
  const AttentionShape& shape() const {
    return kind == Kind::attention ? attention.shape : pair.shape;
  }

  /// For the next pass; memory stays.
  void begin(Kind of, bool gradient_wanted) {
    kind = of;
    wants_gradient = gradient_wanted;
    terms.clear();
    work.clear();
    ending = {};
    finish = {};
    uses.clear();
    gradient = {};
  }
};

/// A block with listed rows, as blocks without other rows.
struct Tape::Listed {
  explicit Listed(PassMemory* from)
      : rows_memory(from), picked_memory(from), numbered_memory(from) {}

  const LayerBlock* of = nullptr;
  LayerBlock block;  ///< its destinations are `places`, its sources those of `of`
  std::span<const std::uint32_t> places;  ///< destinations of `of`
  LayerBlock compact;                     ///< the same with the sources `picked` alone
  std::span<const std::uint32_t> picked;  ///< sources of `of` that edges take, ascending
  GrowBuffer<std::uint32_t> rows_memory;
  GrowBuffer<std::uint32_t> picked_memory;
  GrowBuffer<std::uint32_t> numbered_memory;

  void begin(const LayerBlock& from);
  /// Makes `compact` and `picked`, unless they are there.
  void pick_sources();
};

/// A matrix mixed from parameters, as if it were one.
struct Tape::Mixture {
  explicit Mixture(PassMemory* from) : memory(from), gradient_memory(from) {}

  std::size_t bases = 0;  ///< parameters
  std::size_t coefficients = 0;
  ConstMatrix value;
  MutMatrix gradient;
  GrowBuffer<float> memory;
  GrowBuffer<float> gradient_memory;
};

/// The flat gradient, slice by slice: the first to write a slice overwrites it.
struct Tape::ParameterGradients {
  BlockOps& ops;
  const ParameterList& list;
  std::span<float> flat;
  std::vector<bool> written;  ///< of parameters, then of mixtures
  GrowBuffer<float>& scratch;
  std::span<const std::unique_ptr<Mixture>> mixtures;

  std::span<float> gradient_of(std::size_t number) const {
    const std::size_t own = list.layout().size();
    return number < own ? list.vector_of(number, flat) : mixtures[number - own]->gradient.flat();
  }

  /// Lets `write` fill the gradient of one of equal parameters, and gives all of them the same.
  template <class Write>
  void add(const std::vector<std::size_t>& numbers, const Write& write) {
    if (numbers.empty()) {
      return;
    }
    const auto first = gradient_of(numbers.front());
    std::span<float> fresh = first;
    const bool any_written = std::ranges::any_of(numbers, [&](auto n) { return written[n]; });
    if (any_written) {
      fresh = scratch.get(first.size());
    }
    write(fresh);
    for (const std::size_t number : numbers) {
      const auto to = gradient_of(number);
      if (written[number]) {
        ops.add(fresh, to);
      } else if (to.data() != fresh.data()) {
        ops.copy(fresh, to);
      }
      written[number] = true;
    }
  }
  void clear_unwritten() {
    for (std::size_t number = 0; number < list.layout().size(); ++number) {
      if (!written[number]) {
        ops.zero(list.vector_of(number, flat));
      }
    }
  }
};

}  // namespace troupe::nn
