/* tests/unit/test_config.c - the configuration of a run: code, environment, defaults, and garbage.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/os.h"
#include "sched/sched.h"

#include "sched/run/config.h"
#include "weft.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

static void clear_environment(void)
{
        unsetenv("WEFT_PROCS");
        unsetenv("WEFT_MAX_THREADS");
        unsetenv("WEFT_STACK");
        unsetenv("WEFT_DEBUG");
}

static int read_config(struct run_config *out, const weft_config *cfg)
{
        memset(out, 0x5a, sizeof(*out));
        return w_config_read(out, cfg);
}

TEST(defaults_are_those_documented)
{
        struct run_config c;

        clear_environment();
        CHECK_EQ(read_config(&c, NULL), 0);
        int cpus = w_os_cpu_count(0), quota = w_os_cpu_quota();

        CHECK_EQ(c.procs, quota > 0 && quota < cpus ? quota : cpus);
        CHECK_EQ(c.max_threads, 10000);
        CHECK_EQ(c.stack_size, 64 << 10);
        CHECK_EQ(c.shutdown_ms, 1000);
        CHECK_EQ(c.idle_ms, 10000);
        CHECK_EQ(c.file_threads, 64);
        CHECK_EQ(c.schedtrace_ms, 0);
        CHECK(!c.scheddetail && !c.check && !c.migrate && !c.randomize);
}

TEST(environment_is_used)
{
        struct run_config c;

        clear_environment();
        setenv("WEFT_PROCS", "1024", 1);
        setenv("WEFT_MAX_THREADS", "77", 1);
        setenv("WEFT_STACK", "16384", 1);
        CHECK_EQ(read_config(&c, NULL), 0);
        CHECK_EQ(c.procs, 1024);
        CHECK_EQ(c.max_threads, 77);
        CHECK_EQ(c.stack_size, 16384);
}

TEST(code_wins_over_the_environment_even_over_garbage)
{
        weft_config       cfg = { .procs = 3, .max_threads = 50, .stack_size = 1 << 20,
                                  .shutdown_ms = 5, .idle_ms = 6, .file_threads = 7 };
        struct run_config c;

        clear_environment();
        setenv("WEFT_PROCS", "garbage", 1);
        setenv("WEFT_MAX_THREADS", "7", 1);
        setenv("WEFT_STACK", "", 1);
        CHECK_EQ(read_config(&c, &cfg), 0);
        CHECK_EQ(c.procs, 3);
        CHECK_EQ(c.max_threads, 50);
        CHECK_EQ(c.stack_size, 1 << 20);
        CHECK_EQ(c.shutdown_ms, 5);
        CHECK_EQ(c.idle_ms, 6);
        CHECK_EQ(c.file_threads, 7);
}

/* ---- Garbage in every variable --------------------------------------------------------------- */

struct setting {
        const char *variable;
        const char *value;
};

static void read_in_child(void *arg)
{
        const struct setting *s = arg;
        struct run_config     c;

        clear_environment();
        setenv(s->variable, s->value, 1);
        _exit(w_config_read(&c, NULL) == -EINVAL ? 10 : 11);
}

/* -EINVAL, and one line on stderr that names the variable and its value. */
static void check_refused(const char *variable, const char *value)
{
        struct setting s = { variable, value };
        char           err[1024], named[128];
        int            status = test_run_child(read_in_child, &s, err, sizeof(err));

        CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 10,
                  "%s='%s' was not refused (status %#x)", variable, value, (unsigned)status);
        snprintf(named, sizeof(named), "weft: %s is '%s'", variable, value);
        CHECK_MSG(strncmp(err, named, strlen(named)) == 0, "%s='%s' said: %s", variable, value,
                  err);
        CHECK_MSG(strchr(err, '\n') == err + strlen(err) - 1, "not one line: %s", err);
}

static const char *const garbage[] = {
        "", "0", "-1", "+1", " 1", "1 ", "1x", "x", "0x10", "1.5", "1e3", "\t2", "1000000000000",
        "9223372036854775807", "9223372036854775808", "18446744073709551617",
        "99999999999999999999999999999999999999", "--", "two",
};

static void check_all_refused(const char *variable)
{
        for (size_t i = 0; i < W_ARRAY_LEN(garbage); i++)
                check_refused(variable, garbage[i]);
}

TEST(garbage_in_weft_procs_is_named_and_refused)
{
        check_all_refused("WEFT_PROCS");
        check_refused("WEFT_PROCS", "1000000000");
        check_refused("WEFT_PROCS", "1025");
}

TEST(garbage_in_weft_max_threads_is_named_and_refused)
{
        check_all_refused("WEFT_MAX_THREADS");
}

TEST(garbage_in_weft_stack_is_named_and_refused)
{
        check_all_refused("WEFT_STACK");
        check_refused("WEFT_STACK", "16383");
        check_refused("WEFT_STACK", "1073741825");
        check_refused("WEFT_STACK", "64k");
}

/* ---- weft_config ----------------------------------------------------------------------------- */

static void check_bad(weft_config cfg)
{
        struct run_config c;

        CHECK_EQ(w_config_read(&c, &cfg), -EINVAL);
        cfg.size = sizeof(cfg);
        CHECK_EQ(w_config_read(&c, &cfg), -EINVAL);
}

TEST(bad_fields_are_refused)
{
        clear_environment();
        check_bad((weft_config){ .procs = -1 });
        check_bad((weft_config){ .procs = 1025 });
        check_bad((weft_config){ .procs = INT32_MIN });
        check_bad((weft_config){ .procs = INT32_MAX });
        check_bad((weft_config){ .max_threads = -1 });
        check_bad((weft_config){ .max_threads = INT32_MAX });
        check_bad((weft_config){ .stack_size = 1 });
        check_bad((weft_config){ .stack_size = (16 << 10) - 1 });
        check_bad((weft_config){ .stack_size = ((size_t)1 << 30) + 1 });
        check_bad((weft_config){ .stack_size = SIZE_MAX });
        check_bad((weft_config){ .preempt = -1 });
        check_bad((weft_config){ .preempt = 4 });
        check_bad((weft_config){ .preempt_signal = -1 });
        check_bad((weft_config){ .shutdown_ms = -1 });
        check_bad((weft_config){ .file_threads = -1 });
        check_bad((weft_config){ .idle_ms = -1 });
}

TEST(limits_themselves_are_accepted)
{
        struct run_config c;

        clear_environment();
        CHECK_EQ(read_config(&c, &(weft_config){ .procs = 1024, .stack_size = 16 << 10 }), 0);
        CHECK_EQ(read_config(&c, &(weft_config){ .procs = 1, .stack_size = 1 << 30 }), 0);
        CHECK_EQ(c.stack_size, 1 << 30);
}

/* Memory beyond `size` is not part of the struct: it is not even read. */
TEST(a_shorter_struct_lacks_the_rest)
{
        weft_config       old = { .size = offsetof(weft_config, stack_size), .procs = 2,
                                  .max_threads = 20 };
        struct run_config c;
        void             *copy = malloc(old.size);

        clear_environment();
        CHECK(copy);
        memcpy(copy, &old, old.size);
        CHECK_EQ(read_config(&c, copy), 0);
        free(copy);
        CHECK_EQ(c.procs, 2);
        CHECK_EQ(c.max_threads, 20);
        CHECK_EQ(c.stack_size, 64 << 10);
        CHECK_EQ(c.idle_ms, 10000);
}

TEST(a_longer_struct_is_read_as_far_as_it_is_known)
{
        struct {
                weft_config known;
                char        later[64];
        } cfg = { .known = { .size = sizeof(cfg), .procs = 5 } };
        struct run_config c;

        clear_environment();
        memset(cfg.later, 0xff, sizeof(cfg.later));
        CHECK_EQ(read_config(&c, &cfg.known), 0);
        CHECK_EQ(c.procs, 5);
}

/* ---- WEFT_DEBUG ------------------------------------------------------------------------------ */

TEST(debug_keys_are_understood)
{
        struct run_config c;

        clear_environment();
        setenv("WEFT_DEBUG", "schedtrace=250,scheddetail=1,check=1,migrate=1,randomize=42", 1);
        CHECK_EQ(read_config(&c, NULL), 0);
        CHECK_EQ(c.schedtrace_ms, 250);
        CHECK(c.scheddetail && c.check && c.migrate && c.randomize);
        CHECK_EQ(c.randomize_seed, 42);
        setenv("WEFT_DEBUG", "check=0,,migrate=0,", 1);
        CHECK_EQ(read_config(&c, NULL), 0);
        CHECK(!c.check && !c.migrate && !c.randomize);
}

static void read_debug_in_child(void *arg)
{
        struct run_config c;

        clear_environment();
        setenv("WEFT_DEBUG", arg, 1);
        _exit(w_config_read(&c, NULL) == 0 && c.migrate ? 10 : 11);
}

/* The text must hold migrate=1, which has to be understood whatever is beside it. */
static void check_debug(char *text, const char *named)
{
        char err[2048];
        int  status = test_run_child(read_debug_in_child, text, err, sizeof(err));

        CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 10, "WEFT_DEBUG=%s: status %#x",
                  text, (unsigned)status);
        CHECK_MSG(strstr(err, named), "WEFT_DEBUG=%s said: %s", text, err);
}

TEST(unknown_debug_keys_are_named_and_ignored)
{
        char long_key[300];

        check_debug("nonsense=1,migrate=1", "'nonsense=1' is ignored, there is no such key");
        check_debug("migrate=1,nonsense", "'nonsense' is ignored, there is no such key");
        check_debug("migrate=1,=", "'=' is ignored, there is no such key");
        check_debug("migrate=1,check =1", "'check =1' is ignored, there is no such key");
        check_debug("migrate=1,chec=1,checks=1", "'chec=1' is ignored, there is no such key");
        memset(long_key, 'k', sizeof(long_key));
        memcpy(long_key + 200, ",migrate=1", 11);
        check_debug(long_key, "'kkkkkkkk");
}

TEST(bad_values_of_debug_keys_are_named_with_what_is_allowed)
{
        check_debug("check=2,migrate=1", "'check=2' is ignored, the value must be a number from 0 "
                                         "to 1\n");
        check_debug("check,migrate=1", "'check' is ignored, the value must be a number");
        check_debug("schedtrace=-1,migrate=1", "'schedtrace=-1' is ignored, the value must be a "
                                               "number from 0 to 3600000\n");
        check_debug("schedtrace=x,migrate=1", "'schedtrace=x' is ignored");
        check_debug("randomize=99999999999999999999,migrate=1", "'randomize=99999999999999999999' "
                                                                "is ignored, the value must be");
        check_debug("migrate=1 ,migrate=1", "'migrate=1 ' is ignored");
        check_debug("preempt=some,migrate=1", "'preempt=some' is ignored, the value must be off, "
                                              "blocked or all\n");
        check_debug("preempt,migrate=1", "'preempt' is ignored, the value must be off");
}
