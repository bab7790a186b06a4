#include "oracle/pgbouncer.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace pglocklint::oracle {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

fs::path pgbouncerProgram() {
  for (const char* path : {"/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer"})
    if (fs::exists(path)) return path;
  return {};
}

Pgbouncer::Pgbouncer(const TestServer& server, const std::string& mode, int pool_size) {
  const fs::path ini = folder_.path() / "pgbouncer.ini", log = folder_.path() / "log", socket = folder_.path() / ".s.PGSQL.6432";
  std::ofstream(ini) << "[databases]\n"
                     << "app = host=" << server.folder().string() << " port=5432 dbname=postgres user=postgres\n"
                     << "[pgbouncer]\n"
                     << "listen_addr =\nlisten_port = 6432\nunix_socket_dir = " << folder_.path().string() << "\n"
                     << "auth_type = any\npool_mode = " << mode << "\ndefault_pool_size = " << pool_size << "\n"
                     << "ignore_startup_parameters = extra_float_digits\n";
  // It refuses to be root, as the server does, and must reach the server's socket: it becomes the server's user.
  struct stat owner {};
  if (stat(server.folder().c_str(), &owner) != 0) throw std::runtime_error("no " + server.folder().string());
  const bool change = geteuid() == 0 && owner.st_uid != 0;
  if (change && (chown(folder_.path().c_str(), owner.st_uid, owner.st_gid) != 0 || chown(ini.c_str(), owner.st_uid, owner.st_gid) != 0))
    throw std::runtime_error("cannot give away " + folder_.path().string());
  const std::string program = pgbouncerProgram(), ini_name = ini, log_name = log;
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ == 0) {
    if (change && (setgroups(0, nullptr) != 0 || setgid(owner.st_gid) != 0 || setuid(owner.st_uid) != 0)) _exit(126);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(126);
    const int in = open("/dev/null", O_RDONLY), out = open(log_name.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) _exit(126);
    execl(program.c_str(), program.c_str(), ini_name.c_str(), nullptr);
    _exit(127);
  }
  for (int tries = 0; tries < 800; ++tries) {
    if (fs::exists(socket)) return;
    if (waitpid(process_, nullptr, WNOHANG) == process_) break;
    std::this_thread::sleep_for(25ms);
  }
  kill(process_, SIGKILL);
  throw std::runtime_error("pgbouncer did not start:\n" + test::readFile(log));
}

Pgbouncer::~Pgbouncer() {
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

std::string Pgbouncer::conninfo() const { return "host=" + folder_.path().string() + " port=6432 user=postgres dbname=app"; }

}  // namespace pglocklint::oracle
