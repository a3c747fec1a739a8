#pragma once
/// \file tape_state.hpp
/// Recorded operations of a tape and the gradient of its parameters. For the sources of Tape only.
#include "runtime/nn/ops/tape.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace troupe::nn {

/// Memory of an operation, kept for the operation in the same place of the next pass.
struct Tape::Slot {
  explicit Slot(PassMemory* from) : finish(from), bias(from), gradient(from), memory(from) {}

  struct OfTerm {
    explicit OfTerm(PassMemory* from)
        : weight(from), summed(from), argmax(from), grad_summed(from), grad_weights(from) {}

    GrowBuffer<float> weight;  ///< sum of several parameters
    GrowBuffer<float> summed;
    GrowBuffer<std::uint32_t> argmax;
    GrowBuffer<float> grad_summed;
    GrowBuffer<float> grad_weights;  ///< of edges
  };
  FinishState finish;
  GrowBuffer<float> bias;  ///< sum of several parameters
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
  enum class Kind : std::uint8_t { input, drop, combination, head_scores, attention };

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
  Rows destination;         ///< of attention
  std::uint32_t order = 0;  ///< of the use of the source; the destination's is the next
  std::size_t vectors = 0;  ///< parameter of head scores
  BlockOps::AttentionWork attention;
  // Of backward:
  std::vector<OrderedUse> uses;
  MutMatrix gradient;
  Slot slot;

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

/// The flat gradient, slice by slice: the first to write a slice overwrites it.
struct Tape::ParameterGradients {
  BlockOps& ops;
  const ParameterList& list;
  std::span<float> flat;
  std::vector<bool> written;
  GrowBuffer<float>& scratch;

  /// Lets `write` fill the gradient of one of equal parameters, and gives all of them the same.
  template <class Write>
  void add(const std::vector<std::size_t>& numbers, const Write& write) {
    if (numbers.empty()) {
      return;
    }
    const auto first = list.vector_of(numbers.front(), flat);
    std::span<float> fresh = first;
    const bool any_written = std::ranges::any_of(numbers, [&](auto n) { return written[n]; });
    if (any_written) {
      fresh = scratch.get(first.size());
    }
    write(fresh);
    for (const std::size_t number : numbers) {
      const auto to = list.vector_of(number, flat);
      if (written[number]) {
        ops.add(fresh, to);
      } else if (to.data() != fresh.data()) {
        ops.copy(fresh, to);
      }
      written[number] = true;
    }
  }
  void clear_unwritten() {
    for (std::size_t number = 0; number < written.size(); ++number) {
      if (!written[number]) {
        ops.zero(list.vector_of(number, flat));
      }
    }
  }
};

}  // namespace troupe::nn
