#include "ctl/terminal/csv.h"

#include "catch.h"

using petstore::ctl::csv_line;

TEST_CASE("CSV quotes what RFC 4180 wants quoted", "[csv]")
{
    CHECK(csv_line({"a", "", "b c", "\u00e9"}) == "a,,b c,\u00e9");
    CHECK(csv_line({"a,b", "say \"hi\"", "two\nlines", "\r"})
          == "\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\",\"'\r\"");
}

TEST_CASE("CSV quotes the separators of other spreadsheets", "[csv]")
{
    CHECK(csv_line({"a;b", "a\tb", "c"}) == "\"a;b\",\"a\tb\",c");
    CHECK(csv_line({";b"}) == "\";b\"");
}

TEST_CASE("CSV has no formulas", "[csv]")
{
    CHECK(csv_line({"=1+2", "+1", "-1", "@SUM(A1)", "\tx"})
          == "'=1+2,'+1,'-1,'@SUM(A1),\"'\tx\"");
    CHECK(csv_line({"=HYPERLINK(\"http://x\",\"y\")"})
          == "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\"");
    CHECK(csv_line({"1-2", "a=b", "'="}) == "1-2,a=b,'=");
}

// Where the separator is a semicolon, a field does not begin with its quote.
TEST_CASE("CSV has no formulas for any separator", "[csv]")
{
    CHECK(csv_line({"a;=1+1;b"}) == "\"a;'=1+1;b\"");
    CHECK(csv_line({"a\t@x", "a\n+x", "a\r-x"})
          == "\"a\t'@x\",\"a\n'+x\",\"a\r'-x\"");
    CHECK(csv_line({"a;\"=x"}) == "\"a;\"\"'=x\"");
    CHECK(csv_line({"\t=x"}) == "\"'\t'=x\"");
    CHECK(csv_line({"a; b", "a;b=c", "a,=c"}) == "\"a; b\",\"a;b=c\",\"a,=c\"");
}
