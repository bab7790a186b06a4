// A folder of files that exists during a test.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace pglocklint::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "pglocklint-XXXXXX").string();
    path_ = mkdtemp(name.data());
    path_ = std::filesystem::canonical(path_).string();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string at(const std::string& relative) const { return path_ + "/" + relative; }
  void write(const std::string& relative, std::string_view text = "select 1;\n") const {
    std::filesystem::create_directories(std::filesystem::path(at(relative)).parent_path());
    std::ofstream(at(relative), std::ios::binary) << text;
  }

 private:
  std::string path_;
};

}  // namespace pglocklint::test
