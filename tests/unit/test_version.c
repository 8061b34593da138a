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
