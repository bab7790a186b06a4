// Functions that nobody here wrote: templates and inline functions of the libraries' headers, for the comparison with clang's own landing pads.
#include <algorithm>
#include <functional>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <pqxx/pqxx>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

template class std::vector<std::string>;
template class std::map<std::string, std::string>;
template class std::unordered_map<std::string, std::vector<int>>;
template class std::optional<std::string>;
template class std::function<std::string(int)>;
template class std::shared_ptr<std::string>;

std::string uses(pqxx::connection& c, std::vector<std::string> names) {
  pqxx::work tx(c);
  std::sort(names.begin(), names.end());
  std::variant<int, std::string> either = names.front();
  auto later = std::async(std::launch::deferred, [&] { return names.size(); });
  const pqxx::result r = tx.exec_params("SELECT $1, $2", 1, std::string("x"));
  for (const auto& row : r) names.push_back(row[0].as<std::string>("none"));
  tx.commit();
  std::ostringstream out;
  std::copy(names.begin(), names.end(), std::ostream_iterator<std::string>(out, ","));
  return out.str() + std::to_string(later.get()) + std::visit([](const auto& v) { std::ostringstream o; o << v; return o.str(); }, either);
}
