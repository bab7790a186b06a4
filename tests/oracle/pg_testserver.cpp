// pg_testserver: one throw-away PostgreSQL cluster that lives as long as somebody listens.
//
//   pg_testserver BIN_FOLDER [NAME=VALUE …]
//
// Makes a cluster in a folder of its own, starts it on a Unix socket in that folder (no TCP), prints `ready FOLDER`, and waits for the end
// of its standard input or a signal. Then it stops the server and removes the folder. A test holds the other end of the pipe: however
// the test ends, the pipe closes, and nothing stays behind. Should this program itself be killed, the kernel ends the server
// (PR_SET_PDEATHSIG), and the next run sweeps the folder, which nobody locks any more.
//
// PostgreSQL refuses to run as root: then the server runs as `postgres` or `nobody`, and gets a copy of its programs if they lie where that
// user may not look. By hand: `pg_testserver /usr/lib/postgresql/15/bin`, and in another terminal `psql -h FOLDER -U postgres`.
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

constexpr const char* kFolderName = "pglocklint-pg-";
constexpr std::size_t kLongestSocketPath = 107;  // sockaddr_un
constexpr const char* kSocketName = "/.s.PGSQL.5432";

// Durability is of no use to a cluster that nobody will restart. Shared memory segments live in the cluster's folder, so that
// they go with it. A planner that is not disturbed by statistics arriving at some moment answers the same every time.
constexpr const char* kSettings = R"(
listen_addresses = ''
unix_socket_permissions = 0777
fsync = off
synchronous_commit = off
full_page_writes = off
dynamic_shared_memory_type = mmap
shared_buffers = 32MB
max_connections = 60
max_prepared_transactions = 20
max_locks_per_transaction = 256
autovacuum = off
jit = off
timezone = 'UTC'
log_timezone = 'UTC'
)";

struct User {
  uid_t uid;
  gid_t gid;
  std::string name;
};

// Whom to become, if we may not stay who we are.
std::optional<User> unprivilegedUser() {
  if (geteuid() != 0) return std::nullopt;
  for (const char* name : {"postgres", "nobody"})
    if (const passwd* entry = getpwnam(name)) return User{entry->pw_uid, entry->pw_gid, name};
  throw std::runtime_error("running as root, and neither the user postgres nor nobody exists");
}

void become(const User& user) {
  if (initgroups(user.name.c_str(), user.gid) != 0 || setgid(user.gid) != 0 || setuid(user.uid) != 0) _exit(126);
}

class Cluster {
 public:
  Cluster(fs::path bin, std::vector<std::string> settings)
      : bin_(std::move(bin)), settings_(std::move(settings)), user_(unprivilegedUser()), folder_(makeFolder()), lock_(lockFolder()) {}
  ~Cluster() {
    stop();
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  const fs::path& folder() const { return folder_; }

  void initialize() {
    if (!reachable()) copyPrograms();
    const pid_t child = spawn({(bin_ / "initdb").string(), "-D", data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C",
                               "--no-sync", "--wal-segsize=1"});
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) throw std::runtime_error("initdb failed:\n" + log());
    std::ofstream out(data() + "/postgresql.auto.conf", std::ios::app);
    out << kSettings << "unix_socket_directories = '" << folder_.string() << "'\n";
    for (const std::string& setting : settings_) {
      const std::size_t equals = setting.find('=');
      if (equals == std::string::npos) throw std::runtime_error("not NAME=VALUE: " + setting);
      out << setting.substr(0, equals) << " = '" << setting.substr(equals + 1) << "'\n";
    }
  }

  void start() {
    server_ = spawn({(bin_ / "postgres").string(), "-D", data()});
    for (int tries = 0; tries < 1200; ++tries) {
      if (ended()) throw std::runtime_error("the server did not start:\n" + log());
      if (ready()) return;
      std::this_thread::sleep_for(25ms);
    }
    throw std::runtime_error("the server is not ready after 30 seconds:\n" + log());
  }

  // Has the server gone by itself?
  bool ended() {
    if (server_ <= 0) return true;
    int status = 0;
    if (waitpid(server_, &status, WNOHANG) != server_) return false;
    server_ = -1;
    return true;
  }

  std::string log() const {
    std::ifstream in(folder_ / "log");
    std::ostringstream text;
    text << in.rdbuf();
    const std::string all = text.str();
    return all.size() > 4000 ? all.substr(all.size() - 4000) : all;
  }

 private:
  std::string data() const { return folder_ / "data"; }

  fs::path makeFolder() const {
    std::string base = fs::temp_directory_path().string();
    if (base.size() + 1 + std::strlen(kFolderName) + 6 + std::strlen(kSocketName) > kLongestSocketPath) base = "/tmp";
    std::string name = base + "/" + kFolderName + "XXXXXX";
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder: " + name);
    if (user_ && chown(name.c_str(), user_->uid, user_->gid) != 0) throw std::runtime_error("cannot give away " + name);
    return name;
  }

  int lockFolder() const {
    const int lock = open((folder_ / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0) throw std::runtime_error("cannot lock " + folder_.string());
    return lock;
  }

  // Runs a program as the unprivileged user in the cluster's folder; what it says goes to the log.
  pid_t spawn(const std::vector<std::string>& words) const {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const std::string log = folder_ / "log";
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("cannot fork");
    if (child > 0) return child;
    if (user_) become(*user_);
    prctl(PR_SET_PDEATHSIG, SIGQUIT);  // after the change of user, which clears it
    if (getppid() != parent) _exit(126);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    umask(0077);
    const int in = open("/dev/null", O_RDONLY), out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0 || chdir(folder_.c_str()) != 0) _exit(126);
    setenv("HOME", folder_.c_str(), 1);
    setenv("LC_ALL", "C", 1);
    execv(arguments[0], arguments.data());
    _exit(127);
  }

  // May the user of the server run it where it lies?
  bool reachable() const {
    if (!user_) return true;
    const std::string postgres = bin_ / "postgres";
    const pid_t child = fork();
    if (child == 0) {
      become(*user_);
      _exit(access(postgres.c_str(), R_OK | X_OK) == 0 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0;
  }

  // PostgreSQL finds its library and share folders beside its bin folder, wherever that is. Links to the files are enough if the
  // file system allows them.
  void copyPrograms() {
    const fs::path from = bin_.parent_path(), to = folder_ / "server";
    std::error_code failed;
    fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks | fs::copy_options::create_hard_links, failed);
    if (failed) {
      fs::remove_all(to);
      fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    }
    bin_ = to / bin_.filename();
  }

  // As pg_ctl sees it: the eighth line of postmaster.pid.
  bool ready() const {
    std::ifstream in(data() + "/postmaster.pid");
    std::string line;
    for (int n = 0; n < 8; ++n)
      if (!std::getline(in, line)) return false;
    return line.rfind("ready", 0) == 0;
  }

  void stop() {
    if (server_ <= 0) return;
    kill(server_, SIGQUIT);  // immediate shutdown: there is nothing to save
    for (int tries = 0; tries < 400; ++tries) {
      if (ended()) return;
      std::this_thread::sleep_for(25ms);
    }
    kill(server_, SIGKILL);
    waitpid(server_, nullptr, 0);
  }

  fs::path bin_;
  std::vector<std::string> settings_;
  std::optional<User> user_;
  fs::path folder_;
  int lock_;
  pid_t server_ = -1;
};

// Folders of runs that were killed: nobody holds their lock. Young ones may belong to a run that is about to take it.
void sweep() {
  std::error_code ignored;
  for (const fs::path& base : {fs::temp_directory_path(), fs::path("/tmp")})
    for (const auto& entry : fs::directory_iterator(base, fs::directory_options::skip_permission_denied, ignored)) {
      if (entry.path().filename().string().rfind(kFolderName, 0) != 0 || entry.is_symlink(ignored)) continue;
      const auto age = fs::file_time_type::clock::now() - fs::last_write_time(entry.path(), ignored);
      if (age < 60s) continue;
      const int lock = open((entry.path() / "lock").c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
      if (lock < 0) continue;
      if (flock(lock, LOCK_EX | LOCK_NB) == 0) fs::remove_all(entry.path(), ignored);
      close(lock);
    }
}

int serve(const fs::path& bin, std::vector<std::string> settings) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGPIPE}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  const int arrived = signalfd(-1, &signals, SFD_CLOEXEC);

  sweep();
  Cluster cluster(bin, std::move(settings));
  cluster.initialize();
  cluster.start();
  std::cout << "ready " << cluster.folder().string() << std::endl;

  pollfd watched[] = {{STDIN_FILENO, POLLIN, 0}, {arrived, POLLIN, 0}};
  while (true) {
    if (poll(watched, 2, -1) < 0) continue;
    if (watched[0].revents) {
      char ignored[256];
      if (read(STDIN_FILENO, ignored, sizeof ignored) <= 0) return 0;
    }
    if (watched[1].revents) {
      signalfd_siginfo info;
      if (read(arrived, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) continue;
      if (info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP) return 0;
      if (info.ssi_signo == SIGCHLD && cluster.ended()) {
        std::cerr << "pg_testserver: the server ended by itself:\n" << cluster.log();
        return 1;
      }
    }
  }
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::cerr << "usage: pg_testserver BIN_FOLDER [NAME=VALUE ...]\n";
    return 2;
  }
  try {
    return serve(words[1], {words + 2, words + count});
  } catch (const std::exception& error) {
    std::cout << "pg_testserver: " << error.what() << std::endl;  // the test reads it here
    return 1;
  }
}
