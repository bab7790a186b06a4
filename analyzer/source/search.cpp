// Most files mention none of the words, so what counts is how fast a file is passed over. Sixteen positions are tested at once for the
// two rarest bytes of each word; a letter's case falls away by setting bit 5. What passes is compared in full.
#include "source/search.h"

#include <algorithm>
#include <array>
#include <bit>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "model/ascii.h"

namespace pglocklint {
namespace {

// Bytes of identifiers in source text, the commonest first.
constexpr std::string_view kCommon = "etaionsrlcdupmgfhbyv_kwx0123z456789jq";

std::size_t rarity(char c) {
  const std::size_t at = kCommon.find(c);
  return at == std::string_view::npos ? kCommon.size() : at;
}

bool equalsFolded(const char* text, std::string_view lower) {
  for (std::size_t i = 0; i < lower.size(); ++i) {
    if (lowered(text[i]) != lower[i]) return false;
  }
  return true;
}

// Folded identifier bytes; 0 for what is none.
constexpr std::array<char, 256> kIdentifier = [] {
  std::array<char, 256> table{};
  for (int c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = static_cast<char>(c);
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<std::size_t>(c)] = static_cast<char>(c);
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<std::size_t>(c)] = lowered(static_cast<char>(c));
  for (int c = 0x80; c < 0x100; ++c) table[static_cast<std::size_t>(c)] = static_cast<char>(c);
  table['_'] = '_';
  table['$'] = '$';
  return table;
}();

constexpr std::uint32_t kHashSeed = 2166136261u;  // FNV-1a
constexpr std::uint32_t hashStep(std::uint32_t hash, char c) { return (hash ^ static_cast<unsigned char>(c)) * 16777619u; }

}  // namespace

WordSearch::WordSearch(std::span<const std::string_view> words) {
  for (const std::string_view word : words) {
    Word w;
    std::ranges::transform(word, std::back_inserter(w.lower), [](char c) { return lowered(c); });
    std::vector<std::size_t> order(w.lower.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return rarity(w.lower[a]) > rarity(w.lower[b]); });
    w.first = order.front();
    w.second = order.size() > 1 ? order[1] : order[0];
    longest_ = std::max(longest_, w.lower.size());
    words_.push_back(std::move(w));
  }
}

bool WordSearch::in(std::string_view text) const {
  std::size_t i = 0;
#if defined(__SSE2__)
  constexpr std::size_t kMostWords = 8;
  __m128i first[kMostWords], second[kMostWords];
  const __m128i case_bit = _mm_set1_epi8(0x20);
  const std::size_t count = std::min(words_.size(), kMostWords);
  for (std::size_t k = 0; k < count; ++k) {
    first[k] = _mm_set1_epi8(static_cast<char>(words_[k].lower[words_[k].first] | 0x20));
    second[k] = _mm_set1_epi8(static_cast<char>(words_[k].lower[words_[k].second] | 0x20));
  }
  const auto load = [&](std::size_t at) {
    return _mm_or_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + at)), case_bit);
  };
  for (; count == words_.size() && i + longest_ + 16 <= text.size(); i += 16) {
    for (std::size_t k = 0; k < count; ++k) {
      const Word& w = words_[k];
      const __m128i hits = _mm_and_si128(_mm_cmpeq_epi8(load(i + w.first), first[k]), _mm_cmpeq_epi8(load(i + w.second), second[k]));
      for (auto bits = static_cast<unsigned>(_mm_movemask_epi8(hits)); bits != 0; bits &= bits - 1) {
        if (equalsFolded(text.data() + i + static_cast<std::size_t>(std::countr_zero(bits)), w.lower)) return true;
      }
    }
  }
#endif
  for (; i < text.size(); ++i) {
    for (const Word& w : words_) {
      if (w.lower.size() <= text.size() - i && equalsFolded(text.data() + i, w.lower)) return true;
    }
  }
  return false;
}

NameSearch::NameSearch(std::span<const std::string> names) : table_(std::bit_ceil(names.size() * 2 + 1)), next_(names.size()) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::string folded;
    std::ranges::transform(names[i], std::back_inserter(folded), [](char c) { return lowered(c); });
    if (lengths_.size() <= folded.size()) lengths_.resize(folded.size() + 1);
    lengths_[folded.size()] = true;
    std::uint32_t hash = kHashSeed;
    for (const char c : folded) hash = hashStep(hash, c);
    std::size_t slot = hash & (table_.size() - 1);
    while (table_[slot] != 0 && names_[table_[slot] - 1] != folded) slot = (slot + 1) & (table_.size() - 1);
    next_[i] = table_[slot];
    table_[slot] = static_cast<std::uint32_t>(i + 1);
    names_.push_back(std::move(folded));
  }
}

// Calls f(index of the name) for every identifier of the text that is one; stops when f returns true.
template <class F>
void NameSearch::each(std::string_view text, F f) const {
  for (std::size_t i = 0; i < text.size();) {
    if (kIdentifier[static_cast<unsigned char>(text[i])] == 0) {
      ++i;
      continue;
    }
    const std::size_t begin = i;
    std::uint32_t hash = kHashSeed;
    for (; i < text.size(); ++i) {
      const char c = kIdentifier[static_cast<unsigned char>(text[i])];
      if (c == 0) break;
      hash = hashStep(hash, c);
    }
    const std::size_t size = i - begin;
    if (size >= lengths_.size() || !lengths_[size]) continue;
    for (std::size_t slot = hash & (table_.size() - 1); table_[slot] != 0; slot = (slot + 1) & (table_.size() - 1)) {
      const std::string& name = names_[table_[slot] - 1];
      if (name.size() != size || !equalsFolded(text.data() + begin, name)) continue;
      for (std::uint32_t entry = table_[slot]; entry != 0; entry = next_[entry - 1]) {
        if (f(entry - 1)) return;
      }
      break;
    }
  }
}

bool NameSearch::in(std::string_view text) const {
  bool any = false;
  each(text, [&](std::size_t) { return any = true; });
  return any;
}

std::vector<std::size_t> NameSearch::found(std::string_view text) const {
  std::vector<bool> seen(names_.size());
  each(text, [&](std::size_t i) {
    seen[i] = true;
    return false;
  });
  std::vector<std::size_t> indexes;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i]) indexes.push_back(i);
  }
  return indexes;
}

}  // namespace pglocklint
