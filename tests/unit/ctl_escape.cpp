#include "catch.h"

#include <sstream>
#include <string>

#include "ctl/terminal/escape.h"
#include "ctl/terminal/terminal_stream.h"

using namespace petstore;

TEST_CASE("what a terminal would obey is escaped", "[ctl]")
{
    CHECK(ctl::escaped("Acm\u00e9 \u65e5\u672c \U0001F415")
          == "Acm\u00e9 \u65e5\u672c \U0001F415");
    CHECK(ctl::escaped("\x1b[2J\n\t\r") == "\\u001b[2J\\u000a\\u0009\\u000d");
    CHECK(ctl::escaped(std::string("\0\x7f", 2)) == "\\u0000\\u007f");
    CHECK(ctl::escaped("\xc2\x80\xc2\x9f\xc2\xa0") == "\\u0080\\u009f\xc2\xa0");
    CHECK(
        ctl::escaped("\xd8\x9c\xe2\x80\x8e\xe2\x80\xaa\xe2\x80\xae\xe2\x81\xa6"
                     "\xe2\x81\xa9")
        == "\\u061c\\u200e\\u202a\\u202e\\u2066\\u2069");
    CHECK(ctl::escaped("\x9b\xffz\xe2\x80") == "\\x9b\\xffz\\xe2\\x80");
}

TEST_CASE("a stream to a terminal escapes all but line feeds", "[ctl]")
{
    std::stringbuf terminal;
    ctl::TerminalBuffer buffer(terminal);
    std::ostream out(&buffer);
    out << "a\x1b" << '\x07' << "\nb" << std::flush;
    CHECK(terminal.str() == "a\\u001b\\u0007\nb");

    // A code point in pieces.
    terminal.str("");
    for (const char c : std::string("\xe2\x80\xae\xc3\xa9\xf0\x9f\x90\x95")) {
        out << c;
    }
    CHECK(terminal.str() == "\\u202e\xc3\xa9\xf0\x9f\x90\x95");
    terminal.str("");
    out << "\xe2\x80" << std::flush << "\xae";
    CHECK(terminal.str() == "\\xe2\\x80\\xae");

    // Only our own control sequences pass.
    terminal.str("");
    out << "a";
    ctl::write_control(out, "\x1b[1m");
    out << "\x1b[1m";
    CHECK(terminal.str() == "a\x1b[1m\\u001b[1m");
    std::ostringstream file;
    ctl::write_control(file, "\x1b[1m");
    CHECK(file.str().empty());
}
