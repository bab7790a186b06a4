// From clang's tree of one translation unit to facts. The tool and (later) the plugin share it.
#pragma once
#include <string>

#include "model/unit.h"

namespace clang {
class ASTContext;
}

namespace pglocklint::extract {

struct ExtractOptions {
  std::string root;  // of the project, absolute
  std::string file;  // the unit's main file, relative to it
};

Unit extractUnit(clang::ASTContext& context, const ExtractOptions& options);

}  // namespace pglocklint::extract
