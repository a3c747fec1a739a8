#pragma once
/// \file model.hpp
/// Networks with a layer of your own, for programs that train by themselves (session.hpp): a class of
/// runtime/nn/conv/conv.hpp says what the layer computes, by block operations whose gradients are there
/// (runtime/nn/ops/tape.hpp). docs/models.md shows a whole program.
#include "runtime/base/executor.hpp"
#include "runtime/nn/catalog.hpp"
#include "runtime/nn/ops/loss.hpp"
#include "runtime/nn/optimizer.hpp"
#include "runtime/run/forward_input.hpp"
