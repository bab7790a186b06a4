#include "source/object_files.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>

#include "model/facts_section.h"
#include "source/read_file.h"

namespace pglocklint {
namespace {

namespace fs = std::filesystem;

enum class ObjectKind { None, Elf, Archive, ThinArchive, Bitcode };

ObjectKind kindOf(std::string_view start) {
  if (start.starts_with("\177ELF")) return ObjectKind::Elf;
  if (start.starts_with("!<arch>\n")) return ObjectKind::Archive;
  if (start.starts_with("!<thin>\n")) return ObjectKind::ThinArchive;
  if (start.starts_with("BC\xC0\xDE")) return ObjectKind::Bitcode;
  return ObjectKind::None;
}

class Descriptor {
 public:
  explicit Descriptor(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

ObjectKind kindOfFile(const std::string& path) {
  const Descriptor file(path);
  std::array<char, 8> start{};
  const ssize_t n = file.get() < 0 ? -1 : pread(file.get(), start.data(), start.size(), 0);
  return n <= 0 ? ObjectKind::None : kindOf({start.data(), static_cast<std::size_t>(n)});
}

struct EndElf {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfHandle = std::unique_ptr<Elf, EndElf>;

class ObjectReader {
 public:
  ObjectReader(const std::function<std::string(std::string_view)>& add, std::vector<UnitStatus>& problems) : add_(add), problems_(problems) {}

  void read(const std::string& path) {
    switch (kindOfFile(path)) {
      case ObjectKind::None:
        return;
      case ObjectKind::ThinArchive:
        problem(path, "a thin archive holds no objects; the objects that it names can be given instead");
        return;
      case ObjectKind::Bitcode:
        without(path);
        ++bitcode_;
        return;
      case ObjectKind::Elf:
      case ObjectKind::Archive:
        break;
    }
    const Descriptor file(path);
    const ElfHandle elf(file.get() < 0 ? nullptr : elf_begin(file.get(), ELF_C_READ, nullptr));
    if (!elf) return problem(path, "it cannot be read as an object file");
    elf_kind(elf.get()) == ELF_K_AR ? archive(file.get(), elf.get(), path) : object(elf.get(), path);
  }

  // How many objects hold no facts: one entry.
  void finish(const std::string& path) {
    if (without_ == 0) return;
    std::string reason = objects_ == 1 ? "it holds no facts" : std::to_string(without_) + " of " + std::to_string(objects_) + " objects hold no facts, the first: " + first_without_;
    reason += bitcode_ > 0 ? " (bitcode for LTO: what is linked from it holds them)" : " (compiled without the plugin?)";
    problem(path, std::move(reason));
  }
  std::size_t objects() const { return objects_; }

 private:
  void problem(const std::string& path, std::string reason) { problems_.push_back({path, "not-read", std::move(reason)}); }

  void without(const std::string& name) {
    ++objects_;
    if (without_++ == 0) first_without_ = name;
  }

  void archive(int fd, Elf* whole, const std::string& path) {
    Elf_Cmd command = ELF_C_READ;
    while (command != ELF_C_NULL) {
      const ElfHandle member(elf_begin(fd, command, whole));
      if (!member) break;
      const Elf_Arhdr* header = elf_getarhdr(member.get());
      const std::string name = header && header->ar_name ? header->ar_name : "";
      std::size_t size = 0;
      const char* bytes = elf_kind(member.get()) == ELF_K_ELF ? nullptr : elf_rawfile(member.get(), &size);
      if (elf_kind(member.get()) == ELF_K_ELF) {
        object(member.get(), path + "(" + name + ")");
      } else if (bytes && kindOf({bytes, size}) == ObjectKind::Bitcode) {
        without(path + "(" + name + ")");
        ++bitcode_;
      }
      command = elf_next(member.get());
    }
  }

  void object(Elf* elf, const std::string& name) {
    const std::optional<std::string_view> section = factsSection(elf, name);
    if (!section) return without(name);
    ++objects_;
    if (std::string wrong = add_(*section); !wrong.empty()) problem(name, "its facts: " + wrong);
  }

  std::optional<std::string_view> factsSection(Elf* elf, const std::string& name) {
    std::size_t names = 0;
    if (elf_getshdrstrndx(elf, &names) != 0) return std::nullopt;
    for (Elf_Scn* section = elf_nextscn(elf, nullptr); section; section = elf_nextscn(elf, section)) {
      GElf_Shdr header;
      if (!gelf_getshdr(section, &header)) continue;
      const char* section_name = elf_strptr(elf, names, header.sh_name);
      if (!section_name || std::string_view(section_name) != kFactsSection || header.sh_type == SHT_NOBITS) continue;
      if (header.sh_flags & SHF_COMPRESSED) {
        problem(name, "its facts are compressed, which the plugin does not do");
        continue;
      }
      const Elf_Data* data = elf_rawdata(section, nullptr);
      if (data && data->d_buf) return std::string_view(static_cast<const char*>(data->d_buf), data->d_size);
      problem(name, "its facts lie outside of the file");
    }
    return std::nullopt;
  }

  const std::function<std::string(std::string_view)>& add_;
  std::vector<UnitStatus>& problems_;
  std::size_t objects_ = 0, without_ = 0, bitcode_ = 0;
  std::string first_without_;
};

}  // namespace

bool readFactsSections(const std::string& path, const std::function<std::string(std::string_view section)>& add,
                       std::vector<UnitStatus>& problems, std::string& error) {
  elf_version(EV_CURRENT);
  std::error_code why;
  std::vector<std::string> files;
  if (fs::is_directory(path, why)) {
    for (auto it = fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied, why);
         !why && it != fs::recursive_directory_iterator(); it.increment(why))
      if (it->is_regular_file(why)) files.push_back(it->path().string());
    std::sort(files.begin(), files.end());
  } else if (fs::is_regular_file(path, why)) {
    files.push_back(path);
  }
  if (why) {
    error = systemError(why.value());
    return false;
  }
  ObjectReader reader(add, problems);
  const std::size_t before = problems.size();
  for (const std::string& file : files) reader.read(file);
  reader.finish(path);
  if (reader.objects() > 0 || problems.size() > before) return true;
  error = "there is no object file, archive, library or executable";
  return false;
}

}  // namespace pglocklint
