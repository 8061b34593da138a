/* os/linux/tty.c - terminals. Contract: os/linux/tty.h, os/fd.h.
 *
 * poll(2) reports a terminal as writable if it has room for one byte, and write(2) then waits until
 * all bytes are written. No single call can be non-blocking, and O_NONBLOCK belongs to the open
 * file, which other processes share. Therefore w_tty_open opens the terminal once more.
 *
 * It does that only where the second descriptor leads to the same terminal. Opening the master of a
 * pty makes another pty, and /dev/tty is the terminal that the process has by now. In both cases
 * the terminal reports a device number other than the number of the file. A terminal that was hung
 * up must not be opened for a process that has lost it. Therefore the old descriptor is asked again
 * after the new descriptor was opened; a later hang-up reaches both.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/linux/tty.h"

#include "os/linux/errno_call.h"
#include "os/linux/procfs.h"
#include "os/os.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>

/* True: fd is a terminal under its own device number and was not hung up. */
static bool ask_device(int fd, unsigned int *device)
{
        struct stat st;

        return W_SYS(ioctl(fd, TIOCGDEV, device)) == 0 && W_SYS(fstat(fd, &st)) == 0 &&
               S_ISCHR(st.st_mode) && st.st_rdev == *device;
}

static bool is_waited_for(int fd)
{
        int flags = (int)W_SYS(fcntl(fd, F_GETFL));

        return flags >= 0 && !(flags & O_NONBLOCK) && (flags & O_ACCMODE) != O_RDONLY;
}

int w_tty_open(int fd)
{
        unsigned int device, own_device, now;
        char         path[32];

        if (!ask_device(fd, &device) || !is_waited_for(fd))
                return -ENOTTY;
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        int own = (int)W_SYS(open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));

        if (own < 0)
                return own;
        if (ask_device(own, &own_device) && own_device == device && ask_device(fd, &now) &&
            now == device)
                return own;
        w_file_close(own);
        return -ENOTTY;
}

/* True with VMIN 0. With VTIME, read(2) waits that long and then returns 0; but on a non-blocking
 * terminal it returns -EAGAIN, and the result is false. */
bool w_os_tty_may_read_empty(int fd)
{
        struct termios how;

        if (W_SYS(tcgetattr(fd, &how)) != 0 || how.c_lflag & ICANON || how.c_cc[VMIN] != 0)
                return false;
        int flags = (int)W_SYS(fcntl(fd, F_GETFL));

        return how.c_cc[VTIME] == 0 || (flags >= 0 && !(flags & O_NONBLOCK));
}
