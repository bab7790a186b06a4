// Strongly connected components of a directed graph.
#pragma once
#include <cstddef>
#include <functional>
#include <vector>

namespace pglocklint {

using Successors = std::function<const std::vector<std::size_t>&(std::size_t node)>;

// Of nodes 0 … nodes - 1: successors before those that lead to them, members in ascending order.
std::vector<std::vector<std::size_t>> components(std::size_t nodes, const Successors& successors);

}  // namespace pglocklint
