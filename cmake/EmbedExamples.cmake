# Writes OUTPUT, a C++ source with the table of proofs (FIXTURES/proofs.tsv) and the examples that `explain` shows: FIXTURES/<rule>/bad*.{sql,sh} and good.{sql,sh}.
# cmake -DFIXTURES=… -DOUTPUT=… -P EmbedExamples.cmake
file(GLOB examples RELATIVE ${FIXTURES} ${FIXTURES}/*/bad*.sql ${FIXTURES}/*/good.sql ${FIXTURES}/*/bad*.sh ${FIXTURES}/*/good.sh)
list(SORT examples)
set(entries "")
foreach(example IN LISTS examples)
  get_filename_component(rule ${example} DIRECTORY)
  get_filename_component(file ${example} NAME)
  file(READ ${FIXTURES}/${example} text)
  string(APPEND entries "    {\"${rule}\", \"${file}\", R\"__example__(${text})__example__\"},\n")
endforeach()
file(READ ${FIXTURES}/proofs.tsv proofs)
file(WRITE ${OUTPUT}.new "// Generated from fixtures/ by cmake/EmbedExamples.cmake.
#include \"report/examples.h\"
#include \"report/proofs.h\"

namespace pglocklint {

std::span<const Example> embeddedExamples() {
  static const std::vector<Example> kExamples{
${entries}  };
  return kExamples;
}

std::string_view embeddedProofTable() { return R\"__proofs__(${proofs})__proofs__\"; }

}  // namespace pglocklint
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
