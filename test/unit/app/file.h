// SPDX-License-Identifier: BSD-3-Clause
// A configuration file that exists for as long as its object does.
#ifndef TEST_APP_FILE_H
#define TEST_APP_FILE_H

#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

class File
{
  public:
    explicit File(const std::string &text)
    {
        char name[] = "/tmp/sluiced-test-XXXXXX";
        int fd = mkstemp(name);

        if (fd < 0 || write(fd, text.data(), text.size()) != (ssize_t)text.size())
            abort();
        close(fd);
        path = name;
    }
    ~File()
    {
        unlink(path.c_str());
    }
    File(const File &) = delete;
    File &operator=(const File &) = delete;

    std::string path;
};

#endif
