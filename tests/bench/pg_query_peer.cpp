// The yardstick of scripts/bench: libpg_query's own work on a folder of SQL files, without any of ours.
// One scanner split of each file's text; parse, unpack and free of exactly the texts that pglocklint hands to libpg_query for that
// folder, as pglocklint_texts recorded them.
//   pg_query_peer FOLDER THREADS TEXTS
#include <pg_query.h>
#include <pg_query/pg_query.pb-c.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Work {
  std::vector<std::filesystem::path> files;
  std::vector<std::string> texts;
  std::atomic<std::size_t> next{0}, next_text{0}, statements{0}, failed{0};
};

void parse(Work& work, const std::string& statement) {
  const PgQueryProtobufParseResult result = pg_query_parse_protobuf(statement.c_str());
  if (result.error) {
    ++work.failed;
  } else {
    auto* tree = pg_query__parse_result__unpack(nullptr, result.parse_tree.len, reinterpret_cast<const std::uint8_t*>(result.parse_tree.data));
    if (tree) pg_query__parse_result__free_unpacked(tree, nullptr);
  }
  pg_query_free_protobuf_parse_result(result);
}

void* worker(void* argument) {
  Work& work = *static_cast<Work*>(argument);
  for (std::size_t i = work.next++; i < work.files.size(); i = work.next++) {
    std::ifstream in(work.files[i], std::ios::binary);
    std::ostringstream content;
    content << in.rdbuf();
    const std::string text = content.str();
    const PgQuerySplitResult split = pg_query_split_with_scanner(text.c_str());
    work.statements += static_cast<std::size_t>(split.n_stmts);
    pg_query_free_split_result(split);
  }
  for (std::size_t i = work.next_text++; i < work.texts.size(); i = work.next_text++) parse(work, work.texts[i]);
  return nullptr;
}

bool readTexts(const char* name, std::vector<std::string>& texts) {
  std::ifstream in(name, std::ios::binary);
  for (std::uint32_t size = 0; in.read(reinterpret_cast<char*>(&size), sizeof size);) {
    std::string& text = texts.emplace_back(size, '\0');
    in.read(text.data(), size);
  }
  return !texts.empty();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: pg_query_peer FOLDER THREADS TEXTS\n", stderr);
    return 2;
  }
  Work work;
  if (!readTexts(argv[3], work.texts)) return 1;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[1]))
    if (entry.is_regular_file() && entry.path().extension() == ".sql") work.files.push_back(entry.path());
  std::ranges::sort(work.files);
  std::vector<pthread_t> threads(std::max(1, std::atoi(argv[2])));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{64} << 20);
  for (pthread_t& thread : threads)
    if (pthread_create(&thread, &attributes, worker, &work)) return 1;
  for (const pthread_t& thread : threads) pthread_join(thread, nullptr);
  std::printf("%zu files, %zu statements, %zu parsed, %zu failed\n", work.files.size(), work.statements.load(), work.texts.size(), work.failed.load());
  return 0;
}
