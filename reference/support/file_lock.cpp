#include "reference/support/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "reference/support/error.h"

namespace bitgate {

FileLock::FileLock(const std::filesystem::path& path) {
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    throw InputError(path.string() + ": cannot be locked: " + std::strerror(errno));
  }
  while (::flock(descriptor_, LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    const std::string reason = std::strerror(errno);
    ::close(descriptor_);
    throw InputError(path.string() + ": cannot be locked: " + reason);
  }
}

FileLock::~FileLock() { ::close(descriptor_); }

}  // namespace bitgate
