// Spellings of types and numbers.
#pragma once
#include <string>
#include <string_view>

namespace pglocklint::sql {

// The canonical name of a type's last name part: "int8" → "bigint"; itself if it has none.
std::string canonicalTypeName(std::string_view name);
// "042" → "42", "0xFF" → "255", "1_000" → "1000"; other numbers unchanged but for underscores.
std::string normalNumber(std::string_view written);
// Digits only, with an optional minus sign.
bool isIntegerText(std::string_view text);

}  // namespace pglocklint::sql
