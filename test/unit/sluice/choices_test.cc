/* SPDX-License-Identifier: BSD-3-Clause */
/* The choices that Tab offers at the end of a line. */
#include <cstring>
#include <memory>
#include <string>

#include <gtest/gtest.h>

extern "C" {
#include "console/choices.h"
#include "console/words.h"
}

#include "folder.h"

namespace
{

class Choices : public testing::Test
{
  protected:
    Choices() : found(new choices)
    {
        c.grammar = {words_commands, words_kinds, WORDS_DAEMON};
    }

    // The text that Tab adds to the line.
    std::string more(const std::string &text)
    {
        char out[CHOICE_MAX + 1];

        line = text;
        choices_find(found.get(), &c, line.c_str());
        choices_more(found.get(), out, sizeof out);
        return out;
    }

    bool offers(const std::string &word) const
    {
        for (unsigned i = 0; i < found->n; i++)
            if (word == found->word[i])
                return true;
        return false;
    }

    console c = {};
    std::unique_ptr<choices> found;
    std::string line;
};

} // namespace

TEST_F(Choices, WordsAreCompletedAsFarAsOnlyOneFits)
{
    EXPECT_EQ(more("sho"), "w ");
    EXPECT_EQ(more("show capac"), "ity ");
    EXPECT_EQ(more("show c"), "") << "it could be capacity, clients, conn or conns";
    EXPECT_TRUE(offers("capacity"));
    EXPECT_TRUE(offers("conns"));
    EXPECT_FALSE(offers("grants"));
    EXPECT_EQ(more("nowhere"), "");
    EXPECT_EQ(found->n, 0u);
}

TEST_F(Choices, ValuesOfPeopleAreHints)
{
    EXPECT_EQ(more("set capacity "), "");
    EXPECT_NE(strstr(found->hints, "RATE, such as 2.5Gbit"), nullptr);
}

TEST_F(Choices, FilesAreCompletedButForNamesThatATerminalWouldObey)
{
    Folder folder;

    folder.write("one", "");
    EXPECT_EQ(more("load " + folder.at("o")), "ne ");
    folder.write("red\033[31m", "");
    folder.write("line\nquit", "");
    folder.write("c1\302\233A", ""); // CSI, in UTF-8
    folder.write("broken\377", "");
    for (const char *begun : {"r", "l", "c", "b"})
        EXPECT_EQ(more("load " + folder.at(begun)), "") << begun;
    folder.write("\303\274ber", ""); // not ASCII, but a name
    EXPECT_EQ(more("load " + folder.at("\303")), "\274ber ");
}

TEST_F(Choices, NamesAreCompletedInWholeCharacters)
{
    Folder folder;

    folder.write("m\303\244rz", "");
    EXPECT_EQ(more("load " + folder.at("")), "m\303\244rz ");
    folder.write("m\303\266we", ""); // its second character begins as that of the other one
    EXPECT_EQ(more("load " + folder.at("")), "m");
}
