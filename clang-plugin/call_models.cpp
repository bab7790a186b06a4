#include "call_models.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "model/ascii.h"
#include "model/lock_function.h"

namespace pglocklint::extract {
namespace {

constexpr std::array kCalls{
    // libpq
    CallModel{"", "PQexec", Role::Execute, 1, -1, Binds::None, -1, 0},
    CallModel{"", "PQexecParams", Role::Execute, 1, -1, Binds::PqArrays, 2, 0},
    CallModel{"", "PQprepare", Role::Prepare, 2, 1, Binds::None, -1, 0},
    CallModel{"", "PQexecPrepared", Role::ExecutePrepared, -1, 1, Binds::PqArraysUntyped, 2, 0},
    CallModel{"", "PQsendQuery", Role::Execute, 1, -1, Binds::None, -1, 0},
    CallModel{"", "PQsendQueryParams", Role::Execute, 1, -1, Binds::PqArrays, 2, 0},
    CallModel{"", "PQsendPrepare", Role::Prepare, 2, 1, Binds::None, -1, 0},
    CallModel{"", "PQsendQueryPrepared", Role::ExecutePrepared, -1, 1, Binds::PqArraysUntyped, 2, 0},
    CallModel{"", "PQconnectdb", Role::Connect, 0},
    CallModel{"", "PQconnectStart", Role::Connect, 0},
    CallModel{"", "PQconnectdbParams", Role::Connect, -1, -1, Binds::PqKeywords, 0},
    CallModel{"", "PQconnectStartParams", Role::Connect, -1, -1, Binds::PqKeywords, 0},
    CallModel{"", "PQsetdbLogin", Role::Connect, -1, -1, Binds::PqLogin, 0},
    CallModel{"", "PQfinish", Role::Disconnect, -1, -1, Binds::None, -1, 0},
    CallModel{"", "PQreset", Role::Reset, -1, -1, Binds::None, -1, 0},
    CallModel{"", "PQresetStart", Role::Reset, -1, -1, Binds::None, -1, 0},
    // what only lets time pass
    CallModel{"", "sleep", Role::Wait},
    CallModel{"", "usleep", Role::Wait},
    CallModel{"", "nanosleep", Role::Wait},
    CallModel{"", "pause", Role::Wait},
    CallModel{"", "pg_usleep", Role::Wait},
    CallModel{"std::this_thread::", "sleep_for", Role::Wait},
    CallModel{"std::this_thread::", "sleep_until", Role::Wait},
    CallModel{"QThread", "sleep", Role::Wait},
    CallModel{"QThread", "msleep", Role::Wait},
    // libpqxx 6 and 7: the life of sessions and transactions
    CallModel{"pqxx::subtransaction", "constructor", Role::Savepoint, -1, 1, Binds::None, -1, 0},
    CallModel{"pqxx::subtransaction", "commit", Role::Release},
    CallModel{"pqxx::subtransaction", "abort", Role::RollbackTo},
    CallModel{"pqxx::subtransaction", "destructor", Role::RollbackTo},
    CallModel{"pqxx::nontransaction", "constructor", Role::Autocommit, -1, -1, Binds::None, -1, 0},
    CallModel{"pqxx::nontransaction", "commit", Role::Nothing},
    CallModel{"pqxx::nontransaction", "abort", Role::Nothing},
    CallModel{"pqxx::nontransaction", "destructor", Role::Nothing},
    CallModel{"pqxx::transaction", "constructor", Role::Begin, -1, -1, Binds::None, -1, 0},
    CallModel{"pqxx::robusttransaction", "constructor", Role::Begin, -1, -1, Binds::None, -1, 0},
    CallModel{"pqxx::transaction", "destructor", Role::Rollback},
    CallModel{"pqxx::robusttransaction", "destructor", Role::Rollback},
    CallModel{"pqxx::dbtransaction", "destructor", Role::Rollback},
    CallModel{"pqxx::connection", "constructor", Role::Connect, 0},
    CallModel{"pqxx::basic_connection_base", "constructor", Role::Connect, 0},
    CallModel{"pqxx::connection", "destructor", Role::Disconnect},
    CallModel{"pqxx::basic_connection_base", "destructor", Role::Disconnect},
    CallModel{"pqxx::connection", "close", Role::Disconnect},
    CallModel{"pqxx::connection", "disconnect", Role::Disconnect},
    CallModel{"pqxx::connection_base", "disconnect", Role::Disconnect},
    CallModel{"pqxx::", "commit", Role::Commit},
    CallModel{"pqxx::", "abort", Role::Rollback},
    // libpqxx 6 and 7: transactions, connections, pipelines
    CallModel{"pqxx::", "exec", Role::Execute, 0, -1, Binds::None, -1, -1},
    CallModel{"pqxx::", "exec0", Role::Execute, 0, -1, Binds::None, -1, -1},
    CallModel{"pqxx::", "exec1", Role::Execute, 0, -1, Binds::None, -1, -1},
    CallModel{"pqxx::", "exec_n", Role::Execute, 1, -1, Binds::None, -1, -1},
    CallModel{"pqxx::", "query", Role::Execute, 0, -1, Binds::Pack, 1, -1},
    CallModel{"pqxx::", "query0", Role::Execute, 0, -1, Binds::Pack, 1, -1},
    CallModel{"pqxx::", "query1", Role::Execute, 0, -1, Binds::Pack, 1, -1},
    CallModel{"pqxx::", "query01", Role::Execute, 0, -1, Binds::Pack, 1, -1},
    CallModel{"pqxx::", "query_value", Role::Execute, 0, -1, Binds::Pack, 1, -1},
    CallModel{"pqxx::", "for_query", Role::Execute, 0, -1, Binds::None, -1, -1},
    CallModel{"pqxx::", "for_each", Role::Execute, 0, -1, Binds::None, -1, -1},
    CallModel{"pqxx::", "stream", Role::Execute, 0, -1, Binds::None, -1, -1},
    CallModel{"pqxx::", "exec_params", Role::Execute, 0, -1, Binds::Pack, 1, -1},
    CallModel{"pqxx::", "exec_params0", Role::Execute, 0, -1, Binds::Pack, 1, -1},
    CallModel{"pqxx::", "exec_params1", Role::Execute, 0, -1, Binds::Pack, 1, -1},
    CallModel{"pqxx::", "exec_params_n", Role::Execute, 1, -1, Binds::Pack, 2, -1},
    CallModel{"pqxx::", "prepare", Role::Prepare, 1, 0, Binds::None, -1, -1},
    CallModel{"pqxx::", "exec_prepared", Role::ExecutePrepared, -1, 0, Binds::Pack, 1, -1},
    CallModel{"pqxx::", "exec_prepared0", Role::ExecutePrepared, -1, 0, Binds::Pack, 1, -1},
    CallModel{"pqxx::", "exec_prepared1", Role::ExecutePrepared, -1, 0, Binds::Pack, 1, -1},
    // libpqxx 6 to 8: what the names above leave
    CallModel{"pqxx::", "query_n", Role::Execute, 1, -1, Binds::Pack, 2, -1},
    CallModel{"pqxx::", "for_stream", Role::Execute, 0, -1, Binds::None, -1, -1},
    CallModel{"pqxx::", "parameterized", Role::Execute, 0, -1, Binds::Chain, -1, -1},
    CallModel{"pqxx::", "exec_prepared_n", Role::ExecutePrepared, -1, 1, Binds::Pack, 2, -1},
    CallModel{"pqxx::", "prepared", Role::ExecutePrepared, -1, 0, Binds::Chain, -1, -1},
    CallModel{"pqxx::pipeline", "insert", Role::Execute, 0, -1, Binds::None, -1, -1},
    CallModel{"pqxx::icursorstream", "constructor", Role::Execute, 1, -1, Binds::None, -1, 0},
    CallModel{"pqxx::stateless_cursor", "constructor", Role::Execute, 1, -1, Binds::None, -1, 0},
    // SOCI
    CallModel{"soci::", "operator<<", Role::Stream, -1, -1, Binds::Comma, -1, -1},
    CallModel{"soci::statement", "prepare", Role::Execute, 0, -1, Binds::None, -1, kNoConnection},
    // Qt SQL
    CallModel{"QSqlQuery", "constructor", Role::Execute, kFirstText, -1, Binds::None, -1, kNoConnection},
    CallModel{"QSqlQuery", "exec", Role::Execute, 0, -1, Binds::None, -1, kNoConnection},
    CallModel{"QSqlQuery", "prepare", Role::Execute, 0, -1, Binds::Later, -1, kNoConnection},
    CallModel{"QSqlDatabase", "exec", Role::Execute, 0, -1, Binds::None, -1, -1},
    CallModel{"QSqlQueryModel", "setQuery", Role::Execute, kFirstText, -1, Binds::None, -1, kNoConnection},
    // POCO Data
    CallModel{"Poco::Data::", "operator<<", Role::Stream, -1, -1, Binds::Comma, -1, -1},
    // ODBC
    CallModel{"", "SQLExecDirect", Role::Execute, 1, -1, Binds::Later, 0, kNoConnection},
    CallModel{"", "SQLExecDirectA", Role::Execute, 1, -1, Binds::Later, 0, kNoConnection},
    CallModel{"", "SQLExecDirectW", Role::Execute, 1, -1, Binds::Later, 0, kNoConnection},
    CallModel{"", "SQLPrepare", Role::Execute, 1, -1, Binds::Later, 0, kNoConnection},
    CallModel{"", "SQLPrepareA", Role::Execute, 1, -1, Binds::Later, 0, kNoConnection},
    CallModel{"", "SQLPrepareW", Role::Execute, 1, -1, Binds::Later, 0, kNoConnection},
    // nanodbc
    CallModel{"nanodbc::statement", "execute_direct", Role::Execute, kFirstText, -1, Binds::None, -1, 0},
    CallModel{"nanodbc::statement", "just_execute_direct", Role::Execute, kFirstText, -1, Binds::None, -1, 0},
    CallModel{"nanodbc::statement", "constructor", Role::Execute, kFirstText, -1, Binds::Later, -1, 0},
    CallModel{"nanodbc::statement", "prepare", Role::Execute, kFirstText, -1, Binds::Later, -1, kNoConnection},
    CallModel{"nanodbc::", "execute", Role::Execute, kFirstText, -1, Binds::None, -1, 0},
    CallModel{"nanodbc::", "just_execute", Role::Execute, kFirstText, -1, Binds::None, -1, 0},
    CallModel{"nanodbc::", "prepare", Role::Execute, kFirstText, -1, Binds::Later, 0, kNoConnection},
    // drogon: a client is a pool, a transaction is one of its connections
    CallModel{"drogon::orm::Transaction", "execSqlSync", Role::Execute, 0, -1, Binds::Pack, 1, -1},
    CallModel{"drogon::orm::Transaction", "execSqlAsyncFuture", Role::Execute, 0, -1, Binds::Pack, 1, -1},
    CallModel{"drogon::orm::Transaction", "execSqlCoro", Role::Execute, 0, -1, Binds::Pack, 1, -1},
    CallModel{"drogon::orm::Transaction", "execSqlAsync", Role::Execute, 0, -1, Binds::Pack, 3, -1},
    CallModel{"drogon::orm::", "execSqlSync", Role::Execute, 0, -1, Binds::Pack, 1, kNoConnection},
    CallModel{"drogon::orm::", "execSqlAsyncFuture", Role::Execute, 0, -1, Binds::Pack, 1, kNoConnection},
    CallModel{"drogon::orm::", "execSqlCoro", Role::Execute, 0, -1, Binds::Pack, 1, kNoConnection},
    CallModel{"drogon::orm::", "execSqlAsync", Role::Execute, 0, -1, Binds::Pack, 3, kNoConnection},
    CallModel{"drogon::orm::Transaction", "rollback", Role::Rollback, -1, -1, Binds::None, -1, -1},
    CallModel{"drogon::orm::", "operator<<", Role::StreamValues, -1, -1, Binds::None, -1, kNoConnection},
    // inside of the server: SPI, fmgr, the lock manager
    CallModel{"", "SPI_exec", Role::Execute, 0, -1, Binds::None, -1, -1},
    CallModel{"", "SPI_execute", Role::Execute, 0, -1, Binds::None, -1, -1},
    CallModel{"", "SPI_execute_extended", Role::Execute, 0, -1, Binds::None, -1, -1},
    CallModel{"", "SPI_execute_with_args", Role::Execute, 0, -1, Binds::Datums, 3, -1},
    CallModel{"", "SPI_prepare", Role::Execute, 0, -1, Binds::None, -1, -1},
    CallModel{"", "SPI_prepare_cursor", Role::Execute, 0, -1, Binds::None, -1, -1},
    CallModel{"", "SPI_prepare_params", Role::Execute, 0, -1, Binds::None, -1, -1},
    CallModel{"", "SPI_prepare_extended", Role::Execute, 0, -1, Binds::None, -1, -1},
    CallModel{"", "SPI_cursor_open_with_args", Role::Execute, 1, -1, Binds::Datums, 4, -1},
    CallModel{"", "SPI_cursor_parse_open", Role::Execute, 1, -1, Binds::None, -1, -1},
    CallModel{"", "DirectFunctionCall1Coll", Role::ServerFunction, 0, -1, Binds::Pack, 2, -1},
    CallModel{"", "DirectFunctionCall2Coll", Role::ServerFunction, 0, -1, Binds::Pack, 2, -1},
    CallModel{"", "DirectFunctionCall3Coll", Role::ServerFunction, 0, -1, Binds::Pack, 2, -1},
    CallModel{"", "DirectFunctionCall4Coll", Role::ServerFunction, 0, -1, Binds::Pack, 2, -1},
    CallModel{"", "CallerFInfoFunctionCall1", Role::ServerFunction, 0, -1, Binds::Pack, 3, -1},
    CallModel{"", "CallerFInfoFunctionCall2", Role::ServerFunction, 0, -1, Binds::Pack, 3, -1},
    CallModel{"", "LockAcquire", Role::LockTag, 0, -1, Binds::None, -1, -1},
    CallModel{"", "LockAcquireExtended", Role::LockTag, 0, -1, Binds::None, -1, -1},
    CallModel{"", "LockRelease", Role::LockTag, 0, -1, Binds::None, -1, -1},
    // SOCI, Qt SQL, POCO Data: what begins and ends their transactions
    CallModel{"soci::session", "begin", Role::Begin},
    CallModel{"soci::session", "commit", Role::Commit},
    CallModel{"soci::session", "rollback", Role::Rollback},
    CallModel{"soci::transaction", "constructor", Role::Begin, -1, -1, Binds::None, -1, 0},
    CallModel{"soci::transaction", "commit", Role::Commit},
    CallModel{"soci::transaction", "rollback", Role::Rollback},
    CallModel{"soci::transaction", "destructor", Role::Rollback},
    CallModel{"QSqlDatabase", "transaction", Role::Begin},
    CallModel{"QSqlDatabase", "commit", Role::Commit},
    CallModel{"QSqlDatabase", "rollback", Role::Rollback},
    CallModel{"Poco::Data::Session", "begin", Role::Begin},
    CallModel{"Poco::Data::Session", "commit", Role::Commit},
    CallModel{"Poco::Data::Session", "rollback", Role::Rollback},
};

constexpr std::string_view kConnections[] = {
    "pg_conn", "pqxx::connection", "pqxx::connection_base", "pqxx::basic_connection_base", "soci::session", "QSqlDatabase",
    "Poco::Data::Session", "nanodbc::connection"};

// Transactions, and what is made of one.
constexpr std::string_view kTransactions[] = {"pqxx::transaction",
                                              "pqxx::nontransaction",
                                              "pqxx::robusttransaction",
                                              "pqxx::dbtransaction",
                                              "pqxx::transaction_base",
                                              "pqxx::subtransaction",
                                              "pqxx::pipeline",
                                              "pqxx::stream_from",
                                              "pqxx::stream_to",
                                              "soci::transaction",
                                              "Poco::Data::Transaction"};

constexpr std::string_view kSharing[] = {"std::shared_ptr", "std::__shared_ptr", "std::weak_ptr", "boost::shared_ptr",
                                         "boost::intrusive_ptr", "QSharedPointer"};
constexpr std::string_view kPointers[] = {"std::unique_ptr", "std::optional", "std::reference_wrapper", "std::auto_ptr",
                                          "boost::optional", "boost::scoped_ptr", "QScopedPointer", "gsl::not_null"};

constexpr std::string_view kGivesBack[] = {"give",     "giveback", "return",   "returnconnection", "release", "releaseconnection",
                                           "put",      "putback",  "checkin",  "restore",          "recycle", "push",
                                           "giveconnection", "putconnection", "free", "freeconnection", "dispose", "returnto"};

struct NamedEnding {
  std::string_view name;
  Ending ending;
};
constexpr NamedEnding kEndings[] = {
    {"exit", Ending::Process},           {"std::exit", Ending::Process},       {"_exit", Ending::Process},
    {"_Exit", Ending::Process},          {"std::_Exit", Ending::Process},      {"quick_exit", Ending::Process},
    {"std::quick_exit", Ending::Process}, {"abort", Ending::Process},          {"std::abort", Ending::Process},
    {"std::terminate", Ending::Process}, {"__assert_fail", Ending::Process},   {"__builtin_trap", Ending::Process},
    {"__builtin_abort", Ending::Process}, {"proc_exit", Ending::Process},      {"longjmp", Ending::Jump},
    {"siglongjmp", Ending::Jump},        {"_longjmp", Ending::Jump},           {"__longjmp_chk", Ending::Jump},
    {"pg_re_throw", Ending::Jump},       {"ReThrowError", Ending::Jump},       {"std::longjmp", Ending::Jump},
};

constexpr LaterBind kLaterBinds[] = {
    {"QSqlQuery::addBindValue", -1, -1, 0, 0},
    {"QSqlQuery::bindValue", -1, 0, 1, 0},
    {"SQLBindParameter", 0, 1, 7, 1},
    {"SQLBindParam", 0, 1, 6, 1},
    {"nanodbc::statement::bind", -1, 0, 1, 0},
};

constexpr std::string_view kWrappers[] = {
    "soci::use",      "Poco::Data::Keywords::use", "Poco::Data::Keywords::useRef", "Poco::Data::Keywords::bind",
    "Int64GetDatum",  "Int32GetDatum",             "Int16GetDatum",                "UInt32GetDatum",
    "UInt64GetDatum", "ObjectIdGetDatum",          "BoolGetDatum",                 "QVariant::fromValue"};

constexpr std::array kResults{
    ResultModel{"", "PQgetvalue", Look::Value},
    ResultModel{"", "PQgetisnull", Look::RowCount},
    ResultModel{"", "PQntuples", Look::RowCount},
    ResultModel{"", "PQnfields", Look::RowCount},
    ResultModel{"", "PQresultStatus", Look::Status},
    ResultModel{"", "PQresultErrorMessage", Look::Status},
    ResultModel{"", "PQresultErrorField", Look::Status},
    ResultModel{"", "PQcmdStatus", Look::Status},
    ResultModel{"", "PQclear", Look::Frees},
    ResultModel{"pqxx::", "empty", Look::RowCount},
    ResultModel{"pqxx::", "size", Look::RowCount},
    ResultModel{"pqxx::", "affected_rows", Look::RowCount},
    ResultModel{"pqxx::", "columns", Look::RowCount},
    ResultModel{"drogon::orm::", "size", Look::RowCount},
    ResultModel{"drogon::orm::", "empty", Look::RowCount},
    ResultModel{"drogon::orm::", "affectedRows", Look::RowCount},
    ResultModel{"nanodbc::result", "affected_rows", Look::RowCount},
    ResultModel{"nanodbc::result", "columns", Look::RowCount},
};

struct NamedSource {
  std::string_view name;  // "std::hash::" matches all of its members
  Source source;
};
constexpr std::array kSources{
    NamedSource{"std::hash::", Source::Hash},
    NamedSource{"std::_Hash_bytes", Source::Hash},
    NamedSource{"boost::hash_value", Source::Hash},
    NamedSource{"boost::hash_combine", Source::Hash},
    NamedSource{"boost::hash::", Source::Hash},
    NamedSource{"absl::Hash", Source::Hash},
    NamedSource{"absl::HashOf", Source::Hash},
    NamedSource{"qHash", Source::Hash},
    NamedSource{"string_hash", Source::Hash},
    NamedSource{"tag_hash", Source::Hash},
    NamedSource{"hash_any", Source::Hash},
    NamedSource{"hash_any_extended", Source::Hash},
    NamedSource{"hash_bytes", Source::Hash},
    NamedSource{"hash_bytes_extended", Source::Hash},
    NamedSource{"hash_uint32", Source::Hash},
    NamedSource{"std::chrono::system_clock::now", Source::Clock},
    NamedSource{"std::chrono::_V2::system_clock::now", Source::Clock},
    NamedSource{"std::chrono::steady_clock::now", Source::Clock},
    NamedSource{"std::chrono::_V2::steady_clock::now", Source::Clock},
    NamedSource{"std::chrono::high_resolution_clock::now", Source::Clock},
    NamedSource{"time", Source::Clock},
    NamedSource{"std::time", Source::Clock},
    NamedSource{"clock", Source::Clock},
    NamedSource{"gettimeofday", Source::Clock},
    NamedSource{"clock_gettime", Source::Clock},
    NamedSource{"rand", Source::Random},
    NamedSource{"std::rand", Source::Random},
    NamedSource{"random", Source::Random},
    NamedSource{"drand48", Source::Random},
    NamedSource{"lrand48", Source::Random},
    NamedSource{"arc4random", Source::Random},
    NamedSource{"getrandom", Source::Random},
    NamedSource{"std::random_device::operator()", Source::Random},
    NamedSource{"std::mersenne_twister_engine::operator()", Source::Random},
    NamedSource{"std::linear_congruential_engine::operator()", Source::Random},
    NamedSource{"std::uniform_int_distribution::operator()", Source::Random},
    NamedSource{"getpid", Source::ProcessId},
    NamedSource{"getppid", Source::ProcessId},
    NamedSource{"PQbackendPID", Source::ProcessId},
    NamedSource{"gettid", Source::ThreadId},
    NamedSource{"pthread_self", Source::ThreadId},
    NamedSource{"std::this_thread::get_id", Source::ThreadId},
    NamedSource{"getenv", Source::Environment},
    NamedSource{"std::getenv", Source::Environment},
    NamedSource{"secure_getenv", Source::Environment},
    NamedSource{"std::to_string", Source::ToText},
    NamedSource{"std::__cxx11::to_string", Source::ToText},
    NamedSource{"pqxx::to_string", Source::ToText},
    NamedSource{"boost::lexical_cast", Source::ToText},
    NamedSource{"std::stoi", Source::FromText},
    NamedSource{"std::stol", Source::FromText},
    NamedSource{"std::stoll", Source::FromText},
    NamedSource{"std::stoul", Source::FromText},
    NamedSource{"std::stoull", Source::FromText},
    NamedSource{"std::__cxx11::stoi", Source::FromText},
    NamedSource{"std::__cxx11::stol", Source::FromText},
    NamedSource{"std::__cxx11::stoll", Source::FromText},
    NamedSource{"std::__cxx11::stoul", Source::FromText},
    NamedSource{"std::__cxx11::stoull", Source::FromText},
    NamedSource{"atoi", Source::FromText},
    NamedSource{"atol", Source::FromText},
    NamedSource{"atoll", Source::FromText},
    NamedSource{"strtol", Source::FromText},
    NamedSource{"strtoll", Source::FromText},
    NamedSource{"strtoul", Source::FromText},
    NamedSource{"strtoull", Source::FromText},
    NamedSource{"std::min", Source::Minimum},
    NamedSource{"std::max", Source::Maximum},
    NamedSource{"PQescapeLiteral", Source::Quote},
};

// Names that say what a function of the project is, whatever it is called in front: crc32, fnv1a_64, murmurHash3.
constexpr std::array<std::string_view, 12> kHashWords{"crc32",  "crc64",    "fnv1",    "murmur",   "xxh32", "xxh64",
                                                      "xxhash", "cityhash", "siphash", "farmhash", "sha1",  "sha256"};

constexpr FormatModel kFormats[] = {
    {"fmt::format", FormatStyle::Braces, 0, 1},       {"std::format", FormatStyle::Braces, 0, 1},
    {"snprintf", FormatStyle::Printf, 2, 3},          {"std::snprintf", FormatStyle::Printf, 2, 3},
    {"pg_snprintf", FormatStyle::Printf, 2, 3},       {"sprintf", FormatStyle::Printf, 1, 2},
    {"std::sprintf", FormatStyle::Printf, 1, 2},      {"psprintf", FormatStyle::Printf, 0, 1},
    {"absl::StrFormat", FormatStyle::Printf, 0, 1},   {"fmt::sprintf", FormatStyle::Printf, 0, 1},
    {"QString::asprintf", FormatStyle::Printf, 0, 1}, {"absl::Substitute", FormatStyle::Dollar, 0, 1},
};

constexpr std::array<std::string_view, 24> kTextOnly{"printf", "fprintf", "dprintf", "snprintf", "sprintf",    "asprintf",
                                                     "puts",   "fputs",   "strcmp",  "strncmp",  "strcasecmp", "strlen",
                                                     "strcpy", "strncpy", "strcat",  "strncat",  "strstr",     "strdup",
                                                     "memcpy", "memcmp",  "syslog",  "perror",   "warn",       "err"};

// Parts of names of functions that tell people something.
constexpr std::string_view kTelling[] = {"log",   "print",  "debug", "trace",  "warn",   "error",
                                         "throw", "assert", "fail",  "report", "message", "output"};

constexpr std::string_view kSqlVerbs[] = {"select",   "with",    "do",     "begin", "start",   "insert",  "update",
                                          "delete",   "merge",   "call",   "set",   "lock",    "explain", "prepare",
                                          "execute",  "create",  "values", "copy",  "declare", "fetch",   "commit",
                                          "rollback", "perform", "alter",  "drop",  "("};

std::string_view lastName(std::string_view qualified) {
  const std::size_t colons = qualified.rfind("::");
  return colons == std::string_view::npos ? qualified : qualified.substr(colons + 2);
}

bool inScope(std::string_view scope, std::string_view qualified_class) {
  return scope.ends_with("::") ? qualified_class.starts_with(scope) : qualified_class == scope;
}

}  // namespace

const CallModel* findCallModel(std::string_view scope, std::string_view name) {
  for (const CallModel& m : kCalls)
    if (m.name == name && inScope(m.scope, scope)) return &m;
  return nullptr;
}

bool isInsideServer(const CallModel& m) { return m.role == Role::ServerFunction || m.role == Role::LockTag || m.name.starts_with("SPI_"); }

bool raisesErrors(const CallModel& m) {
  if (isInsideServer(m)) return true;
  return !m.scope.empty() && !m.scope.starts_with("QSql");  // the others of no scope are C; Qt tells by what it returns
}

ProjectModels::ProjectModels(std::span<const HostModel> models) {
  for (const HostModel& m : models) {
    const std::string_view qualified = names_.emplace_back(m.function);
    const std::string_view last = lastName(qualified);
    CallModel& model = models_.emplace_back();
    model.scope = qualified.substr(0, qualified.size() - last.size()), model.name = last;
    model.sql = m.sql, model.statement = m.statement, model.connection = m.connection;
    model.binds = m.binds >= 0 ? Binds::Pack : Binds::None, model.first_bind = m.binds;
    model.role = m.role == HostModelRole::Execute           ? Role::Execute
                 : m.role == HostModelRole::Prepare         ? Role::Prepare
                 : m.role == HostModelRole::ExecutePrepared ? Role::ExecutePrepared
                                                            : Role::Nothing;
  }
}

const CallModel* ProjectModels::find(std::string_view qualified) const {
  for (const CallModel& m : models_)
    if (m.scope.size() + m.name.size() == qualified.size() && qualified.starts_with(m.scope) && qualified.ends_with(m.name)) return &m;
  return nullptr;
}

const LaterBind* findLaterBind(std::string_view qualified) {
  for (const LaterBind& b : kLaterBinds)
    if (b.name == qualified) return &b;
  return nullptr;
}

std::string_view serverFunction(std::string_view name) {
  for (const std::string_view form : {"_int8", "_int4"})
    if (name.ends_with(form)) name.remove_suffix(form.size());
  const LockFunction* f = findLockFunction(name);
  return f ? f->name : "";
}

bool wrapsValue(std::string_view qualified) {
  return std::find(std::begin(kWrappers), std::end(kWrappers), qualified) != std::end(kWrappers);
}

namespace {

template <std::size_t N>
bool beginsWithOne(const std::string_view (&prefixes)[N], std::string_view name) {
  return std::any_of(std::begin(prefixes), std::end(prefixes), [&](std::string_view p) { return name.starts_with(p); });
}

}  // namespace

bool isConnectionClass(std::string_view qualified) {
  return std::find(std::begin(kConnections), std::end(kConnections), qualified) != std::end(kConnections);
}
bool isTransactionClass(std::string_view qualified) {
  return std::find(std::begin(kTransactions), std::end(kTransactions), qualified) != std::end(kTransactions);
}
bool mayShare(std::string_view qualified) { return beginsWithOne(kSharing, qualified); }
bool isPointerLike(std::string_view qualified) { return mayShare(qualified) || beginsWithOne(kPointers, qualified); }

bool givesBack(std::string_view name) {
  std::string plain = lowered(name);
  std::erase(plain, '_');
  return std::find(std::begin(kGivesBack), std::end(kGivesBack), plain) != std::end(kGivesBack);
}

Ending endingOf(std::string_view qualified) {
  for (const NamedEnding& e : kEndings)
    if (e.name == qualified) return e.ending;
  return Ending::None;
}

bool catchesJumps(std::string_view qualified) {
  return qualified == "setjmp" || qualified == "_setjmp" || qualified == "sigsetjmp" || qualified == "__sigsetjmp" ||
         qualified == "std::setjmp";
}

const ResultModel* findResultModel(std::string_view qualified_class, std::string_view name) {
  for (const ResultModel& m : kResults)
    if (m.name == name && inScope(m.scope, qualified_class)) return &m;
  return nullptr;
}

Source sourceOf(std::string_view qualified) {
  for (const NamedSource& s : kSources)
    if (qualified == s.name || (s.name.ends_with("::") && qualified.starts_with(s.name))) return s.source;
  const std::string lower = lowered(lastName(qualified));
  if (std::any_of(kHashWords.begin(), kHashWords.end(), [&](std::string_view w) { return lower.find(w) != std::string::npos; }))
    return Source::Hash;
  return Source::None;
}

const FormatModel* findFormatModel(std::string_view qualified) {
  for (const FormatModel& m : kFormats)
    if (m.name == qualified) return &m;
  return nullptr;
}

bool beginsLikeSql(std::string_view text) {
  for (;;) {  // leading space and comments
    const std::size_t first = text.find_first_not_of(" \t\r\n;");
    if (first == std::string_view::npos) return false;
    text.remove_prefix(first);
    const std::size_t end = text.starts_with("--") ? text.find('\n') : text.starts_with("/*") ? text.find("*/") : 0;
    if (end == std::string_view::npos) return false;
    if (end == 0) break;
    text.remove_prefix(end + (text.starts_with("/*") ? 2 : 1));
  }
  const std::string word =
      text[0] == '(' ? "("
                     : lowered(text.substr(0, text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")));
  return std::find(std::begin(kSqlVerbs), std::end(kSqlVerbs), word) != std::end(kSqlVerbs);
}

bool handlesTextOnly(std::string_view qualified) {
  if (qualified.starts_with("std::") || qualified.starts_with("__") || qualified.starts_with("fmt::") ||
      qualified.starts_with("absl::Str") || qualified.starts_with("absl::Substitute") || qualified.starts_with("spdlog::") ||
      qualified.starts_with("boost::") || qualified.starts_with("QString::"))
    return true;
  const std::string last = lowered(lastName(qualified));
  if (std::any_of(std::begin(kTelling), std::end(kTelling),
                  [&](std::string_view t) { return last.find(t) != std::string::npos; }))
    return true;
  return std::find(kTextOnly.begin(), kTextOnly.end(), qualified) != kTextOnly.end();
}

}  // namespace pglocklint::extract
