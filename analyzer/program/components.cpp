#include "program/components.h"

#include <algorithm>

namespace pglocklint {

// Tarjan, without recursion: call chains are as deep as the program is long.
std::vector<std::vector<std::size_t>> components(std::size_t nodes, const Successors& successors) {
  struct Frame {
    std::size_t node, next;
  };
  std::vector<int> number(nodes, -1), low(nodes, 0);
  std::vector<bool> on_stack(nodes, false);
  std::vector<std::size_t> stack;
  std::vector<std::vector<std::size_t>> found;
  int counter = 0;
  for (std::size_t root = 0; root < nodes; ++root) {
    if (number[root] >= 0) continue;
    std::vector<Frame> frames{{root, 0}};
    number[root] = low[root] = counter++;
    stack.push_back(root), on_stack[root] = true;
    while (!frames.empty()) {
      Frame& f = frames.back();
      const std::size_t node = f.node;
      const std::vector<std::size_t>& next = successors(node);
      if (f.next < next.size()) {
        const std::size_t other = next[f.next++];
        if (number[other] < 0) {
          number[other] = low[other] = counter++;
          stack.push_back(other), on_stack[other] = true;
          frames.push_back({other, 0});
        } else if (on_stack[other]) {
          low[node] = std::min(low[node], number[other]);
        }
        continue;
      }
      frames.pop_back();
      if (!frames.empty()) low[frames.back().node] = std::min(low[frames.back().node], low[node]);
      if (low[node] != number[node]) continue;
      std::vector<std::size_t>& component = found.emplace_back();
      for (std::size_t member = nodes; member != node;) {
        member = stack.back();
        stack.pop_back(), on_stack[member] = false;
        component.push_back(member);
      }
      std::sort(component.begin(), component.end());
    }
  }
  return found;
}

}  // namespace pglocklint
