package postgrestest

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// dieWithParent has a command end with the thread that starts it.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGQUIT }

func lockThread() { runtime.LockOSThread() }

// children returns the processes that a process has started.
func children(pid int) (pids []int) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)) // it may have ended
	for _, text := range strings.Fields(string(b)) {
		if child, err := strconv.Atoi(text); err == nil {
			pids = append(pids, child)
		}
	}
	return pids
}
