/* os/linux/tty.c - terminals. Contract: os/linux/tty.h, os/os.h.
 *
 * Called by   fd.c; net/io.c.
 *
 * To poll(2) a terminal that has room for one byte has room, and write(2) then waits until all of
 * them are gone. No single call can be asked not to, and O_NONBLOCK belongs to the open file, which
 * others share: so the terminal is opened once more.
 *
 * That is done only where it leads to the same one: to open the master of a pty makes another pty,
 * and /dev/tty is whatever terminal the process has by now. A terminal tells which device it is,
 * and these say another one than their file has. One that was hung up is not opened for who has it
 * no more: the old descriptor is asked once the new one is there, and a hang-up after that hits
 * both.
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

/* Is it a terminal, by its own name, that was not hung up? Which one? */
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

/* VMIN 0; where it is to wait for VTIME it does not if it was opened not to, and says -EAGAIN. */
bool w_os_tty_may_read_empty(int fd)
{
        struct termios how;

        if (W_SYS(tcgetattr(fd, &how)) != 0 || how.c_lflag & ICANON || how.c_cc[VMIN] != 0)
                return false;
        int flags = (int)W_SYS(fcntl(fd, F_GETFL));

        return how.c_cc[VTIME] == 0 || (flags >= 0 && !(flags & O_NONBLOCK));
}
