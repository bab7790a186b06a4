#include "model/host_models.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace pglocklint {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int32_t kMostArguments = 64;

struct Number {
  const char* name;
  std::int32_t HostModel::* member;
};
constexpr Number kNumbers[] = {{"sql", &HostModel::sql}, {"statement", &HostModel::statement}, {"binds", &HostModel::binds}, {"connection", &HostModel::connection}};

// What is wrong with one model, or empty.
std::string readModel(const Json& json, HostModel& model) {
  if (!json.is_object()) return ": an object is expected here";
  for (const auto& [key, value] : json.items()) {
    const std::string at = "/" + key + ": ";
    const auto number = std::find_if(std::begin(kNumbers), std::end(kNumbers), [&](const Number& n) { return key == n.name; });
    if (number != std::end(kNumbers)) {
      if (!value.is_number_integer() || value < 0 || value > kMostArguments) return at + "the number of an argument is expected here, counted from 0";
      model.*number->member = value.get<std::int32_t>();
    } else if (key == "function") {
      if (!value.is_string() || value.get_ref<const std::string&>().empty()) return at + "the qualified name of a function is expected here";
      model.function = value.get<std::string>();
    } else if (key == "role") {
      const auto names = enumNames(EnumTag<HostModelRole>{});
      const auto found = value.is_string() ? std::find(names.begin(), names.end(), value.get_ref<const std::string&>()) : names.end();
      if (found == names.end()) return at + "one of execute, prepare, execute-prepared, ignore is expected here";
      model.role = static_cast<HostModelRole>(found - names.begin());
    } else {
      return at + "there is no such setting; known are function, role, sql, statement, binds, connection";
    }
  }
  if (model.function.empty()) return ": \"function\" is missing";
  const bool text = model.role == HostModelRole::Execute || model.role == HostModelRole::Prepare;
  const bool named = model.role == HostModelRole::ExecutePrepared;
  if (text && model.sql < 0) return ": \"sql\" is missing: which argument is the text?";
  if (named && model.statement < 0) return ": \"statement\" is missing: which argument is the name of the statement?";
  return "";
}

}  // namespace

std::vector<HostModel> hostModelsFromJson(std::string_view text, std::string& error) {
  std::vector<HostModel> models;
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_array()) {
    error = ": an array of call models is expected here";
    return {};
  }
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string wrong = readModel(json[i], models.emplace_back());
    if (wrong.empty()) continue;
    error = "/" + std::to_string(i) + wrong;
    return {};
  }
  return models;
}

std::string hostModelsToJson(const std::vector<HostModel>& models) {
  Json json = Json::array();
  for (const HostModel& m : models) {
    Json& one = json.emplace_back(Json{{"function", m.function}, {"role", nameOf(m.role)}});
    for (const Number& n : kNumbers)
      if (m.*n.member >= 0) one[n.name] = m.*n.member;
  }
  return json.dump();
}

std::vector<HostModel> hostModelsOfConfig(std::string_view config) {
  const Json json = Json::parse(config, nullptr, /*allow_exceptions=*/false, /*ignore_comments=*/true);
  if (!json.is_object() || !json.contains("call_models")) return {};
  std::string error;
  return hostModelsFromJson(json["call_models"].dump(), error);
}

}  // namespace pglocklint
