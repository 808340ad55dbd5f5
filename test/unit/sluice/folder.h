/* SPDX-License-Identifier: BSD-3-Clause */
/* A temporary folder. It is removed with its contents. */
#ifndef SLUICE_TEST_FOLDER_H
#define SLUICE_TEST_FOLDER_H

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

class Folder
{
  public:
    Folder()
    {
        char name[] = "/tmp/sluice-test-XXXXXX";

        EXPECT_NE(mkdtemp(name), nullptr);
        path = name;
        fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        EXPECT_GE(fd, 0);
    }
    ~Folder()
    {
        close(fd);
        std::filesystem::remove_all(path);
    }
    Folder(const Folder &) = delete;
    Folder &operator=(const Folder &) = delete;

    std::string at(const std::string &name) const
    {
        return path + "/" + name;
    }
    void write(const std::string &name, const std::string &content) const
    {
        std::ofstream(at(name), std::ios::binary) << content;
    }
    std::string read(const std::string &name) const
    {
        std::ifstream in(at(name), std::ios::binary);
        std::ostringstream content;

        content << in.rdbuf();
        return content.str();
    }
    /* The number of entries in it, at any depth. */
    size_t count() const
    {
        size_t n = 0;

        for (auto &e : std::filesystem::recursive_directory_iterator(path)) {
            (void)e;
            n++;
        }
        return n;
    }

    std::string path;
    int fd;
};

#endif
