/* The version is the same in header, library and string. */
#include "weft.h"

#include "harness/test.h"

#include <stdio.h>

TEST(version_string_agrees_with_the_header)
{
        char expected[32];

        snprintf(expected, sizeof(expected), "%d.%d.%d", WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR,
                 WEFT_VERSION_PATCH);
        CHECK_STR(weft_version(), expected);
}

TEST(version_number_agrees_with_the_header)
{
        CHECK_EQ(weft_version_number(), WEFT_VERSION);
        CHECK_EQ(weft_version_number() / 10000, WEFT_VERSION_MAJOR);
        CHECK_EQ(weft_version_number() / 100 % 100, WEFT_VERSION_MINOR);
        CHECK_EQ(weft_version_number() % 100, WEFT_VERSION_PATCH);
}

/* The preprocessor can compare versions. */
#if WEFT_VERSION < 100 || WEFT_VERSION >= 1000000
#error "WEFT_VERSION is no number of a version"
#endif
