// From clang's tree of one translation unit to facts. The tool and the plugin share it.
#pragma once
#include <string>
#include <vector>

#include "model/facts_section.h"
#include "model/host_models.h"

namespace clang {
class ASTContext;
}

namespace pglocklint::extract {

struct ExtractOptions {
  std::string root;  // of the project, absolute
  std::string file;  // the unit's main file, relative to it
  bool preprocessed = false;  // the text is a preprocessor's output, with line markers
  std::vector<HostModel> models;  // of the project
};

MadeUnit extractUnit(clang::ASTContext& context, const ExtractOptions& options);

}  // namespace pglocklint::extract
