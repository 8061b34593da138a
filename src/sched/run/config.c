/* sched/run/config.c - the configuration of a run. Values that the code sets come first, then the
 * environment, then detected values.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/run/config.h"

#include "base/fatal.h"
#include "os/os.h"
#include "sched/run/procs.h"
#include "sched/sched.h"
#include "weft.h"

#include <errno.h>      /* -Exxx */
#include <stdlib.h>     /* getenv */
#include <string.h>

/* Parses a decimal number in [low, high]. False: the text is anything else, for example "", " 1" or
 * "1x". */
static bool parse_number(const char *text, int64_t low, int64_t high, int64_t *out)
{
        int64_t value = 0;

        if (!*text)
                return false;
        for (; *text; text++) {
                if (*text < '0' || *text > '9' || value > high / 10)
                        return false;
                value = value * 10 + (*text - '0');
        }
        if (value < low || value > high)
                return false;
        *out = value;
        return true;
}

/* Chooses the value that the code set, else the value of the variable, else `detected`. */
static int choose(int64_t from_code, const char *variable, int64_t low, int64_t high,
                  int64_t detected, int64_t *out)
{
        const char *text = getenv(variable);

        if (from_code != 0) {
                *out = from_code;
                return from_code >= low && from_code <= high ? 0 : -EINVAL;
        }
        *out = detected;
        if (!text || parse_number(text, low, high, out))
                return 0;
        w_say("%s is '%s', which is not a number from %ld to %ld", variable, text, (long)low,
              (long)high);
        return -EINVAL;
}

/* ---- WEFT_DEBUG ------------------------------------------------------------------------------ */

enum debug_key { SCHEDTRACE, SCHEDDETAIL, CHECK, MIGRATE, DUMP, RANDOMIZE, PREEMPT, N_KEYS };

static const struct {
        const char *name;
        int64_t     high;       /* a number from 0 to this */
} keys[N_KEYS] = {
        [SCHEDTRACE] = { "schedtrace", 3600000 },
        [SCHEDDETAIL] = { "scheddetail", 1 },
        [CHECK] = { "check", 1 },
        [MIGRATE] = { "migrate", 1 },
        [DUMP] = { "dump", 1 },
        [RANDOMIZE] = { "randomize", INT64_MAX },
        [PREEMPT] = { "preempt", 0 },   /* a word */
};

static enum debug_key find_key(const char *text, size_t len)
{
        int i = 0;

        while (i < N_KEYS && (strlen(keys[i].name) != len || memcmp(keys[i].name, text, len) != 0))
                i++;
        return (enum debug_key)i;
}

/* A value that the code has set takes precedence. */
static bool set_preempt(struct run_config *c, const char *value)
{
        static const char *const names[] = {
                [WEFT_PREEMPT_OFF] = "off",
                [WEFT_PREEMPT_BLOCKED] = "blocked",
                [WEFT_PREEMPT_ALL] = "all",
        };

        for (int i = WEFT_PREEMPT_OFF; i <= WEFT_PREEMPT_ALL; i++) {
                if (strcmp(value, names[i]) != 0)
                        continue;
                if (!c->preempt_set)
                        c->preempt = i;
                return true;
        }
        return false;
}

/* False: the key cannot have this value. */
static bool set_key(struct run_config *c, enum debug_key key, const char *value)
{
        int64_t n;

        if (key == PREEMPT)
                return set_preempt(c, value);
        if (!parse_number(value, 0, keys[key].high, &n))
                return false;
        if (key == SCHEDTRACE)
                c->schedtrace_ms = (int)n;
        else if (key == SCHEDDETAIL)
                c->scheddetail = n;
        else if (key == CHECK)
                c->check = n;
        else if (key == MIGRATE)
                c->migrate = n;
        else if (key == DUMP)
                c->dump = n;
        else
                c->randomize = true, c->randomize_seed = (uint64_t)n;
        return true;
}

static void apply_debug(struct run_config *c, const char *item)
{
        size_t         len = strcspn(item, "=");
        enum debug_key key = find_key(item, len);

        if (key == N_KEYS)
                w_say("WEFT_DEBUG: '%s' is ignored, there is no such key", item);
        else if (set_key(c, key, item[len] ? item + len + 1 : ""))
                return;
        else if (key == PREEMPT)
                w_say("WEFT_DEBUG: '%s' is ignored, the value must be off, blocked or all", item);
        else
                w_say("WEFT_DEBUG: '%s' is ignored, the value must be a number from 0 to %ld", item,
                      (long)keys[key].high);
}

static void parse_debug(struct run_config *c, const char *text)
{
        char   item[64];
        size_t len;

        for (; text && *text; text += len + (text[len] == ',')) {
                len = strcspn(text, ",");
                size_t take = len < sizeof(item) - 1 ? len : sizeof(item) - 1;

                memcpy(item, text, take);
                item[take] = '\0';
                if (len)
                        apply_debug(c, item);
        }
}

/* ---- All of it ------------------------------------------------------------------------------- */

static int check_fields(const weft_config *cfg)
{
        if (cfg->preempt < 0 || cfg->preempt > WEFT_PREEMPT_ALL || cfg->preempt_signal < 0 ||
            cfg->shutdown_ms < 0 || cfg->file_threads < 0 || cfg->idle_ms < 0)
                return -EINVAL;
        return 0;
}

/* A program that was compiled with an older header has a shorter struct. The fields that it lacks
 * are zero. */
static weft_config widen(const weft_config *cfg)
{
        weft_config full = { 0 };
        size_t      size = sizeof(full);

        if (cfg && cfg->size != 0 && cfg->size < size)
                size = cfg->size;
        if (cfg)
                memcpy(&full, cfg, size);
        return full;
}

int w_config_read(struct run_config *out, const weft_config *cfg)
{
        weft_config full = widen(cfg);
        int64_t     procs, threads, stack;
        int         rc = check_fields(&full);

        if (rc == 0)
                rc = choose(full.procs, "WEFT_PROCS", 1, W_PROCS_MAX, w_procs_found(), &procs);
        if (rc == 0)
                rc = choose(full.max_threads, "WEFT_MAX_THREADS", W_THREADS_MIN, W_THREADS_MAX,
                            10000, &threads);
        if (rc == 0 && full.stack_size > W_STACK_MAX)
                rc = -EINVAL;
        if (rc == 0)
                rc = choose((int64_t)full.stack_size, "WEFT_STACK", W_STACK_MIN, W_STACK_MAX,
                            W_STACK_DEFAULT, &stack);
        if (rc < 0)
                return rc;
        *out = (struct run_config){
                .procs = (int)procs,
                .procs_found = full.procs == 0 && !getenv("WEFT_PROCS"),
                .max_threads = (int)threads,
                .stack_size = (size_t)stack,
                .preempt = full.preempt ? full.preempt : WEFT_PREEMPT_ALL,
                .preempt_set = full.preempt != 0,
                .preempt_signal = full.preempt_signal ? full.preempt_signal : W_SIG_URG,
                .shutdown_ms = full.shutdown_ms ? full.shutdown_ms : 1000,
                .idle_ms = full.idle_ms ? full.idle_ms : 10000,
                .file_threads = full.file_threads ? full.file_threads : 64,
                .dump = true,
        };
        parse_debug(out, getenv("WEFT_DEBUG"));
        return 0;
}
