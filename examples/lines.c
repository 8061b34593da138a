/* lines.c - counts the lines of files, each file in its own goroutine.
 *
 *   lines FILE...
 *
 * The program has weft_main instead of main: see weft/main.h. weft_main is a goroutine from its
 * first line on, and its result is the exit status: 1 if a file could not be read.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/main.h>

struct file {
        const char *name;
        int64_t     id;         /* of the goroutine that counts */
        long        n_lines;
        int         error;
};

/* A regular file is read in a blocking region: the other goroutines continue to run. */
static int count(int fd, long *n_lines)
{
        char    text[8192];
        ssize_t n;

        while ((n = weft_read(fd, text, sizeof(text))) > 0)
                for (ssize_t i = 0; i < n; i++)
                        *n_lines += text[i] == '\n';
        return (int)-n;
}

static void read_file(void *arg)
{
        struct file *f = arg;
        int          fd = open(f->name, O_RDONLY | O_CLOEXEC);

        if (fd < 0) {
                f->error = errno;
                return;
        }
        f->error = count(fd, &f->n_lines);
        weft_close(fd);
}

static void start_all(struct file *files, int n, char **names)
{
        for (int i = 0; i < n; i++) {
                files[i].name = names[i];
                files[i].id = weft_go(read_file, &files[i]);
                if (files[i].id < 0)
                        files[i].error = (int)-files[i].id;
        }
}

/* Prints the results in the order of the arguments. Returns the exit status. */
static int report_all(const struct file *files, int n)
{
        int status = 0;

        for (int i = 0; i < n; i++) {
                const struct file *f = &files[i];

                if (f->id > 0)
                        weft_join(f->id);
                if (f->error) {
                        fprintf(stderr, "lines: %s: %s\n", f->name, strerror(f->error));
                        status = 1;
                } else {
                        printf("%ld %s\n", f->n_lines, f->name);
                }
        }
        return status;
}

int weft_main(int argc, char **argv)
{
        int          n = argc - 1;
        struct file *files = n > 0 ? calloc((size_t)n, sizeof(*files)) : NULL;

        if (!files) {
                fprintf(stderr, n > 0 ? "lines: no memory\n" : "usage: lines FILE...\n");
                return 2;
        }
        start_all(files, n, argv + 1);
        int status = report_all(files, n);

        free(files);
        return status;
}
