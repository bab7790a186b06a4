// Call models of a project's own: functions that send SQL in a way that cannot be seen, as pglocklint.json names them under "call_models".
// The table of the libraries is clang-plugin/call_models.cpp.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/describe.h"

namespace pglocklint {

enum class HostModelRole : std::uint8_t {
  Execute,          // sends the text now
  Prepare,          // gives a statement a name
  ExecutePrepared,  // sends a prepared statement by its name
  Ignore,           // only handles the text
};
PGLOCKLINT_ENUM_NAMES(HostModelRole, "execute", "prepare", "execute-prepared", "ignore")

// Arguments are counted from 0; -1: there is none.
struct HostModel {
  std::string function;  // "ns::Class::run", without arguments
  HostModelRole role = HostModelRole::Execute;
  std::int32_t sql = -1;         // the text
  std::int32_t statement = -1;   // the prepared statement's name
  std::int32_t binds = -1;       // the first of the values of $1, $2, …; the others follow it
  std::int32_t connection = -1;  // -1: the object
  bool operator==(const HostModel&) const = default;
};

// What "call_models" holds. `error` says what is wrong, with its place as a JSON pointer below it.
std::vector<HostModel> hostModelsFromJson(std::string_view json, std::string& error);
std::string hostModelsToJson(const std::vector<HostModel>& models);
// Those of a whole pglocklint.json; none if it has none, or cannot be read.
std::vector<HostModel> hostModelsOfConfig(std::string_view config);

}  // namespace pglocklint
